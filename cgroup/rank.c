/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/frequency.h"
#include "cgroup/knob.h"
#include "cgroup/quota.h"
#include "cgroup/rank.h"
#include "cgroup/task.h"
#include "cgroup/tree.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "policy/share.h"

/* Name of the mechanism in the undo log. */
#define MECHANISM "rank"

/* v1: NICE_0_LOAD as cpu.shares, what one process in the root group weighs. */
#define SHARES_ONE 1024

/* Processes of a rank that are placed and read: the task, a wrapper or two around it,
 * and what it starts. */
#define PROCESSES_MAX 32

typedef struct {
    pid_t pid;
    uint64_t start;
} process_t;

/* Whether it may get a quota: tried once, after it is in the undo log. */
typedef enum { LIMITS_UNTRIED, LIMITS_REFUSED, LIMITS_READY } limits_t;

struct hpcb_rank {
    hpcb_rank_spec_t spec;
    char group[PATH_MAX];
    char meter[PATH_MAX]; /* v1: the group with all processes of the rank, or "" */
    const char *knob;
    bool ours;
    uint32_t top, weight;
    limits_t limits;
    uint32_t share; /* of a CPU's time, that it may have at most */
    char preference[HPCB_FREQUENCY_TEXT_MAX]; /* of its CPU, before; "": not noted */
    unsigned below;                           /* by how much that is lowered */
    bool pinned;
    unsigned cpu;
    hpcb_cpus_t held;                /* all that it has been pinned to */
    char before[HPCB_TASK_TEXT_MAX]; /* the task's places before that */
    process_t noted[PROCESSES_MAX];  /* whose places are in the undo log */
    unsigned n_noted;
};

/* `hpcbctl release` may have replayed and removed the log since, also while this is
 * being written. */
static int write_knob(const hpcb_rank_t *rank, const char *knob, const char *text,
                      hpcb_error_t *err)
{
    if (hpcb_undo_renew(rank->spec.undo, err) < 0 ||
        hpcb_knob_write(rank->group, knob, text, err) < 0)
        return -1;
    return hpcb_undo_renew(rank->spec.undo, err);
}

/* Cut dir, of a task of Slurm's, after its component task_<T>; -1 where there is none.
 */
static int cut_at_task(char *dir, size_t job_length)
{
    char *task = strstr(dir + job_length, "/task_");
    char *end = task ? strchr(task + 1, '/') : NULL;

    if (end)
        *end = '\0';
    return task ? 0 : -1;
}

/* Find Slurm's own directory of the task, if it has cpu knobs. */
static int find_slurms(hpcb_rank_t *rank, hpcb_error_t *err)
{
    const hpcb_rank_spec_t *spec = &rank->spec;
    char job[PATH_MAX], old[32], path[PATH_MAX];
    uint64_t top;

    if (hpcb_node_job_dir(spec->node, spec->pid, HPCB_CTL_CPU, job, sizeof(job), err) <
            0 ||
        hpcb_node_task_dir(spec->node, spec->pid, HPCB_CTL_CPU, rank->group,
                           sizeof(rank->group), err) < 0)
        return -1;
    if (cut_at_task(rank->group, strlen(job)) < 0 ||
        !hpcb_knob_exists(rank->group, rank->knob))
        return hpcb_error(err, "%s: Slurm gives its tasks no cpu groups of their own",
                          job);
    if (hpcb_knob_read(rank->group, rank->knob, old, sizeof(old), err) < 0 ||
        hpcb_knob_path(rank->group, rank->knob, path, sizeof(path), err) < 0)
        return -1;
    if (hpcb_text_u64(old, UINT32_MAX, &top) || top == 0)
        return hpcb_error(err, "%s is \"%s\"", path, old);
    rank->top = (uint32_t)top;
    return hpcb_undo_note_file(spec->undo, path, old, err);
}

/* The meter (sensor/meter.h) keeps each task's processes together on v1. */
static void find_meter(hpcb_rank_t *rank)
{
    const hpcb_rank_spec_t *spec = &rank->spec;
    const char *mount = hpcb_node_mount(spec->node, HPCB_CTL_UNIFIED);
    char job[64], name[128];

    hpcb_node_job_group(HPCB_UNIFIED_GROUP, spec->job_id, job, sizeof(job));
    snprintf(name, sizeof(name), "%s/%.20s.%" PRIu32, job, spec->step, spec->task);
    if (!mount ||
        hpcb_knob_path(mount, name, rank->meter, sizeof(rank->meter), NULL) < 0)
        rank->meter[0] = '\0';
}

