/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cgroup/mechanism.h"
#include "common/log.h"
#include "sensor/meter.h"
#include "common/class.h"
#include "common/tell.h"
#include "spank/jobscript.h"
#include "spank/setup.h"
#include "spank/useropts.h"

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* S_JOB_ID and S_JOB_UID are slurmd's SLURM_JOB_ID and SLURM_JOB_UID, parsed by Slurm.
 */
static int identify(spank_t sp, hpcb_job_state_t *job)
{
    if (spank_get_item(sp, S_JOB_ID, &job->job_id) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_UID, &job->uid) != ESPANK_SUCCESS) {
        hpcb_log(HPCB_LOG_ERROR, "Slurm does not say which job this is");
        return -1;
    }
    return 0;
}

static void describe(spank_t sp, const hpcb_conf_t *conf, bool conf_read,
                     hpcb_job_state_t *job)
{
    const char *partition = getenv("SLURM_JOB_PARTITION");
    hpcb_options_t options;

    hpcb_spank_options_of_job(sp, &options);
    job->klass =
        hpcb_class_of_job(conf, conf_read, partition, getenv("SPANK_HPCB_CLASS"));
    job->policy = options.policy;
    snprintf(job->partition, sizeof(job->partition), "%s", partition ? partition : "");
    job->yield_waits = hpcb_class_yields(conf, job->klass, job->partition, job->policy);
    hpcb_class_window(conf, job->klass, job->partition, &options.window, &job->window);
    hpcb_state_sluid(job->sluid);
    job->begin_us = now_us();
}

/*
 * There is no record.  A primary runs as without us.  A guest must not be taken for
 * one, whatever its steps say of themselves: so it is marked in the kernel, and if that
 * fails too, it does not run here.  The exit code alone makes the prolog fail, also
 * with an `optional` line in plugstack.conf; Slurm requeues the job and drains the
 * node.
 */
static void stand_in(const hpcb_spank_args_t *args, const hpcb_conf_t *conf,
                     const hpcb_job_state_t *job)
{
    hpcb_node_t *node = NULL;
    hpcb_error_t err;
    int rc = hpcb_node_open(args->root, &node, &err);

    if (job->klass != HPCB_CLASS_GUEST) {
        /* Of an earlier job with that number. */
        if (rc == 0)
            hpcb_isolate_cleanup(node, conf->guest_cgroup, job->job_id, NULL);
    } else {
        if (rc == 0)
            rc = hpcb_guest_mark(node, conf->guest_cgroup, job->job_id, &err);
        if (rc < 0) {
            hpcb_log(HPCB_LOG_ERROR,
                     "guest job %u is refused: this node can neither record nor mark "
                     "it: %s",
                     job->job_id, err.text);
            exit(EXIT_FAILURE);
        }
    }
    hpcb_node_close(node);
}

void hpcb_spank_job_prolog(spank_t sp, const hpcb_spank_args_t *args)
{
    static hpcb_conf_t conf;
    hpcb_job_state_t job = {0};
    hpcb_error_t err;
    bool conf_read;

    if (identify(sp, &job) < 0)
        return;
    conf_read = hpcb_spank_conf(args, &conf);
    describe(sp, &conf, conf_read, &job);
    if (job.klass == HPCB_CLASS_UNKNOWN)
        hpcb_log(HPCB_LOG_ERROR,
                 "job %u: nothing tells its class; it runs as without "
                 "hpc_balance",
                 job.job_id);
    else if (hpcb_state_save(conf.state_dir, &job, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s", job.job_id, err.text);
        stand_in(args, &conf, &job);
    }
}

static void log_failure(int result, const hpcb_error_t *err)
{
    if (result < 0)
        hpcb_log(HPCB_LOG_INFO, "%s", err->text);
}

static void remove_groups(const char *root, const hpcb_conf_t *conf, uint32_t job_id)
{
    hpcb_usage_t usage = {0};
    hpcb_node_t *node;
    hpcb_error_t err;

    if (hpcb_node_open(root, &node, &err) < 0) {
        log_failure(-1, &err);
        return;
    }
    log_failure(hpcb_meter_remove(node, job_id, &usage, &err), &err);
    log_failure(hpcb_isolate_cleanup(node, conf->guest_cgroup, job_id, &err), &err);
    hpcb_node_close(node);
}

void hpcb_spank_job_epilog(spank_t sp, const hpcb_spank_args_t *args)
{
    static hpcb_conf_t conf;
    hpcb_job_state_t job = {0};
    hpcb_error_t err;

    if (!args->epilog || identify(sp, &job) < 0)
        return;
    hpcb_spank_conf(args, &conf);
    /* The undo log goes unplayed, as in `hpcbctl job end`: a process that has survived
     * its job must not be lifted. */
    remove_groups(args->root, &conf, job.job_id);
    log_failure(hpcb_state_remove(conf.state_dir, job.job_id, &err), &err);
    hpcb_tell(conf.state_dir, "end", job.job_id, NULL);
}
