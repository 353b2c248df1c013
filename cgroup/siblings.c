/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/core_sched.h"
#include "cgroup/cores.h"
#include "cgroup/held.h"
#include "cgroup/rows.h"
#include "cgroup/siblings.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/log.h"
#include "policy/share.h"

#define MEND_MAX 4096

static const struct {
    const char *row;
    size_t want; /* if hpcb_siblings_want_t allows it */
} carried_out_by[] = {
    [HPCB_SIBLINGS_COOKIE] = {"core-cookie", offsetof(hpcb_siblings_want_t, cookie)},
    [HPCB_SIBLINGS_AVOID] = {"sibling-avoid", offsetof(hpcb_siblings_want_t, avoid)},
    [HPCB_SIBLINGS_THROTTLE] = {"sibling-throttle",
                                offsetof(hpcb_siblings_want_t, throttle)},
};

static const hpcb_mechanism_t *row_of(hpcb_siblings_how_t how)
{
    return hpcb_mechanism_find(carried_out_by[how].row);
}

static void give_up(hpcb_siblings_want_t *want, hpcb_siblings_how_t how)
{
    *(bool *)((char *)want + carried_out_by[how].want) = false;
}

static void add_reason(hpcb_error_t *reasons, const char *row, const hpcb_error_t *why)
{
    size_t used = strlen(reasons->text);

    snprintf(reasons->text + used, sizeof(reasons->text) - used, "%s%s: %.120s",
             used ? "; " : "", row, why->text);
}

/* Keep of the wanted measures those that the node supports. */
static void probe_all(const hpcb_node_t *node, hpcb_siblings_want_t *want,
                      hpcb_error_t *reasons)
{
    static const hpcb_siblings_how_t all[] = {HPCB_SIBLINGS_COOKIE, HPCB_SIBLINGS_AVOID,
                                              HPCB_SIBLINGS_THROTTLE};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const hpcb_mechanism_t *row = row_of(all[i]);
        hpcb_error_t why;

        if (!*(bool *)((char *)want + carried_out_by[all[i]].want) ||
            row->probe(node, &why) == 0)
            continue;
        add_reason(reasons, row->name, &why);
        give_up(want, all[i]);
    }
}

static void everywhere(const hpcb_cores_t *cores, hpcb_cpus_t *held)
{
    *held = cores->online;
}

static int read_facts(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                      hpcb_siblings_task_t *task, hpcb_siblings_facts_t *facts,
                      hpcb_error_t *err)
{
    hpcb_error_t why;

    if (!task->based) {
        if (hpcb_sibling_base(target, &task->base, &task->group, err) < 0)
            return -1;
        task->based = true;
    }
    facts->cores = want->cores;
    facts->allowed = task->base;
    if (want->held) {
        facts->held = *want->held;
    } else if (hpcb_held_cpus(target, &facts->held, &why) < 0) {
        hpcb_log(HPCB_LOG_DEBUG, "%s", why.text);
        everywhere(want->cores, &facts->held);
    }
    return 0;
}

/* v2: the quota is the task's own, and so counts only the CPUs that it is bound to. */
static void count_own(const hpcb_target_t *target, const hpcb_siblings_facts_t *facts,
                      hpcb_siblings_plan_t *plan)
{
    hpcb_cpus_t bound, exposed;

    if (plan->how != HPCB_SIBLINGS_THROTTLE ||
        hpcb_node_version(target->node, HPCB_CTL_CPU) != 2 ||
        hpcb_task_cpus(target->pid, &bound, NULL) < 0)
        return;
    exposed = hpcb_siblings_exposed(facts->cores, &bound, &facts->held);
    if (hpcb_cpus_count(&exposed) > 0)
        plan->share =
            (uint64_t)hpcb_cpus_count(&exposed) * hpcb_share_time(facts->difference);
}

static int carry_out(hpcb_target_t target, const hpcb_siblings_plan_t *plan,
                     hpcb_error_t *err)
{
    const hpcb_mechanism_t *row = row_of(plan->how);
    hpcb_error_t why;

    target.cpus = &plan->cpus;
    target.share = plan->share;
    if (row->apply(&target, err) == 0 && row->verify(&target, err) == 0)
        return 0;
    if (row->undo(row, &target, &why) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s of task %d failed and could not be undone: %s",
                 row->name, (int)target.pid, why.text);
    return -1;
}

/* Return whether the measure changes a knob that must be restored. */
static bool is_change(hpcb_siblings_how_t how)
{
    return how == HPCB_SIBLINGS_AVOID || how == HPCB_SIBLINGS_THROTTLE;
}

