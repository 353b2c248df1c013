/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The windows engine (hpcbd/windows/windows.c) with real files, loop and timers, a wall
 * clock that is set by the test (node_clock.h), and hands and watchdog that only note
 * what they are told.  A period is 20 s, its favoured part 10 s: but for edges that a
 * test waits for, the clock alone moves nothing.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/favour.h"
#include "cgroup/slices.h"
#include "common/state.h"
#include "hpcbd/windows/calm.h"
#include "hpcbd/windows/watchdog.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/windows/clock.h"

#define SECOND    INT64_C(1000000000)
#define HOUR      (3600 * SECOND)
#define PERIOD    (20 * SECOND)
#define FAVOURED  (10 * SECOND)
#define SHORT     (SECOND / 10) /* a period */
#define SLEPT     (SECOND / 2)
#define LOOK      SECOND
#define REFRESH   (30 * SECOND)
#define JOB       7
#define GUEST     8
#define MANY      40
#define LOOKS_MAX 10 /* in a turn */
#define LOADS_MAX 16
#define TURNS_MAX 100

static struct {
    unsigned opened, closed, looks, begins, ends;
    bool forbidden; /* SCHED_FIFO, at the last look */
} seen;

static struct {
    int ends[2]; /* the engine's is [1] */
    int64_t armed_ns, decide_ns;
    unsigned started;
    bool fails;
} dog;

static struct {
    bool begun;
} calm;

struct hpcb_favour {
    bool favoured;
};

struct hpcbd_calm {
    int nothing;
};

struct hpcbd_freeze {
    int nothing;
};

static struct {
    unsigned looks;   /* hpcbd_freeze_look */
    unsigned reasons; /* for which GUEST is stopped */
} frozen;

int hpcb_favour_open(const hpcb_favour_job_t *job, hpcb_favour_t **favour,
                     hpcb_error_t *err)
{
    (void)job;
    (void)err;
    *favour = calloc(1, sizeof(**favour));
    seen.opened++;
    return 0;
}

void hpcb_favour_close(hpcb_favour_t *favour)
{
    seen.closed += favour != NULL;
    free(favour);
}

int hpcb_favour_look(hpcb_favour_t *favour, hpcb_error_t *err)
{
    (void)favour;
    (void)err;
    seen.looks++;
    return 0;
}

void hpcb_favour_forbid_fifo(hpcb_favour_t *favour, const char *why)
{
    (void)favour;
    seen.forbidden = why != NULL;
}

/* Who is favoured must be known to the watchdog before, and guests are stopped first.
 */
int hpcb_favour_begin(hpcb_favour_t *favour, hpcb_error_t *err)
{
    (void)err;
    ck_assert_int_ne(dog.armed_ns, 0);
    ck_assert(calm.begun);
    ck_assert(!favour->favoured);
    favour->favoured = true;
    seen.begins++;
    return 0;
}

int hpcb_favour_end(hpcb_favour_t *favour, hpcb_error_t *err)
{
    (void)err;
    ck_assert_int_ne(dog.armed_ns, 0);
    ck_assert(calm.begun);
    ck_assert(favour->favoured);
    favour->favoured = false;
    seen.ends++;
    return 0;
}

int hpcb_favour_release(const hpcb_node_t *node, const char *state_dir,
                        const char *cgroup, hpcb_error_t *err)
{
    (void)node;
    (void)state_dir;
    (void)cgroup;
    (void)err;
    return 0;
}

int hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

int hpcb_freeze_release(const hpcb_node_t *node, const char *state_dir,
                        hpcb_error_t *err)
{
    (void)node;
    (void)state_dir;
    (void)err;
    return 0;
}

hpcbd_freeze_t *hpcbd_freeze_new(const hpcb_node_t *node, const char *state_dir)
{
    (void)node;
    (void)state_dir;
    return calloc(1, sizeof(hpcbd_freeze_t));
}

void hpcbd_freeze_free(hpcbd_freeze_t *freeze)
{
    free(freeze);
}

void hpcbd_freeze_look(hpcbd_freeze_t *freeze, const hpcbd_registry_t *registry)
{
    (void)freeze;
    (void)registry;
    frozen.looks++;
}

bool hpcbd_freeze_stop(hpcbd_freeze_t *freeze, uint32_t job_id,
                       hpcbd_freeze_reason_t reason)
{
    (void)freeze;
    ck_assert_uint_eq(job_id, GUEST);
    frozen.reasons |= reason;
    return true;
}

void hpcbd_freeze_go(hpcbd_freeze_t *freeze, uint32_t job_id,
                     hpcbd_freeze_reason_t reason)
{
    (void)freeze;
    ck_assert_uint_eq(job_id, GUEST);
    frozen.reasons &= ~(unsigned)reason;
}

