/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that get next to nothing (hpcbd/harm/crumbs.c) with readings, owner of
 * freezing, timer and clock of the test's: who is stopped, goes on and is requeued.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbd/harm/crumbs.h"
#include "hpcbd/harm/share.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define SECOND  INT64_C(1000000000)
#define GUEST   7
#define PRIMARY 8
#define ENDED   "run/" HPCBD_REQUEUE_DIR
#define STARVED 60

static int64_t clock_now;
static hpcb_loop_fn tick_fn;
static hpcbd_share_t reading;
static bool readable, watched, frozen, reads_idle;
static int64_t decide_ns;
static uint64_t tick_ns; /* from one tick to the next */
static hpcbd_registry_t registry;
static hpcbd_job_t guest, primary;
static hpcbd_t daemon_of_test;
static char last_line[512];

/* Outside of begin and end the clock is the real one: Check looks at it too. */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!clock_now)
        return __real_clock_gettime(clock, now);
    now->tv_sec = clock_now / SECOND;
    now->tv_nsec = clock_now % SECOND;
    return 0;
}

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)clock;
    (void)arg;
    (void)err;
    tick_fn = fn;
    return (hpcb_source_t *)&tick_fn;
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    (void)first_ns;
    ck_assert_int_eq(interval_ns, SECOND);
    return 0;
}

int hpcb_timer_every(hpcb_source_t *timer, uint64_t interval_ns)
{
    (void)timer;
    tick_ns = interval_ns;
    return 0;
}

void hpcb_source_remove(hpcb_source_t *source)
{
    (void)source;
}

hpcbd_shares_t *hpcbd_shares_new(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return (hpcbd_shares_t *)&reading;
}

void hpcbd_shares_free(hpcbd_shares_t *shares)
{
    (void)shares;
}

void hpcbd_shares_round(hpcbd_shares_t *shares, bool idle)
{
    (void)shares;
    reads_idle = idle;
}

int hpcbd_shares_look(hpcbd_shares_t *shares, const hpcbd_job_t *job,
                      hpcbd_share_t *share)
{
    (void)shares;
    ck_assert_uint_eq(job->state.job_id, GUEST);
    if (!readable)
        return -1;
    *share = reading;
    /* Who is stopped uses nothing, and waits for nothing. */
    if (frozen)
        share->used = share->waited = 0;
    return 0;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_uint_eq(job_id, GUEST);
    ck_assert_int_eq(reason, HPCBD_FREEZE_CRUMBS);
    frozen = true; /* what cannot be stopped yet is stopped once it can */
    return watched;
}

void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_uint_eq(job_id, GUEST);
    ck_assert_int_eq(reason, HPCBD_FREEZE_CRUMBS);
    frozen = false;
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    ck_assert_int_eq(which, HPCBD_WATCHDOG_GUESTS);
    decide_ns = end_ns;
}

static void keep_line(hpcb_log_level_t level, const char *line)
{
    (void)level;
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static void begin(void)
{
    hpcb_conf_t *conf = &daemon_of_test.conf;
    hpcb_error_t err;

    hpcb_log_set_sink(keep_line);
    hpcb_conf_defaults(conf);
    conf->guest_starved_after = STARVED;
    snprintf(conf->state_dir, sizeof(conf->state_dir), "%s", scratch("run"));
    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch(ENDED), 0755), 0);
    clock_now = 1000 * SECOND;
    guest.state = (hpcb_job_state_t){.job_id = GUEST, .klass = HPCB_CLASS_GUEST};
    primary.state = (hpcb_job_state_t){.job_id = PRIMARY, .klass = HPCB_CLASS_PRIMARY};
    guest.marked = false;
    registry.jobs[0] = &guest;
    registry.jobs[1] = &primary;
    registry.count = 2;
    readable = watched = true;
    reading = (hpcbd_share_t){.used = 0.0029, .cpus = 2, .waited = true};
    ck_assert_msg(hpcbd_crumbs.start(&daemon_of_test, &err) == 0, "%s", err.text);
}

static void end(void)
{
    hpcbd_crumbs.stop(&daemon_of_test);
    clock_now = 0;
    ck_assert(!frozen);
}

static void run(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        clock_now += SECOND;
        tick_fn(NULL, 1);
        /* The watchdog knows of guests that are stopped, and of no others. */
        ck_assert_int_eq(decide_ns > clock_now, frozen);
    }
}

/* It is stopped from now on. */
static void run_until_stopped(void)
{
    run(10);
    ck_assert(!frozen);
    run(1);
    ck_assert(frozen);
}

