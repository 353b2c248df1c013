/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * job begin, job end: what the prolog and the epilog do.  slurmd runs them as root and
 * waits for them, with an environment that it fills from the job's credential
 * (SLURM_JOB_*) and that users may only add names with SPANK_ to.
 *
 * A failure is one line and exit code 0: slurmd drains the node otherwise, and a job
 * must run, and end, as it would without us.  The line goes to stderr and to syslog: of
 * a script that succeeds slurmd logs the output at debug2 only (22.05).
 *
 * Either may be killed anywhere and run again, by slurmd (which forgets over a restart
 * that an epilog has run) or by hand: the second run finishes what the first one left,
 * and never makes a record worse.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "cgroup/mechanism.h"
#include "common/class.h"
#include "common/file.h"
#include "common/hostlist.h"
#include "common/log.h"
#include "common/record.h"
#include "common/tell.h"
#include "common/text.h"
#include "hpcbctl/job/beside.h"
#include "hpcbctl/job/cpus.h"
#include "hpcbctl/job/kept.h"
#include "hpcbctl/job/leftovers.h"
#include "hpcbctl/status/totals.h"
#include "hpcbctl/verbs.h"
#include "sensor/meter.h"

/* The longest that an epilog waits for hpcbd. */
#define MEASURE_MS 1000

static void log_line(hpcb_log_level_t level, const char *line)
{
    if (level == HPCB_LOG_DEBUG)
        return;
    fprintf(stderr, "hpcbctl: %s\n", line);
    syslog(LOG_DAEMON | (level == HPCB_LOG_ERROR ? LOG_ERR : LOG_INFO), "%s", line);
}

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

/* Return whether it was read from its file; the defaults apply otherwise. */
static bool load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf,
                       &err) == 0)
        return true;
    hpcb_log(HPCB_LOG_ERROR, "%s; using defaults", err.text);
    hpcb_conf_defaults(conf);
    return false;
}

/* Return the job's CPUs on this node; 0 if the environment does not have them.  A node
 * that is not in the list does not get another node's figure, unless all have the
 * same. */
static unsigned cpus_in_env(void)
{
    const char *counts = env_text("SLURM_JOB_CPUS_PER_NODE");
    char node[HPCB_NAME_MAX];
    int index = hpcb_hostlist_index(env_text("SLURM_NODELIST"),
                                    hpcb_node_name(node, sizeof(node)));

    if (index < 0 && strchr(counts, ','))
        return 0;
    return hpcb_count_of_node(counts, index < 0 ? 0 : (unsigned)index);
}

