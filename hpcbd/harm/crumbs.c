/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests are stopped by their one owner (hpcbd/windows/freeze.h), who is asked again
 * each second: what has no watchdog is not stopped.  The watchdog in turn ends a daemon
 * that decides no more.
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "hpcbd/harm/crumbs.h"
#include "hpcbd/harm/share.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/windows.h"
#include "policy/guard.h"

#define SECOND      UINT64_C(1000000000)
#define PATIENCE_NS (10 * SECOND)
/* That late a decision may be. */
#define DECIDE_NS (10 * SECOND)

/* A guest that cannot be read for so long is not kept stopped any more. */
#define BLIND_NS (5 * SECOND)

/* Without guests; the first scan of a new one is delayed by this time. */
#define REST_NS (2 * SECOND)

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job */
    bool marked;       /* there will be no record of it */
    hpcb_crumbs_t crumbs;
    uint64_t stopped_ns; /* begin of the stop; 0: it runs */
    uint64_t read_ns;    /* last reading, or its start */
    bool told;           /* the log says that it cannot be stopped */
    bool seen;
} guest_t;

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcbd_shares_t *shares; /* NULL: not possible on this node */
    hpcb_source_t *tick;
    guest_t *guests[HPCBD_JOBS_MAX];
    size_t count;
    hpcbd_crumbs_stats_t stats;
} engine;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

const hpcbd_crumbs_stats_t *hpcbd_crumbs_stats(void)
{
    return &engine.stats;
}

static void let_go(guest_t *guest)
{
    if (!guest->stopped_ns)
        return;
    hpcbd_window_let_guest_go(guest->job_id, HPCBD_FREEZE_CRUMBS);
    hpcbd_tally_time(guest->job_id, HPCBD_TALLY_STARVED, false);
    guest->stopped_ns = 0;
    engine.stats.stopped--;
}

static void forget(size_t i)
{
    let_go(engine.guests[i]);
    free(engine.guests[i]);
    engine.guests[i] = engine.guests[--engine.count];
}

/* State of an earlier run is void. */
static guest_t *find_or_add(const hpcbd_job_t *job)
{
    guest_t *guest;

    for (size_t i = 0; i < engine.count; i++)
        if (engine.guests[i]->job_id == job->state.job_id &&
            engine.guests[i]->begin_us == job->state.begin_us)
            return engine.guests[i];
    if (engine.count == HPCBD_JOBS_MAX)
        return NULL;
    guest = calloc(1, sizeof(*guest));
    if (!guest)
        return NULL;
    guest->job_id = job->state.job_id;
    guest->begin_us = job->state.begin_us;
    guest->read_ns = now_ns();
    engine.guests[engine.count++] = guest;
    return guest;
}

static double percent(uint32_t ppm)
{
    return ppm / 10000.0;
}

/* It runs on with its crumbs. */
static void fail_to_stop(guest_t *guest, const hpcbd_share_t *share)
{
    hpcb_log_once(&guest->told, HPCB_LOG_INFO,
                  "job %u: gets %.2f %% of its %u CPUs, but cannot be stopped here",
                  guest->job_id, 100 * share->used, share->cpus);
    let_go(guest);
    /* Its next task would be stopped. */
    hpcbd_window_let_guest_go(guest->job_id, HPCBD_FREEZE_CRUMBS);
    guest->crumbs.stopped = false;
}

/* Repeated at each scan, because the owner drops it if the watchdog ends. */
static void stop_guest(guest_t *guest, const hpcbd_share_t *share, uint64_t time_ns)
{
    const hpcb_conf_t *conf = &engine.daemon->conf;

    if (!hpcbd_window_stop_guest(guest->job_id, HPCBD_FREEZE_CRUMBS)) {
        fail_to_stop(guest, share);
        return;
    }
    if (guest->stopped_ns)
        return;
    guest->stopped_ns = time_ns;
    hpcbd_tally_time(guest->job_id, HPCBD_TALLY_STARVED, !guest->marked);
    engine.stats.stopped++;
    engine.stats.stops++;
    hpcb_log(HPCB_LOG_INFO,
             "job %u: stopped: primaries leave it %.2f %% of its %u CPUs "
             "(GuestMinShare=%g%%)",
             guest->job_id, 100 * share->used, share->cpus,
             percent(conf->guest_min_share_ppm));
}

static void go_on(guest_t *guest, const hpcbd_share_t *share, uint64_t time_ns)
{
    if (guest->stopped_ns)
        hpcb_log(HPCB_LOG_INFO,
                 "job %u: goes on after %.0f s: %.2f %% of its %u CPUs are idle",
                 guest->job_id, (double)(time_ns - guest->stopped_ns) / SECOND,
                 100 * share->idle, share->cpus);
    let_go(guest);
}