static bool noted(void)
{
    char path[128];

    snprintf(path, sizeof(path), ENDED "/%d.starved", GUEST);
    return access(scratch(path), F_OK) == 0;
}

/* It is stopped like others, but will have no record. */
START_TEST(nothing_is_counted_of_who_is_marked_only)
{
    hpcb_restraint_t counted = hpcb_restraint_unknown;

    begin();
    hpcbd_tally_forget(GUEST);
    guest.marked = true;
    run_until_stopped();
    run(5);
    hpcbd_tally_add(GUEST, HPCB_CLASS_GUEST, &counted);
    ck_assert_uint_eq(counted.starved_us, 0);
    end();
}
END_TEST

START_TEST(who_gets_crumbs_is_stopped_until_its_cpus_are_idle)
{
    const hpcbd_crumbs_stats_t *stats = hpcbd_crumbs_stats();
    hpcb_restraint_t counted = hpcb_restraint_unknown;

    begin();
    hpcbd_tally_forget(7);
    run_until_stopped();
    ck_assert_str_eq(last_line, "job 7: stopped: primaries leave it 0.29 % of its 2 "
                                "CPUs (GuestMinShare=1%)");
    reading.idle = 0.009;
    run(20);
    ck_assert(frozen);
    ck_assert(reads_idle);
    reading.idle = 0.25;
    run(1);
    ck_assert(!frozen);
    ck_assert_str_eq(last_line,
                     "job 7: goes on after 21 s: 25.00 % of its 2 CPUs are idle");
    run(1);
    ck_assert(!reads_idle);
    run(8);
    ck_assert(!frozen);
    run(1);
    ck_assert(frozen);
    ck_assert_uint_eq(stats->stopped, 1);
    ck_assert_uint_eq(stats->stops, 2);
    ck_assert_uint_eq(stats->requeues, 0);
    hpcbd_tally_add(7, HPCB_CLASS_GUEST, &counted);
    ck_assert_uint_eq(counted.starved_us, 21000000);
    ck_assert_uint_eq(counted.stopped_us, 0);
    end();
    ck_assert_uint_eq(stats->stopped, 0);
}
END_TEST

START_TEST(who_gets_enough_or_sleeps_runs)
{
    begin();
    reading.used = 0.01;
    run(30);
    ck_assert(!frozen);
    reading.used = 0;
    reading.waited = false;
    run(30);
    ck_assert(!frozen);
    /* Now and then it gets its share. */
    reading.waited = true;
    for (int i = 0; i < 5; i++) {
        reading.used = 0;
        run(9);
        reading.used = 0.02;
        run(1);
    }
    ck_assert(!frozen);
    end();
}
END_TEST

START_TEST(without_guests_there_is_less_to_look_at)
{
    begin();
    run(1);
    ck_assert_uint_eq(tick_ns, SECOND);
    registry.count = 0;
    run(1);
    ck_assert_uint_eq(tick_ns, 2 * SECOND);
    registry.count = 2;
    run(1);
    ck_assert_uint_eq(tick_ns, SECOND);
    end();
}
END_TEST

START_TEST(alone_or_without_a_minimum_nobody_is_stopped)
{
    begin();
    run_until_stopped();
    registry.count = 1;
    run(1);
    ck_assert(!frozen);
    run(30);
    ck_assert(!frozen);
    registry.count = 2;
    run_until_stopped();
    daemon_of_test.conf.guest_min_share_ppm = 0;
    run(1);
    ck_assert(!frozen);
    daemon_of_test.conf.guest_min_share_ppm = 10000;
    run_until_stopped();
    /* It has ended. */
    registry.jobs[0] = &primary;
    registry.count = 1;
    run(1);
    ck_assert(!frozen);
    end();
}
END_TEST

/* Time in which Slurm has it suspended starves nobody, and it is no time in which it
 * got nothing. */
START_TEST(time_of_a_suspended_guest_does_not_count)
{
    begin();
    run(8);
    reading.suspended = true;
    run(100);
    ck_assert(!frozen);
    reading.suspended = false;
    run(2);
    ck_assert(!frozen);
    run(1);
    ck_assert(frozen);
    reading.suspended = true;
    run(10 * STARVED);
    ck_assert(frozen);
    reading.suspended = false;
    run(10);
    ck_assert(frozen);
    ck_assert(!noted());
    end();
}
END_TEST

