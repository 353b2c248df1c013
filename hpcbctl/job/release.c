/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * `hpcbctl release`.  Each step is independent and may find its work done, so that it
 * can be run at any time, again after a crash, and while jobs run:
 *   thaw      frozen groups of ours
 *   replay    the undo log: knobs and tasks get back their old state
 *   cookies   of core scheduling, inherited by children that are in no log
 *   realtime  a guest's thread loses a real-time policy (cgroup/exiting.c gives one to
 *             processes that exit)
 *   scores    (oom_score_adj), like cookies
 *   remove    guest groups (children that are in no log leave them) and meter groups,
 *             whose figures go to the job's usage first
 *   forget    everything older than the boot of this machine
 * Leftovers of a job are found without its record, by the log and by its groups.
 *
 * Records (and usage) of this boot stay.  A job between two steps has no process, and
 * without the record its next step would not be a guest; the epilog removes them.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/favour.h"
#include "cgroup/freeze.h"
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "cgroup/siblings.h"
#include "cgroup/slices.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbctl/job/balance.h"
#include "hpcbctl/output.h"
#include "hpcbctl/job/release.h"
#include "hpcbctl/job/release_conf.h"
#include "hpcbctl/tasks.h"
#include "hpcbctl/verbs.h"
#include "sensor/meter.h"

typedef struct {
    const hpcb_conf_t *conf;
    const hpcb_node_t *node;
    int64_t boot;
    unsigned *problems;
    const hpcb_task_t *tasks; /* of all jobs, as they were before anything was undone */
    size_t n_tasks;
} release_t;

typedef struct {
    uint32_t job_id;
    uint64_t restored; /* entries of the undo log */
    uint64_t moved;    /* processes that were in the guest group */
    bool groups;       /* had groups of ours, now removed */
    bool forgotten;    /* its state was older than the boot */
    bool complete;
} done_t;

static void failed(const release_t *release, done_t *done, const hpcb_error_t *err)
{
    hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", done->job_id, err->text);
    done->complete = false;
    ++*release->problems;
}

static bool unified_beside_v1(const hpcb_node_t *node)
{
    return hpcb_node_mount(node, HPCB_CTL_UNIFIED) &&
           hpcb_node_version(node, HPCB_CTL_CPU) != 2;
}

static bool has_meter(const release_t *release, uint32_t job_id)
{
    const char *mount = hpcb_node_mount(release->node, HPCB_CTL_UNIFIED);
    char name[64];

    hpcb_node_job_group(HPCB_UNIFIED_GROUP, job_id, name, sizeof(name));
    return unified_beside_v1(release->node) && hpcb_knob_exists(mount, name);
}

/* Of a job that is not recorded. */
static int find_place(const release_t *release, uint32_t job_id, char *dir, size_t size)
{
    for (size_t i = 0; i < release->n_tasks; i++)
        if (release->tasks[i].job_id == job_id &&
            hpcb_steps_job(release->node, release->tasks[i].pid, dir, size, NULL) == 0)
            return 0;
    return -1;
}

/* Whatever the log of frozen levels says. */
static void thaw(const release_t *release, done_t *done)
{
    char dir[PATH_MAX];
    hpcb_error_t err;

    done->groups |= has_meter(release, done->job_id);
    if (hpcb_state_load_place(release->conf->state_dir, done->job_id, dir, sizeof(dir),
                              NULL) < 0 &&
        find_place(release, done->job_id, dir, sizeof(dir)) < 0)
        dir[0] = '\0';
    if (hpcb_freeze_thaw_job(release->node, done->job_id, dir, &err) < 0)
        failed(release, done, &err);
}

static void replay(const release_t *release, done_t *done)
{
    hpcb_error_t err;
    int restored;

    restored = hpcb_undo_replay(release->conf->state_dir, done->job_id, &err);
    if (restored < 0)
        failed(release, done, &err);
    else
        done->restored = (uint64_t)restored;
}

/* A guest, or a job without a record for which something was done to its tasks.
 * Primaries may have real-time tasks and use core scheduling for themselves; on cgroup
 * v2 they too have an undo log, for their weight. */
static bool was_lowered(const release_t *release, uint32_t job_id)
{
    hpcb_job_state_t state;
    char name[32];

    if (hpcb_state_load(release->conf->state_dir, job_id, &state, NULL) == 0)
        return state.klass == HPCB_CLASS_GUEST;
    snprintf(name, sizeof(name), "jobs/%" PRIu32 ".undo", job_id);
    return hpcb_knob_exists(release->conf->state_dir, name) ||
           hpcb_guest_marked(release->node, release->conf->guest_cgroup, job_id, 0);
}

