/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "common/class.h"
#include "common/log.h"
#include "spank/setup.h"
#include "spank/useropts.h"

static hpcb_step_t the_step;
static bool opened;

bool hpcb_spank_conf(const hpcb_spank_args_t *args, hpcb_conf_t *conf)
{
    static bool complained;
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(args->conf, path, sizeof(path)), conf, &err) == 0)
        return true;
    hpcb_log_once(&complained, HPCB_LOG_INFO, "%s; using defaults", err.text);
    hpcb_conf_defaults(conf);
    return false;
}

static void name_step(uint32_t id, char *name, size_t size)
{
    switch (id) {
    case SLURM_BATCH_SCRIPT:
        snprintf(name, size, "batch");
        break;
    case SLURM_EXTERN_CONT:
        snprintf(name, size, "extern");
        break;
    case SLURM_INTERACTIVE_STEP:
        snprintf(name, size, "interactive");
        break;
    default:
        snprintf(name, size, "%u", id);
    }
}

static int identify(spank_t sp, hpcb_step_t *step)
{
    uint32_t id;

    if (spank_get_item(sp, S_JOB_ID, &step->job_id) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_UID, &step->uid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &id) != ESPANK_SUCCESS)
        return -1;
    name_step(id, step->name, sizeof(step->name));
    step->tasks = id != SLURM_EXTERN_CONT;
    return 0;
}

/* The record of another user's job under the same number is a left-over. */
static void load_record(hpcb_step_t *step)
{
    static bool complained;
    hpcb_error_t err;

    step->recorded = false;
    if (hpcb_state_load(step->conf.state_dir, step->job_id, &step->job, &err) == 0) {
        step->recorded = step->job.uid == step->uid;
        if (!step->recorded)
            hpcb_error(&err, "it belongs to uid %u", (unsigned)step->job.uid);
    }
    if (!step->recorded)
        hpcb_log_once(&complained, HPCB_LOG_INFO,
                      "job %u has no usable record of its class on this node (%s); is "
                      "the prolog set up?",
                      step->job_id, err.text);
}

/* Return the class by the mark that the prolog has left in the kernel if it could not
 * write a record; otherwise by the user's hints, which can only lower.  A value longer
 * than any partition's name is no partition's name. */
static hpcb_class_t class_without_record(spank_t sp, const hpcb_step_t *step)
{
    char partition[HPCB_NAME_MAX];
    bool have = spank_getenv(sp, "SLURM_JOB_PARTITION", partition, sizeof(partition)) ==
                ESPANK_SUCCESS;

    if (step->node &&
        hpcb_guest_marked(step->node, step->conf.guest_cgroup, step->job_id, getpid()))
        return HPCB_CLASS_GUEST;
    return hpcb_class_of_hints(&step->conf, hpcb_spank_options()->guest,
                               have ? partition : NULL);
}

void hpcb_spank_step_open(spank_t sp, const hpcb_spank_args_t *args)
{
    hpcb_step_t *step = &the_step;

    if (opened)
        return;
    if (identify(sp, step) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "Slurm does not say which job and step this is");
        return;
    }
    hpcb_spank_conf(args, &step->conf);
    load_record(step);
    if (hpcb_node_open(args->root, &step->node, &step->node_error) < 0) {
        step->node = NULL;
        hpcb_log(HPCB_LOG_INFO, "%s", step->node_error.text);
    }
    step->klass = step->recorded ? step->job.klass : class_without_record(sp, step);
    opened = true;
}

const hpcb_step_t *hpcb_spank_step(void)
{
    return opened ? &the_step : NULL;
}

void hpcb_spank_step_close(void)
{
    if (opened && the_step.node)
        hpcb_node_close(the_step.node);
    opened = false;
}
