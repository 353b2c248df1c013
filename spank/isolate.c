/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "common/log.h"
#include "spank/isolate.h"
#include "spank/log.h"
#include "spank/siblings.h"

/* The row of the mechanism table that raises oom_score_adj. */
#define OOM_MECHANISM "oom-score"
/* And the one for primaries. */
#define PRIMARY_MECHANISM "primary-weight"

static hpcb_target_t target_of(const hpcb_step_t *step, pid_t pid)
{
    hpcb_target_t target = {
        .node = step->node,
        .pid = pid,
        .job_id = step->job_id,
        .guest_cgroup = step->conf.guest_cgroup,
    };

    return target;
}

/* Without an undo log a guest is still isolated: release then cannot restore what was
 * there before, which ends with the job anyway. */
static hpcb_undo_t *open_undo(const hpcb_step_t *step)
{
    static bool complained;
    hpcb_undo_t *undo;
    hpcb_error_t err;

    if (hpcb_undo_open(step->conf.state_dir, step->job_id, &undo, &err) == 0)
        return undo;
    hpcb_log_once(&complained, HPCB_LOG_INFO, "%s", err.text);
    return NULL;
}

static void close_undo(hpcb_undo_t *undo)
{
    if (undo)
        hpcb_undo_close(undo);
}

/* As hpcb_isolate does: where the log cannot be written, without it. */
static int apply_noted(const hpcb_step_t *step, const hpcb_mechanism_t *row,
                       hpcb_target_t target, hpcb_error_t *err)
{
    hpcb_undo_t *undo = open_undo(step);
    int result;

    target.undo = undo;
    result = row->apply(&target, err);
    close_undo(undo);
    if (result == 0 || !undo)
        return result;
    target.undo = NULL;
    return row->apply(&target, err);
}

void hpcb_spank_isolate_privileged(const hpcb_step_t *step)
{
    const hpcb_mechanism_t *oom = hpcb_mechanism_find(OOM_MECHANISM);
    hpcb_target_t target = target_of(step, getpid());
    hpcb_error_t err;

    if (step->klass != HPCB_CLASS_GUEST || !step->node || !oom)
        return;
    target.oom_score_adj = step->conf.guest_oom_score_adj;
    if (target.oom_score_adj == 0 || oom->probe(step->node, &err) < 0)
        return;
    if (apply_noted(step, oom, target, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* Later processes of slurmstepd for the user (--task-epilog) inherit from slurmstepd
 * itself, which is root and needs no limit of its own. */
static void forbid_realtime(void)
{
    const struct rlimit none = {0};

    if (setrlimit(RLIMIT_RTPRIO, &none) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "RLIMIT_RTPRIO of slurmstepd: %s", strerror(errno));
}

/* oom_score_adj stays out (hpcb_spank_isolate_privileged): seen from here the task may
 * still carry slurmstepd's own -1000, which the undo log must never give back. */
void hpcb_spank_isolate_task(const hpcb_step_t *step, pid_t pid)
{
    static bool complained;
    hpcb_target_t target = target_of(step, pid);
    const hpcb_mechanism_t *used;
    hpcb_error_t err;

    if (step->klass != HPCB_CLASS_GUEST || !step->node)
        return;
    forbid_realtime();
    target.memory_high = step->conf.guest_memory_high;
    target.undo = open_undo(step);
    used = hpcb_isolate(&target, &err);
    close_undo(target.undo);
    if (!used)
        hpcb_log_once(&complained, HPCB_LOG_INFO, "guest job %u: no isolation: %s",
                      step->job_id, err.text);
    else
        hpcb_log(HPCB_LOG_DEBUG, "guest job %u step %s: pid %ld: %s", step->job_id,
                 step->name, (long)pid, used->name);
}

/* Only jobs that root has recorded as primaries count: without records nothing is
 * done. */
void hpcb_spank_isolate_primary(spank_t sp, const hpcb_step_t *step, pid_t pid)
{
    static bool done;
    const hpcb_mechanism_t *row = hpcb_mechanism_find(PRIMARY_MECHANISM);
    hpcb_target_t target = target_of(step, pid);
    uint16_t processors;
    hpcb_error_t err;

    if (done || step->klass != HPCB_CLASS_PRIMARY || !step->node || !row ||
        row->probe(step->node, &err) < 0)
        return;
    done = true;
    if (spank_get_item(sp, S_JOB_NCPUS, &processors) == ESPANK_SUCCESS)
        target.processors = processors;
    if (apply_noted(step, row, target, &err) < 0 || row->verify(&target, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "primary job %u: %s", step->job_id, err.text);
}

/* hpcb_spank_isolate_task has logged it, once for all tasks. */
static void __attribute__((noreturn)) refuse(const hpcb_step_t *step, const char *why)
{
    hpcb_log(HPCB_LOG_DEBUG, "guest job %u step %s: a task is not started: %s",
             step->job_id, step->name, why);
    dprintf(STDERR_FILENO, "hpc_balance: guest not started: %s\n", why);
    _exit(1);
}

/*
 * For PropagatePrioProcess: the task resets its own nice value at some time between
 * fork and here, perhaps after slurmstepd had set it.  Lowering oneself needs no
 * privilege; rows that need it fail again, without a second message.
 */
static const hpcb_mechanism_t *isolate_myself(const hpcb_target_t *target,
                                              hpcb_error_t *err)
{
    const hpcb_mechanism_t *used;

    hpcb_spank_log_off();
    used = hpcb_isolate(target, err);
    hpcb_spank_log_on();
    return used ? hpcb_isolated(target, err) : NULL;
}

void hpcb_spank_isolate_verify(const hpcb_step_t *step)
{
    hpcb_target_t target = target_of(step, getpid());
    hpcb_error_t err;

    if (step->klass != HPCB_CLASS_GUEST)
        return;
    if (!step->node)
        refuse(step, step->node_error.text);
    if (!hpcb_isolated(&target, &err) && !isolate_myself(&target, &err))
        refuse(step, err.text);
    if (hpcb_spank_siblings_verify(step, &err) < 0)
        refuse(step, err.text);
}
