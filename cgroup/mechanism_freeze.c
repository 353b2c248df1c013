/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Row freeze: stops the tasks of the target's whole job at levels that Slurm does not
 * freeze (cgroup/freeze.h), and never its slurmstepds.
 *
 * Freezing is asynchronous: verify says whether it has arrived, apply does not wait.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "cgroup/freeze.h"
#include "cgroup/knob.h"
#include "cgroup/rows.h"

typedef struct {
    const hpcb_target_t *target;
    hpcb_error_t *err;
    unsigned levels;
} walk_t;

/* Slurm's directory of the job, "" if the task is in none. */
static void find_job(const hpcb_target_t *target, char *dir, size_t size)
{
    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_FREEZER, dir, size,
                          NULL) < 0)
        dir[0] = '\0';
}

/* Call visit for each level of the job; that there is none is a failure. */
static int each_level(const hpcb_target_t *target, hpcb_freeze_visit_t visit,
                      hpcb_error_t *err)
{
    walk_t walk = {.target = target, .err = err};
    char job_dir[PATH_MAX];

    find_job(target, job_dir, sizeof(job_dir));
    if (hpcb_freeze_levels(target->node, target->job_id, job_dir, false, visit,
                           &walk) != 0)
        return -1;
    if (walk.levels)
        return 0;
    errno = ENOENT;
    return hpcb_error(err, "job %u has no group apart from Slurm's that can be frozen",
                      (unsigned)target->job_id);
}

int hpcb_freeze_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_freeze_possible(node))
        return 0;
    return hpcb_error(err, "cgroup2 is not mounted");
}

static int freeze(const char *level, void *arg)
{
    walk_t *walk = arg;

    walk->levels++;
    return hpcb_row_write(walk->target, level, HPCB_FREEZE_KNOB, "1", walk->err) < 0 &&
           !hpcb_knob_gone(errno);
}

static int check_frozen(const char *level, void *arg)
{
    walk_t *walk = arg;
    char text[256];

    walk->levels++;
    if (hpcb_knob_read(level, "cgroup.events", text, sizeof(text), walk->err) < 0)
        return !hpcb_knob_gone(errno);
    if (strstr(text, "frozen 1"))
        return 0;
    errno = EAGAIN;
    return hpcb_error(walk->err, "%s is not frozen", level);
}

int hpcb_freeze_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "freeze");
    return each_level(target, freeze, err);
}

int hpcb_freeze_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    return each_level(target, check_frozen, err);
}

int hpcb_freeze_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                     hpcb_error_t *err)
{
    char job_dir[PATH_MAX];

    if (target->undo)
        return hpcb_row_undo(row, target, err);
    find_job(target, job_dir, sizeof(job_dir));
    return hpcb_freeze_thaw_job(target->node, target->job_id, job_dir, err) < 0 ? -1
                                                                                : 0;
}
