/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Three timers drive the engine:
 *   the edge timer    on the wall clock, at the next switch of any job; all jobs that
 *                     are due are switched in that iteration.  It also expires when the
 *                     clock is set, and then every job's phase is computed anew
 *   the look timer    once a second while there are jobs: scans for new threads, a few
 *                     jobs in turn, so that its cost does not grow with their number
 *   the refresh timer every 30 s: scans all of StateDir, for changes without a
 *                     notification
 * Notifications (hpcbd/node/socket.c) advance scans.  Work that reads files waits until
 * no job is boosted, and does a bounded part per iteration.
 *
 * After a crash these are found again: undo logs below StateDir/window and the log of
 * frozen guests (both written before the changes), threads by their priority, and the
 * watchdog, which undoes all of it, including changes of hpcbd/harm.  A daemon that
 * starts does the same before anything else.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/slices.h"
#include "cgroup/undo.h"
#include "common/log.h"
#include "common/window.h"
#include "hpcbd/windows/calm.h"
#include "hpcbd/windows/freeze.h"
#include "hpcbd/windows/guard.h"
#include "hpcbd/windows/windows.h"
#include "policy/window.h"

_Static_assert(HPCB_WINDOW_PERIOD_MIN_NS == 1000 * HPCB_WINDOW_PERIOD_MIN_US &&
                   HPCB_WINDOW_PERIOD_MAX_NS == 1000 * HPCB_WINDOW_PERIOD_MAX_US,
               "common/window and policy/window have the same limits");

#define MILLISECOND     UINT64_C(1000000)
#define LOOK_NS         (1000 * MILLISECOND)
#define REST_NS         (5000 * MILLISECOND) /* without jobs */
#define SOON_NS         (20 * MILLISECOND)
#define REFRESH_NS      (30000 * MILLISECOND)
#define LOOKS_AT_A_TIME 2
#define DIRTY_AT_A_TIME 8
#define LOADS_AT_A_TIME 16

/* A scan waits for the end of a boosted part, unless that is further away. */
#define LOOK_WAIT_NS (5000 * MILLISECOND)

/* The wall clock may gain or lose so much against the monotonic one, and a thousandth
 * of the time that has passed (twice what the kernel slews): more is a step. */
#define STEP_NS ((int64_t)MILLISECOND)

static struct {
    hpcbd_t *daemon;
    pid_t pid; /* of the daemon */
    hpcb_node_t *node;
    hpcbd_freeze_t *freeze;
    hpcbd_calm_t *calm;
    hpcbd_registry_t registry;
    hpcbd_guard_t guard;
    hpcbd_window_stats_t stats;
    char state_dir[PATH_MAX]; /* StateDir/window: undo logs */
    hpcb_source_t *edge, *look, *refresh;
    size_t turn;            /* next job to scan */
    bool soon;              /* the look timer has an early time */
    bool look_due;          /* a scan was due while a job was boosted */
    bool refresh_due;       /* before the next scan */
    int64_t due_ns;         /* expiry of the edge timer; 0: off */
    const char *distrusted; /* why the clock is; NULL: it is not */
    struct {
        int64_t wall_ns, monotonic_ns; /* at the last comparison */
    } clocks;
} engine;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &engine.registry;
}

const hpcbd_window_stats_t *hpcbd_window_stats(void)
{
    return &engine.stats;
}

static bool has_windows(const hpcbd_job_t *job)
{
    return job->favour && hpcb_window_good(&job->window);
}

static void complain(const hpcbd_job_t *job, int rc, const hpcb_error_t *err)
{
    if (rc < 0)
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s", job->state.job_id, err->text);
}

static void switch_job(hpcbd_job_t *job, bool favoured)
{
    hpcb_error_t err;

    if (job->favoured == favoured)
        return;
    job->favoured = favoured;
    if (favoured)
        complain(job, hpcb_favour_begin(job->favour, &err), &err);
    else
        complain(job, hpcb_favour_end(job->favour, &err), &err);
}

/* At most a part of a period after the switch: a switch that was overslept for longer
 * is missed, not late. */