static void take_cookies(const release_t *release, done_t *done)
{
    hpcb_error_t err;

    for (size_t i = 0; i < release->n_tasks; i++) {
        if (release->tasks[i].job_id == done->job_id &&
            hpcb_siblings_free(release->tasks[i].pid, &err) < 0)
            failed(release, done, &err);
    }
}

static void end_realtime(const release_t *release, done_t *done)
{
    hpcb_error_t err;

    for (size_t i = 0; i < release->n_tasks; i++) {
        if (release->tasks[i].job_id == done->job_id &&
            hpcb_task_end_realtime(release->tasks[i].pid, &err) < 0)
            failed(release, done, &err);
    }
}

/* Restore an inherited score; one that a user has set stays. */
static void restore_score(pid_t pid, const char *guests, const char *old)
{
    char now[16];

    if (hpcb_task_get(pid, "oom_score_adj", now, sizeof(now), NULL) == 0 &&
        strcmp(now, guests) == 0)
        hpcb_task_set(pid, "oom_score_adj", old, NULL);
}

/* old: as tasks of the job had it before they were lowered. */
static void restore_scores(const release_t *release, uint32_t job_id, const char *old)
{
    char guests[16];

    snprintf(guests, sizeof(guests), "%d", release->conf->guest_oom_score_adj);
    for (size_t i = 0; i < release->n_tasks; i++)
        if (release->tasks[i].job_id == job_id)
            restore_score(release->tasks[i].pid, guests, old);
}

static void remove_group(const release_t *release, done_t *done, const char *name)
{
    char group[HPCB_NAME_MAX + 32];
    hpcb_error_t err;

    snprintf(group, sizeof(group), "%s/%s_%" PRIu32, release->conf->guest_cgroup, name,
             done->job_id);
    if (!hpcb_group_exists(release->node, HPCB_CTL_CPU, group))
        return;
    done->groups = true;
    if (hpcb_group_delete(release->node, HPCB_CTL_CPU, group, &err) < 0)
        failed(release, done, &err);
}

/* v1: children of guests' tasks are in the group and in no log.  They are left in the
 * common group, which goes, and they with it to the root, in remove_common. */
static void remove_guest_groups(const release_t *release, done_t *done)
{
    if (hpcb_node_version(release->node, HPCB_CTL_CPU) == 1)
        remove_group(release, done, "job");
    remove_group(release, done, "guest");
}

static bool has_record(const release_t *release, uint32_t job_id)
{
    char name[32];

    snprintf(name, sizeof(name), "jobs/%" PRIu32, job_id);
    return hpcb_knob_exists(release->conf->state_dir, name);
}

/* Keep the counts so far for the job's record. */
static void remove_meter(const release_t *release, done_t *done)
{
    hpcb_usage_t usage = {0};
    hpcb_error_t err;

    if (!unified_beside_v1(release->node))
        return;
    if (hpcb_meter_remove(release->node, done->job_id, &usage, &err) < 0)
        failed(release, done, &err);
    if (has_record(release, done->job_id) && (usage.cpu_us || usage.run_delay_us) &&
        hpcb_state_add_usage(release->conf->state_dir, done->job_id, HPCB_USAGE_STEP,
                             &usage, &err) < 0)
        failed(release, done, &err);
}

static bool is_of_job(const char *name, uint32_t job_id)
{
    char prefix[16];
    size_t length;

    snprintf(prefix, sizeof(prefix), "%" PRIu32, job_id);
    length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 &&
           (name[length] == '\0' || name[length] == '.');
}

/* True where the job has state here and all of it is older than the boot. */
static bool is_stale(const release_t *release, uint32_t job_id)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char dir[PATH_MAX];
    bool found = false;

    if (hpcb_knob_path(release->conf->state_dir, "jobs", dir, sizeof(dir), NULL) == 0)
        handle = opendir(dir);
    while (handle && (entry = readdir(handle))) {
        struct stat status;

        if (!is_of_job(entry->d_name, job_id))
            continue;
        if (fstatat(dirfd(handle), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            status.st_mtim.tv_sec >= release->boot)
            return false;
        found = true;
    }
    return found;
}

