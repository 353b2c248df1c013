/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * job begin, job end: what the prolog and the epilog do.  slurmd runs them as root and
 * waits for them, with an environment that it fills from the job's credential
 * (SLURM_JOB_*) and that users may only add names with SPANK_ to.
 *
 * A failure is one line on stderr and exit code 0: slurmd drains the node otherwise, and
 * a job must run, and end, as it would without us.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/mechanism.h"
#include "common/class.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record.h"
#include "common/text.h"
#include "hpcbctl/hostlist.h"
#include "hpcbctl/verbs.h"
#include "sensor/meter.h"

/* Stands beside the job's record (common/state.h) and goes with it. */
#define CPUS_SUFFIX ".cpus"

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int env_u32(const char *name, uint32_t *value)
{
    const char *text = getenv(name);
    uint64_t wide;

    if (!text || hpcb_text_u64(text, UINT32_MAX, &wide))
        return -1;
    *value = (uint32_t)wide;
    return 0;
}

static const char *env_text(const char *name)
{
    const char *text = getenv(name);

    return text ? text : "";
}

/* -1 after a line: not called by slurmd. */
static int which_job(const char *verb, hpcb_job_state_t *job)
{
    uint32_t uid;

    if (env_u32("SLURM_JOB_ID", &job->job_id) || job->job_id == 0 ||
        env_u32("SLURM_JOB_UID", &uid)) {
        hpcb_log(HPCB_LOG_ERROR,
                 "job %s: no job in the environment (SLURM_JOB_ID, SLURM_JOB_UID): it "
                 "is called by slurmd's prolog and epilog",
                 verb);
        return -1;
    }
    job->uid = uid;
    return 0;
}

/* Whether it was read from its file; defaults hold otherwise. */
static bool load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf, &err) ==
        0)
        return true;
    hpcb_log(HPCB_LOG_ERROR, "%s; defaults hold", err.text);
    hpcb_conf_defaults(conf);
    return false;
}

static int cpus_path(const hpcb_conf_t *conf, uint32_t job_id, char *path)
{
    int n = snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 CPUS_SUFFIX, conf->state_dir,
                     job_id);

    return n < PATH_MAX ? 0 : -1;
}

/* Only the prolog's environment has it (the credential is gone in the epilog). */
static void save_cpus(const hpcb_conf_t *conf, uint32_t job_id)
{
    int index = hpcb_hostlist_index(env_text("SLURM_NODELIST"),
                                    env_text("SLURMD_NODENAME"));
    unsigned cpus = hpcb_count_of_node(env_text("SLURM_JOB_CPUS_PER_NODE"),
                                       index < 0 ? 0 : (unsigned)index);
    char path[PATH_MAX], text[16];
    hpcb_error_t err;

    if (cpus == 0 || cpus_path(conf, job_id, path))
        return;
    snprintf(text, sizeof(text), "%u\n", cpus);
    if (hpcb_file_replace(path, text, strlen(text), 0644, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err.text);
}

static unsigned load_cpus(const hpcb_conf_t *conf, uint32_t job_id)
{
    char path[PATH_MAX], text[16];
    uint64_t cpus;

    if (cpus_path(conf, job_id, path) ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return hpcb_text_u64(text, UINT_MAX, &cpus) ? 0 : (unsigned)cpus;
}

int hpcb_job_begin(const hpcb_ctl_t *ctl)
{
    hpcb_job_state_t job = {.begin_us = now_us()};
    const char *partition = getenv("SLURM_JOB_PARTITION");
    hpcb_conf_t conf;
    hpcb_error_t err;
    bool conf_read;

    if (which_job("begin", &job))
        return 0;
    conf_read = load_conf(ctl, &conf);
    job.klass =
        hpcb_class_of_job(&conf, conf_read, partition, getenv("SPANK_HPCB_CLASS"));
    if (partition && hpcb_text_copy(job.partition, sizeof(job.partition), partition))
        job.partition[0] = '\0';
    job.yield_waits = hpcb_class_yields(&conf, job.klass, job.partition, job.policy);
    if (job.klass == HPCB_CLASS_UNKNOWN)
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": nothing tells its class; it runs as "
                 "without slurm-hpc-balance", job.job_id);
    else if (hpcb_state_save(conf.state_dir, &job, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job.job_id, err.text);
    else
        save_cpus(&conf, job.job_id);
    return 0;
}

/* What no prolog has recorded is known to have ended here, and no more. */
static void describe_end(const hpcb_conf_t *conf, const hpcb_job_state_t *asked,
                         hpcb_record_t *record)
{
    hpcb_error_t err;

    record->end_us = now_us();
    if (hpcb_state_load(conf->state_dir, asked->job_id, &record->job, &err) ||
        record->job.uid != asked->uid) {
        record->job = *asked;
        record->job.begin_us = record->end_us;
    }
    hpcb_node_name(record->node, sizeof(record->node));
    if (hpcb_text_copy(record->cluster, sizeof(record->cluster),
                       env_text("SLURM_CLUSTER_NAME")))
        record->cluster[0] = '\0';
    record->cpus = load_cpus(conf, asked->job_id);
}

static void add_usage(hpcb_usage_t *sum, const hpcb_usage_t *more)
{
    sum->cpu_us += more->cpu_us;
    sum->run_delay_us += more->run_delay_us;
    if (more->memory_peak > sum->memory_peak)
        sum->memory_peak = more->memory_peak;
}

static void complain(int rc, const hpcb_error_t *err)
{
    if (rc < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err->text);
}

/* What steps have recorded, and what their groups still hold. */
static void collect_usage(const hpcb_conf_t *conf, hpcb_node_t *node, uint32_t job_id,
                          hpcb_usage_t *usage)
{
    hpcb_usage_t rest = {0};
    hpcb_error_t err;

    complain(hpcb_state_usage(conf->state_dir, job_id, usage, &err), &err);
    if (!node)
        return;
    complain(hpcb_meter_remove(node, job_id, &rest, &err), &err);
    add_usage(usage, &rest);
}

int hpcb_job_end(const hpcb_ctl_t *ctl)
{
    hpcb_job_state_t asked = {0};
    hpcb_record_t record = {0};
    hpcb_node_t *node = NULL;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (which_job("end", &asked))
        return 0;
    load_conf(ctl, &conf);
    complain(hpcb_node_open("/", &node, &err), &err);
    describe_end(&conf, &asked, &record);
    collect_usage(&conf, node, asked.job_id, &record.usage);
    complain(hpcb_record_write(conf.spool_dir, &record, &err), &err);
    if (node)
        complain(hpcb_isolate_cleanup(node, conf.guest_cgroup, asked.job_id, &err),
                 &err);
    /* State goes last: killed before that, another `job end` finishes.  The undo log goes
     * unplayed: what is in it ended with the job, and a process that survived its job
     * must not be lifted. */
    complain(hpcb_state_remove(conf.state_dir, asked.job_id, &err), &err);
    hpcb_node_close(node);
    return 0;
}
