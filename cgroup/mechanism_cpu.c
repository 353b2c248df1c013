/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Effect of cpu.idle=1: the group never preempts, and while other tasks want the CPU it
 * competes with weight 3 (WEIGHT_IDLEPRIO; measured: 0.3 % next to a weight of 1024,
 * 4.4 % next to 64, 16 % next to 16).  A task in the root group of v1 has the weight
 * 1024 on its own.  A group's 1024, however, are divided over the CPUs that it is busy
 * on, so next to a v2 job that fills N CPUs a guest on one of them gets up to
 * 3N/(1024+3N).
 *
 * Rows idle-group and weight.  Both act where groups of jobs compete: on v1 on the
 * single top-level group of all guests, on v2 on Slurm's directory of the job, whose
 * siblings are the other jobs' (an idle flag only acts between siblings: one level
 * below it had no effect in a measurement).
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"

/* MIN_SHARES of the kernel and CGROUP_WEIGHT_MIN. */
#define LOWEST_SHARES "2"
#define LOWEST_WEIGHT "1"

static int refuse_sched_ext(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (!hpcb_node_sched_ext(node))
        return 0;
    return hpcb_error(err,
                      "a sched_ext scheduler is loaded, which need not obey cpu.idle "
                      "and weights");
}

static bool is_idle(const char *dir)
{
    char text[16];

    return hpcb_knob_read(dir, HPCB_KNOB_IDLE, text, sizeof(text), NULL) == 0 &&
           strcmp(text, "1") == 0;
}

static int check_idle(const char *dir, hpcb_error_t *err)
{
    char text[16];

    if (hpcb_knob_read(dir, HPCB_KNOB_IDLE, text, sizeof(text), err) < 0)
        return -1;
    if (strcmp(text, "1") == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s/cpu.idle is %s", dir, text);
}

static int job_dir(const hpcb_target_t *target, char *dir, size_t size,
                   hpcb_error_t *err)
{
    return hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_CPU, dir, size, err);
}

static int cpu_version(const hpcb_target_t *target)
{
    return hpcb_node_version(target->node, HPCB_CTL_CPU);
}

/* A v2 root has no knobs: check the groups below it; 1 there, 0 not, -1 unknown. */
static int children_have(const char *mount, const char *name)
{
    DIR *dir = opendir(mount);
    struct dirent *entry;
    int found = -1;

    while (dir && found < 0 && (entry = readdir(dir))) {
        char child[PATH_MAX];

        if (entry->d_name[0] == '.' ||
            hpcb_knob_path(mount, entry->d_name, child, sizeof(child), NULL) < 0 ||
            !hpcb_knob_exists(child, "cpu.weight"))
            continue;
        found = hpcb_knob_exists(child, name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* cpu.idle came with Linux 5.15 (commit 304000390f88); RHEL 9's 5.14 has it too. */
int hpcb_idle_group_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    int found;

    if (refuse_sched_ext(node, err) < 0 || hpcb_guest_group_probe(node, err) < 0)
        return -1;
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1) {
        found = hpcb_knob_exists(mount, HPCB_KNOB_IDLE);
    } else {
        found = children_have(mount, HPCB_KNOB_IDLE);
        if (found < 0)
            found = hpcb_node_linux(node, 5, 15);
    }
    return found ? 0 : hpcb_error(err, "this kernel has no cpu.idle (Linux 5.15)");
}

/* The v1 group of guests: its knobs are never noted (see guest_group.c). */
static int lower_to_idle(const char *group, hpcb_error_t *err)
{
    if (is_idle(group))
        return 0;
    if (hpcb_knob_write(group, HPCB_KNOB_IDLE, "1", err) < 0)
        return -1;
    return check_idle(group, err);
}

/*
 * cpu.idle=0 gives a group the default weight, not the one that it had: so the weight
 * is noted as well, and first, because the log is replayed backwards and the kernel
 * takes no weight while cpu.idle is 1.
 */
static int idle_job(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], path[PATH_MAX], weight[32];

    if (job_dir(target, dir, sizeof(dir), err) < 0 ||
        hpcb_knob_read(dir, "cpu.weight", weight, sizeof(weight), err) < 0 ||
        hpcb_knob_path(dir, "cpu.weight", path, sizeof(path), err) < 0)
        return -1;
    /* After the weight, because an idle group shows another one. */
    if (is_idle(dir))
        return 0;
    if (target->undo && hpcb_undo_note_file(target->undo, path, weight, err) < 0)
        return -1;
    if (hpcb_row_write(target, dir, HPCB_KNOB_IDLE, "1", err) < 0)
        return -1;
    return check_idle(dir, err);
}

int hpcb_idle_group_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "idle-group");
    if (cpu_version(target) == 1)
        return hpcb_guest_group_join(target, lower_to_idle, err);
    return idle_job(target, err);
}

int hpcb_idle_group_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];
    int rc;

    if (hpcb_idle_group_probe(target->node, err) < 0)
        return -1;
    if (cpu_version(target) == 1)
        rc = hpcb_guest_group_check(target, dir, sizeof(dir), err);
    else
        rc = job_dir(target, dir, sizeof(dir), err);
    return rc < 0 ? -1 : check_idle(dir, err);
}

int hpcb_weight_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);

    if (refuse_sched_ext(node, err) < 0 || hpcb_guest_group_probe(node, err) < 0)
        return -1;
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1 &&
        !hpcb_knob_exists(mount, "cpu.shares"))
        return hpcb_error(err, "this kernel has no cpu.shares");
    return 0;
}

/* An idle group has less than the lowest weight, and rejects others. */
static int lower_shares(const char *group, hpcb_error_t *err)
{
    if (is_idle(group))
        return 0;
    return hpcb_knob_write(group, "cpu.shares", LOWEST_SHARES, err);
}

int hpcb_weight_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];

    hpcb_row_begin(target, "weight");
    if (cpu_version(target) == 1)
        return hpcb_guest_group_join(target, lower_shares, err);
    if (job_dir(target, dir, sizeof(dir), err) < 0)
        return -1;
    if (is_idle(dir))
        return 0;
    return hpcb_row_write(target, dir, "cpu.weight", LOWEST_WEIGHT, err);
}

static int check_weight(const char *dir, const char *name, const char *lowest,
                        hpcb_error_t *err)
{
    char text[32];

    if (is_idle(dir))
        return 0;
    if (hpcb_knob_read(dir, name, text, sizeof(text), err) < 0)
        return -1;
    if (strcmp(text, lowest) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s/%s is %s", dir, name, text);
}

int hpcb_weight_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];

    if (hpcb_weight_probe(target->node, err) < 0)
        return -1;
    if (cpu_version(target) == 1) {
        if (hpcb_guest_group_check(target, dir, sizeof(dir), err) < 0)
            return -1;
        return check_weight(dir, "cpu.shares", LOWEST_SHARES, err);
    }
    if (job_dir(target, dir, sizeof(dir), err) < 0)
        return -1;
    return check_weight(dir, "cpu.weight", LOWEST_WEIGHT, err);
}