START_TEST(who_starves_is_requeued)
{
    begin();
    run_until_stopped();
    /* 10 s before that it got 0.29 %. */
    run(STARVED - 9);
    ck_assert(frozen);
    ck_assert(!noted());
    run(2);
    ck_assert(noted());
    ck_assert(!frozen);
    ck_assert_ptr_nonnull(strstr(last_line, "(GuestStarvedAfter=60)"));
    ck_assert_uint_eq(hpcbd_crumbs_stats()->requeues, 1);
    /* Slurm has not: it begins anew. */
    run_until_stopped();
    run(STARVED + 5);
    ck_assert_uint_eq(hpcbd_crumbs_stats()->requeues, 2);
    daemon_of_test.conf.guest_starved_after = 0;
    run(100 * STARVED);
    ck_assert(frozen);
    ck_assert_uint_eq(hpcbd_crumbs_stats()->requeues, 2);
    end();
}
END_TEST

/* A run that follows begins anew, be it that its job was stopped. */
START_TEST(a_requeued_job_is_another_one)
{
    begin();
    run_until_stopped();
    guest.state.begin_us = 1;
    run_until_stopped();
    end();
}
END_TEST

START_TEST(who_cannot_be_stopped_goes_by_what_it_gets)
{
    begin();
    watched = false;
    run(12);
    ck_assert(!frozen);
    ck_assert_str_eq(last_line,
                     "job 7: gets 0.29 % of its 2 CPUs, but cannot be stopped here");
    ck_assert_uint_eq(hpcbd_crumbs_stats()->stops, 0);
    /* There is a watchdog again. */
    watched = true;
    run(1);
    ck_assert(frozen);
    /* It dies, and takes what it knows with it. */
    watched = frozen = false;
    run(1);
    ck_assert(!frozen);
    ck_assert_uint_eq(hpcbd_crumbs_stats()->stopped, 0);
    reading.used = 0.5;
    run(1);
    watched = true;
    run(30);
    ck_assert(!frozen);
    end();
}
END_TEST

/* For a moment that changes nothing.  For longer nobody would ever see that its CPUs
 * are idle, so that it would be stopped for good. */
START_TEST(who_cannot_be_read_is_let_go)
{
    begin();
    readable = false;
    run(30);
    ck_assert(!frozen);
    readable = true;
    run_until_stopped();
    readable = false;
    run(4);
    ck_assert(frozen);
    readable = true;
    run(1);
    readable = false;
    run(4);
    ck_assert(frozen);
    run(1);
    ck_assert(!frozen);
    ck_assert_str_eq(last_line,
                     "job 7: goes on after 10 s: what it gets cannot be read");
    ck_assert_uint_eq(hpcbd_crumbs_stats()->stopped, 0);
    run(2 * STARVED);
    ck_assert(!frozen && !noted());
    /* It begins anew. */
    readable = true;
    run_until_stopped();
    end();
}
END_TEST

START_TEST(a_note_names_job_and_reason)
{
    static const char *const others[] = {"",    "0",          "7.x",         "x7",
                                         "7 ",  ".starved",   "07.starved.", "7.starve",
                                         "7.7", "4294967296", "99999999999"};
    hpcbd_requeue_t reason;
    uint32_t job_id;

    ck_assert_int_eq(hpcbd_requeue_parse("7", &job_id, &reason), 0);
    ck_assert_uint_eq(job_id, 7);
    ck_assert_int_eq(reason, HPCBD_REQUEUE_MEMORY);
    ck_assert_int_eq(hpcbd_requeue_parse("4294967295.starved", &job_id, &reason), 0);
    ck_assert_uint_eq(job_id, UINT32_MAX);
    ck_assert_int_eq(reason, HPCBD_REQUEUE_STARVED);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_int_eq(hpcbd_requeue_parse(others[i], &job_id, &reason), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_crumbs");
    TCase *tc = scratch_case("harm_crumbs");

    tcase_add_test(tc, nothing_is_counted_of_who_is_marked_only);
    tcase_add_test(tc, who_gets_crumbs_is_stopped_until_its_cpus_are_idle);
    tcase_add_test(tc, who_gets_enough_or_sleeps_runs);
    tcase_add_test(tc, without_guests_there_is_less_to_look_at);
    tcase_add_test(tc, alone_or_without_a_minimum_nobody_is_stopped);
    tcase_add_test(tc, time_of_a_suspended_guest_does_not_count);
    tcase_add_test(tc, who_starves_is_requeued);
    tcase_add_test(tc, a_requeued_job_is_another_one);
    tcase_add_test(tc, who_cannot_be_stopped_goes_by_what_it_gets);
    tcase_add_test(tc, who_cannot_be_read_is_let_go);
    tcase_add_test(tc, a_note_names_job_and_reason);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