static void save_about(const hpcb_conf_t *conf, uint32_t job_id)
{
    hpcb_about_t about;
    hpcb_error_t err;

    hpcb_about_from_env(&about);
    if (hpcb_about_save(conf->state_dir, job_id, &about, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err.text);
}

/* For an epilog without credential (an aborted job), whose environment has no counts.
 */
static void save_cpus(const hpcb_conf_t *conf, uint32_t job_id)
{
    unsigned cpus = cpus_in_env();
    hpcb_error_t err;

    if (cpus > 0 && hpcb_cpus_save(conf->state_dir, job_id, cpus, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err.text);
}

/* Classify the job by the environment, which is the same in prolog and epilog. */
static void classify(const hpcb_conf_t *conf, bool conf_read, hpcb_job_state_t *job)
{
    const char *partition = getenv("SLURM_JOB_PARTITION");

    job->klass =
        hpcb_class_of_job(conf, conf_read, partition, getenv("SPANK_HPCB_CLASS"));
    if (partition && hpcb_text_copy(job->partition, sizeof(job->partition), partition))
        job->partition[0] = '\0';
    hpcb_state_sluid(job->sluid);
}

static bool may_be_same(const char *old, const char *now)
{
    return !*old || !*now || strcmp(old, now) == 0;
}

/* Within a run the partition is always the same, because it comes from the credential,
 * and so is the SLUID, if Slurm has one. */
static bool is_same_run(const hpcb_job_state_t *old, const hpcb_job_state_t *job)
{
    return may_be_same(old->partition, job->partition) &&
           may_be_same(old->sluid, job->sluid);
}

/*
 * The first record of a job counts, but only within one run of it.  A job keeps its ID
 * when it is requeued; if its epilog never ran here and an operator moved it meanwhile,
 * the old record would make a guest a primary.
 */
static void drop_earlier_run(const hpcb_conf_t *conf, const hpcb_job_state_t *job)
{
    hpcb_job_state_t old;
    hpcb_error_t err;

    if (hpcb_state_load(conf->state_dir, job->job_id, &old, NULL) ||
        is_same_run(&old, job))
        return;
    hpcb_log(HPCB_LOG_INFO,
             "job %" PRIu32 ": replacing the record of an earlier run in partition %s",
             job->job_id, old.partition);
    if (hpcb_state_remove(conf->state_dir, job->job_id, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job->job_id, err.text);
}

/* There is no record: the kernel is to say that it is a guest, so that no step of it is
 * taken for a primary.  SPANK's prolog refuses a guest that cannot even be marked. */
static void stand_in(const hpcb_conf_t *conf, const hpcb_job_state_t *job)
{
    hpcb_node_t *node = NULL;
    hpcb_error_t err;

    if (hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return;
    }
    if (job->klass != HPCB_CLASS_GUEST)
        hpcb_isolate_cleanup(node, conf->guest_cgroup, job->job_id, NULL);
    else if (hpcb_guest_mark(node, conf->guest_cgroup, job->job_id, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job->job_id, err.text);
    hpcb_node_close(node);
}

int hpcb_job_begin(const hpcb_ctl_t *ctl)
{
    hpcb_job_state_t job = {.begin_us = now_us()};
    hpcb_conf_t conf;
    hpcb_error_t err;

    hpcb_log_set_sink(log_line);
    if (which_job("begin", &job))
        return 0;
    classify(&conf, load_conf(ctl, &conf), &job);
    drop_earlier_run(&conf, &job);
    job.yield_waits = hpcb_class_yields(&conf, job.klass, job.partition, job.policy);
    hpcb_class_window(&conf, job.klass, job.partition, &job.window, &job.window);
    if (job.klass == HPCB_CLASS_UNKNOWN)
        hpcb_log(HPCB_LOG_ERROR,
                 "job %" PRIu32 ": nothing tells its class; it runs as "
                 "without slurm-hpc-balance",
                 job.job_id);
    else if (hpcb_state_save(conf.state_dir, &job, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job.job_id, err.text);
        stand_in(&conf, &job);
    } else {
        save_cpus(&conf, job.job_id);
        save_about(&conf, job.job_id);
        if (job.klass == HPCB_CLASS_PRIMARY)
            hpcb_beside_begin(&conf, job.job_id);
    }
    return 0;
}

/*
 * The prolog's data take precedence, because an epilog may have no credential, and
 * because slurmctld counts a requeue before it starts the epilog of the run that it
 * ends.
 */
static void describe_job(const hpcb_conf_t *conf, uint32_t job_id, bool recorded,
                         hpcb_about_t *about)
{
    hpcb_about_t now;
    hpcb_error_t err;

    if (hpcb_about_load(conf->state_dir, job_id, about, &err))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err.text);
    hpcb_about_from_env(&now);
    if (recorded)
        now.restart = about->restart;
    hpcb_about_fill(about, &now);
}

/* Returns whether the prolog has recorded the job; what it has not is known to have
 * ended here, and what the environment says. */
static bool describe_end(const hpcb_conf_t *conf, bool conf_read,
                         const hpcb_job_state_t *asked, hpcb_record_t *record)
{
    hpcb_error_t err;
    bool recorded =
        hpcb_state_load(conf->state_dir, asked->job_id, &record->job, &err) == 0 &&
        record->job.uid == asked->uid;

    record->end_us = now_us();
    if (!recorded) {
        record->job = *asked;
        record->job.begin_us = record->end_us;
        classify(conf, conf_read, &record->job);
    }
    describe_job(conf, asked->job_id, recorded, &record->about);
    hpcb_node_name(record->node, sizeof(record->node));
    if (hpcb_text_copy(record->cluster, sizeof(record->cluster),
                       env_text("SLURM_CLUSTER_NAME")))
        record->cluster[0] = '\0';
    record->cpus = cpus_in_env();
    if (record->cpus == 0)
        record->cpus = hpcb_cpus_load(conf->state_dir, asked->job_id);
    return recorded;
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

/* Get the recorded usage of steps, and the present usage of their groups.  The groups
 * are removed: their figures go to the state at once, so that they survive a kill. */
static void collect_usage(const hpcb_conf_t *conf, hpcb_node_t *node, uint32_t job_id,
                          hpcb_usage_t *usage)
{
    hpcb_usage_t rest = {0};
    hpcb_error_t err;
    bool kept;

    if (node)
        complain(hpcb_meter_remove(node, job_id, &rest, &err), &err);
    kept = (rest.cpu_us || rest.run_delay_us) &&
           hpcb_state_add_usage(conf->state_dir, job_id, HPCB_USAGE_STEP, &rest,
                                NULL) == 0;
    complain(hpcb_state_usage(conf->state_dir, job_id, usage, &err), &err);
    if (!kept)
        add_usage(usage, &rest);
}

/* Get hpcbd's measurements, up to this moment if it answers; the job ends anyway if it
 * does not. */
static void collect_measured(const hpcb_conf_t *conf, uint32_t job_id,
                             hpcb_measured_t *measured)
{
    (void)hpcb_tell_wait(conf->state_dir, "measure", job_id, MEASURE_MS, NULL);
    hpcb_measured_load(conf->state_dir, job_id, measured);
}

/* Guests and primaries that were on the node together know of each other. */
static void meet(const hpcb_conf_t *conf, hpcb_record_t *record)
{
    if (record->job.klass == HPCB_CLASS_GUEST)
        hpcb_beside_leave(conf, &record->job, record->usage.cpu_us);
    else if (record->job.klass == HPCB_CLASS_PRIMARY)
        hpcb_beside_end(conf, &record->job, &record->beside);
}

/*
 * Return whether the epilog of a job that has no state here, and no usage, must write a
 * record.  An epilog that has done its work leaves a record and no state; if it is
 * repeated it knows less than the first time.  The restart count may be that of the
 * next run: slurmctld counts some requeues before it starts the epilog of the run that
 * they end (22.05, _job_complete and _job_requeue_op), also if no prolog of that run
 * began here.  But slurmd may skip the prolog of a run that follows another one here
 * (22.05, slurm_cred_handle_reissue relies on _clear_expired_job_states, which runs
 * every two seconds at most): the record of that other one shows this.
 */
static bool is_new(const hpcb_conf_t *conf, const hpcb_record_t *record)
{
    bool used = record->usage.cpu_us > 0 || record->n_tasks > 0;
    hpcb_record_t before = *record;

    if (hpcb_state_is_over(conf->state_dir, record->job.job_id) ||
        hpcb_kept_is_written(conf, record))
        return false;
    if (used || record->about.restart == 0)
        return true;
    before.about.restart--;
    return hpcb_kept_is_written(conf, &before);
}

/* For hpcbctl metrics, which a count less harms less than one too many. */
static void add_to_totals(const hpcb_conf_t *conf, const hpcb_record_t *record)
{
    const uint64_t begin = record->job.begin_us, end = record->end_us;
    const bool guest = record->job.klass == HPCB_CLASS_GUEST;
    const hpcb_totals_t figures = {
        .jobs = 1,
        .cpu_us = record->usage.cpu_us,
        .wall_us = end > begin ? end - begin : 0,
        .run_delay_us = record->usage.run_delay_us,
        .evictions = guest && record->about.restart > 0,
    };
    hpcb_error_t err;

    complain(hpcb_totals_add(conf->spool_dir, record->job.klass, &figures, &err), &err);
}

/* State goes last: killed before that, another `job end` finishes.  The undo log goes
 * unplayed: what is in it ended with the job, and a process that survived its job must
 * not be lifted. */
static void remove_traces(const hpcb_conf_t *conf, hpcb_node_t *node, uint32_t job_id)
{
    hpcb_error_t err;

    if (node)
        complain(hpcb_isolate_cleanup(node, conf->guest_cgroup, job_id, &err), &err);
    complain(hpcb_state_remove(conf->state_dir, job_id, &err), &err);
    hpcb_tell(conf->state_dir, "end", job_id, NULL);
}

/* The epilog script kills it after five seconds, and slurmd runs no second one.  So
 * what may take long comes last: what a guest has left in memory, which may be millions
 * of files and is given two seconds, and then the disk of the spool and the totals. */
int hpcb_job_end(const hpcb_ctl_t *ctl)
{
    hpcb_job_state_t asked = {0};
    hpcb_task_usage_t tasks[HPCB_TASKS_MAX];
    hpcb_record_t record = {.tasks = tasks};
    hpcb_node_t *node = NULL;
    hpcb_conf_t conf;
    hpcb_error_t err;
    bool recorded, counts;

    hpcb_log_set_sink(log_line);
    if (which_job("end", &asked))
        return 0;
    recorded = describe_end(&conf, load_conf(ctl, &conf), &asked, &record);
    complain(hpcb_node_open("/", &node, &err), &err);
    collect_measured(&conf, asked.job_id, &record.measured);
    hpcb_ended_load(conf.state_dir, asked.job_id, record.ended_for);
    collect_usage(&conf, node, asked.job_id, &record.usage);
    record.n_tasks = hpcb_tasks_load(conf.state_dir, asked.job_id, tasks);
    if (recorded)
        meet(&conf, &record);
    counts = recorded || is_new(&conf, &record);
    if (counts)
        hpcb_kept_add(&conf, &record);
    free(record.beside.guests);
    remove_traces(&conf, node, asked.job_id);
    if (recorded && record.job.klass == HPCB_CLASS_GUEST && conf.guest_remove_ipc)
        hpcb_leftovers_remove(conf.state_dir, &record.job, HPCB_LEFTOVERS_DIR);
    hpcb_kept_spool(&conf);
    if (counts)
        add_to_totals(&conf, &record);
    hpcb_node_close(node);
    return 0;
}