/* It is continued to receive its end; if Slurm does not requeue it, it begins anew. */
static void requeue(guest_t *guest)
{
    const hpcb_conf_t *conf = &engine.daemon->conf;
    double lacks_s = guest->crumbs.lacks_ns / SECOND;
    hpcb_error_t err;

    let_go(guest);
    guest->crumbs = (hpcb_crumbs_t){.begun = false};
    if (hpcbd_requeue_note(conf->state_dir, guest->job_id, HPCBD_REQUEUE_STARVED,
                           (uint64_t)(lacks_s * 1e6), &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s; it is not requeued", guest->job_id,
                 err.text);
        return;
    }
    engine.stats.requeues++;
    hpcb_log(HPCB_LOG_INFO,
             "job %u: starves: it lacks %.1f s of GuestMinShare=%g%% of each of its "
             "CPUs; Slurm is asked to requeue it (GuestStarvedAfter=%u)",
             guest->job_id, lacks_s, percent(conf->guest_min_share_ppm),
             conf->guest_starved_after);
}

static void carry_out(guest_t *guest, hpcb_crumbs_verdict_t verdict,
                      const hpcbd_share_t *share, uint64_t time_ns)
{
    switch (verdict) {
    case HPCB_CRUMBS_RUN:
        go_on(guest, share, time_ns);
        break;
    case HPCB_CRUMBS_STOP:
        stop_guest(guest, share, time_ns);
        break;
    case HPCB_CRUMBS_REQUEUE:
        requeue(guest);
        break;
    }
}

/* Time in which Slurm has suspended it does not count. */
static void pause_guest(guest_t *guest, uint64_t time_ns)
{
    uint64_t passed_ns = time_ns - guest->crumbs.seen_ns;

    if (!guest->crumbs.begun)
        return;
    guest->crumbs.seen_ns += passed_ns;
    guest->crumbs.since_ns += passed_ns;
}

/* It is not known any more whether its CPUs are idle, so it is continued and begins
 * anew. */
static void lose_sight(guest_t *guest, uint64_t time_ns)
{
    if (time_ns - guest->read_ns < BLIND_NS)
        return;
    if (guest->stopped_ns)
        hpcb_log(HPCB_LOG_INFO,
                 "job %u: goes on after %.0f s: what it gets cannot be read",
                 guest->job_id, (double)(time_ns - guest->stopped_ns) / SECOND);
    let_go(guest);
    guest->crumbs = (hpcb_crumbs_t){.begun = false};
}

static void look_at(guest_t *guest, const hpcbd_job_t *job)
{
    const hpcb_conf_t *conf = &engine.daemon->conf;
    const hpcb_crumbs_conf_t policy = {
        .min_share = conf->guest_min_share_ppm / 1e6,
        .patience_ns = PATIENCE_NS,
        .starved_ns =
            conf->guest_starved_after ? conf->guest_starved_after * SECOND : UINT64_MAX,
    };
    uint64_t time_ns = now_ns();
    hpcbd_share_t share;
    hpcb_crumbs_verdict_t verdict;

    if (hpcbd_shares_look(engine.shares, job, &share) < 0) {
        lose_sight(guest, time_ns);
        return;
    }
    guest->read_ns = time_ns;
    if (share.suspended) {
        pause_guest(guest, time_ns);
        return;
    }
    verdict = hpcb_crumbs_step(&policy, &guest->crumbs,
                               guest->crumbs.stopped ? share.idle : share.used,
                               share.waited, time_ns);
    carry_out(guest, verdict, &share, time_ns);
}

/* Alone on the node a guest has all that there is. */
static bool has_primary(const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_PRIMARY)
            return true;
    return false;
}

static void look_at_all(const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        const hpcbd_job_t *job = registry->jobs[i];
        guest_t *guest = job->state.klass == HPCB_CLASS_GUEST ? find_or_add(job) : NULL;

        if (!guest)
            continue;
        guest->seen = true;
        guest->marked = job->marked;
        look_at(guest, job);
    }
}

static bool wanted(const hpcbd_registry_t *registry)
{
    return engine.daemon->conf.guest_min_share_ppm && has_primary(registry);
}

static bool has_guest(const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_GUEST)
            return true;
    return false;
}

static void on_tick(void *arg, uint64_t what)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    (void)arg;
    (void)what;
    for (size_t i = 0; i < engine.count; i++)
        engine.guests[i]->seen = false;
    hpcbd_shares_round(engine.shares, engine.stats.stopped > 0);
    if (wanted(registry))
        look_at_all(registry);
    for (size_t i = engine.count; i-- > 0;)
        if (!engine.guests[i]->seen)
            forget(i);
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GUESTS,
                           engine.stats.stopped ? (int64_t)(now_ns() + DECIDE_NS) : 0);
    hpcb_timer_every(engine.tick, has_guest(registry) ? SECOND : REST_NS);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    hpcb_error_t why;

    engine.daemon = daemon;
    engine.stats = (hpcbd_crumbs_stats_t){.stopped = 0};
    if (hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    engine.shares = hpcbd_shares_new(engine.node, &why);
    if (!engine.shares) {
        hpcb_log(HPCB_LOG_INFO, "guests that get next to nothing are not stopped: %s",
                 why.text);
        return 0;
    }
    engine.tick = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    if (!engine.tick)
        return -1;
    hpcb_timer_in(engine.tick, SECOND, SECOND);
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcb_source_remove(engine.tick);
    engine.tick = NULL;
    while (engine.count)
        forget(engine.count - 1);
    hpcbd_shares_free(engine.shares);
    engine.shares = NULL;
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_crumbs = {.name = "crumbs", .start = start, .stop = stop};