static int name_ours(const hpcb_rank_spec_t *spec, char group[PATH_MAX],
                     hpcb_error_t *err)
{
    char name[HPCB_TASK_TEXT_MAX];

    snprintf(name, sizeof(name), "%s_%" PRIu32 "_%s_%" PRIu32, spec->cgroup,
             spec->job_id, spec->step, spec->task);
    return hpcb_knob_path(hpcb_node_mount(spec->node, HPCB_CTL_CPU), name, group,
                          PATH_MAX, err);
}

static int make_ours(hpcb_rank_t *rank, hpcb_error_t *err)
{
    const hpcb_rank_spec_t *spec = &rank->spec;
    const char *mount = hpcb_node_mount(spec->node, HPCB_CTL_CPU);
    const char *cpuset = hpcb_node_mount(spec->node, HPCB_CTL_CPUSET);
    char dir[PATH_MAX];

    if (cpuset && strcmp(mount, cpuset) == 0)
        return hpcb_error(err, "cpuset is mounted together with cpu");
    if (name_ours(spec, rank->group, err) < 0 ||
        hpcb_node_task_dir(spec->node, spec->pid, HPCB_CTL_CPU, dir, sizeof(dir), err) <
            0)
        return -1;
    if (strcmp(dir, mount) != 0 && strcmp(dir, rank->group) != 0)
        return hpcb_error(err, "its tasks are in %s, not in the root group", dir);
    find_meter(rank);
    rank->ours = true;
    rank->top = SHARES_ONE;
    return hpcb_knob_mkdir(rank->group, "", err);
}

/* v1, and Slurm gives its jobs no cpu groups. */
bool hpcb_rank_moves(const hpcb_rank_spec_t *spec)
{
    char job[PATH_MAX];

    return hpcb_node_version(spec->node, HPCB_CTL_CPU) == 1 &&
           hpcb_node_job_dir(spec->node, spec->pid, HPCB_CTL_CPU, job, sizeof(job),
                             NULL) < 0;
}

static int find_group(hpcb_rank_t *rank, hpcb_error_t *err)
{
    const hpcb_node_t *node = rank->spec.node;
    int version = hpcb_node_version(node, HPCB_CTL_CPU);

    if (hpcb_node_sched_ext(node))
        return hpcb_error(
            err, "a sched_ext scheduler is loaded, which need not obey weights");
    if (version == 0)
        return hpcb_error(err, "no cpu controller is mounted");
    rank->knob = version == 1 ? "cpu.shares" : "cpu.weight";
    return hpcb_rank_moves(&rank->spec) ? make_ours(rank, err) : find_slurms(rank, err);
}

int hpcb_rank_open(const hpcb_rank_spec_t *spec, hpcb_rank_t **rank, hpcb_error_t *err)
{
    hpcb_rank_t *made = calloc(1, sizeof(*made));

    if (!made)
        return hpcb_error(err, "out of memory");
    made->spec = *spec;
    made->share = HPCB_SHARE_ONE;
    hpcb_undo_scope(spec->undo, MECHANISM, spec->pid);
    if (find_group(made, err) < 0 || hpcb_rank_look(made, err) < 0 ||
        hpcb_rank_weigh(made, made->top, err) < 0) {
        hpcb_rank_close(made);
        return -1;
    }
    *rank = made;
    return 0;
}

/* Up to PROCESSES_MAX of the group at dir. */
static unsigned list(const char *dir, pid_t pids[static PROCESSES_MAX])
{
    hpcb_autofree char *text = hpcb_knob_read_all(dir, "cgroup.procs", NULL);
    char *save = NULL;
    unsigned n = 0;

    if (!text)
        return 0;
    for (char *pid = strtok_r(text, "\n", &save); pid && n < PROCESSES_MAX;
         pid = strtok_r(NULL, "\n", &save))
        pids[n++] = (pid_t)atoi(pid);
    return n;
}

/* Move to our group, unless the process was moved elsewhere by others. */
static void join(const hpcb_rank_t *rank, pid_t pid)
{
    const char *mount = hpcb_node_mount(rank->spec.node, HPCB_CTL_CPU);
    char dir[PATH_MAX], text[16];

    snprintf(text, sizeof(text), "%d", (int)pid);
    if (hpcb_node_task_dir(rank->spec.node, pid, HPCB_CTL_CPU, dir, sizeof(dir),
                           NULL) == 0 &&
        strcmp(dir, mount) == 0)
        hpcb_knob_write(rank->group, "cgroup.procs", text, NULL);
}

/* All of the rank. */
static void join_all(const hpcb_rank_t *rank)
{
    pid_t pids[PROCESSES_MAX];
    unsigned n = *rank->meter ? list(rank->meter, pids) : 0;

    join(rank, rank->spec.pid);
    for (unsigned i = 0; i < n; i++)
        join(rank, pids[i]);
}

