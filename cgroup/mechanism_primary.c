/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Row primary-weight, for primaries on v2: Slurm's directory of the job gets the weight
 * 100 for each of its CPUs.
 *
 * The kernel divides a group's weight over the CPUs that it is busy on, but an idle
 * group has its 3 on each: next to a primary that fills N CPUs with the default of 100
 * (1024 in the kernel) a guest gets up to 3N / (1024 + 3N) of a CPU, 16 % for N = 64.
 * With 100 per CPU the primary has 1024 on each of them, like a job of one CPU and like
 * any task in the root group of v1, and the guest gets at most 0.3 %.
 *
 * The largest weight, 10000, would give the guest still less, but steps start in
 * <scope>/system with the weight 100, and would get next to nothing next to primaries
 * of one CPU.  slurmstepd of the job itself is inside of it.
 *
 * The cost is on jobs of Slurm on the same node that we do not know (neither primary
 * nor guest: no record), on CPUs that they share with a primary of several, where they
 * had more than a fair part before.  The weight of the scope as a whole is unchanged.
 *
 * On v1 nothing is done: tasks of primaries are in the root group, each with a weight
 * of its own.  Boosted tasks would starve their slurmstepd there, which shares no group
 * with them.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"

/* CGROUP_WEIGHT_DFL and CGROUP_WEIGHT_MAX. */
#define DEFAULT    "100"
#define PER_CPU    100
#define WEIGHT_MAX 10000
#define CPUS_TEXT  4096

int hpcb_primary_weight_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (!hpcb_node_mount(node, HPCB_CTL_CPU))
        return hpcb_error(err, "no cpu controller is mounted");
    if (hpcb_node_version(node, HPCB_CTL_CPU) != 2)
        return hpcb_error(err, "not needed with cgroup v1");
    if (hpcb_node_sched_ext(node))
        return hpcb_error(
            err, "a sched_ext scheduler is loaded, which need not obey weights");
    return 0;
}

/* If Slurm constrains the job to its cores these are used, whichever step asks. */
static unsigned cpus_of_job(const hpcb_target_t *target)
{
    char dir[PATH_MAX], text[CPUS_TEXT];
    hpcb_cpus_t cpus;

    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_CPUSET, dir, sizeof(dir),
                          NULL) < 0 ||
        hpcb_knob_read(dir, "cpuset.cpus", text, sizeof(text), NULL) < 0 ||
        hpcb_cpus_parse(text, &cpus) < 0 || hpcb_cpus_count(&cpus) == 0)
        return target->processors;
    return hpcb_cpus_count(&cpus);
}

static int read_weight(const hpcb_target_t *target, char *dir, size_t size, char *now,
                       size_t now_size, char wanted[16], hpcb_error_t *err)
{
    unsigned weight = cpus_of_job(target);

    if (weight > WEIGHT_MAX / PER_CPU)
        weight = WEIGHT_MAX / PER_CPU;
    if (weight == 0)
        weight = 1;
    snprintf(wanted, 16, "%u", weight * PER_CPU);
    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_CPU, dir, size, err) < 0)
        return -1;
    return hpcb_knob_read(dir, "cpu.weight", now, now_size, err);
}

/* A weight other than the default was chosen by others, or by us in an earlier step.
 * An idle group does not show the default either. */
int hpcb_primary_weight_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], now[32], wanted[16];

    hpcb_row_begin(target, "primary-weight");
    if (read_weight(target, dir, sizeof(dir), now, sizeof(now), wanted, err) < 0)
        return -1;
    if (strcmp(now, DEFAULT) != 0)
        return 0;
    return hpcb_row_write(target, dir, "cpu.weight", wanted, err);
}

int hpcb_primary_weight_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], now[32], wanted[16];

    if (hpcb_primary_weight_probe(target->node, err) < 0 ||
        read_weight(target, dir, sizeof(dir), now, sizeof(now), wanted, err) < 0)
        return -1;
    if (strcmp(now, wanted) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s/cpu.weight is %s, not %s", dir, now, wanted);
}