static void account(hpcbd_job_t *job, int64_t now_ns)
{
    uint64_t passed = hpcb_window_edges(&job->window, job->due_ns - 1, now_ns);
    int64_t late = clock_ns(CLOCK_REALTIME) - job->due_ns;

    engine.stats.edges++;
    if (passed > 1) {
        job->missed += passed - 1;
        engine.stats.missed += passed - 1;
    }
    hpcb_histogram_add(&engine.stats.late, late > 0 ? (uint64_t)late : 0);
}

/* Compute the job's state from now on, and until when. */
static void plan(hpcbd_job_t *job, int64_t now_ns, bool anew)
{
    bool due = job->edge_ns != 0 && now_ns >= job->edge_ns;
    hpcb_window_phase_t phase;

    job->wanted = job->favoured;
    job->due_ns = 0;
    if (!has_windows(job) || !(due || anew || job->edge_ns == 0))
        return;
    phase = hpcb_window_phase(&job->window, now_ns);
    job->wanted = phase.favoured && !engine.stats.suspended;
    if (due && !anew && !engine.stats.suspended)
        job->due_ns = job->edge_ns;
    job->edge_ns = phase.edge_ns;
}

/* Return until when a job will be boosted, on the monotonic clock; 0: none. */
static int64_t plan_all(bool anew)
{
    int64_t now_ns = engine.clocks.wall_ns, end_ns = 0;

    for (size_t i = 0; i < engine.registry.count; i++) {
        hpcbd_job_t *job = engine.registry.jobs[i];

        plan(job, now_ns, anew);
        if (job->wanted && job->edge_ns > end_ns)
            end_ns = job->edge_ns;
    }
    return end_ns ? end_ns - now_ns + engine.clocks.monotonic_ns : 0;
}

static void carry_out(hpcbd_job_t *job)
{
    switch_job(job, job->wanted);
    if (job->due_ns)
        account(job, engine.clocks.wall_ns);
}

/* Switches have no effect while windows are suspended, so nothing waits for them. */
static int64_t next_edge(void)
{
    int64_t next_ns = INT64_MAX;

    for (size_t i = 0; i < engine.registry.count && !engine.stats.suspended; i++) {
        const hpcbd_job_t *job = engine.registry.jobs[i];

        if (has_windows(job) && job->edge_ns < next_ns)
            next_ns = job->edge_ns;
    }
    return next_ns == INT64_MAX ? 0 : next_ns;
}

static void set_edge_timer(bool anew)
{
    int64_t due_ns = next_edge();

    if (due_ns == engine.due_ns && !anew)
        return;
    engine.due_ns = due_ns;
    if (due_ns)
        hpcb_timer_at(engine.edge, (uint64_t)due_ns, 0);
    else
        hpcb_timer_in(engine.edge, 0, 0);
}

/* Read both clocks at nearly the same time: the process may be preempted between the
 * calls. */
static void read_clocks(int64_t *wall_ns, int64_t *monotonic_ns)
{
    for (int tries = 0; tries < 4; tries++) {
        *monotonic_ns = clock_ns(CLOCK_MONOTONIC);
        *wall_ns = clock_ns(CLOCK_REALTIME);
        if (clock_ns(CLOCK_MONOTONIC) - *monotonic_ns < STEP_NS / 10)
            return;
    }
}

/* Read the clocks; return true if one was set since the last time. */
static bool compare_clocks(void)
{
    int64_t wall_ns = 0, monotonic_ns = 0, passed_ns, gained_ns, limit_ns;

    read_clocks(&wall_ns, &monotonic_ns);
    passed_ns = monotonic_ns - engine.clocks.monotonic_ns;
    gained_ns = wall_ns - engine.clocks.wall_ns - passed_ns;
    limit_ns = STEP_NS + passed_ns / 1000;
    engine.clocks.wall_ns = wall_ns;
    engine.clocks.monotonic_ns = monotonic_ns;
    return gained_ns > limit_ns || gained_ns < -limit_ns;
}

