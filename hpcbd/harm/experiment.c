/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * An experiment has four edges by the wall clock: the times of comparison begin and end
 * at the outer ones, guests stop and go on at the inner ones.  It is discarded if an
 * edge comes late, a guest comes or goes, or the clock is set.
 *
 * One experiment at a time: the others of the node wait for their next period.
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "cgroup/steps.h"
#include "common/log.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/guarded.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/harm/progress.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/windows/windows.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

/* An edge that comes later says nothing of what was meant to be between. */
#define LATE_NS (10 * MS)

/* Ahead of the first edge: to set a timer takes some time. */
#define AHEAD_NS (5 * MS)

/* How often it is looked for primaries with guests while there are none. */
#define LOOK_NS (5 * SECOND)

/* Guests are stopped for so much of their time at most, whatever the number of
 * primaries; what has not been used up goes up to that many stops. */
#define PART_MAX  50 /* a fiftieth */
#define SAVED_MAX 2

static const hpcb_harm_plan_t plan = {
    .period_ns = 10 * SECOND, .off_ns = 200 * MS, .compare_ns = SECOND};

typedef struct {
    uint64_t begin_us; /* of the job */
    hpcb_progress_t ever;
    hpcbd_guarded_t guarded;
} primary_t;

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcbd_near_t *near;
    hpcbd_progress_t *progress;
    hpcb_source_t *timer;
    primary_t *primaries[HPCBD_JOBS_MAX];
    size_t count;
    /* The experiment under way or the next one. */
    uint32_t job_id; /* 0: there is none */
    hpcb_harm_stop_t stop;
    unsigned edge;                                 /* the next one */
    uint64_t running;                              /* guests */
    hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]; /* one at each edge */
    bool stopped;
    /* How long guests may be stopped, and since when that grows. */
    int64_t budget_ns, budget_since_ns;
} engine;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static primary_t *find(uint32_t job_id)
{
    for (size_t i = 0; i < engine.count; i++)
        if (engine.primaries[i]->guarded.job_id == job_id)
            return engine.primaries[i];
    return NULL;
}

bool hpcbd_experiment_judge(uint32_t job_id, hpcb_progress_verdict_t *verdict)
{
    const primary_t *primary = find(job_id);

    return primary && hpcb_progress_judge(&primary->ever, verdict);
}

/* ---- who is there ---- */

static void add(const hpcbd_job_t *job)
{
    primary_t *primary = find(job->state.job_id);

    if (primary && primary->begin_us != job->state.begin_us)
        *primary = (primary_t){.begin_us = job->state.begin_us};
    if (!primary && engine.count < HPCBD_JOBS_MAX) {
        primary = calloc(1, sizeof(*primary));
        if (primary)
            engine.primaries[engine.count++] = primary;
    }
    if (primary) {
        primary->guarded.job_id = job->state.job_id;
        primary->begin_us = job->state.begin_us;
    }
}

/* One with windows has guests stopped in a rhythm of its own. */
static bool is_subject(const hpcbd_job_t *job)
{
    return job->state.klass == HPCB_CLASS_PRIMARY && job->dir[0] &&
           job->state.window.period_us == 0;
}

static void add_subjects(const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        if (is_subject(registry->jobs[i]))
            add(registry->jobs[i]);
}

static void forget_gone(const hpcbd_registry_t *registry)
{
    for (size_t i = engine.count; i-- > 0;) {
        if (hpcbd_registry_find(registry, engine.primaries[i]->guarded.job_id))
            continue;
        hpcbd_progress_end(engine.progress, engine.primaries[i]->guarded.job_id);
        free(engine.primaries[i]);
        engine.primaries[i] = engine.primaries[--engine.count];
    }
}

static bool is_guest(const hpcbd_job_t *job)
{
    return job->state.klass == HPCB_CLASS_GUEST;
}

/* By the primary for which it is restricted most. */
static hpcb_guard_level_t level_of(const hpcbd_job_t *guest)
{
    hpcb_guard_level_t most = HPCB_GUARD_FREE;

    for (size_t i = 0; i < engine.count; i++) {
        hpcb_guard_level_t level =
            hpcbd_guarded_level(&engine.primaries[i]->guarded, engine.near, guest);

        most = level > most ? level : most;
    }
    return most;
}

/* One that is stopped anyhow costs as much while all are: nothing is to be learnt from
 * it.  What the guard leaves of the others' time is what is asked about. */
static bool is_running(const hpcbd_job_t *job)
{
    return is_guest(job) && !hpcbd_guarded_is_held(job) &&
           level_of(job) < HPCB_GUARD_STOP;
}

