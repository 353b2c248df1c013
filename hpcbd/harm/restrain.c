/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Parts of the time are turns of half a second by the wall clock, the same on all
 * nodes: a primary of many nodes would find guests running on some of them nearly all
 * of the time otherwise.  Guests are stopped by their one owner
 * (hpcbd/windows/freeze.h), in each turn anew: one that has come meanwhile is in it,
 * too.
 */
#include "config.h"

#include <time.h>

#include "common/log.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/windows.h"

#define SECOND    INT64_C(1000000000)
#define TURN_NS   (SECOND / 2)
#define DECIDE_NS (5 * SECOND)

static struct {
    hpcbd_t *daemon;
    hpcb_source_t *timer;
    hpcbd_restrain_fn level_of; /* NULL: no restriction */
    int64_t turn;               /* the one that it is by the wall clock */
    hpcbd_restrain_stats_t stats;
} engine;

const hpcbd_restrain_stats_t *hpcbd_restrain_stats(void)
{
    return &engine.stats;
}

static void for_guests(void (*act)(const hpcbd_job_t *guest))
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_GUEST)
            act(registry->jobs[i]);
}

static hpcb_guard_level_t level_of(const hpcbd_job_t *guest)
{
    return engine.level_of ? engine.level_of(guest) : HPCB_GUARD_FREE;
}

/* Return whether a guest at this level runs in this turn. */
static bool has_turn(hpcb_guard_level_t level, int64_t turn)
{
    unsigned turns = hpcb_guard_turns(level);

    return turns > 0 && turn % turns == 0;
}

static void let_go(const hpcbd_job_t *guest)
{
    hpcbd_window_let_guest_go(guest->state.job_id, HPCBD_FREEZE_GUARD);
}

static void take_turn(const hpcbd_job_t *guest)
{
    if (has_turn(level_of(guest), engine.turn))
        let_go(guest);
    else
        hpcbd_window_stop_guest(guest->state.job_id, HPCBD_FREEZE_GUARD);
}

/* In each turn: who has come meanwhile is in it, too.  Of one that is marked only there
 * will be no record. */
static void count(const hpcbd_job_t *guest)
{
    hpcb_guard_level_t level = level_of(guest);
    bool throttled = level == HPCB_GUARD_HALF || level == HPCB_GUARD_QUARTER;

    hpcbd_tally_time(guest->state.job_id, HPCBD_TALLY_THROTTLED,
                     throttled && !guest->marked);
    hpcbd_tally_time(guest->state.job_id, HPCBD_TALLY_STOPPED,
                     level == HPCB_GUARD_STOP && !guest->marked);
    if (level > engine.stats.level)
        engine.stats.level = level;
}

static void count_all(void)
{
    engine.stats.level = HPCB_GUARD_FREE;
    for_guests(count);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* Gang turns begin at the same edges (hpcbd/gang/gang.c), and it elects before or after
 * on_turn. */
bool hpcbd_restrain_holds(const hpcbd_job_t *job)
{
    return job->state.klass == HPCB_CLASS_GUEST &&
           !has_turn(level_of(job), clock_ns(CLOCK_REALTIME) / TURN_NS);
}

/* The kernel reports clock steps while the timer waits; one between our reading of the
 * clock and the timer's start must be detected here. */
static void wait_for_turn(void)
{
    int64_t wall_ns = clock_ns(CLOCK_REALTIME), at_ns;

    engine.turn = wall_ns / TURN_NS;
    at_ns = (engine.turn + 1) * TURN_NS;
    if (hpcb_timer_at(engine.timer, (uint64_t)at_ns, 0) < 0 ||
        clock_ns(CLOCK_REALTIME) < wall_ns)
        hpcb_timer_in(engine.timer, TURN_NS, 0);
}

/* what 0: the clock was set, and it may be another turn. */
static void on_turn(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GUARD, clock_ns(CLOCK_MONOTONIC) + DECIDE_NS);
    wait_for_turn();
    for_guests(take_turn);
    count_all();
}

static void end(void)
{
    engine.level_of = NULL;
    count_all();
    hpcb_timer_in(engine.timer, 0, 0);
    for_guests(let_go);
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GUARD, 0);
}

void hpcbd_restrain_guests(hpcbd_restrain_fn level, bool further)
{
    bool begins = level && !engine.level_of;

    if (!engine.timer)
        return;
    engine.stats.steps += further;
    if (!level && engine.level_of)
        end();
    engine.level_of = level;
    count_all();
    if (begins)
        wait_for_turn();
}

/* A stopped guest receives its end by itself (hpcbd/windows/freeze.h). */
void hpcbd_restrain_requeue(const hpcbd_job_t *guest)
{
    uint32_t job_id = guest->state.job_id;
    hpcb_error_t err;

    if (hpcbd_requeue_note(engine.daemon->conf.state_dir, job_id, HPCBD_REQUEUE_HARM, 0,
                           &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s; it is not requeued", job_id, err.text);
        return;
    }
    engine.stats.requeues++;
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    engine.daemon = daemon;
    engine.level_of = NULL;
    engine.stats = (hpcbd_restrain_stats_t){.level = HPCB_GUARD_FREE};
    engine.timer = hpcb_loop_timer(daemon->loop, CLOCK_REALTIME, on_turn, NULL, err);
    return engine.timer ? 0 : -1;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    if (engine.level_of)
        end();
    hpcb_source_remove(engine.timer);
    engine.timer = NULL;
}

const hpcbd_part_t hpcbd_restrain = {.name = "restrain", .start = start, .stop = stop};