void hpcb_rank_gather(const hpcb_rank_spec_t *spec)
{
    hpcb_rank_t rank = {.spec = *spec};
    hpcb_error_t err;

    if (!hpcb_node_sched_ext(spec->node) && hpcb_rank_moves(spec) &&
        make_ours(&rank, &err) == 0)
        join_all(&rank);
}

void hpcb_rank_scatter(const hpcb_rank_spec_t *spec)
{
    const char *mount = hpcb_node_mount(spec->node, HPCB_CTL_CPU);
    char group[PATH_MAX];

    if (hpcb_rank_moves(spec) && name_ours(spec, group, NULL) == 0)
        hpcb_tree_remove(group, mount, NULL);
}

static bool is_noted(const hpcb_rank_t *rank, pid_t pid, uint64_t start)
{
    for (unsigned i = 0; i < rank->n_noted; i++)
        if (rank->noted[i].pid == pid && rank->noted[i].start == start)
            return true;
    return false;
}

/* Drop the entries of processes that have ended. */
static void forget_gone(hpcb_rank_t *rank)
{
    for (unsigned i = rank->n_noted; i-- > 0;) {
        uint64_t start;

        if (hpcb_task_start(rank->noted[i].pid, &start) < 0 ||
            start != rank->noted[i].start)
            rank->noted[i] = rank->noted[--rank->n_noted];
    }
}

/* Get the CPUs of pid without our pinning, which it may have inherited from a pinned
 * parent. */
static int places_of(hpcb_rank_t *rank, pid_t pid, char old[HPCB_TASK_TEXT_MAX],
                     hpcb_error_t *err)
{
    hpcb_cpus_t cpus;

    if (hpcb_task_get(pid, "process-affinity", old, HPCB_TASK_TEXT_MAX, err) < 0 ||
        hpcb_task_cpus(pid, &cpus, err) < 0)
        return -1;
    if (!rank->before[0])
        strcpy(rank->before, old);
    else if (hpcb_cpus_count(&cpus) == 1 && hpcb_cpus_within(&cpus, &rank->held))
        strcpy(old, rank->before);
    return 0;
}

/* Log the CPUs of pid, once.  Return -1 with errno on failure. */
static int note_places(hpcb_rank_t *rank, pid_t pid, hpcb_error_t *err)
{
    char old[HPCB_TASK_TEXT_MAX];
    uint64_t start;

    if (hpcb_task_start(pid, &start) < 0)
        return hpcb_error(err, "task %d: %s", (int)pid, strerror(errno));
    if (is_noted(rank, pid, start))
        return 0;
    if (rank->n_noted == PROCESSES_MAX)
        forget_gone(rank);
    if (rank->n_noted == PROCESSES_MAX) {
        errno = ENOSPC;
        return hpcb_error(err, "task %d has started more than %d processes",
                          (int)rank->spec.pid, PROCESSES_MAX);
    }
    hpcb_undo_scope(rank->spec.undo, MECHANISM, rank->spec.pid);
    if (places_of(rank, pid, old, err) < 0 ||
        hpcb_undo_note_task(rank->spec.undo, pid, "process-affinity", old, err) < 0)
        return -1;
    rank->noted[rank->n_noted++] = (process_t){pid, start};
    return 0;
}

static int pin_one(hpcb_rank_t *rank, pid_t pid, hpcb_error_t *err)
{
    char mask[HPCB_TASK_TEXT_MAX];
    hpcb_cpus_t cpus = {{0}};

    hpcb_cpus_add(&cpus, rank->cpu);
    if (hpcb_task_mask(&cpus, mask, sizeof(mask)) < 0 ||
        note_places(rank, pid, err) < 0)
        return -1;
    return hpcb_task_set(pid, "process-affinity", mask, err);
}

static bool has_gone(int error)
{
    return error == ESRCH || error == ENOENT;
}

static int pin_all(hpcb_rank_t *rank, hpcb_error_t *err)
{
    pid_t pids[PROCESSES_MAX];
    unsigned n = list(rank->group, pids);

    if (hpcb_undo_renew(rank->spec.undo, err) < 0)
        return -1;
    for (unsigned i = 0; i < n; i++)
        if (pin_one(rank, pids[i], err) < 0 && !has_gone(errno))
            return -1;
    return hpcb_undo_renew(rank->spec.undo, err);
}