void hpcbd_freeze_go_all(hpcbd_freeze_t *freeze, unsigned reasons)
{
    (void)freeze;
    frozen.reasons &= ~reasons;
}

unsigned hpcbd_freeze_reasons(const hpcbd_freeze_t *freeze, uint32_t job_id)
{
    (void)freeze;
    (void)job_id;
    return 0;
}

bool hpcbd_freeze_hears(const hpcbd_freeze_t *freeze, uint32_t job_id)
{
    (void)freeze;
    (void)job_id;
    return false;
}

hpcbd_calm_t *hpcbd_calm_new(const hpcb_node_t *node, hpcbd_freeze_t *freeze,
                             const char *log_dir)
{
    (void)node;
    (void)freeze;
    (void)log_dir;
    return calloc(1, sizeof(hpcbd_calm_t));
}

void hpcbd_calm_free(hpcbd_calm_t *one)
{
    free(one);
}

void hpcbd_calm_look(hpcbd_calm_t *one, const hpcb_conf_t *conf,
                     const hpcbd_registry_t *registry)
{
    (void)one;
    (void)conf;
    (void)registry;
}

void hpcbd_calm_begin(hpcbd_calm_t *one)
{
    (void)one;
    calm.begun = true;
}

void hpcbd_calm_end(hpcbd_calm_t *one)
{
    (void)one;
    calm.begun = false;
}

int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err)
{
    (void)release;
    (void)arg;
    if (dog.fails)
        return hpcb_error(err, "no watchdog");
    ck_assert_int_eq(pipe(dog.ends), 0);
    *watchdog = (hpcbd_watchdog_t){.fd = dog.ends[1]};
    dog.armed_ns = 0;
    dog.started++;
    return 0;
}

void hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, hpcbd_watchdog_deadline_t deadline,
                        int64_t end_ns)
{
    (void)watchdog;
    if (deadline == HPCBD_WATCHDOG_BOOST)
        dog.armed_ns = end_ns;
    else
        dog.decide_ns = end_ns;
}

void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog)
{
    if (watchdog->fd < 0)
        return;
    close(watchdog->fd);
    watchdog->fd = -1;
}

/* The test itself stays an ordinary process. */
int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
    (void)flags;
    return 0;
}

int __wrap_sched_setscheduler(pid_t pid, int policy, const void *param);
int __wrap_sched_setscheduler(pid_t pid, int policy, const void *param)
{
    (void)pid;
    (void)policy;
    (void)param;
    errno = EPERM;
    return -1;
}

static hpcbd_t daemon_of_test;

static void record_period(uint32_t job_id, uint64_t begin_us, int64_t period_ns)
{
    const hpcb_job_state_t job = {
        .job_id = job_id,
        .uid = geteuid(),
        .klass = HPCB_CLASS_PRIMARY,
        .partition = "p",
        .window = {(uint64_t)period_ns / 1000, (uint64_t)period_ns / 2000},
        .begin_us = begin_us};

    ck_assert_int_eq(hpcb_state_save(scratch("run"), &job, NULL), 0);
    ck_assert_int_eq(hpcb_state_save_place(scratch("run"), job_id, "/job", NULL), 0);
}

static void record(uint32_t job_id, uint64_t begin_us)
{
    record_period(job_id, begin_us, PERIOD);
}

static void forget(uint32_t job_id)
{
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), job_id, NULL), 0);
}

static void turn(int timeout_ms)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_loop_once(daemon_of_test.loop, timeout_ms, &err) == 0, "%s",
                  err.text);
}

/* Until nothing more comes by itself soon (looks are 20 ms away, the next 1 s). */
static void settle(void)
{
    unsigned before;

    do {
        before = seen.looks;
        turn(60);
    } while (seen.looks != before);
}

/* The wall clock is phase_ns after the beginning of a period. */
static void set_phase(int64_t phase_ns)
{
    fake_clock_set(phase_ns - fake_clock_ns() % PERIOD);
}

static void start_engine(void)
{
    hpcb_error_t err;

    hpcb_conf_defaults(&daemon_of_test.conf);
    /* The machine may have guests of its own. */
    strcpy(daemon_of_test.conf.guest_cgroup, "hpcb_test_windows");
    daemon_of_test.conf.window_max_period = PERIOD / SECOND;
    snprintf(daemon_of_test.conf.state_dir, sizeof(daemon_of_test.conf.state_dir), "%s",
             scratch("run"));
    daemon_of_test.loop = hpcb_loop_new(&err);
    ck_assert_ptr_nonnull(daemon_of_test.loop);
    ck_assert_msg(hpcbd_window.start(&daemon_of_test, &err) == 0, "%s", err.text);
    settle();
}