/* The watchdog's deadline covers a boost from before its begin until after its end. */
static void act_once(bool anew)
{
    int64_t end_ns = plan_all(anew);

    /* Guests need CPUs to come to a stop, which ranks that spin would not leave them.
     */
    if (end_ns) {
        hpcbd_watchdog_arm(&engine.guard.watchdog, HPCBD_WATCHDOG_BOOST, end_ns);
        hpcbd_calm_begin(engine.calm);
    }
    for (size_t i = 0; i < engine.registry.count; i++)
        carry_out(engine.registry.jobs[i]);
    if (!end_ns) {
        hpcbd_calm_end(engine.calm);
        hpcbd_watchdog_arm(&engine.guard.watchdog, HPCBD_WATCHDOG_BOOST, 0);
    }
    set_edge_timer(anew);
}

static void note_clock_set(void)
{
    engine.stats.clock_sets++;
    hpcb_log(HPCB_LOG_INFO, "the clock was set: phases are worked out anew");
}

/*
 * anew: all computed switches are void.  The kernel reports clock steps while the timer
 * waits; one between our reading of the clock and the timer's start must be detected
 * here.
 */
static void act(bool anew)
{
    if (compare_clocks()) {
        note_clock_set();
        anew = true;
    }
    act_once(anew);
    if (compare_clocks()) {
        note_clock_set();
        act_once(true);
    }
}

static void job_gone(hpcbd_job_t *job)
{
    hpcb_favour_close(job->favour);
    job->favour = NULL;
    job->favoured = false;
}

static void open_favour(hpcbd_job_t *job)
{
    const hpcb_favour_job_t what = {
        .node = engine.node,
        .job_id = job->state.job_id,
        .dir = job->dir,
        .state_dir = engine.state_dir,
        .cgroup = engine.daemon->conf.window_cgroup,
        .permille = (unsigned)(job->window.favoured_ns * 1000 / job->window.period_ns),
        .wanted = engine.daemon->conf.window_mechanism,
    };
    hpcb_error_t err;

    if (hpcb_favour_open(&what, &job->favour, &err) < 0)
        complain(job, -1, &err);
}

/* Its record may be older than this WindowMaxPeriod. */
static bool is_allowed(const hpcbd_job_t *job)
{
    static bool complained;

    if (hpcb_conf_window_fits(&engine.daemon->conf, &job->state.window))
        return true;
    hpcb_log_once(&complained, HPCB_LOG_INFO,
                  "job %u: no windows: their period is longer than WindowMaxPeriod",
                  job->state.job_id);
    return false;
}

/* A boosted thread passes SCHED_FIFO on to the owner of a futex for which it waits
 * (priority inheritance): a guest must share none with it. */
static const char *no_fifo(const hpcbd_job_t *job)
{
    for (size_t i = 0; i < engine.registry.count; i++) {
        const hpcb_job_state_t *other = &engine.registry.jobs[i]->state;

        if (other->klass != HPCB_CLASS_GUEST)
            continue;
        if (other->uid == job->state.uid)
            return "the user has a guest on this node";
        if (other->uid == HPCBD_NO_USER)
            return "a guest without a record is on this node";
    }
    return NULL;
}

static void look_at(hpcbd_job_t *job)
{
    hpcb_error_t err;

    job->dirty = false;
    if (!job->dir[0] || job->state.klass != HPCB_CLASS_PRIMARY ||
        !hpcb_window_good(&job->window))
        return;
    if (!is_allowed(job)) {
        job_gone(job);
        job->edge_ns = 0;
        return;
    }
    if (!job->favour)
        open_favour(job);
    if (!job->favour)
        return;
    job->no_fifo = no_fifo(job);
    hpcb_favour_forbid_fifo(job->favour, job->no_fifo);
    if (hpcb_favour_look(job->favour, &err) == 0)
        return;
    if (errno != ENOENT)
        complain(job, -1, &err);
    /* The job's directory has gone; its next step makes a new one. */
    job_gone(job);
    job->edge_ns = 0;
}

/*
 * A scan walks through cgroups and /proc and may have to wait for a lock of the
 * kernel.  While a boosted job spins, the owner of that lock may not be able to run, so
 * scans are for times without a boost.
 */
bool hpcbd_window_must_wait(void)
{
    int64_t limit_ns = clock_ns(CLOCK_REALTIME) + (int64_t)LOOK_WAIT_NS;

    for (size_t i = 0; i < engine.registry.count; i++) {
        const hpcbd_job_t *job = engine.registry.jobs[i];

        if (job->favoured && job->edge_ns < limit_ns)
            return true;
    }
    return false;
}