/* Undo what was in force and is not wanted any more.  A cookie stays as long as the
 * task. */
static void take_back(hpcb_target_t target, const hpcb_siblings_task_t *task,
                      hpcb_siblings_how_t now)
{
    hpcb_siblings_how_t before = task->plan.how;
    hpcb_error_t why;

    if (before == now || !is_change(before))
        return;
    target.cpus = &task->base;
    target.share = 0;
    if (row_of(before)->apply(&target, &why) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "task %d: %s is not taken back: %s", (int)target.pid,
                 row_of(before)->name, why.text);
}

/* Do what the plan says; *failed is what could not be done. */
static int follow(const hpcb_target_t *target, const hpcb_siblings_plan_t *plan,
                  hpcb_siblings_how_t *failed, hpcb_error_t *err)
{
    const hpcb_siblings_plan_t cookie = {.how = HPCB_SIBLINGS_COOKIE};

    *failed = HPCB_SIBLINGS_COOKIE;
    if (plan->cookie && carry_out(*target, &cookie, err) < 0)
        return -1;
    *failed = plan->how;
    return is_change(plan->how) ? carry_out(*target, plan, err) : 0;
}

static int decide(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                  hpcb_siblings_facts_t *facts, hpcb_siblings_task_t *task,
                  hpcb_error_t *reasons)
{
    hpcb_siblings_want_t left = *want;
    hpcb_siblings_plan_t plan;

    probe_all(target->node, &left, reasons);
    for (;;) {
        hpcb_siblings_how_t failed;
        hpcb_error_t why;

        facts->cookie = left.cookie;
        facts->avoid = left.avoid;
        facts->throttle = left.throttle;
        facts->difference = left.difference;
        hpcb_siblings_plan(facts, &plan);
        count_own(target, facts, &plan);
        if (follow(target, &plan, &failed, &why) == 0)
            break;
        add_reason(reasons, row_of(failed)->name, &why);
        give_up(&left, failed);
    }
    if (plan.how == HPCB_SIBLINGS_HELPLESS && is_change(task->plan.how))
        return -1;
    take_back(*target, task, plan.how);
    task->plan = plan;
    return plan.how == HPCB_SIBLINGS_HELPLESS ? -1 : 0;
}

/* Return whether there is a working log; entries made without one are added to it
 * now. */
static bool is_logged(const hpcb_target_t *target, hpcb_siblings_task_t *task)
{
    if (!target->undo)
        return false;
    if (!task->unlogged)
        return true;
    if (hpcb_undo_hand_over(task->unlogged, target->undo, NULL) < 0)
        return false;
    hpcb_siblings_forget(task);
    return true;
}

/* The entries are kept as long as the task is watched. */
static int decide_unlogged(hpcb_target_t target, const hpcb_siblings_want_t *want,
                           hpcb_siblings_facts_t *facts, hpcb_siblings_task_t *task,
                           hpcb_error_t *reasons)
{
    int rc;

    if (!task->unlogged)
        hpcb_undo_open(NULL, target.job_id, &task->unlogged, NULL);
    target.undo = task->unlogged;
    rc = decide(&target, want, facts, task, reasons);
    if (task->unlogged && hpcb_undo_empty(task->unlogged))
        hpcb_siblings_forget(task);
    return rc;
}

static int decide_in_any_case(const hpcb_target_t *target,
                              const hpcb_siblings_want_t *want,
                              hpcb_siblings_facts_t *facts, hpcb_siblings_task_t *task,
                              hpcb_error_t *reasons)
{
    const hpcb_siblings_plan_t before = task->plan;

    reasons->text[0] = '\0';
    if (is_logged(target, task)) {
        int rc = decide(target, want, facts, task, reasons);

        if (!hpcb_undo_broken(target->undo))
            return rc;
        task->plan = before;
        reasons->text[0] = '\0';
    }
    return decide_unlogged(*target, want, facts, task, reasons);
}

int hpcb_siblings_lower(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                        hpcb_siblings_task_t *task, hpcb_error_t *err)
{
    hpcb_siblings_want_t known = *want;
    hpcb_siblings_facts_t facts = {0};
    hpcb_error_t reasons = {""};
    hpcb_cores_t cores;

    if (!known.cores) {
        if (hpcb_node_cores(target->node, &cores, &reasons) < 0) {
            hpcb_log(HPCB_LOG_DEBUG, "%s", reasons.text);
            return 0;
        }
        known.cores = &cores;
    }
    if (!known.cores->smt)
        return 0;
    if (read_facts(target, &known, task, &facts, err) < 0)
        return -1;
    if (decide_in_any_case(target, &known, &facts, task, &reasons) == 0)
        return 0;
    return hpcb_error(err, "%s",
                      reasons.text[0] ? reasons.text
                                      : "GuestSiblings allows nothing "
                                        "that this node has");
}