static void stop_engine(void)
{
    if (!daemon_of_test.loop)
        return;
    hpcbd_window.stop(&daemon_of_test);
    hpcb_loop_free(daemon_of_test.loop);
    ck_assert_uint_eq(seen.opened, seen.closed);
}

static bool favoured(void)
{
    const hpcbd_job_t *job = hpcbd_registry_find(hpcbd_window_registry(), JOB);

    ck_assert_ptr_nonnull(job);
    ck_assert_ptr_nonnull(job->favour);
    ck_assert_int_eq(job->favoured, job->favour->favoured);
    ck_assert_int_eq(job->favoured, calm.begun);
    return job->favoured;
}

/* The next edge is the one that the clock, as it is now, says. */
static void check_edge(void)
{
    int64_t now_ns = fake_clock_ns(), phase_ns = now_ns % PERIOD;
    int64_t part_ns = phase_ns < FAVOURED ? FAVOURED : PERIOD;
    int64_t late_ns = fake_clock_timer_ns() - (now_ns + part_ns - phase_ns);

    ck_assert_int_eq(late_ns, 0);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* Recorded when WindowMaxPeriod was another one, or not known yet. */
START_TEST(a_longer_period_than_allowed_is_not_favoured)
{
    record_period(JOB, 1, PERIOD + SECOND);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert_ptr_nonnull(hpcbd_registry_find(hpcbd_window_registry(), JOB));
    ck_assert_uint_eq(seen.opened, 0);
    ck_assert_int_eq(dog.armed_ns, 0);
}
END_TEST

static void record_guest(uint32_t job_id, uid_t uid)
{
    const hpcb_job_state_t job = {.job_id = job_id,
                                  .uid = uid,
                                  .klass = HPCB_CLASS_GUEST,
                                  .partition = "g",
                                  .begin_us = 1};

    ck_assert_int_eq(hpcb_state_save(scratch("run"), &job, NULL), 0);
    hpcbd_window_job(job_id);
}

/* At most until the next look. */
START_TEST(no_fifo_beside_a_guest_of_the_same_user)
{
    record(JOB, 1);
    set_phase(FAVOURED + 2 * SECOND);
    start_engine();
    ck_assert_uint_eq(seen.opened, 1);
    ck_assert(!seen.forbidden);
    record_guest(JOB + 1, geteuid() + 1);
    settle();
    ck_assert(!seen.forbidden);
    record_guest(JOB + 2, geteuid());
    settle();
    ck_assert(seen.forbidden);
    forget(JOB + 2);
    hpcbd_window_job_end(JOB + 2);
    fake_clock_expire(LOOK);
    settle();
    ck_assert(!seen.forbidden);
}
END_TEST

START_TEST(a_step_of_the_clock_is_followed_in_the_same_turn)
{
    static const struct {
        int64_t by_ns;
        bool favoured;
    } steps[] = {
        {HOUR, true},       {HOUR + FAVOURED, false},
        {-HOUR, false},     {-HOUR - PERIOD, false},
        {-FAVOURED, true},  {24 * HOUR, true},
        {-25 * HOUR, true}, {-HOUR + FAVOURED, false},
    };
    const hpcbd_window_stats_t *stats = hpcbd_window_stats();

    record(JOB, 1);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert(favoured());
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        fake_clock_set(steps[i].by_ns);
        turn(1000);
        ck_assert_msg(favoured() == steps[i].favoured, "step %zu", i);
        check_edge();
        ck_assert_int_eq(dog.armed_ns != 0, steps[i].favoured);
        ck_assert_int_le(dog.armed_ns, monotonic_ns() + FAVOURED);
        ck_assert_uint_eq(stats->clock_sets, i + 1);
    }
    ck_assert_uint_eq(stats->missed, 0);
    ck_assert_uint_eq(stats->edges, 0);
}
END_TEST

/* Between the engine's look at the clock and the start of its timer, at an edge. */
START_TEST(a_step_that_no_timer_tells_of_is_found)
{
    static const int64_t steps[] = {-HOUR - 5 * SECOND, HOUR + 15 * SECOND};

    record(JOB, 1);
    set_phase(FAVOURED - SECOND / 2);
    start_engine();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        ck_assert(favoured());
        fake_clock_set_unseen(steps[i]);
        turn(1000);
        ck_assert(favoured());
        check_edge();
        ck_assert_uint_eq(hpcbd_window_stats()->missed, 0);
        set_phase(FAVOURED - SECOND / 4);
        turn(1000);
    }
}
END_TEST

