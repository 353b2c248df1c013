/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * An experiment has six times by the wall clock (hpcb_harm_stop_t): the times of
 * comparison begin and end at the outer ones and at the stop; guests stop and continue
 * in between.  The kernel adds a task's wait to its run delay when the wait ends, so
 * CPU time of this daemon at a time of the experiment counts after the reading at that
 * time.  Therefore the time without guests begins with a reading of its own, some time
 * after the stop, and the times with guests are divided into parts of the same length
 * (policy/typical.h).  One stop serves all primaries of the node.  At each time some of
 * them are read, in rotation, so that an iteration of the loop stays short.
 *
 * A stop that no primary of the node needs is skipped.  It is made if a primary needs
 * it that is not read this time, because another node may compare its part of that job.
 *
 * The experiment of a primary is discarded if one of the guests in the comparison
 * starts or ends; those of all primaries if a reading is late, or the clock is set.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/steps.h"
#include "common/key.h"
#include "common/log.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/guarded.h"
#include "hpcbd/harm/life.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/harm/progress.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/windows/windows.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

/* A later reading is void. */
#define LATE_NS (10 * MS)

/* Lead before the first reading, because setting a timer takes some time. */
#define AHEAD_NS (5 * MS)

/* Interval of scans for primaries with guests while there are none. */
#define LOOK_NS (5 * SECOND)

/* A daemon that has not let guests go by then hangs.  No sooner: to write to a cgroup
 * waits for a lock whose holder may wait for a CPU (what comes late is discarded
 * anyhow). */
#define DECIDE_NS (2 * SECOND)

/* To attach counters to threads takes long: who comes when that much has been spent on
 * it waits for the next stop. */
#define BEGIN_NS (20 * MS)

/* Guests are stopped for so much of their time at most, whatever happens to the clock;
 * what has not been used up goes up to that many stops, which are the most that may
 * follow each other at once. */
#define PART_MAX  50 /* a fiftieth */
#define SAVED_MAX 2

/* Readings are some microseconds late, the end of a stop sometimes more than its
 * begin.  A millisecond less than a fiftieth of the period keeps guests' loss below
 * that part. */
#define OFF_NS    (199 * MS)
#define SETTLE_NS (10 * MS)
#define PART_NS   (OFF_NS - SETTLE_NS)
static const hpcb_harm_plan_t plan = {.period_ns = 10 * SECOND,
                                      .off_ns = OFF_NS,
                                      .settle_ns = SETTLE_NS,
                                      .compare_ns = HPCB_PROGRESS_PARTS * PART_NS,
                                      .gap_ns = 2 * SECOND};

/* If a reading of the primaries takes more CPU time, there are none between parts. */
#define READ_NS MS

typedef struct {
    uint64_t begin_us; /* of the job */
    hpcb_progress_t ever;
    hpcbd_life_t life;
    hpcbd_guarded_t guarded;
} primary_t;

/* One that is read at this stop. */
typedef struct {
    uint32_t job_id;
    uint64_t guests;                               /* that it is compared with */
    hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]; /* one for each reading */
} subject_t;

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcbd_near_t *near;
    hpcbd_progress_t *progress;
    hpcb_source_t *timer;
    hpcb_harm_seed_t seed;
    primary_t *primaries[HPCBD_JOBS_MAX];
    size_t count;
    /* In this turn: which jobs of the registry are guests that run, and whether some
     * are. */
    bool runs[HPCBD_JOBS_MAX];
    bool some_run;
    /* The experiment under way or the next one. */
    bool due; /* there is one */
    hpcb_harm_stop_t stop;
    unsigned edge; /* the next one */
    bool in_parts; /* parts are read, too */
    subject_t subjects[HPCBD_PROGRESS_JOBS];
    size_t subject_count;
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

