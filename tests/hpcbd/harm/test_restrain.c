/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Guests that are restricted (hpcbd/harm/restrain.c), with a timer and an owner of
 * freezing of the test's. */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define GUEST        7
#define SECOND_GUEST 9
#define PRIMARY      8
#define ENDED        "run/" HPCBD_REQUEUE_DIR

#define TURN_NS INT64_C(500000000)

static hpcb_loop_fn turn_fn;
static int64_t wall_ns;  /* what the wall clock shows */
static int64_t due_ns;   /* of the timer, by the wall clock; 0: it is off */
static int64_t set_back; /* by whom sets the clock between a look at it and the timer */
static hpcbd_registry_t registry;
static hpcbd_job_t guest, second, primary;
static hpcbd_t daemon_of_test;
static bool frozen[16];
static int64_t decide_ns;
static hpcb_guard_level_t level, second_level;

static hpcb_guard_level_t level_of(const hpcbd_job_t *job)
{
    ck_assert_int_eq(job->state.klass, HPCB_CLASS_GUEST);
    return job->state.job_id == GUEST ? level : second_level;
}

/* All guests alike. */
static void restrain(hpcb_guard_level_t wanted)
{
    bool further = wanted > level;

    level = second_level = wanted;
    hpcbd_restrain_guests(wanted == HPCB_GUARD_FREE ? NULL : level_of, further);
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME)
        return __real_clock_gettime(clock, now);
    *now = (struct timespec){.tv_sec = wall_ns / 1000000000,
                             .tv_nsec = wall_ns % 1000000000};
    return 0;
}

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)arg;
    (void)err;
    ck_assert_int_eq(clock, CLOCK_REALTIME);
    turn_fn = fn;
    return (hpcb_source_t *)&turn_fn;
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    ck_assert_uint_eq(interval_ns, 0);
    due_ns = first_ns ? wall_ns + (int64_t)first_ns : 0;
    return 0;
}

int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns)
{
    (void)timer;
    ck_assert_uint_eq(interval_ns, 0);
    due_ns = (int64_t)at_ns;
    wall_ns -= set_back;
    set_back = 0;
    return 0;
}

void hpcb_source_remove(hpcb_source_t *source)
{
    (void)source;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_GUARD);
    ck_assert_uint_ne(job_id, PRIMARY);
    frozen[job_id] = true;
    return true;
}

void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_GUARD);
    frozen[job_id] = false;
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    ck_assert_int_eq(which, HPCBD_WATCHDOG_GUARD);
    decide_ns = end_ns;
}

static void set_job(hpcbd_job_t *job, uint32_t job_id, hpcb_class_t klass)
{
    *job = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass}};
    registry.jobs[registry.count++] = job;
}

static void begin(void)
{
    hpcb_conf_t *conf = &daemon_of_test.conf;
    hpcb_error_t err;

    snprintf(conf->state_dir, sizeof(conf->state_dir), "%s", scratch("run"));
    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch(ENDED), 0755), 0);
    wall_ns = 1000 * TURN_NS + 7;
    due_ns = 0;
    level = second_level = HPCB_GUARD_FREE;
    registry.count = 0;
    set_job(&guest, GUEST, HPCB_CLASS_GUEST);
    set_job(&primary, PRIMARY, HPCB_CLASS_PRIMARY);
    ck_assert_msg(hpcbd_restrain.start(&daemon_of_test, &err) == 0, "%s", err.text);
}

static void end(void)
{
    hpcbd_restrain.stop(&daemon_of_test);
    ck_assert(!frozen[GUEST]);
    ck_assert(!frozen[SECOND_GUEST]);
    ck_assert_int_eq(decide_ns, 0);
}

static void take_turn(void)
{
    ck_assert_int_gt(due_ns, wall_ns);
    ck_assert_int_le(due_ns, wall_ns + TURN_NS);
    wall_ns = due_ns;
    turn_fn(NULL, 1);
}

/* In how many of 100 turns the guest runs. */
static unsigned turns_of_100(void)
{
    unsigned runs = 0;

    for (int i = 0; i < 100; i++) {
        take_turn();
        runs += !frozen[GUEST];
        ck_assert_int_gt(decide_ns, 0);
    }
    return runs;
}