START_TEST(jobs_of_one_edge_are_switched_in_one_turn)
{
    uint64_t edges;

    for (uint32_t job = JOB; job < JOB + MANY; job++)
        record(job, 1);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert_uint_eq(seen.begins, MANY);
    set_phase(FAVOURED - SECOND / 4);
    turn(0);
    ck_assert_uint_eq(seen.ends, 0);
    edges = hpcbd_window_stats()->edges;
    turn(1000);
    ck_assert_uint_eq(seen.ends, MANY);
    ck_assert_uint_eq(hpcbd_window_stats()->edges, edges + MANY);
    ck_assert_uint_eq(hpcbd_window_stats()->missed, 0);
    ck_assert_uint_eq(hpcbd_window_stats()->late.count, edges + MANY);
    ck_assert_uint_gt(hpcbd_window_stats()->late.min_ns, 0);
    ck_assert_uint_lt(hpcbd_window_stats()->late.max_ns, FAVOURED);
    check_edge();
}
END_TEST

START_TEST(edges_that_were_slept_over_are_missed)
{
    const struct timespec nap = {0, SLEPT};
    uint64_t missed;

    record_period(JOB, 1, SHORT);
    start_engine();
    missed = hpcbd_window_stats()->missed;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    turn(1000);
    missed = hpcbd_window_stats()->missed - missed;
    ck_assert_uint_ge(missed, 2 * SLEPT / SHORT - 2);
    ck_assert_uint_eq(hpcbd_registry_find(hpcbd_window_registry(), JOB)->missed,
                      hpcbd_window_stats()->missed);
}
END_TEST

START_TEST(a_turn_looks_at_few_jobs)
{
    unsigned before = 0, turns = 0;

    for (uint32_t job = JOB; job < JOB + MANY; job++)
        record(job, 1);
    set_phase(FAVOURED + SECOND);
    start_engine();
    for (size_t i = 0; i < hpcbd_window_registry()->count; i++)
        ck_assert_ptr_nonnull(hpcbd_window_registry()->jobs[i]->favour);
    /* As settle has, in turns that are counted. */
    for (uint32_t job = JOB; job < JOB + MANY; job++)
        hpcbd_window_job(job);
    for (before = seen.looks; turns < TURNS_MAX; turns++, before = seen.looks) {
        turn(60);
        ck_assert_uint_le(seen.looks - before, LOOKS_MAX);
        if (seen.looks == before)
            break;
    }
    ck_assert_uint_lt(turns, TURNS_MAX);
    ck_assert_uint_ge(turns, MANY / LOOKS_MAX);
}
END_TEST

START_TEST(files_are_read_when_nobody_is_favoured)
{
    unsigned before;

    record(JOB, 1);
    set_phase(FAVOURED - SECOND / 4);
    start_engine();
    before = seen.looks;
    set_phase(FAVOURED - SECOND / 4);
    turn(0);
    record(JOB + 1, 1);
    hpcbd_window_job(JOB);
    hpcbd_window_job(JOB + 1);
    ck_assert(favoured());
    turn(30);
    ck_assert(favoured());
    ck_assert_uint_eq(seen.looks, before);
    ck_assert_uint_eq(hpcbd_window_registry()->count, 1);
    turn(1000);
    ck_assert(!favoured());
    ck_assert_uint_eq(hpcbd_window_registry()->count, 2);
    ck_assert_uint_gt(seen.looks, before);
}
END_TEST

START_TEST(what_nobody_tells_is_found)
{
    size_t before;

    set_phase(FAVOURED + SECOND);
    start_engine();
    for (uint32_t job = JOB; job < JOB + MANY; job++)
        record(job, 1);
    fake_clock_expire(REFRESH);
    turn(60);
    do {
        before = hpcbd_window_registry()->count;
        turn(60);
        ck_assert_uint_le(hpcbd_window_registry()->count - before, LOADS_MAX);
    } while (hpcbd_window_registry()->count != before);
    settle();
    ck_assert_uint_eq(hpcbd_window_registry()->count, MANY);
    ck_assert_uint_eq(seen.opened, MANY);
    /* One goes, one is another run with the same number. */
    forget(JOB + 1);
    forget(JOB + 2);
    record(JOB + 2, 2);
    fake_clock_expire(REFRESH);
    turn(60);
    settle();
    ck_assert_uint_eq(hpcbd_window_registry()->count, MANY - 1);
    ck_assert_ptr_null(hpcbd_registry_find(hpcbd_window_registry(), JOB + 1));
    ck_assert_uint_eq(seen.closed, 2);
    ck_assert_uint_eq(seen.opened, MANY + 1);
}
END_TEST

