/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <time.h>

#include "common/log.h"
#include "hpcbd/harm/company.h"
#include "hpcbd/harm/guarded.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/windows/windows.h"

#define SECOND UINT64_C(1000000000)

/* A step rests on a minute's comparisons at least; guests get one back after five
 * minutes, or up to an hour where it had to be taken again. */
#define LOOK_NS    (60 * SECOND)
#define RETURN_NS  (300 * SECOND)
#define LONGEST_NS (3600 * SECOND)

/* Its guests on its cores, or the others of the node. */
typedef struct {
    const char *name; /* in the log */
    const hpcbd_job_t *guests[HPCBD_JOBS_MAX];
    size_t count;
    bool wanted; /* some would run but for the guard */
} group_t;

/* What is decided about in one turn. */
typedef struct {
    const char *state_dir;
    const hpcbd_job_t *job; /* NULL: it has gone */
    double limit;           /* GuestMaxSlowdown */
    bool known;             /* so far of verdict */
    hpcb_progress_verdict_t verdict;
    group_t near, far;
} turn_t;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

bool hpcbd_guarded_is_held(const hpcbd_job_t *guest)
{
    const unsigned held = HPCBD_FREEZE_WINDOW | HPCBD_FREEZE_CRUMBS;

    return hpcbd_window_why_stopped(guest->state.job_id) & held;
}

static const hpcbd_job_t *job_of(const hpcbd_guarded_t *guarded)
{
    return hpcbd_registry_find(hpcbd_window_registry(), guarded->job_id);
}

hpcb_guard_level_t hpcbd_guarded_level(const hpcbd_guarded_t *guarded,
                                       hpcbd_near_t *near, const hpcbd_job_t *guest)
{
    hpcb_guard_level_t on_cores = guarded->guards.near.level,
                       elsewhere = guarded->guards.far.level;
    const hpcbd_job_t *job;

    if (on_cores == elsewhere)
        return on_cores;
    job = job_of(guarded);
    if (!job)
        return HPCB_GUARD_FREE;
    return hpcbd_near_shares(near, job, guest) ? on_cores : elsewhere;
}

static void add_guest(group_t *group, const hpcbd_job_t *guest)
{
    group->guests[group->count++] = guest;
    group->wanted |= !hpcbd_guarded_is_held(guest);
}

static void find_groups(turn_t *turn, hpcbd_near_t *near)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    turn->near.count = turn->far.count = 0;
    turn->near.wanted = turn->far.wanted = false;
    for (size_t i = 0; turn->job && i < registry->count; i++) {
        const hpcbd_job_t *guest = registry->jobs[i];

        if (guest->state.klass == HPCB_CLASS_GUEST)
            add_guest(hpcbd_near_shares(near, turn->job, guest) ? &turn->near
                                                                : &turn->far,
                      guest);
    }
    turn->near.name = turn->far.count ? "those on its cores" : "they";
    turn->far.name = "those on other cores";
}

/* ---- what the log says ---- */

/* Once for each primary: a user who keeps on lying does not fill the log. */
static void say_doubt(hpcbd_guarded_t *guarded, const hpcb_progress_verdict_t *verdict)
{
    if (guarded->doubted || !verdict->doubts)
        return;
    guarded->doubted = true;
    hpcb_log(HPCB_LOG_INFO,
             "job %u: ignoring the guest cost by %s (at most %.2f %%): by %s it is at "
             "least %.2f %%",
             guarded->job_id, hpcb_progress_name(verdict->doubted),
             100 * verdict->claim.high, hpcb_progress_name(verdict->source),
             100 * verdict->found.low);
}

static void say_cap(hpcbd_guarded_t *guarded, const turn_t *turn)
{
    const hpcb_guards_t *guards = &guarded->guards;
    const hpcb_progress_verdict_t *verdict = &turn->verdict;

    if (guarded->capped || verdict->found.low <= turn->limit ||
        (guards->near.level != HPCB_GUARD_QUARTER &&
         guards->far.level != HPCB_GUARD_QUARTER) ||
        hpcb_progress_most(verdict, turn->limit) > HPCB_GUARD_QUARTER)
        return;
    guarded->capped = true;
    hpcb_log(
        HPCB_LOG_INFO,
        "job %u: guests are not restricted further: only iterations, which the job "
        "itself counts, show a cost of %.2f %% (proven: %.2f %%)",
        guarded->job_id, 100 * verdict->found.cost, 100 * verdict->proven_low);
}