/* Guests that run, as a number that changes when one comes or goes; 0: none. */
static uint64_t running_now(const hpcbd_registry_t *registry)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < registry->count; i++) {
        const hpcb_job_state_t *job = &registry->jobs[i]->state;

        if (is_running(registry->jobs[i]))
            sum += 2 * (job->begin_us ^ (uint64_t)job->job_id << 40) + 1;
    }
    return sum;
}

static unsigned count_guests(const hpcbd_registry_t *registry)
{
    unsigned guests = 0;

    for (size_t i = 0; i < registry->count; i++)
        guests += is_guest(registry->jobs[i]);
    return guests;
}

/* ---- the experiment ---- */

static int64_t edge_ns(unsigned edge)
{
    const int64_t edges[HPCB_PROGRESS_READINGS] = {
        [HPCB_PROGRESS_BEFORE] = engine.stop.from_ns - plan.compare_ns,
        [HPCB_PROGRESS_STOP] = engine.stop.from_ns,
        [HPCB_PROGRESS_GO] = engine.stop.to_ns,
        [HPCB_PROGRESS_AFTER] = engine.stop.to_ns + plan.compare_ns,
    };

    return edges[edge];
}

static void set_timer(int64_t at_ns)
{
    hpcb_timer_at(engine.timer, (uint64_t)at_ns, 0);
}

static int any(pid_t pid, void *arg)
{
    (void)pid;
    (void)arg;
    return 1;
}

/* It runs nothing: an allocation that waits for its user, for example.  The place of
 * one that is marked only may be unknown while its tasks run. */
static bool is_idle(const hpcbd_job_t *guest)
{
    if (!guest->dir[0])
        return !guest->marked;
    return hpcb_steps_busy(engine.node, guest->dir, any, NULL) != 1;
}

/* True if all of them are stopped. */
static bool stop_guests(const hpcbd_registry_t *registry)
{
    bool all = true;

    engine.stopped = true;
    hpcbd_window_decide_by(HPCBD_WATCHDOG_EXPERIMENT,
                           clock_ns(CLOCK_MONOTONIC) + 2 * plan.off_ns);
    for (size_t i = 0; i < registry->count; i++) {
        const hpcbd_job_t *job = registry->jobs[i];

        if (is_guest(job))
            all &=
                hpcbd_window_stop_guest(job->state.job_id, HPCBD_FREEZE_EXPERIMENT) ||
                is_idle(job);
    }
    return all;
}

static void let_guests_go(const hpcbd_registry_t *registry)
{
    if (!engine.stopped)
        return;
    for (size_t i = 0; i < registry->count; i++)
        hpcbd_window_let_guest_go(registry->jobs[i]->state.job_id,
                                  HPCBD_FREEZE_EXPERIMENT);
    hpcbd_window_decide_by(HPCBD_WATCHDOG_EXPERIMENT, 0);
    engine.stopped = false;
}

static void earn(int64_t now_ns)
{
    int64_t passed_ns = now_ns - engine.budget_since_ns;

    engine.budget_since_ns = now_ns;
    engine.budget_ns += passed_ns / PART_MAX;
    if (engine.budget_ns > SAVED_MAX * plan.off_ns)
        engine.budget_ns = SAVED_MAX * plan.off_ns;
}

/* The job's next stop whose first edge is to come. */
static hpcb_harm_stop_t next_stop(uint32_t job_id, int64_t now_ns)
{
    hpcb_harm_stop_t stop = hpcb_harm_stop(&plan, job_id, now_ns);

    if (stop.from_ns - plan.compare_ns < now_ns + AHEAD_NS)
        stop = hpcb_harm_stop(&plan, job_id, now_ns + plan.period_ns);
    return stop;
}

static void conclude(primary_t *primary)
{
    hpcb_progress_add(&primary->ever, engine.at);
    hpcb_progress_add(&primary->guarded.since, engine.at);
}

/* For now: whoever comes finds no sensors and no evidence. */
static void end_experiments(void)
{
    for (size_t i = 0; i < engine.count; i++) {
        hpcbd_guarded_t *guarded = &engine.primaries[i]->guarded;

        hpcbd_progress_end(engine.progress, guarded->job_id);
        guarded->there = (hpcb_guards_who_t){.near = false};
    }
}

/* ---- what follows from it ---- */

static bool is_wanted(const hpcbd_registry_t *registry)
{
    return engine.daemon->conf.guest_max_slowdown_ppm && count_guests(registry) > 0;
}

static void step_guards(void)
{
    double limit = engine.daemon->conf.guest_max_slowdown_ppm / 1e6;
    hpcb_guard_level_t most = HPCB_GUARD_FREE;
    bool further = false;

    for (size_t i = 0; i < engine.count; i++) {
        hpcbd_guarded_t *guarded = &engine.primaries[i]->guarded;
        hpcb_guard_level_t level;

        further |= hpcbd_guarded_step(guarded, engine.near,
                                      engine.daemon->conf.state_dir, limit);
        level = hpcbd_guarded_most(guarded);
        hpcbd_slices_set(guarded->job_id,
                         guarded->guards.near.level >= HPCB_GUARD_SLICES);
        most = level > most ? level : most;
    }
    for (size_t i = 0; further && i < engine.count; i++)
        hpcbd_guarded_anew(&engine.primaries[i]->guarded);
    hpcbd_restrain_guests(most > HPCB_GUARD_SLICES ? level_of : NULL, further);
}