static int check_weight(const hpcb_rank_t *rank, hpcb_error_t *err)
{
    uint64_t weight;

    if (hpcb_knob_number(rank->group, rank->knob, &weight, err) < 0)
        return -1;
    if (rank->weight == 0 || rank->weight == weight)
        return 0;
    errno = ESTALE;
    return hpcb_error(err, "%s: %s is %" PRIu64 ", not %" PRIu32, rank->group,
                      rank->knob, weight, rank->weight);
}

int hpcb_rank_look(hpcb_rank_t *rank, hpcb_error_t *err)
{
    if (check_weight(rank, err) < 0)
        return -1;
    if (rank->ours)
        join_all(rank);
    return rank->pinned ? pin_all(rank, err) : 0;
}

uint32_t hpcb_rank_top(const hpcb_rank_t *rank)
{
    return rank->top;
}

const char *hpcb_rank_group(const hpcb_rank_t *rank)
{
    return rank->group;
}

int hpcb_rank_weigh(hpcb_rank_t *rank, uint32_t weight, hpcb_error_t *err)
{
    char text[16];

    if (weight == rank->weight)
        return 0;
    snprintf(text, sizeof(text), "%" PRIu32, weight);
    if (write_knob(rank, rank->knob, text, err) < 0)
        return -1;
    rank->weight = weight;
    return 0;
}

/* Log the content of knob. */
static int note_knob(const hpcb_rank_t *rank, const char *knob, hpcb_error_t *err)
{
    char path[PATH_MAX], old[HPCB_QUOTA_TEXT_MAX];

    if (hpcb_knob_read(rank->group, knob, old, sizeof(old), err) < 0 ||
        hpcb_knob_path(rank->group, knob, path, sizeof(path), err) < 0)
        return -1;
    return hpcb_undo_note_file(rank->spec.undo, path, old, err);
}

/* Before the first limit: on v1 the period is a knob of its own. */
static int begin_limits(hpcb_rank_t *rank, int version, hpcb_error_t *err)
{
    const char *knob = hpcb_quota_knob(version);
    hpcb_quota_t quota;

    rank->limits = LIMITS_REFUSED;
    if (hpcb_quota_read(version, rank->group, &quota, err) < 0)
        return -1;
    if (quota.us != HPCB_QUOTA_NONE) {
        errno = EBUSY;
        return hpcb_error(err, "%s has a quota already", rank->group);
    }
    hpcb_undo_scope(rank->spec.undo, MECHANISM, rank->spec.pid);
    if (note_knob(rank, knob, err) < 0 ||
        (version == 1 && note_knob(rank, HPCB_QUOTA_PERIOD, err) < 0))
        return -1;
    rank->limits = LIMITS_READY;
    return 0;
}

/* v1: with every quota, because a release gives the period back. */
static int write_period(const hpcb_rank_t *rank, hpcb_error_t *err)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", HPCB_RANK_PERIOD_US);
    return write_knob(rank, HPCB_QUOTA_PERIOD, text, err);
}

int hpcb_rank_limit(hpcb_rank_t *rank, uint32_t share, hpcb_error_t *err)
{
    int version = hpcb_node_version(rank->spec.node, HPCB_CTL_CPU);
    hpcb_quota_t quota = {HPCB_QUOTA_NONE, HPCB_RANK_PERIOD_US};
    char text[HPCB_QUOTA_TEXT_MAX];

    if (share == rank->share)
        return 0;
    if (rank->limits == LIMITS_UNTRIED && begin_limits(rank, version, err) < 0)
        return -1;
    if (rank->limits == LIMITS_REFUSED) {
        errno = EBUSY;
        return hpcb_error(err, "%s can be given no quota", rank->group);
    }
    if (share < HPCB_SHARE_ONE)
        quota.us = hpcb_share_quota(share, quota.period_us);
    hpcb_quota_text(version, &quota, text);
    if ((version == 1 && write_period(rank, err) < 0) ||
        write_knob(rank, hpcb_quota_knob(version), text, err) < 0)
        return -1;
    rank->share = share;
    return 0;
}

int hpcb_rank_hint(hpcb_rank_t *rank, unsigned cpu, unsigned below, hpcb_error_t *err)
{
    const hpcb_rank_spec_t *spec = &rank->spec;

    if (below == rank->below)
        return 0;
    hpcb_undo_scope(spec->undo, MECHANISM, spec->pid);
    if (!*rank->preference &&
        hpcb_frequency_note(spec->node, cpu, spec->undo, rank->preference, err) < 0)
        return -1;
    if (hpcb_undo_renew(spec->undo, err) < 0 ||
        hpcb_frequency_set(spec->node, cpu, below, rank->preference, err) < 0)
        return -1;
    rank->below = below;
    return hpcb_undo_renew(spec->undo, err);
}

