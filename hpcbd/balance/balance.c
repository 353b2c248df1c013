/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Two timers:
 *   look   every 2 s, and soon after a notification: find steps (StateDir is
 *          authoritative, so that a restarted daemon finds all of them again), and
 *          their new processes
 *   tick   every few ms while a step is balanced: each step continues with a few of its
 *          ranks, to begin, to read samples or to end (hpcbd/balance/unit.h)
 *
 * The daemon has a higher priority than everything else, switches of windows wait in
 * the same loop, and samples of ranks come from users.  So a tick ends after a little
 * more than a millisecond, and after long work the next one is delayed so that all of
 * it stays below 5 % of a CPU, whatever ranks do.  The same holds for an early look, as
 * a job may have thousands of steps.
 *
 * After a crash undo logs below StateDir/balance (written before the changes) and our
 * groups, by their names, are found again, and a watchdog of our own undoes both, also
 * if the daemon hangs.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cgroup/mechanism_ppr.h"
#include "cgroup/rank.h"
#include "common/file.h"
#include "common/log.h"
#include "common/ranks.h"
#include "hpcbd/balance/balance.h"
#include "hpcbd/balance/lever.h"
#include "hpcbd/balance/passed.h"
#include "hpcbd/balance/unit.h"
#include "hpcbd/windows/guard.h"
#include "sensor/stat.h"

#define MILLISECOND INT64_C(1000000)
#define LOOK_NS     (2000 * MILLISECOND)
#define REST_NS     (4000 * MILLISECOND) /* without steps: a new one is notified */
#define SOON_NS     (20 * MILLISECOND)
#define TICK_NS     (4 * MILLISECOND)
#define LOAD        20          /* of the time at most 1/20 is worked */
#define TURN_NS     MILLISECOND /* no further step goes on in this tick */

/* More steps at a time are not balanced. */
#define UNITS_MAX 64

/* A step whose tasks have not begun causes so many early looks: for four seconds, of
 * which it is left alone for two. */
#define EARLIES_MAX 160

/* Their pages, what sensors keep open, and some. */
#define FILES_MAX (UNITS_MAX * HPCB_RANKS_MAX + HPCB_STAT_FILES_MAX + 1024)

/* In a message. */
#define RANKS_SHOWN 16
#define STEPS_SHOWN 3
#define TEXT_SHOWN  160

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcbd_balance_env_t env;
    hpcbd_guard_t guard;
    char state_dir[PATH_MAX]; /* StateDir/balance: undo logs */
    hpcb_source_t *look, *tick;
    hpcbd_unit_t *units[UNITS_MAX];
    size_t count;
    size_t turn; /* first step of the next tick */
    bool opened; /* a step in this look */
    hpcbd_passed_t passed;
    int64_t look_ns; /* duration of the last look */
    unsigned earlies;
    bool more;    /* steps wait for the next one */
    bool soon;    /* the look timer has an early time */
    bool ticking; /* the tick timer is on */
} engine;

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool has_work(void)
{
    for (size_t i = 0; i < engine.count; i++)
        if (!hpcbd_unit_rests(engine.units[i]))
            return true;
    return false;
}

static bool is_awaited(void)
{
    for (size_t i = 0; i < engine.count; i++)
        if (engine.units[i]->waits)
            return true;
    return false;
}

static void set_tick(int64_t worked_ns)
{
    int64_t next_ns = worked_ns * LOAD > TICK_NS ? worked_ns * LOAD : TICK_NS;

    engine.ticking = has_work();
    hpcb_timer_in(engine.tick, engine.ticking ? (uint64_t)next_ns : 0, 0);
}

/* The log's content is undone, and is void after the job's last step. */
static void drop_log(uint32_t job_id)
{
    for (size_t i = 0; i < engine.count; i++)
        if (engine.units[i]->job_id == job_id)
            return;
    hpcb_undo_replay(engine.state_dir, job_id, NULL);
}

static void remove_at(size_t i)
{
    hpcbd_unit_t *unit = engine.units[i];
    uint32_t job_id = unit->job_id;

    engine.units[i] = engine.units[--engine.count];
    hpcbd_unit_close(unit);
    drop_log(job_id);
}

/* It goes from here as soon as all is undone. */
static void leave(hpcbd_unit_t *unit)
{
    unit->leaves = true;
    hpcbd_unit_end(unit);
}

static void remove_left(void)
{
    for (size_t i = engine.count; i-- > 0;)
        if (engine.units[i]->leaves && hpcbd_unit_rests(engine.units[i]))
            remove_at(i);
}

static void look_soon(void)
{
    int64_t next_ns = engine.look_ns * LOAD;

    if (next_ns < SOON_NS)
        next_ns = SOON_NS;
    if (!engine.soon)
        hpcb_timer_in(engine.look, (uint64_t)(next_ns < LOOK_NS ? next_ns : LOOK_NS),
                      LOOK_NS);
    engine.soon = true;
}