/* The first stop of all primaries that are next to guests. */
static void plan_next(const hpcbd_registry_t *registry)
{
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    bool wanted = is_wanted(registry);

    let_guests_go(registry);
    forget_gone(registry);
    engine.job_id = 0;
    engine.edge = HPCB_PROGRESS_BEFORE;
    hpcbd_near_clean(engine.near, registry);
    if (wanted) {
        add_subjects(registry);
        step_guards();
    } else {
        hpcbd_restrain_guests(NULL, false);
        hpcbd_slices_end();
        end_experiments();
    }
    engine.running = running_now(registry);
    for (size_t i = 0; wanted && i < registry->count; i++) {
        const hpcbd_job_t *job = registry->jobs[i];
        hpcb_harm_stop_t stop;

        if (!is_subject(job) || !find(job->state.job_id))
            continue;
        stop = next_stop(job->state.job_id, now_ns);
        if (engine.job_id && stop.from_ns >= engine.stop.from_ns)
            continue;
        engine.job_id = job->state.job_id;
        engine.stop = stop;
    }
    set_timer(engine.job_id ? edge_ns(HPCB_PROGRESS_BEFORE) : now_ns + LOOK_NS);
}

/* True if the experiment goes on. */
static bool pass_edge(const hpcbd_registry_t *registry, const hpcbd_job_t *job)
{
    if (engine.edge == HPCB_PROGRESS_BEFORE &&
        hpcbd_progress_begin(engine.progress, job, registry, engine.near) < 0)
        return false;
    if (hpcbd_progress_read(engine.progress, &engine.at[engine.edge]) < 0)
        return false;
    if (engine.edge == HPCB_PROGRESS_STOP) {
        if (!stop_guests(registry))
            return false;
        engine.budget_ns -= plan.off_ns;
    } else if (engine.edge == HPCB_PROGRESS_GO) {
        let_guests_go(registry);
    } else if (engine.edge == HPCB_PROGRESS_AFTER) {
        conclude(find(engine.job_id));
    }
    return ++engine.edge < HPCB_PROGRESS_READINGS;
}

/* Whether things are as they were meant to be. */
static bool is_sound(const hpcbd_registry_t *registry, const hpcbd_job_t *job)
{
    int64_t late_ns = clock_ns(CLOCK_REALTIME) - edge_ns(engine.edge);

    return job && find(engine.job_id) && late_ns >= -MS && late_ns <= LATE_NS &&
           engine.running && running_now(registry) == engine.running &&
           (engine.edge != HPCB_PROGRESS_BEFORE || engine.budget_ns >= plan.off_ns);
}

/* expirations 0: somebody has set the clock. */
static void on_edge(void *arg, uint64_t expirations)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();
    const hpcbd_job_t *job =
        engine.job_id ? hpcbd_registry_find(registry, engine.job_id) : NULL;

    (void)arg;
    earn(clock_ns(CLOCK_MONOTONIC));
    if (expirations > 0 && is_sound(registry, job) && pass_edge(registry, job))
        set_timer(edge_ns(engine.edge));
    else
        plan_next(registry);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    hpcb_error_t why;

    engine.daemon = daemon;
    if (hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    engine.near = hpcbd_near_new(engine.node, daemon->conf.state_dir, err);
    if (!engine.near)
        return -1;
    engine.progress = hpcbd_progress_new(engine.node, daemon->conf.state_dir, &why);
    if (!engine.progress) {
        hpcb_log(HPCB_LOG_INFO, "what guests cost primaries is not measured: %s",
                 why.text);
        return 0;
    }
    engine.timer = hpcb_loop_timer(daemon->loop, CLOCK_REALTIME, on_edge, NULL, err);
    if (!engine.timer)
        return -1;
    engine.budget_since_ns = clock_ns(CLOCK_MONOTONIC);
    set_timer(clock_ns(CLOCK_REALTIME) + LOOK_NS);
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcb_source_remove(engine.timer);
    engine.timer = NULL;
    let_guests_go(hpcbd_window_registry());
    while (engine.count)
        free(engine.primaries[--engine.count]);
    hpcbd_progress_free(engine.progress);
    engine.progress = NULL;
    hpcbd_near_free(engine.near);
    engine.near = NULL;
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_experiment = {
    .name = "experiment", .start = start, .stop = stop};