static void look_soon(void)
{
    if (!engine.soon)
        hpcb_timer_in(engine.look, SOON_NS, LOOK_NS);
    engine.soon = true;
}

/* Scans also restart the watchdog. */
static void set_pace(void)
{
    bool rests = engine.registry.count == 0 && engine.guard.source;

    if (!engine.soon)
        hpcb_timer_every(engine.look, rests ? REST_NS : LOOK_NS);
}

static void refresh(void)
{
    engine.refresh_due = !hpcbd_registry_refresh(
        &engine.registry, engine.daemon->conf.state_dir, LOADS_AT_A_TIME);
}

/* False: there are more. */
static bool look_at_dirty(void)
{
    unsigned looks = 0;

    for (size_t i = 0; i < engine.registry.count; i++) {
        if (!engine.registry.jobs[i]->dirty)
            continue;
        if (looks++ == DIRTY_AT_A_TIME)
            return false;
        look_at(engine.registry.jobs[i]);
    }
    return true;
}

/* After a refresh: whose user has a guest now, or none any more. */
static void look_for_own_guests(void)
{
    for (size_t i = 0; i < engine.registry.count; i++) {
        hpcbd_job_t *job = engine.registry.jobs[i];

        if (job->favour && job->no_fifo != no_fifo(job))
            job->dirty = true;
    }
}

static void guard(void);

static void look_around(void)
{
    size_t count, looks;

    engine.soon = engine.look_due = false;
    if (engine.refresh_due) {
        refresh();
        look_for_own_guests();
    }
    if (!engine.guard.source)
        guard();
    count = engine.registry.count;
    looks = count < LOOKS_AT_A_TIME ? count : LOOKS_AT_A_TIME;
    if (!look_at_dirty() || engine.refresh_due)
        look_soon();
    for (size_t i = 0; i < looks; i++)
        look_at(engine.registry.jobs[engine.turn++ % count]);
    hpcbd_freeze_look(engine.freeze, &engine.registry);
    hpcbd_calm_look(engine.calm, &engine.daemon->conf, &engine.registry);
    act(false);
    set_pace();
}

static void on_look(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    engine.look_due = hpcbd_window_must_wait();
    if (!engine.look_due)
        look_around();
}

static void on_edge(void *arg, uint64_t what)
{
    (void)arg;
    engine.due_ns = 0; /* the timer is off now */
    act(what == 0);
    if (engine.look_due && !hpcbd_window_must_wait())
        look_around();
}

static void on_refresh(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    engine.refresh_due = true;
    look_soon();
}

void hpcbd_window_job(uint32_t job_id)
{
    hpcbd_job_t *job = hpcbd_registry_find(&engine.registry, job_id);

    if (job)
        job->dirty = true;
    engine.refresh_due = true;
    look_soon();
}

void hpcbd_window_job_end(uint32_t job_id)
{
    hpcbd_registry_remove(&engine.registry, job_id);
    act(false);
}

bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    return engine.guard.source && hpcbd_freeze_stop(engine.freeze, job_id, reason);
}

bool hpcbd_window_is_guarded(void)
{
    return engine.guard.source != NULL;
}

void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    hpcbd_freeze_go(engine.freeze, job_id, reason);
}

unsigned hpcbd_window_why_stopped(uint32_t job_id)
{
    return hpcbd_freeze_reasons(engine.freeze, job_id);
}

bool hpcbd_window_hears(uint32_t job_id)
{
    return hpcbd_freeze_hears(engine.freeze, job_id);
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    if (engine.guard.source)
        hpcbd_watchdog_arm(&engine.guard.watchdog, which, end_ns);
}

/* Update whether windows are active.  Without a watchdog no guest stays stopped either:
 * windows manage their own guests. */
static void reconsider(void)
{
    const char *was = engine.stats.suspended;
    const char *why = engine.guard.source ? engine.distrusted : "there is no watchdog";

    if (!engine.guard.source)
        hpcbd_freeze_go_all(engine.freeze, ~(unsigned)HPCBD_FREEZE_WINDOW);
    engine.stats.suspended = why;
    if (!was == !why)
        return;
    hpcb_log(why ? HPCB_LOG_ERROR : HPCB_LOG_INFO, "windows %s%s%s",
             why ? "are suspended" : "go on", why ? ": " : "", why ? why : "");
    act(true);
}