/* Those that had no part in the last one come first. */
static void on_tick(void *arg, uint64_t what)
{
    int64_t begun_ns = monotonic_ns(), now_ns = begun_ns;

    (void)arg;
    (void)what;
    for (size_t i = 0; i < engine.count && now_ns - begun_ns < TURN_NS; i++) {
        hpcbd_unit_tick(&engine.env, engine.units[engine.turn++ % engine.count],
                        now_ns);
        now_ns = monotonic_ns();
    }
    remove_left();
    if (engine.earlies < EARLIES_MAX && is_awaited())
        look_soon();
    set_tick(monotonic_ns() - begun_ns);
}

static hpcbd_unit_t *find(uint32_t job_id, const char *step)
{
    for (size_t i = 0; i < engine.count; i++)
        if (engine.units[i]->job_id == job_id &&
            strcmp(engine.units[i]->step, step) == 0)
            return engine.units[i];
    return NULL;
}

static void open_unit(uint32_t job_id, const char *step, uint64_t file)
{
    hpcb_error_t err;
    hpcbd_unit_t *unit = hpcbd_unit_open(&engine.env, job_id, step, &err);

    if (!unit) {
        if (err.text[0])
            hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
        hpcbd_passed_add(&engine.passed, job_id, step, file, err.text[0] != '\0');
        return;
    }
    engine.opened = true;
    engine.units[engine.count++] = unit;
    unit->found = true;
}

static void visit_new(uint32_t job_id, const char *step, uint64_t file)
{
    static bool complained, full;
    hpcbd_passed_what_t what = hpcbd_passed_ask(&engine.passed, job_id, step, file);

    if (what == HPCBD_PASSED_OVER)
        return;
    if (what == HPCBD_PASSED_FULL)
        hpcb_log_once(&full, HPCB_LOG_ERROR,
                      "more than %d steps of one rank: further steps are not balanced",
                      HPCBD_PASSED_MAX);
    else if (engine.count == UNITS_MAX)
        hpcb_log_once(&complained, HPCB_LOG_ERROR,
                      "more than %d steps: the others are not balanced", UNITS_MAX);
    else if (what == HPCBD_PASSED_LATER || engine.opened)
        engine.more = true;
    else
        open_unit(job_id, step, file);
}

static void visit(uint32_t job_id, const char *step, uint64_t file, void *arg)
{
    hpcbd_unit_t *unit = find(job_id, step);

    (void)arg;
    if (!unit)
        visit_new(job_id, step, file);
    else if (unit->leaves)
        engine.more = true;
    else
        unit->found = true;
}

static void guard(void);

/* Set the time of our next sign of life, after which the watchdog releases the
 * ranks. */
static void tell_watchdog(void)
{
    hpcbd_watchdog_arm(&engine.guard.watchdog, HPCBD_WATCHDOG_BOOST,
                       has_work() ? monotonic_ns() + 2 * LOOK_NS : 0);
}

/* Find steps in StateDir; open one new step in each iteration of the loop. */
static void find_steps(void)
{
    hpcb_error_t err;
    int rc;

    engine.opened = engine.more = false;
    for (size_t i = 0; i < engine.count; i++)
        engine.units[i]->found = false;
    rc = hpcb_ranks_each(engine.daemon->conf.state_dir, visit, NULL, &err);
    hpcbd_passed_end(&engine.passed, rc == 0);
    if (rc == 0)
        return;
    hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    for (size_t i = 0; i < engine.count; i++)
        engine.units[i]->found = true;
}

static void look_at(hpcbd_unit_t *unit)
{
    if (unit->leaves)
        return;
    if (unit->found)
        hpcbd_unit_look(unit);
    else
        hpcbd_unit_forget(unit);
    if (!unit->found || unit->lost)
        leave(unit);
}

static void look_around(void)
{
    int64_t begun_ns = monotonic_ns();

    engine.soon = false;
    guard();
    if (!engine.guard.source)
        return;
    engine.earlies = is_awaited() ? engine.earlies + 1 : 0;
    find_steps();
    for (size_t i = 0; i < engine.count; i++)
        look_at(engine.units[i]);
    remove_left();
    tell_watchdog();
    if (!engine.ticking)
        set_tick(0);
    engine.look_ns = monotonic_ns() - begun_ns;
    if (engine.more)
        look_soon();
    if (!engine.soon)
        hpcb_timer_every(engine.look, engine.count ? LOOK_NS : REST_NS);
}

static void on_look(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    look_around();
}

void hpcbd_balance_job(uint32_t job_id)
{
    (void)job_id;
    engine.earlies = 0;
    look_soon();
}