START_TEST(each_level_leaves_less)
{
    begin();
    restrain(HPCB_GUARD_HALF);
    ck_assert_int_gt(due_ns, 0);
    ck_assert_uint_eq(turns_of_100(), 50);
    restrain(HPCB_GUARD_QUARTER);
    ck_assert_uint_eq(turns_of_100(), 25);
    restrain(HPCB_GUARD_STOP);
    ck_assert_uint_eq(turns_of_100(), 0);
    ck_assert_uint_eq(hpcbd_restrain_stats()->steps, 3);
    restrain(HPCB_GUARD_FREE);
    ck_assert(!frozen[GUEST]);
    ck_assert_int_eq(due_ns, 0);
    ck_assert_int_eq(decide_ns, 0);
    ck_assert_uint_eq(hpcbd_restrain_stats()->steps, 3);
    end();
}
END_TEST

/* Whenever each of them has begun; what runs in a quarter of the time runs in turns of
 * those that run in half of it. */
START_TEST(all_nodes_have_the_same_turns)
{
    begin();
    restrain(HPCB_GUARD_HALF);
    for (int i = 0; i < 20; i++) {
        take_turn();
        ck_assert_int_eq(frozen[GUEST], wall_ns / TURN_NS % 2 != 0);
    }
    restrain(HPCB_GUARD_FREE);
    wall_ns += 3 * TURN_NS;
    restrain(HPCB_GUARD_QUARTER);
    for (int i = 0; i < 20; i++) {
        take_turn();
        ck_assert_int_eq(frozen[GUEST], wall_ns / TURN_NS % 4 != 0);
    }
    end();
}
END_TEST

/* Gang turns ask at the same edge, before the turn is carried out. */
START_TEST(who_is_held_follows_from_the_clock)
{
    begin();
    restrain(HPCB_GUARD_HALF);
    for (int i = 0; i < 20; i++) {
        take_turn();
        wall_ns = due_ns;
        ck_assert_int_eq(hpcbd_restrain_holds(&guest), wall_ns / TURN_NS % 2 != 0);
        ck_assert(!hpcbd_restrain_holds(&primary));
        turn_fn(NULL, 1);
    }
    restrain(HPCB_GUARD_STOP);
    ck_assert(hpcbd_restrain_holds(&guest));
    restrain(HPCB_GUARD_FREE);
    ck_assert(!hpcbd_restrain_holds(&guest));
    end();
}
END_TEST

START_TEST(a_clock_that_is_set_moves_turns)
{
    static const int64_t steps[] = {3600 * 2 * TURN_NS + TURN_NS, -7201 * TURN_NS};

    begin();
    restrain(HPCB_GUARD_HALF);
    for (size_t i = 0; i < 2; i++) {
        take_turn();
        wall_ns += steps[i];
        turn_fn(NULL, 0);
        ck_assert_int_eq(frozen[GUEST], wall_ns / TURN_NS % 2 != 0);
        ck_assert_uint_eq(turns_of_100(), 50);
        /* Nobody tells of it. */
        set_back = 3600 * 2 * TURN_NS;
        wall_ns = due_ns;
        turn_fn(NULL, 1);
        ck_assert_int_eq(set_back, 0);
        ck_assert_uint_eq(turns_of_100(), 50);
    }
    end();
}
END_TEST

START_TEST(who_comes_later_is_in_it)
{
    begin();
    restrain(HPCB_GUARD_STOP);
    take_turn();
    ck_assert(!frozen[SECOND_GUEST]);
    set_job(&second, SECOND_GUEST, HPCB_CLASS_GUEST);
    take_turn();
    ck_assert(frozen[SECOND_GUEST]);
    end();
}
END_TEST

/* For another primary, or none. */
START_TEST(each_guest_has_a_level_of_its_own)
{
    unsigned runs = 0;

    begin();
    set_job(&second, SECOND_GUEST, HPCB_CLASS_GUEST);
    restrain(HPCB_GUARD_STOP);
    second_level = HPCB_GUARD_FREE;
    for (int i = 0; i < 100; i++) {
        take_turn();
        ck_assert(frozen[GUEST]);
        ck_assert(!frozen[SECOND_GUEST]);
    }
    ck_assert_int_eq(hpcbd_restrain_stats()->level, HPCB_GUARD_STOP);
    level = HPCB_GUARD_SLICES;
    second_level = HPCB_GUARD_QUARTER;
    for (int i = 0; i < 100; i++) {
        take_turn();
        ck_assert(!frozen[GUEST]);
        runs += !frozen[SECOND_GUEST];
    }
    ck_assert_uint_eq(runs, 25);
    ck_assert_int_eq(hpcbd_restrain_stats()->level, HPCB_GUARD_QUARTER);
    end();
}
END_TEST