static void say_step(const hpcbd_guarded_t *guarded, const turn_t *turn,
                     const group_t *group, hpcb_guard_level_t level)
{
    static const char *const what[] = {
        [HPCB_GUARD_FREE] = "run freely",
        [HPCB_GUARD_SLICES] = "run freely, and its tasks have slices of 100 ms",
        [HPCB_GUARD_HALF] = "run in half of the time",
        [HPCB_GUARD_QUARTER] = "run in a quarter of the time",
        [HPCB_GUARD_STOP] = "are stopped",
        [HPCB_GUARD_REQUEUE] = "are requeued",
    };
    const hpcb_harm_estimate_t *found = &turn->verdict.found;

    if (turn->known)
        hpcb_log(HPCB_LOG_INFO,
                 "job %u: guests cost it %.2f %% (%.2f to %.2f %% by %s, "
                 "GuestMaxSlowdown=%g%%): %s %s",
                 guarded->job_id, 100 * found->cost, 100 * found->low,
                 100 * found->high, hpcb_progress_name(turn->verdict.source),
                 100 * turn->limit, group->name, what[level]);
    else
        hpcb_log(HPCB_LOG_INFO, "job %u: guests were stopped for it: %s %s",
                 guarded->job_id, group->name, what[level]);
}

/* ---- what is done ---- */

/* Those that are requeued are gone: what comes is new. */
static void requeue(const turn_t *turn, const group_t *group, hpcb_guard_t *guard)
{
    *guard = (hpcb_guard_t){.level = HPCB_GUARD_FREE};
    if (!turn->job)
        return;
    hpcbd_tally_requeued(turn->job->state.job_id, (unsigned)group->count);
    hpcbd_company_remember(turn->state_dir, turn->job, group->guests, group->count);
    for (size_t i = 0; i < group->count; i++)
        hpcbd_restrain_requeue(group->guests[i]);
}

/* True: guests of the group are restricted further than they were. */
static bool follow(hpcbd_guarded_t *guarded, const turn_t *turn, const group_t *group,
                   hpcb_guard_t *guard, hpcb_guard_level_t was)
{
    hpcb_guard_level_t level = guard->level;

    if (level == was)
        return false;
    say_step(guarded, turn, group, level);
    if (level > was)
        hpcbd_tally_step(guarded->job_id);
    if (level == HPCB_GUARD_REQUEUE)
        requeue(turn, group, guard);
    return level > was && level > HPCB_GUARD_SLICES;
}

static void forget(hpcbd_guarded_t *guarded)
{
    hpcb_progress_clear(&guarded->since);
    guarded->ran = (hpcb_guards_who_t){false, false};
}

void hpcbd_guarded_anew(hpcbd_guarded_t *guarded)
{
    hpcb_guards_anew(&guarded->guards, guarded->there, now_ns());
    forget(guarded);
}

/* What was collected while a group was empty is not about who has come to it, and what
 * was collected before it was empty not about who is left.  Held guests still are
 * there: windows and crumbs hold some for moments, and no evidence would be left. */
static void notice(hpcbd_guarded_t *guarded, const turn_t *turn)
{
    hpcb_guards_who_t before = guarded->there;

    guarded->there = (hpcb_guards_who_t){turn->near.count > 0, turn->far.count > 0};
    if (guarded->there.near != before.near || guarded->there.far != before.far) {
        hpcb_guards_anew(&guarded->guards, before, now_ns());
        forget(guarded);
    }
    guarded->ran.near |= turn->near.wanted;
    guarded->ran.far |= turn->far.wanted;
}

bool hpcbd_guarded_step(hpcbd_guarded_t *guarded, hpcbd_near_t *near,
                        const char *state_dir, double limit)
{
    static turn_t turn;
    hpcb_guard_conf_t policy = {
        .max_slowdown = limit,
        .look_ns = LOOK_NS,
        .return_ns = RETURN_NS,
        .longest_ns = LONGEST_NS,
        .slices = hpcbd_slices_possible(),
    };
    hpcb_guards_t *guards = &guarded->guards, was;
    bool further;

    turn.state_dir = state_dir;
    turn.job = job_of(guarded);
    turn.limit = limit;
    find_groups(&turn, near);
    notice(guarded, &turn);
    turn.known = hpcb_progress_judge(&guarded->since, &turn.verdict);
    if (turn.known) {
        policy.most = hpcb_progress_most(&turn.verdict, limit);
        say_doubt(guarded, &turn.verdict);
        say_cap(guarded, &turn);
    }
    was = *guards;
    hpcb_guards_step(&policy, guards, guarded->ran,
                     turn.known ? &turn.verdict.found : NULL, now_ns());
    if (hpcb_guards_from(guards) != hpcb_guards_from(&was))
        forget(guarded);
    further = follow(guarded, &turn, &turn.near, &guards->near, was.near.level);
    return follow(guarded, &turn, &turn.far, &guards->far, was.far.level) || further;
}