bool hpcbd_experiment_cost(uint32_t job_id, uint64_t begin_us,
                           const hpcb_guest_cost_t *before, hpcb_guest_cost_t *cost)
{
    static const hpcbd_life_t nothing;
    const primary_t *primary = find(job_id);
    bool known = primary && primary->begin_us == begin_us;
    int64_t now_us = clock_ns(CLOCK_REALTIME) / 1000;

    return hpcbd_life_cost(known ? &primary->life : &nothing, before,
                           (double)(now_us - (int64_t)begin_us) / 1e6, cost);
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

/* One with windows has guests stopped in a rhythm of its own, and one that takes turns
 * is stopped itself. */
static bool is_subject(const hpcbd_job_t *job)
{
    return job->state.klass == HPCB_CLASS_PRIMARY && job->dir[0] &&
           job->state.window.period_us == 0 &&
           !(job->gang && hpcbd_gang_switches(job->state.job_id));
}

static void add_primaries(const hpcbd_registry_t *registry)
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

static void look_who_runs(const hpcbd_registry_t *registry)
{
    engine.some_run = false;
    for (size_t i = 0; i < registry->count; i++) {
        engine.runs[i] = is_running(registry->jobs[i]);
        engine.some_run |= engine.runs[i];
    }
}

/*
 * Return a number for the running guests with which a primary is compared, which
 * changes when one of them starts or ends: those on its cores, or if none of these runs
 * the others of the node, as the guard attributes harm.  0: there are none, or a guest
 * that is stopped for long runs to receive its end, which would be attributed to them.
 */
static uint64_t compared_with(const hpcbd_registry_t *registry,
                              const hpcbd_job_t *primary)
{
    uint64_t sum[2] = {0, 0};
    bool hears[2] = {false, false};

    for (size_t i = 0; i < registry->count; i++) {
        const hpcbd_job_t *job = registry->jobs[i];
        bool stray = is_guest(job) && hpcbd_window_hears(job->state.job_id);
        bool near;

        if (!engine.runs[i] && !stray)
            continue;
        near = hpcbd_near_shares(engine.near, primary, job);
        hears[near] |= stray;
        if (!stray)
            sum[near] +=
                2 * (job->state.begin_us ^ (uint64_t)job->state.job_id << 40) + 1;
    }
    if (hears[true] || (hears[false] && !sum[true]))
        return 0;
    return sum[true] ? sum[true] : sum[false];
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
    switch (edge) {
    case HPCB_PROGRESS_SETTLED:
        return engine.stop.settled_ns;
    case HPCB_PROGRESS_GO:
        return engine.stop.to_ns;
    default:
        return edge <= HPCB_PROGRESS_STOP
                   ? engine.stop.before_ns + (edge - HPCB_PROGRESS_BEFORE) * PART_NS
                   : engine.stop.again_ns + (edge - HPCB_PROGRESS_AGAIN) * PART_NS;
    }
}

static unsigned next_edge(void)
{
    unsigned edge = engine.edge + 1;

    while (!engine.in_parts && hpcb_progress_is_between(edge))
        edge++;
    return edge;
}

/* If the clock is set meanwhile, the next expiration detects that it is not due.  After
 * a step back that would be late: no planned time is two periods away. */
static void set_timer(int64_t at_ns)
{
    if (hpcb_timer_at(engine.timer, (uint64_t)at_ns, 0) < 0 ||
        at_ns - clock_ns(CLOCK_REALTIME) > 2 * plan.period_ns)
        hpcb_timer_in(engine.timer, 1, 0);
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
                           clock_ns(CLOCK_MONOTONIC) + DECIDE_NS);
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

/* Return the next experiment whose first reading is in the future. */
static hpcb_harm_stop_t next_stop(int64_t now_ns)
{
    hpcb_harm_stop_t stop = hpcb_harm_stop(&plan, &engine.seed, now_ns);

    if (stop.before_ns < now_ns + AHEAD_NS)
        stop = hpcb_harm_stop(&plan, &engine.seed, now_ns + plan.period_ns);
    return stop;
}

static void add_subject(const hpcbd_registry_t *registry, const hpcbd_job_t *job)
{
    subject_t subject = {.job_id = job->state.job_id,
                         .guests = compared_with(registry, job)};

    if (subject.guests &&
        hpcbd_progress_begin(engine.progress, job, engine.subject_count, registry,
                             engine.near) == 0)
        engine.subjects[engine.subject_count++] = subject;
}

/* Starting may be a lot of work, and nothing waits for it. */
static bool has_time(int64_t since_ns)
{
    return clock_ns(CLOCK_MONOTONIC) - since_ns < BEGIN_NS && !hpcbd_window_must_wait();
}

/*
 * Choose who is read at this stop: as many as have their sensors open, from another one
 * on each time.  By the jobs' numbers and that of the stop, so that nodes with the same
 * primaries choose the same.  Return false if all were tried, and no one has anything
 * to learn.
 */
static bool choose_subjects(const hpcbd_registry_t *registry)
{
    static const hpcbd_job_t *jobs[HPCBD_JOBS_MAX];
    int64_t since_ns = clock_ns(CLOCK_MONOTONIC);
    size_t count = 0, tried = 0, from = 0;
    uint64_t turn = engine.stop.number * HPCBD_PROGRESS_JOBS;

    for (size_t i = 0; i < registry->count; i++)
        if (is_subject(registry->jobs[i]) && find(registry->jobs[i]->state.job_id))
            jobs[count++] = registry->jobs[i];
    /* Whatever count is, each of them is the first one at some time. */
    if (count > 0)
        from = (size_t)((turn + turn / count) % count);
    while (tried < count && engine.subject_count < HPCBD_PROGRESS_JOBS &&
           has_time(since_ns))
        add_subject(registry, jobs[(from + tried++) % count]);
    return engine.subject_count > 0 || tried < count;
}

/* Return whether it is still compared with the same guests. */
static bool is_same(const hpcbd_registry_t *registry, const subject_t *subject)
{
    const hpcbd_job_t *job = hpcbd_registry_find(registry, subject->job_id);

    return job && is_subject(job) && find(subject->job_id) &&
           compared_with(registry, job) == subject->guests;
}

static bool read_subject(subject_t *subject)
{
    return hpcbd_progress_select(engine.progress, subject->job_id) == 0 &&
           hpcbd_progress_read(engine.progress, &subject->at[engine.edge]) == 0;
}

static void drop_subject(size_t i)
{
    engine.subjects[i] = engine.subjects[--engine.subject_count];
}

/* Of those that are left. */
static void read_subjects(const hpcbd_registry_t *registry)
{
    int64_t since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    for (size_t i = engine.subject_count; i-- > 0;)
        if (!is_same(registry, &engine.subjects[i]))
            drop_subject(i);
    for (size_t i = engine.subject_count; i-- > 0;)
        if (!read_subject(&engine.subjects[i]))
            drop_subject(i);
    if (engine.edge == HPCB_PROGRESS_BEFORE)
        engine.in_parts = clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns <= READ_NS;
}

static void conclude(void)
{
    for (size_t i = 0; i < engine.subject_count; i++) {
        const subject_t *subject = &engine.subjects[i];
        primary_t *primary = find(subject->job_id);

        hpcb_progress_add(&primary->ever, subject->at);
        hpcb_progress_add(&primary->guarded.since, subject->at);
        hpcbd_life_compare(&primary->life, subject->at);
    }
}

/* For now, so that new jobs find no sensors.  Evidence about guests that have ended for
 * a moment is kept (hpcbd/harm/regulars.h). */
static void end_experiments(void)
{
    for (size_t i = 0; i < engine.count; i++) {
        hpcbd_guarded_t *guarded = &engine.primaries[i]->guarded;

        hpcbd_progress_end(engine.progress, guarded->job_id);
        hpcbd_guarded_rest(guarded);
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

        /* One at a time: what is done for one may cure the next, too. */
        further = further || hpcbd_guarded_step(guarded, engine.near,
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

/* The clock is to be trusted. */
static bool is_trusted(void)
{
    return !hpcbd_window_stats()->suspended;
}

static void plan_next(const hpcbd_registry_t *registry)
{
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    bool wanted = is_wanted(registry);

    let_guests_go(registry);
    forget_gone(registry);
    engine.subject_count = 0;
    engine.edge = HPCB_PROGRESS_BEFORE;
    hpcbd_near_clean(engine.near, registry);
    if (wanted) {
        add_primaries(registry);
        step_guards();
    } else {
        hpcbd_restrain_guests(NULL, false);
        hpcbd_slices_end();
        end_experiments();
    }
    engine.due = wanted && engine.count > 0 && is_trusted();
    if (engine.due)
        engine.stop = next_stop(now_ns);
    set_timer(engine.due ? edge_ns(HPCB_PROGRESS_BEFORE) : now_ns + LOOK_NS);
}

/* False: the experiment ends here. */
static bool act_at_edge(const hpcbd_registry_t *registry)
{
    switch (engine.edge) {
    case HPCB_PROGRESS_STOP:
        engine.budget_ns -= plan.off_ns;
        return stop_guests(registry);
    case HPCB_PROGRESS_GO:
        let_guests_go(registry);
        return engine.subject_count > 0;
    case HPCB_PROGRESS_AFTER:
        conclude();
        return false;
    default:
        return true;
    }
}

/* True if the experiment goes on. */
static bool pass_edge(const hpcbd_registry_t *registry)
{
    if (engine.edge == HPCB_PROGRESS_BEFORE &&
        (engine.budget_ns < plan.off_ns || !choose_subjects(registry)))
        return false;
    /* The time to read many jobs is small compared to the second before, and large
     * compared to the stop. */
    if (engine.edge == HPCB_PROGRESS_STOP && !act_at_edge(registry))
        return false;
    read_subjects(registry);
    if (engine.edge != HPCB_PROGRESS_STOP && !act_at_edge(registry))
        return false;
    engine.edge = next_edge();
    return true;
}

/* Return whether the reading is valid.  A part may be longer than another. */
static bool is_sound(void)
{
    int64_t late_ns = clock_ns(CLOCK_REALTIME) - edge_ns(engine.edge);
    int64_t most_ns = hpcb_progress_is_between(engine.edge) ? PART_NS : LATE_NS;

    return engine.due && late_ns >= -MS && late_ns <= most_ns && engine.some_run &&
           is_trusted();
}

static void pass_lives(bool guests)
{
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

    for (size_t i = 0; i < engine.count; i++)
        hpcbd_life_pass(&engine.primaries[i]->life, guests, now_ns);
}

/* expirations 0: the clock was set. */
static void on_edge(void *arg, uint64_t expirations)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    (void)arg;
    earn(clock_ns(CLOCK_MONOTONIC));
    pass_lives(engine.some_run);
    look_who_runs(registry);
    if (expirations > 0 && is_sound() && pass_edge(registry))
        set_timer(edge_ns(engine.edge));
    else
        plan_next(registry);
}

/* Without a secret the experiments continue, because they find guests that do not try
 * to evade them. */
static void load_seed(void)
{
    unsigned char secret[HPCB_KEY_MAX];
    hpcb_error_t why;
    ssize_t length = hpcb_key_read(engine.daemon->conf_path, secret, &why);

    if (length < 0)
        hpcb_log(HPCB_LOG_INFO, "guests can know when experiments are: %s", why.text);
    engine.seed = hpcb_harm_seed(secret, length < 0 ? 0 : (size_t)length);
    explicit_bzero(secret, sizeof(secret));
}

static void reload(hpcbd_t *daemon)
{
    (void)daemon;
    if (engine.timer)
        load_seed();
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
    load_seed();
    engine.budget_since_ns = clock_ns(CLOCK_MONOTONIC);
    engine.budget_ns = SAVED_MAX * plan.off_ns;
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
    .name = "experiment", .start = start, .reload = reload, .stop = stop};
