/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Primaries with long slices (hpcbd/harm/slices.c), with a timer and threads of the
 * test's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/slices.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define GUEST   7
#define PRIMARY 8
#define OTHER   9

static hpcb_loop_fn turn_fn;
static hpcbd_registry_t registry;
static hpcbd_job_t jobs[3];
static hpcbd_t daemon_of_test;
static uint64_t next_ns;
static int64_t decide_ns;
static bool possible, guarded;
/* By job id. */
static int threads[16], with_slices[16];

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)clock;
    (void)arg;
    (void)err;
    turn_fn = fn;
    return (hpcb_source_t *)&turn_fn;
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    (void)interval_ns;
    next_ns = first_ns;
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

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *all, uint32_t job_id)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->jobs[i]->state.job_id == job_id)
            return all->jobs[i];
    return NULL;
}

bool hpcbd_window_is_guarded(void)
{
    return guarded;
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    ck_assert_int_eq(which, HPCBD_WATCHDOG_SLICES);
    decide_ns = end_ns;
}

int hpcb_slices_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    return possible ? 0 : hpcb_error(err, "no slices");
}

/* The directory of a job is its id. */
static int change(const char *dir, int wanted, uint64_t *from)
{
    int job = atoi(dir), some = abs(wanted * threads[job] - with_slices[job]);

    ck_assert_int_ne(job, GUEST);
    *from = some > HPCB_SLICES_MAX;
    some = some > HPCB_SLICES_MAX ? HPCB_SLICES_MAX : some;
    with_slices[job] += wanted ? some : -some;
    return some;
}

int hpcb_slices_lengthen(const hpcb_node_t *node, const char *dir, uint64_t *from)
{
    (void)node;
    return change(dir, 1, from);
}

int hpcb_slices_restore(const hpcb_node_t *node, const char *dir, uint64_t *from)
{
    (void)node;
    return change(dir, 0, from);
}

int hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    memset(with_slices, 0, sizeof(with_slices));
    return 0;
}

static void set_job(size_t i, uint32_t job_id, hpcb_class_t klass)
{
    jobs[i] = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass, .begin_us = 1}};
    snprintf(jobs[i].dir, sizeof(jobs[i].dir), "%u", job_id);
    registry.jobs[i] = &jobs[i];
    threads[job_id] = 10;
}

static void begin(void)
{
    hpcb_error_t err;

    possible = guarded = true;
    next_ns = 0;
    decide_ns = 0;
    memset(with_slices, 0, sizeof(with_slices));
    set_job(0, PRIMARY, HPCB_CLASS_PRIMARY);
    set_job(1, GUEST, HPCB_CLASS_GUEST);
    set_job(2, OTHER, HPCB_CLASS_PRIMARY);
    registry.count = 3;
    ck_assert_msg(hpcbd_slices.start(&daemon_of_test, &err) == 0, "%s", err.text);
}

static void end(void)
{
    hpcbd_slices.stop(&daemon_of_test);
    ck_assert_int_eq(decide_ns, 0);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    ck_assert(!hpcbd_slices_possible());
}

static void turns(unsigned count)
{
    for (unsigned i = 0; i < count && next_ns; i++)
        turn_fn(NULL, 1);
}

START_TEST(who_is_harmed_gets_them_and_gives_them_back)
{
    hpcb_restraint_t counted = hpcb_restraint_unknown, again = hpcb_restraint_unknown;

    begin();
    hpcbd_tally_forget(PRIMARY);
    hpcbd_slices_set(PRIMARY, true);
    ck_assert_int_gt(decide_ns, 0);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 10);
    ck_assert_int_eq(with_slices[OTHER], 0);
    /* Its new threads, too. */
    threads[PRIMARY] = 12;
    turns(1);
    ck_assert_int_eq(with_slices[PRIMARY], 12);
    hpcbd_slices_set(PRIMARY, false);
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    ck_assert_int_eq(decide_ns, 0);
    ck_assert_uint_eq(next_ns, 0);
    ck_assert_uint_eq(hpcbd_slices_stats()->given, 1);
    ck_assert_uint_eq(hpcbd_slices_stats()->jobs, 0);
    hpcbd_tally_add(PRIMARY, HPCB_CLASS_PRIMARY, &counted);
    hpcbd_tally_add(PRIMARY, HPCB_CLASS_PRIMARY, &again);
    ck_assert_uint_gt(counted.sliced_us, 0);
    ck_assert_uint_eq(counted.sliced_us, again.sliced_us);
    end();
}
END_TEST

