/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Parts of the time are turns of half a second.  Guests are stopped by their one owner
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
    unsigned turn;
    hpcbd_restrain_stats_t stats;
} engine;

/* Turns of which guests have one; 0: none at all. */
static unsigned turns_of(hpcb_guard_level_t level)
{
    static const unsigned turns[] = {
        [HPCB_GUARD_FREE] = 1,
        [HPCB_GUARD_HALF] = 2,
        [HPCB_GUARD_QUARTER] = 4,
    };

    return level < HPCB_GUARD_STOP ? turns[level] : 0;
}

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

static void stop_guest(const hpcbd_job_t *guest)
{
    hpcbd_window_stop_guest(guest->state.job_id, HPCBD_FREEZE_GUARD);
}

static void let_go(const hpcbd_job_t *guest)
{
    hpcbd_window_let_guest_go(guest->state.job_id, HPCBD_FREEZE_GUARD);
}

static void requeue(const hpcbd_job_t *guest)
{
    uint32_t job_id = guest->state.job_id;
    hpcb_error_t err;

    let_go(guest);
    if (hpcbd_requeue_note(engine.daemon->conf.state_dir, job_id, HPCBD_REQUEUE_HARM, 0,
                           &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s; it is not requeued", job_id, err.text);
        return;
    }
    engine.stats.requeues++;
}

/* In each turn: who has come meanwhile is in it, too.  Of one that is marked only there
 * will be no record. */
static void count(const hpcbd_job_t *guest)
{
    hpcb_guard_level_t level = engine.stats.level;
    bool throttled = level == HPCB_GUARD_HALF || level == HPCB_GUARD_QUARTER;

    hpcbd_tally_time(guest->state.job_id, HPCBD_TALLY_THROTTLED,
                     throttled && !guest->marked);
    hpcbd_tally_time(guest->state.job_id, HPCBD_TALLY_STOPPED,
                     level == HPCB_GUARD_STOP && !guest->marked);
}

static int64_t decide_by(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec + DECIDE_NS;
}

static void on_turn(void *arg, uint64_t what)
{
    unsigned turns = turns_of(engine.stats.level);

    (void)arg;
    (void)what;
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GUARD, decide_by());
    for_guests(turns && engine.turn++ % turns == 0 ? let_go : stop_guest);
    for_guests(count);
}

static void set_level(hpcb_guard_level_t level)
{
    engine.stats.steps += level > engine.stats.level;
    engine.stats.level = level;
    for_guests(count);
    if (level == HPCB_GUARD_FREE) {
        hpcb_timer_in(engine.timer, 0, 0);
        for_guests(let_go);
        hpcbd_window_decide_by(HPCBD_WATCHDOG_GUARD, 0);
        return;
    }
    engine.turn = 0;
    hpcb_timer_in(engine.timer, (uint64_t)TURN_NS, (uint64_t)TURN_NS);
}

/* Those that are requeued hear of their end, and what comes after them is not known. */
void hpcbd_restrain_guests(hpcb_guard_level_t level)
{
    if (level == engine.stats.level || !engine.timer)
        return;
    if (level == HPCB_GUARD_REQUEUE) {
        for_guests(requeue);
        level = HPCB_GUARD_FREE;
    }
    set_level(level);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    engine.daemon = daemon;
    engine.stats = (hpcbd_restrain_stats_t){.level = HPCB_GUARD_FREE};
    engine.timer = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_turn, NULL, err);
    return engine.timer ? 0 : -1;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    if (engine.stats.level != HPCB_GUARD_FREE)
        set_level(HPCB_GUARD_FREE);
    hpcb_source_remove(engine.timer);
    engine.timer = NULL;
}

const hpcbd_part_t hpcbd_restrain = {.name = "restrain", .start = start, .stop = stop};