static hpcb_restraint_t counted(uint32_t guest_id)
{
    hpcb_restraint_t found = hpcb_restraint_unknown;

    hpcbd_tally_add(guest_id, HPCB_CLASS_GUEST, &found);
    return found;
}

static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* For the records of guests: all of the time for which they are restricted. */
START_TEST(restrictions_are_counted)
{
    hpcb_restraint_t before;

    begin();
    hpcbd_tally_forget(GUEST);
    hpcbd_tally_forget(SECOND_GUEST);
    restrain(HPCB_GUARD_QUARTER);
    wait_a_moment();
    before = counted(GUEST);
    ck_assert_uint_ge(before.throttled_us, 2000);
    ck_assert_uint_eq(before.stopped_us, 0);
    set_job(&second, SECOND_GUEST, HPCB_CLASS_GUEST);
    ck_assert_uint_eq(counted(SECOND_GUEST).throttled_us, 0);
    take_turn();
    restrain(HPCB_GUARD_STOP);
    before = counted(GUEST);
    wait_a_moment();
    ck_assert_uint_eq(counted(GUEST).throttled_us, before.throttled_us);
    ck_assert_uint_ge(counted(GUEST).stopped_us, before.stopped_us + 2000);
    ck_assert_uint_ge(counted(SECOND_GUEST).stopped_us, 2000);
    restrain(HPCB_GUARD_FREE);
    before = counted(GUEST);
    wait_a_moment();
    ck_assert_uint_eq(counted(GUEST).stopped_us, before.stopped_us);
    end();
}
END_TEST

/* It will have no record, so that nobody would ask for what was counted. */
START_TEST(nothing_is_counted_of_who_is_marked_only)
{
    begin();
    hpcbd_tally_forget(GUEST);
    guest.marked = true;
    restrain(HPCB_GUARD_QUARTER);
    wait_a_moment();
    restrain(HPCB_GUARD_STOP);
    wait_a_moment();
    ck_assert_uint_eq(counted(GUEST).throttled_us, 0);
    ck_assert_uint_eq(counted(GUEST).stopped_us, 0);
    end();
}
END_TEST

START_TEST(who_is_requeued_is_noted)
{
    begin();
    restrain(HPCB_GUARD_STOP);
    take_turn();
    ck_assert(frozen[GUEST]);
    hpcbd_restrain_requeue(&guest);
    ck_assert(frozen[GUEST]);
    ck_assert_int_eq(access(scratch(ENDED "/7.harm"), F_OK), 0);
    ck_assert_int_ne(access(scratch(ENDED "/8.harm"), F_OK), 0);
    ck_assert_uint_eq(hpcbd_restrain_stats()->requeues, 1);
    restrain(HPCB_GUARD_FREE);
    ck_assert_int_eq(hpcbd_restrain_stats()->level, HPCB_GUARD_FREE);
    end();
}
END_TEST

START_TEST(a_daemon_that_ends_lets_all_go)
{
    begin();
    restrain(HPCB_GUARD_STOP);
    take_turn();
    ck_assert(frozen[GUEST]);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_restrain");
    TCase *tc = scratch_case("harm_restrain");

    tcase_add_test(tc, each_level_leaves_less);
    tcase_add_test(tc, all_nodes_have_the_same_turns);
    tcase_add_test(tc, who_is_held_follows_from_the_clock);
    tcase_add_test(tc, a_clock_that_is_set_moves_turns);
    tcase_add_test(tc, who_comes_later_is_in_it);
    tcase_add_test(tc, each_guest_has_a_level_of_its_own);
    tcase_add_test(tc, restrictions_are_counted);
    tcase_add_test(tc, nothing_is_counted_of_who_is_marked_only);
    tcase_add_test(tc, who_is_requeued_is_noted);
    tcase_add_test(tc, a_daemon_that_ends_lets_all_go);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