START_TEST(while_windows_are_suspended_nothing_happens)
{
    record(JOB, 1);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert(favoured());
    hpcbd_window_suspend("the test says so");
    ck_assert(!favoured());
    ck_assert_int_eq(dog.armed_ns, 0);
    ck_assert_int_eq(fake_clock_timer_ns(), 0);
    fake_clock_set(HOUR);
    fake_clock_expire(LOOK);
    settle();
    ck_assert(!favoured());
    hpcbd_window_suspend(NULL);
    ck_assert(favoured());
    check_edge();
    ck_assert_uint_eq(hpcbd_window_stats()->edges, 0);
    ck_assert_uint_eq(hpcbd_window_stats()->missed, 0);
}
END_TEST

START_TEST(nobody_is_favoured_without_a_watchdog)
{
    record(JOB, 1);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert(favoured());
    /* It dies, and another one comes, who is told at once. */
    close(dog.ends[0]);
    turn(1000);
    ck_assert_uint_eq(dog.started, 2);
    ck_assert_int_ne(dog.armed_ns, 0);
    ck_assert(favoured());
    dog.fails = true;
    close(dog.ends[0]);
    turn(1000);
    ck_assert(!favoured());
    ck_assert_ptr_nonnull(hpcbd_window_stats()->suspended);
    /* That the clock is all right is another matter. */
    hpcbd_window_suspend(NULL);
    ck_assert(!favoured());
    dog.fails = false;
    fake_clock_expire(LOOK);
    settle();
    ck_assert(favoured());
    ck_assert_ptr_null(hpcbd_window_stats()->suspended);
}
END_TEST

/* Guests are looked for with WindowGuests=idle too. */
START_TEST(others_stop_guests_as_long_as_there_is_a_watchdog)
{
    start_engine();
    ck_assert_uint_ge(frozen.looks, 1);
    ck_assert(hpcbd_window_stop_guest(GUEST, HPCBD_FREEZE_CRUMBS));
    ck_assert(hpcbd_window_stop_guest(GUEST, HPCBD_FREEZE_GUARD));
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GUESTS, SECOND);
    ck_assert_int_eq(dog.decide_ns, SECOND);
    hpcbd_window_let_guest_go(GUEST, HPCBD_FREEZE_GUARD);
    ck_assert_uint_eq(frozen.reasons, HPCBD_FREEZE_CRUMBS);
    dog.fails = true;
    close(dog.ends[0]);
    turn(1000);
    ck_assert_uint_eq(frozen.reasons, 0);
    ck_assert(!hpcbd_window_stop_guest(GUEST, HPCBD_FREEZE_CRUMBS));
    ck_assert_uint_eq(frozen.reasons, 0);
    dog.fails = false;
    fake_clock_expire(LOOK);
    settle();
    ck_assert(hpcbd_window_stop_guest(GUEST, HPCBD_FREEZE_CRUMBS));
}
END_TEST

START_TEST(a_job_that_ends_needs_no_edge)
{
    record(JOB, 1);
    set_phase(2 * SECOND);
    start_engine();
    ck_assert(favoured());
    forget(JOB);
    hpcbd_window_job_end(JOB);
    ck_assert_uint_eq(seen.closed, 1);
    ck_assert_int_eq(dog.armed_ns, 0);
    ck_assert(!calm.begun);
    ck_assert_int_eq(fake_clock_timer_ns(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_window");
    TCase *tc = scratch_case("node_window");

    tcase_add_checked_fixture(tc, NULL, stop_engine);
    tcase_add_test(tc, a_step_of_the_clock_is_followed_in_the_same_turn);
    tcase_add_test(tc, a_longer_period_than_allowed_is_not_favoured);
    tcase_add_test(tc, a_step_that_no_timer_tells_of_is_found);
    tcase_add_test(tc, jobs_of_one_edge_are_switched_in_one_turn);
    tcase_add_test(tc, edges_that_were_slept_over_are_missed);
    tcase_add_test(tc, a_turn_looks_at_few_jobs);
    tcase_add_test(tc, files_are_read_when_nobody_is_favoured);
    tcase_add_test(tc, what_nobody_tells_is_found);
    tcase_add_test(tc, while_windows_are_suspended_nothing_happens);
    tcase_add_test(tc, nobody_is_favoured_without_a_watchdog);
    tcase_add_test(tc, others_stop_guests_as_long_as_there_is_a_watchdog);
    tcase_add_test(tc, a_job_that_ends_needs_no_edge);
    tcase_add_test(tc, no_fifo_beside_a_guest_of_the_same_user);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