static void forget(const release_t *release, done_t *done)
{
    hpcb_error_t err;

    if (hpcb_state_remove(release->conf->state_dir, done->job_id, &err) < 0)
        failed(release, done, &err);
    else
        done->forgotten = true;
}

/*
 * A setting of Slurm's own directory (v2) outlives a lost log; so does a task that
 * could not be moved.  Rows that only affect the task (SCHED_IDLE, nice) may be the
 * user's own choice and are not checked.
 */
static void verify(const release_t *release, done_t *done)
{
    static const char *const rows[] = {"idle-group", "weight"};
    const hpcb_target_t target = {
        .node = release->node,
        .job_id = done->job_id,
        .guest_cgroup = release->conf->guest_cgroup,
        .pid = hpcb_tasks_any(release->node, release->conf, done->job_id),
    };
    hpcb_error_t err;

    for (size_t i = 0; target.pid && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (hpcb_mechanism_find(rows[i])->verify(&target, NULL) < 0)
            continue;
        hpcb_error(&err, "%s is still in force for task %d", rows[i], (int)target.pid);
        failed(release, done, &err);
        return;
    }
}

static void release_job(const release_t *release, done_t *done)
{
    bool stale = is_stale(release, done->job_id);
    bool lowered = was_lowered(release, done->job_id);
    char score[16];
    bool scored = hpcb_undo_first(release->conf->state_dir, done->job_id,
                                  "oom_score_adj", score, sizeof(score), NULL) == 1;

    done->moved =
        hpcb_tasks_guest(release->node, release->conf->guest_cgroup, done->job_id);
    thaw(release, done);
    replay(release, done);
    if (lowered) {
        take_cookies(release, done);
        end_realtime(release, done);
    }
    if (scored)
        restore_scores(release, done->job_id, score);
    remove_guest_groups(release, done);
    remove_meter(release, done);
    verify(release, done);
    if (stale && done->complete)
        forget(release, done);
}

