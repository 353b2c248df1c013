/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "hpcbd/loop.h"
#include "tests/common/scratch.h"

static hpcb_loop_t *loop;

typedef struct {
    unsigned calls;
    uint64_t what;
    hpcb_source_t *victim; /* to be removed by the callback */
} seen_t;

static void note(void *arg, uint64_t what)
{
    seen_t *seen = arg;

    seen->calls++;
    seen->what = what;
    hpcb_source_remove(seen->victim);
    seen->victim = NULL;
}

static void make_loop(void)
{
    hpcb_error_t err = {""};

    loop = hpcb_loop_new(&err);
    ck_assert_msg(loop != NULL, "%s", err.text);
}

static void free_loop(void)
{
    hpcb_loop_free(loop);
}

static void once(int timeout_ms)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_loop_once(loop, timeout_ms, &err) == 0, "%s", err.text);
}

START_TEST(a_descriptor_calls_back_until_it_is_removed)
{
    seen_t seen = {0};
    hpcb_source_t *source;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    source = hpcb_loop_fd(loop, ends[0], EPOLLIN, note, &seen, NULL);
    ck_assert_ptr_nonnull(source);
    once(0);
    ck_assert_uint_eq(seen.calls, 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    once(0);
    once(0);
    ck_assert_uint_eq(seen.calls, 2);
    ck_assert_uint_eq(seen.what, EPOLLIN);
    ck_assert_int_eq(hpcb_source_events(source, 0), 0);
    once(0);
    ck_assert_uint_eq(seen.calls, 2);
    hpcb_source_remove(source);
    once(0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* Both are ready in the same batch; whichever is called first removes the other. */
START_TEST(a_source_removed_by_another_is_not_called_any_more)
{
    seen_t seen[2] = {{0}, {0}};
    hpcb_source_t *sources[2];
    int ends[2][2];

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pipe(ends[i]), 0);
        ck_assert_int_eq(write(ends[i][1], "x", 1), 1);
        sources[i] = hpcb_loop_fd(loop, ends[i][0], EPOLLIN, note, &seen[i], NULL);
        ck_assert_ptr_nonnull(sources[i]);
    }
    seen[0].victim = sources[1];
    seen[1].victim = sources[0];
    once(0);
    ck_assert_uint_eq(seen[0].calls + seen[1].calls, 1);
}
END_TEST

START_TEST(a_source_may_remove_itself)
{
    seen_t seen = {0};

    seen.victim = hpcb_loop_timer(loop, CLOCK_MONOTONIC, note, &seen, NULL);
    ck_assert_int_eq(hpcb_timer_in(seen.victim, 1, 1), 0);
    once(1000);
    once(10);
    ck_assert_uint_eq(seen.calls, 1);
}
END_TEST

START_TEST(a_timer_that_was_missed_says_how_often)
{
    seen_t seen = {0};
    hpcb_source_t *timer = hpcb_loop_timer(loop, CLOCK_MONOTONIC, note, &seen, NULL);

    ck_assert_int_eq(hpcb_timer_in(timer, 1000000, 1000000), 0);
    usleep(20000);
    once(1000);
    ck_assert_uint_eq(seen.calls, 1);
    ck_assert_uint_ge(seen.what, 10);
    ck_assert_int_eq(hpcb_timer_in(timer, 0, 0), 0);
    once(10);
    ck_assert_uint_eq(seen.calls, 1);
}
END_TEST

START_TEST(an_interval_that_stays_puts_nothing_off)
{
    const uint64_t minute = UINT64_C(60000000000);
    seen_t seen = {0};
    hpcb_source_t *timer = hpcb_loop_timer(loop, CLOCK_MONOTONIC, note, &seen, NULL);

    ck_assert_int_eq(hpcb_timer_in(timer, 1, minute), 0);
    ck_assert_int_eq(hpcb_timer_every(timer, minute), 0);
    once(10000);
    ck_assert_uint_eq(seen.calls, 1);
    ck_assert_int_eq(hpcb_timer_every(timer, 1000000), 0);
    once(10000);
    ck_assert_uint_eq(seen.calls, 2);
    ck_assert_int_eq(hpcb_timer_every(timer, 0), 0);
}
END_TEST

START_TEST(a_timer_of_the_clock_expires_at_once_when_it_is_past)
{
    seen_t seen = {0};
    hpcb_source_t *timer = hpcb_loop_timer(loop, CLOCK_REALTIME, note, &seen, NULL);

    ck_assert_int_eq(hpcb_timer_at(timer, 1000000000, 0), 0);
    once(1000);
    ck_assert_uint_eq(seen.calls, 1);
    ck_assert_uint_eq(seen.what, 1);
}
END_TEST

static void stop(void *arg, uint64_t signo)
{
    note(arg, signo);
    hpcb_loop_stop(loop);
}

START_TEST(a_signal_ends_the_loop)
{
    seen_t seen = {0};
    hpcb_error_t err = {""};

    ck_assert_ptr_nonnull(hpcb_loop_signal(loop, SIGUSR1, stop, &seen, &err));
    raise(SIGUSR1);
    ck_assert_msg(hpcb_loop_run(loop, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(seen.what, SIGUSR1);
    hpcb_loop_unblock_signals();
}
END_TEST

START_TEST(what_cannot_be_watched_is_an_error)
{
    hpcb_error_t err = {""};

    ck_assert_ptr_null(hpcb_loop_fd(loop, -1, EPOLLIN, note, NULL, &err));
    ck_assert_str_ne(err.text, "");
    ck_assert_ptr_null(hpcb_loop_timer(loop, 9999, note, NULL, &err));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *test = tcase_create("loop");

    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, make_loop, free_loop);
    tcase_add_test(test, a_descriptor_calls_back_until_it_is_removed);
    tcase_add_test(test, a_source_removed_by_another_is_not_called_any_more);
    tcase_add_test(test, a_source_may_remove_itself);
    tcase_add_test(test, a_timer_that_was_missed_says_how_often);
    tcase_add_test(test, an_interval_that_stays_puts_nothing_off);
    tcase_add_test(test, a_timer_of_the_clock_expires_at_once_when_it_is_past);
    tcase_add_test(test, a_signal_ends_the_loop);
    tcase_add_test(test, what_cannot_be_watched_is_an_error);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