void hpcbd_window_suspend(const char *why)
{
    engine.distrusted = why;
    reconsider();
}

/* Also when the daemon starts. */
static void release(void)
{
    const hpcb_conf_t *conf = &engine.daemon->conf;
    hpcb_error_t err;

    /* First what spins ahead of everybody, guests that begin to run again included. */
    if (hpcb_favour_release(engine.node, engine.state_dir, conf->window_cgroup, &err) <
        0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    if (hpcb_freeze_release(engine.node, conf->state_dir, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    if (hpcb_slices_release(engine.node, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

/* The process that sets them (hpcbd/memory/guard) ends with the daemon, and would set
 * them again before. */
static void release_memory(void)
{
    const struct timespec step = {.tv_nsec = 5000000};
    hpcb_error_t err;

    for (int i = 0; i < 20 && getppid() == engine.pid; i++)
        nanosleep(&step, NULL);
    if (hpcb_undo_replay_lent(engine.daemon->conf.state_dir, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

/* In the watchdog's process. */
static void release_all(void *arg)
{
    (void)arg;
    release();
    release_memory();
}

/* Without a watchdog no job is boosted; scans try again. */
static void guard(void)
{
    hpcb_error_t err;

    if (hpcbd_guard_start(engine.daemon->loop, &engine.guard, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    reconsider();
    act(true);
    set_pace();
}

/* Not to be late, and not to be swapped out while a job spins. */
static void become_realtime(void)
{
    const struct sched_param param = {.sched_priority = HPCBD_PRIORITY};

    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
        hpcb_log(HPCB_LOG_INFO, "memory cannot be locked: %s", strerror(errno));
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
        engine.stats.realtime = true;
    else
        hpcb_log(HPCB_LOG_INFO, "no real-time priority (%s): edges may be late",
                 strerror(errno));
}

static int add_timers(hpcb_loop_t *loop, hpcb_error_t *err)
{
    engine.edge = hpcb_loop_timer(loop, CLOCK_REALTIME, on_edge, NULL, err);
    engine.look =
        engine.edge ? hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_look, NULL, err) : NULL;
    engine.refresh = engine.look
                         ? hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_refresh, NULL, err)
                         : NULL;
    if (!engine.refresh)
        return -1;
    hpcb_timer_in(engine.look, SOON_NS, LOOK_NS);
    hpcb_timer_in(engine.refresh, REFRESH_NS, REFRESH_NS);
    return 0;
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    engine.daemon = daemon;
    engine.pid = getpid();
    engine.registry.gone = job_gone;
    engine.guard =
        (hpcbd_guard_t){.name = "windows", .release = release_all, .gone = guard};
    if (hpcbd_guard_dir(daemon->conf.state_dir, "window", engine.state_dir, err) < 0 ||
        hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    /* A daemon before this one may have been killed. */
    release();
    engine.freeze = hpcbd_freeze_new(engine.node, daemon->conf.state_dir);
    if (engine.freeze)
        engine.calm = hpcbd_calm_new(engine.node, engine.freeze, engine.state_dir);
    if (!engine.calm)
        return hpcb_error(err, "out of memory");
    if (hpcbd_guard_start(daemon->loop, &engine.guard, err) < 0)
        return -1;
    become_realtime();
    compare_clocks();
    engine.registry.node = engine.node;
    engine.registry.guest_cgroup = daemon->conf.guest_cgroup;
    hpcbd_registry_refresh(&engine.registry, daemon->conf.state_dir, UINT_MAX);
    hpcb_loop_note_turns(daemon->loop, &engine.stats.turns);
    return add_timers(daemon->loop, err);
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_registry_clear(&engine.registry);
    hpcbd_calm_free(engine.calm);
    engine.calm = NULL;
    hpcbd_freeze_free(engine.freeze);
    engine.freeze = NULL;
    hpcbd_guard_stop(&engine.guard);
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_window = {.name = "window", .start = start, .stop = stop};