static json_object *report_of(const done_t *done)
{
    json_object *object = json_object_new_object();

    if (object && hpcb_json_u64(object, "job_id", done->job_id) == 0 &&
        hpcb_json_u64(object, "restored", done->restored) == 0 &&
        hpcb_json_u64(object, "moved", done->moved) == 0 &&
        hpcb_json_bool(object, "groups_removed", done->groups) == 0 &&
        hpcb_json_bool(object, "forgotten", done->forgotten) == 0 &&
        hpcb_json_bool(object, "complete", done->complete) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static int release_jobs(const release_t *release, json_object *jobs)
{
    hpcb_autofree uint32_t *ids = NULL;
    size_t count;
    hpcb_error_t err;

    if (hpcb_tasks_jobs(release->node, release->conf, &ids, &count, &err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        done_t done = {.job_id = ids[i], .complete = true};

        release_job(release, &done);
        if (hpcb_json_append(jobs, report_of(&done)) < 0)
            return -1;
    }
    return 0;
}

static bool has_groups(const char *dir)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX];
    struct stat status;

    while (handle && (entry = readdir(handle))) {
        if (entry->d_name[0] != '.' &&
            hpcb_knob_path(dir, entry->d_name, path, sizeof(path), NULL) == 0 &&
            lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
            return true;
    }
    return false;
}

/* If it has groups with names other than ours, it belongs to others (a wrong
 * GuestCgroup) and stays. */
static void remove_common(const release_t *release)
{
    const char *name = release->conf->guest_cgroup;
    const char *mount = hpcb_node_mount(release->node, HPCB_CTL_CPU);
    char dir[PATH_MAX];
    hpcb_error_t err;

    if (!mount || hpcb_knob_path(mount, name, dir, sizeof(dir), NULL) < 0 ||
        !hpcb_knob_exists(dir, ""))
        return;
    if (has_groups(dir))
        hpcb_error(&err, "%s: holds groups that are not ours, or would not go", dir);
    else if (hpcb_group_delete(release->node, HPCB_CTL_CPU, name, &err) == 0)
        return;
    hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    ++*release->problems;
}

json_object *hpcb_release_all(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              int64_t boot, unsigned *problems)
{
    hpcb_autofree hpcb_task_t *tasks = NULL;
    release_t release = {
        .conf = conf, .node = node, .boot = boot, .problems = problems};
    hpcb_autojson json_object *jobs = json_object_new_array();
    json_object *report = json_object_new_object();
    char name[HPCB_NAME_MAX];
    hpcb_error_t err;

    if (hpcb_tasks_scan(node, conf, &tasks, &release.n_tasks, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        ++*problems;
    }
    release.tasks = tasks;
    if (jobs && release_jobs(&release, jobs) == 0) {
        remove_common(&release);
        if (report &&
            hpcb_json_text(report, "node", hpcb_node_name(name, sizeof(name))) == 0 &&
            hpcb_json_bool(report, "complete", *problems == 0) == 0 &&
            hpcb_json_add(report, "jobs", json_object_get(jobs)) == 0)
            return report;
    }
    json_object_put(report);
    return NULL;
}

static void print_release(json_object *report, FILE *out)
{
    json_object *jobs = json_object_object_get(report, "jobs");
    size_t count = json_object_array_length(jobs);

    if (count == 0)
        fprintf(out, "Nothing to undo on %s.\n", hpcb_json_get_text(report, "node"));
    for (size_t i = 0; i < count; i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        fprintf(out,
                "job %" PRIu64 ": %" PRIu64 " settings restored, %" PRIu64
                " processes moved%s%s%s\n",
                hpcb_json_get_u64(job, "job_id"), hpcb_json_get_u64(job, "restored"),
                hpcb_json_get_u64(job, "moved"),
                hpcb_json_get_bool(job, "groups_removed") ? ", groups removed" : "",
                hpcb_json_get_bool(job, "forgotten") ? ", forgotten" : "",
                hpcb_json_get_bool(job, "complete") ? "" : ", NOT COMPLETE");
    }
}

/* Return when this machine started, in seconds of CLOCK_REALTIME; 0 (nothing is older)
 * if the kernel does not show it. */
static int64_t boot_time(void)
{
    hpcb_autofclose FILE *stream = fopen("/proc/stat", "re");
    hpcb_autofree char *line = NULL;
    int64_t boot = 0;
    size_t size = 0;

    while (stream && getline(&line, &size, stream) > 0) {
        if (sscanf(line, "btime %" SCNd64, &boot) == 1)
            return boot;
    }
    return 0;
}

static int print(json_object *report, bool json)
{
    if (json)
        return hpcb_json_print(report, stdout);
    print_release(report, stdout);
    return fflush(stdout);
}

/* Release what a killed hpcbd has left boosted, frozen or with long slices. */
static void release_windows(const hpcb_conf_t *conf, const hpcb_node_t *node,
                            unsigned *problems)
{
    char dir[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_knob_path(conf->state_dir, "window", dir, sizeof(dir), &err) < 0 ||
        hpcb_favour_release(node, dir, conf->window_cgroup, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "windows: %s", err.text);
        ++*problems;
    }
    if (hpcb_freeze_release(node, conf->state_dir, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "frozen guests: %s", err.text);
        ++*problems;
    }
    if (hpcb_slices_release(node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "long slices: %s", err.text);
        ++*problems;
    }
}

/* And weights and places of ranks. */
static void release_balance(const hpcb_conf_t *conf, const hpcb_node_t *node,
                            unsigned *problems)
{
    hpcb_error_t err;

    if (hpcb_balance_release(node, conf, &err) >= 0)
        return;
    hpcb_log(HPCB_LOG_ERROR, "balance: %s", err.text);
    ++*problems;
}

/* Limits that hpcbd has set below Slurm's. */
static void release_memory(const hpcb_conf_t *conf, unsigned *problems)
{
    hpcb_error_t err;

    if (hpcb_undo_replay_lent(conf->state_dir, &err) >= 0)
        return;
    hpcb_log(HPCB_LOG_ERROR, "memory of guests: %s", err.text);
    ++*problems;
}

int hpcb_release(const hpcb_ctl_t *ctl)
{
    hpcb_autojson json_object *report = NULL;
    hpcb_node_t *node;
    unsigned problems = 0;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (geteuid() != 0) {
        hpcb_log(HPCB_LOG_ERROR, "release: only root can undo what was done to jobs");
        return 1;
    }
    if (!hpcb_release_conf(ctl, &conf))
        problems++;
    if (hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return 1;
    }
    release_windows(&conf, node, &problems);
    release_balance(&conf, node, &problems);
    release_memory(&conf, &problems);
    report = hpcb_release_all(&conf, node, boot_time(), &problems);
    hpcb_node_close(node);
    if (!report || print(report, ctl->json) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "release: %s",
                 report ? "cannot write to stdout" : "out of memory");
        return 1;
    }
    return problems ? 1 : 0;
}