int hpcb_rank_pin(hpcb_rank_t *rank, unsigned cpu, hpcb_error_t *err)
{
    int rc;

    if (rank->pinned && rank->cpu == cpu)
        return 0;
    if (!rank->pinned && note_places(rank, rank->spec.pid, err) < 0)
        return -1;
    rank->pinned = true;
    rank->cpu = cpu;
    rc = pin_all(rank, err);
    /* Some are pinned also if it failed. */
    hpcb_cpus_add(&rank->held, cpu);
    return rc;
}

/* Restore all that was changed.  Children since the last look have inherited the
 * pinning, too. */
static void revert(hpcb_rank_t *rank)
{
    pid_t pids[PROCESSES_MAX];
    unsigned n = rank->pinned ? list(rank->group, pids) : 0;

    for (unsigned i = 0; i < n; i++)
        note_places(rank, pids[i], NULL);
    hpcb_undo_revert(rank->spec.undo, MECHANISM, rank->spec.pid, NULL);
}

void hpcb_rank_close(hpcb_rank_t *rank)
{
    if (!rank)
        return;
    revert(rank);
    if (rank->ours)
        hpcb_tree_remove(rank->group, hpcb_node_mount(rank->spec.node, HPCB_CTL_CPU),
                         NULL);
    free(rank);
}

void hpcb_rank_leave(hpcb_rank_t *rank)
{
    if (!rank)
        return;
    revert(rank);
    if (rank->ours)
        hpcb_rank_weigh(rank, rank->top, NULL);
    free(rank);
}

int hpcb_rank_times(const hpcb_rank_t *rank, hpcb_rank_times_t *times)
{
    pid_t pids[PROCESSES_MAX];
    unsigned n = list(rank->group, pids), read = 0;
    hpcb_rank_times_t sum = {0, 0};

    for (unsigned i = 0; i < n; i++) {
        char name[64], text[128];
        uint64_t run, delay;

        snprintf(name, sizeof(name), "proc/%d/schedstat", (int)pids[i]);
        if (hpcb_node_read(rank->spec.node, name, text, sizeof(text), NULL) < 0 ||
            sscanf(text, "%" SCNu64 " %" SCNu64, &run, &delay) != 2)
            continue;
        sum.run_ns += run;
        sum.delay_ns += delay;
        read++;
    }
    if (read == 0)
        return -1;
    *times = sum;
    return 0;
}

bool hpcb_rank_runs(const hpcb_rank_t *rank)
{
    pid_t pids[PROCESSES_MAX];
    unsigned n = list(rank->group, pids);

    for (unsigned i = 0; i < n; i++) {
        char name[64], text[1024];
        const char *state;

        snprintf(name, sizeof(name), "proc/%d/stat", (int)pids[i]);
        if (hpcb_node_read(rank->spec.node, name, text, sizeof(text), NULL) < 0)
            continue;
        /* Behind the command's name, which may hold anything. */
        state = strrchr(text, ')');
        if (state && strncmp(state, ") R", 3) == 0)
            return true;
    }
    return false;
}

/* <cgroup>_<job>_<step>_<task> */
static bool is_group_of_ours(const char *name, const char *cgroup)
{
    size_t length = strlen(cgroup);
    unsigned numbers = 0;

    if (strncmp(name, cgroup, length) != 0)
        return false;
    for (name += length; *name == '_'; numbers++) {
        size_t digits = strspn(++name, "0123456789");

        if (digits == 0)
            return false;
        name += digits;
    }
    return *name == '\0' && numbers == 3;
}

static int remove_groups(const hpcb_node_t *node, const char *cgroup, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char dir[PATH_MAX];
    int removed = 0;
    bool failed = false;

    if (!mount || hpcb_node_version(node, HPCB_CTL_CPU) != 1)
        return 0;
    handle = opendir(mount);
    while (handle && (entry = readdir(handle))) {
        if (!is_group_of_ours(entry->d_name, cgroup) ||
            hpcb_knob_path(mount, entry->d_name, dir, sizeof(dir), NULL) < 0)
            continue;
        if (hpcb_tree_remove(dir, mount, failed ? NULL : err) < 0)
            failed = true;
        else
            removed++;
    }
    return failed ? -1 : removed;
}

int hpcb_ranks_release(const hpcb_node_t *node, const char *state_dir,
                       const char *cgroup, hpcb_error_t *err)
{
    int logs = hpcb_undo_replay_all(state_dir, err);
    int groups = remove_groups(node, cgroup, logs < 0 ? NULL : err);

    return logs < 0 || groups < 0 ? -1 : logs + groups;
}