static uint64_t sliced_us(uint32_t job_id)
{
    hpcb_restraint_t counted = hpcb_restraint_unknown;

    hpcbd_tally_add(job_id, HPCB_CLASS_PRIMARY, &counted);
    return counted.sliced_us;
}

/* One whose threads cannot be found, and one that is not there. */
START_TEST(nothing_is_counted_of_who_has_none)
{
    uint64_t counted_us;

    begin();
    hpcbd_tally_forget(PRIMARY);
    hpcbd_slices_set(PRIMARY, true);
    jobs[0].dir[0] = '\0';
    turns(1);
    ck_assert_uint_eq(hpcbd_slices_stats()->jobs, 0);
    hpcbd_slices_set(PRIMARY, false);
    hpcbd_slices_set(PRIMARY + 4, true);
    counted_us = sliced_us(PRIMARY);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    ck_assert_uint_eq(sliced_us(PRIMARY), counted_us);
    ck_assert_uint_eq(sliced_us(PRIMARY + 4), 0);
    end();
}
END_TEST

START_TEST(many_threads_take_several_turns)
{
    begin();
    threads[PRIMARY] = 1000;
    hpcbd_slices_set(PRIMARY, true);
    turns(1);
    ck_assert_int_eq(with_slices[PRIMARY], HPCB_SLICES_MAX);
    ck_assert_uint_lt(next_ns, UINT64_C(100000000));
    turns(20);
    ck_assert_int_eq(with_slices[PRIMARY], 1000);
    hpcbd_slices_end();
    turns(20);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    end();
}
END_TEST

START_TEST(no_guest_and_no_other_job_gets_them)
{
    begin();
    hpcbd_slices_set(GUEST, true);
    turns(3);
    ck_assert_int_eq(with_slices[GUEST], 0);
    /* The job's id is another one's now. */
    hpcbd_slices_set(PRIMARY, true);
    jobs[0].state.begin_us++;
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    ck_assert_uint_eq(hpcbd_slices_stats()->jobs, 0);
    end();
}
END_TEST

START_TEST(without_a_watchdog_nobody_has_them)
{
    begin();
    hpcbd_slices_set(PRIMARY, true);
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 10);
    guarded = false;
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    hpcbd_slices_set(PRIMARY, true);
    turns(3);
    ck_assert_int_eq(with_slices[PRIMARY], 0);
    end();
}
END_TEST

START_TEST(a_daemon_that_ends_gives_all_back)
{
    begin();
    hpcbd_slices_set(PRIMARY, true);
    hpcbd_slices_set(OTHER, true);
    turns(4);
    ck_assert_int_eq(with_slices[PRIMARY] + with_slices[OTHER], 20);
    end();
    ck_assert_int_eq(with_slices[OTHER], 0);
}
END_TEST

START_TEST(an_older_kernel_has_none)
{
    hpcb_error_t err;

    begin();
    end();
    possible = false;
    ck_assert_int_eq(hpcbd_slices.start(&daemon_of_test, &err), 0);
    ck_assert(!hpcbd_slices_possible());
    hpcbd_slices_set(PRIMARY, true);
    ck_assert_int_eq(decide_ns, 0);
    hpcbd_slices.stop(&daemon_of_test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_slices");
    TCase *tc = scratch_case("harm_slices");

    tcase_add_test(tc, who_is_harmed_gets_them_and_gives_them_back);
    tcase_add_test(tc, nothing_is_counted_of_who_has_none);
    tcase_add_test(tc, many_threads_take_several_turns);
    tcase_add_test(tc, no_guest_and_no_other_job_gets_them);
    tcase_add_test(tc, without_a_watchdog_nobody_has_them);
    tcase_add_test(tc, a_daemon_that_ends_gives_all_back);
    tcase_add_test(tc, an_older_kernel_has_none);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