void hpcbd_balance_job_end(uint32_t job_id)
{
    for (size_t i = 0; i < engine.count; i++) {
        if (engine.units[i]->job_id != job_id)
            continue;
        hpcbd_unit_forget(engine.units[i]);
        leave(engine.units[i]);
    }
    remove_left();
    if (!engine.ticking)
        set_tick(0);
}

/* Users and errors write long texts; a message is short. */
static void add_text(json_object *object, const char *key, const char *text)
{
    char shown[TEXT_SHOWN];

    snprintf(shown, sizeof(shown), "%.*s", TEXT_SHOWN - 1, text);
    json_object_object_add(object, key, json_object_new_string(shown));
}

static void add_number(json_object *object, const char *key, uint64_t value)
{
    json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

/* Add the CPU of each rank, -1 if it may run on all, and its weight. */
static void add_ranks(json_object *object, const hpcbd_unit_t *unit)
{
    json_object *cpus = json_object_new_array(), *weights = json_object_new_array();

    if (!cpus || !weights) {
        json_object_put(cpus);
        json_object_put(weights);
        return;
    }
    for (unsigned i = 0; i < unit->n && i < RANKS_SHOWN; i++) {
        unsigned place = unit->balance.rank[i].place;

        json_object_array_add(
            cpus, json_object_new_int(unit->free ? -1 : unit->places.place[place].cpu));
        json_object_array_add(weights,
                              json_object_new_int((int)hpcbd_lever_weight(unit, i)));
    }
    json_object_object_add(object, "cpus", cpus);
    json_object_object_add(object, "weights", weights);
}

static json_object *describe(const hpcbd_unit_t *unit)
{
    json_object *object = json_object_new_object();

    if (!object)
        return NULL;
    add_text(object, "step", unit->step);
    add_text(object, "policy", unit->policy);
    add_number(object, "ranks", unit->n);
    add_text(object, "mechanism", unit->acting ? hpcbd_lever_name(unit) : "none");
    add_text(object, "why", unit->waits ? "its tasks have not begun" : unit->why.text);
    if (!unit->acting)
        return object;
    add_text(object, "by", unit->speaking ? "iteration" : "interval");
    add_number(object, "steps", unit->balance.steps);
    add_number(object, "changes", unit->changes);
    add_number(object, "last_change", unit->last_change);
    add_ranks(object, unit);
    return object;
}

json_object *hpcbd_balance_status(uint32_t job_id)
{
    json_object *steps = NULL;

    for (size_t i = 0; i < engine.count; i++) {
        if (engine.units[i]->job_id != job_id)
            continue;
        if (!steps)
            steps = json_object_new_array();
        if (!steps || json_object_array_length(steps) == STEPS_SHOWN)
            break;
        json_object_array_add(steps, describe(engine.units[i]));
    }
    return steps;
}

/* In the watchdog's process, and when the daemon starts. */
static void release(void *arg)
{
    hpcb_error_t err;

    (void)arg;
    if (hpcb_ranks_release(engine.node, engine.state_dir,
                           engine.daemon->conf.balance_cgroup, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

/* Without a watchdog no rank gets a weight or place; looks try again. */
static void guard(void)
{
    hpcb_error_t err;

    if (engine.guard.source ||
        hpcbd_guard_start(engine.daemon->loop, &engine.guard, &err) == 0)
        return;
    hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    while (engine.count)
        remove_at(engine.count - 1);
}

/* Before users can take the name, because anybody can write to /dev/shm.  Steps check
 * it again. */
static void make_pages(void)
{
    const char *dir = engine.daemon->conf.balance_pages;
    hpcb_error_t err;

    if (hpcb_file_mkdirs(dir, 0755, &err) < 0 || hpcb_file_trusted(dir, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "BalancePages: %s", err.text);
}

/* A descriptor a page: they must not leave the daemon's sockets without. */
static void make_room(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    engine.daemon = daemon;
    make_room();
    make_pages();
    engine.guard =
        (hpcbd_guard_t){.name = "balance", .release = release, .gone = guard};
    if (hpcbd_guard_dir(daemon->conf.state_dir, "balance", engine.state_dir, err) < 0 ||
        hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    engine.env = (hpcbd_balance_env_t){.node = engine.node,
                                       .conf = &daemon->conf,
                                       .state_dir = engine.state_dir,
                                       .ppr = hpcb_ppr_get() >= 0};
    /* A daemon before this one may have been killed. */
    release(NULL);
    if (hpcbd_guard_start(daemon->loop, &engine.guard, err) < 0)
        return -1;
    engine.look = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_look, NULL, err);
    engine.tick =
        engine.look ? hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_tick, NULL, err)
                    : NULL;
    if (!engine.tick)
        return -1;
    hpcb_timer_in(engine.look, SOON_NS, LOOK_NS);
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    while (engine.count)
        remove_at(engine.count - 1);
    hpcbd_passed_free(&engine.passed);
    hpcbd_guard_stop(&engine.guard);
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_balance = {.name = "balance", .start = start, .stop = stop};
