/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Row core-cookie: the tasks of a guest's job have a core-scheduling cookie that no
 * primary has, so that the kernel never runs one of them on a core while a primary (or
 * any other task) runs on another thread of it.  Two guests have different cookies,
 * too.
 *
 * There is one cookie per job and node: the first task gets a new one, later ones, also
 * of later steps, that of a living task of the job.  The placeholder of the extern step
 * is usually that task: it comes first, lives as long as the job and belongs to root.
 * Two steps that start at the same time without one get one cookie each, which costs
 * only the guest a little.
 *
 * Options of a hostile guest (cgroup/core_sched.h has the kernel's rules):
 *  - New cookies for its tasks: no primary has them; its tasks only exclude each other
 *    from their cores.
 *  - Giving its cookie to tasks of the same user elsewhere, for instance to a primary
 *    of that user: only that primary then shares cores with this guest, as its owner
 *    requested.  Tasks of other users and of root cannot be changed, nor can
 *    set-user-ID programs.
 *  - Taking cookie 0 from a task of the same user without a cookie: one of its
 *    primaries on this node, a login session, a cron job.  That does let the guest run
 *    at the same time as primaries of others, and the kernel cannot forbid it.  So the
 *    cookie alone is not trusted: slurmstepd checks the tasks of the job every few
 *    seconds (spank/siblings.c), restores it, logs that, and throttles a job that has
 *    done it twice (sibling-throttle, which no user can remove).
 *  - With cookie 0 it is still in the idle group: it never competes for the primary's
 *    own thread.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include "cgroup/core_sched.h"
#include "cgroup/cores.h"
#include "cgroup/rows.h"
#include "cgroup/steps.h"

/* Tasks of the job that are asked whether they have a cookie. */
#define CARRIERS_MAX 4096

typedef struct {
    pid_t target;
    uint64_t common; /* the caller's: what primaries have as well */
    unsigned asked;
    bool shared;
} search_t;

int hpcb_core_cookie_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_node_smt(node, err) < 0)
        return -1;
    return hpcb_core_probe(err);
}

static int try_carrier(pid_t pid, void *arg)
{
    search_t *search = arg;
    uint64_t id;

    if (pid == search->target)
        return 0;
    if (++search->asked > CARRIERS_MAX)
        return 1;
    if (hpcb_core_cookie(pid, &id, NULL) < 0 || id == 0 || id == search->common ||
        hpcb_core_share(pid, id, search->target, NULL) < 0)
        return 0;
    search->shared = true;
    return 1;
}

static bool share_from_job(const hpcb_target_t *target, uint64_t common)
{
    search_t search = {.target = target->pid, .common = common};
    char dir[PATH_MAX];

    if (hpcb_steps_job(target->node, target->pid, dir, sizeof(dir), NULL) == 0)
        hpcb_steps_each(target->node, dir, try_carrier, &search);
    return search.shared;
}

int hpcb_core_cookie_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    uint64_t common, now;
    char old[24];

    hpcb_row_begin(target, "core-cookie");
    if (hpcb_core_cookie(0, &common, err) < 0 ||
        hpcb_core_cookie(target->pid, &now, err) < 0)
        return -1;
    if (now != 0 && now != common)
        return 0;
    snprintf(old, sizeof(old), "%" PRIu64, now);
    if (target->undo &&
        hpcb_undo_note_task(target->undo, target->pid, "core-cookie", old, err) < 0)
        return -1;
    if (share_from_job(target, common))
        return 0;
    return hpcb_core_create(target->pid, err);
}

static int check_thread(const hpcb_target_t *target, pid_t tid, const void *arg,
                        hpcb_error_t *err)
{
    uint64_t id = 0;

    (void)target;
    (void)arg;
    if (hpcb_core_cookie(tid, &id, err) < 0)
        return -1;
    if (id != 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "task %d has no core-scheduling cookie", (int)tid);
}

int hpcb_core_cookie_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    return hpcb_row_each_thread(target, check_thread, NULL, err);
}