void hpcb_siblings_forget(hpcb_siblings_task_t *task)
{
    hpcb_undo_close(task->unlogged);
    task->unlogged = NULL;
}

int hpcb_siblings_punish(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                         hpcb_error_t *err)
{
    const hpcb_siblings_plan_t plan = {.how = HPCB_SIBLINGS_THROTTLE,
                                       .share = hpcb_share_time(want->difference)};

    if (row_of(plan.how)->probe(target->node, err) < 0)
        return -1;
    return carry_out(*target, &plan, err);
}

static bool is_exposed(const hpcb_target_t *target, const hpcb_cores_t *cores,
                       hpcb_error_t *err)
{
    hpcb_cpus_t allowed, held, exposed;
    char list[128];

    if (hpcb_task_cpus(target->pid, &allowed, err) < 0)
        return true;
    if (hpcb_held_cpus(target, &held, NULL) < 0)
        everywhere(cores, &held);
    exposed = hpcb_siblings_exposed(cores, &allowed, &held);
    if (hpcb_cpus_count(&exposed) == 0)
        return false;
    if (hpcb_cpus_list(&exposed, list, sizeof(list)) < 0)
        snprintf(list, sizeof(list), "%u CPUs", hpcb_cpus_count(&exposed));
    hpcb_error(err, "a primary may run beside it on a core (CPUs %s)", list);
    return true;
}

const char *hpcb_siblings_state(const hpcb_target_t *target, hpcb_error_t *err)
{
    static const hpcb_siblings_how_t seen[] = {HPCB_SIBLINGS_COOKIE,
                                               HPCB_SIBLINGS_THROTTLE};
    hpcb_cores_t cores;

    if (hpcb_node_cores(target->node, &cores, NULL) < 0 || !cores.smt)
        return "";
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        const hpcb_mechanism_t *row = row_of(seen[i]);

        if (row->verify(target, NULL) == 0)
            return row->name;
    }
    return is_exposed(target, &cores, err) ? NULL : "none needed";
}

typedef struct {
    const hpcb_target_t *target;
    pid_t carrier;
    uint64_t id;
    unsigned skip; /* processes before the first one of this round */
    unsigned asked;
    unsigned mended;
    pid_t who;
} mend_t;

static int find_carrier(pid_t pid, void *arg)
{
    mend_t *mend = arg;

    if (++mend->asked > MEND_MAX)
        return 1;
    if (hpcb_core_cookie(pid, &mend->id, NULL) < 0 || mend->id == 0)
        return 0;
    mend->carrier = pid;
    return 1;
}

static int mend_one(pid_t pid, void *arg)
{
    mend_t *mend = arg;
    hpcb_target_t one = *mend->target;

    if (mend->skip > 0) {
        mend->skip--;
        return 0;
    }
    if (++mend->asked > MEND_MAX)
        return 1;
    one.pid = pid;
    if (hpcb_core_cookie_verify(&one, NULL) == 0 ||
        hpcb_core_share(mend->carrier, mend->id, pid, NULL) < 0)
        return 0;
    mend->mended++;
    mend->who = pid;
    return 0;
}

unsigned hpcb_siblings_mend(const hpcb_target_t *target, unsigned *from, pid_t *who)
{
    mend_t mend = {.target = target, .skip = *from};
    char dir[PATH_MAX];

    if (hpcb_steps_job(target->node, target->pid, dir, sizeof(dir), NULL) < 0)
        return 0;
    hpcb_steps_each(target->node, dir, find_carrier, &mend);
    if (!mend.carrier && (hpcb_core_create(target->pid, NULL) < 0 ||
                          hpcb_core_cookie(target->pid, &mend.id, NULL) < 0))
        return 0;
    if (!mend.carrier) {
        mend.carrier = mend.who = target->pid;
        mend.mended = 1;
    }
    mend.asked = 0;
    hpcb_steps_each(target->node, dir, mend_one, &mend);
    *from = mend.asked > MEND_MAX ? *from + MEND_MAX : 0;
    if (who)
        *who = mend.who;
    return mend.mended;
}

int hpcb_siblings_free(pid_t pid, hpcb_error_t *err)
{
    uint64_t id;

    if (hpcb_core_cookie(pid, &id, NULL) < 0 || id == 0)
        return 0;
    if (hpcb_core_share(0, 0, pid, err) == 0 || errno == ESRCH)
        return 0;
    return -1;
}
