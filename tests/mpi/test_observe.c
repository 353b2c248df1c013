/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The observer of MPI calls, without an MPI: calls are made up. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "mpi/observe.h"

#define FRAME 0x7fff0000U

static hpcb_page_t page;
static uint32_t seed;

static void setup(void)
{
    memset(&page, 0, sizeof(page));
    hpcb_observe_page(&page);
    seed = 20260101;
}

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};

    nanosleep(&t, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void call(uint64_t event, bool blocks, long ms)
{
    ck_assert(hpcb_observe_enter(hpcb_observer, event, FRAME, blocks));
    if (ms > 0)
        sleep_ms(ms);
    hpcb_observe_leave(hpcb_observer, blocks);
}

/* An iteration: computes, sends, waits. */
static void iterate(unsigned times, long compute_ms, long wait_ms)
{
    for (unsigned i = 0; i < times; i++) {
        if (compute_ms > 0)
            sleep_ms(compute_ms);
        call(1, false, 0);
        call(2, true, wait_ms);
    }
}

START_TEST(introduces_itself)
{
    ck_assert_uint_eq(page.magic, HPCB_PAGE_MAGIC);
    ck_assert_uint_eq(page.version, HPCB_PAGE_VERSION);
    ck_assert_uint_eq(page.size, HPCB_PAGE_SIZE);
    ck_assert_uint_eq(page.period, 0);
    ck_assert_uint_eq(page.samples, 0);
    ck_assert_uint_eq(page.sequence % 2, 0);
}
END_TEST

START_TEST(computing_and_waiting)
{
    iterate(12, 6, 3);
    ck_assert_uint_eq(page.period, 2);
    ck_assert_uint_eq(page.sequence % 2, 0);
    /* Two to find it; each of these takes longer than a group has to. */
    ck_assert_uint_ge(page.iterations, 9);
    ck_assert_uint_eq(page.samples, page.iterations);
    ck_assert_uint_ge(page.compute_ns, 6000000);
    ck_assert_uint_ge(page.wait_ns, 3000000);
    ck_assert_uint_le(page.compute_ns + page.wait_ns, page.mean_ns + 1000000);
    ck_assert_uint_le(page.ended_ns, now_ns());
}
END_TEST

/* The mean of all, which the last sample says nothing of; of this period only. */
START_TEST(what_an_iteration_usually_takes)
{
    uint64_t began = now_ns(), took;

    iterate(10, 8, 0);
    took = now_ns() - began;
    ck_assert_uint_ge(page.usual_ns, 8000000);
    ck_assert_uint_le(page.usual_ns, took / page.iterations);
    iterate(30, 6, 0);
    ck_assert_uint_ge(page.usual_ns, 6000000);
    call(3, true, 0);
    began = now_ns();
    iterate(10, 20, 0);
    took = now_ns() - began;
    ck_assert_uint_ge(page.usual_ns, 20000000);
    ck_assert_uint_le(page.usual_ns, took / 6);
}
END_TEST

START_TEST(short_iterations_in_groups)
{
    uint64_t began = now_ns(), samples;

    iterate(100000, 0, 0);
    samples = (now_ns() - began) / 5000000;
    ck_assert_uint_eq(page.period, 2);
    /* The first groups grow up to their length. */
    ck_assert_uint_le(page.samples, samples + 20);
    ck_assert_uint_ge(page.samples, 5);
    ck_assert_uint_gt(page.iterations, 20000);
}
END_TEST

/* A group is over when it has taken long enough, however many iterations it was to
 * have. */
START_TEST(iterations_that_become_long)
{
    uint64_t samples;

    iterate(100000, 0, 0);
    samples = page.samples;
    iterate(2 * HPCB_OBSERVE_CHECK, 1, 0);
    ck_assert_uint_gt(page.samples, samples);
    iterate(2 * HPCB_OBSERVE_CHECK, 1, 0);
    ck_assert_uint_ge(page.mean_ns, 1000000);
}
END_TEST

START_TEST(a_lost_period)
{
    iterate(10, 1, 0);
    ck_assert_uint_eq(page.period, 2);
    call(3, true, 0);
    ck_assert_uint_eq(page.period, 0);
    call(4, true, 0);
    iterate(20, 1, 0);
    ck_assert_uint_eq(page.period, 2);
}
END_TEST

START_TEST(calls_inside_of_calls)
{
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(hpcb_observe_enter(hpcb_observer, 1, FRAME, true));
        ck_assert_uint_eq(page.waits % 2, 1);
        for (unsigned j = 0; j <= i; j++)
            ck_assert(!hpcb_observe_enter(hpcb_observer, 100 + j, FRAME - 64, true));
        ck_assert_uint_eq(page.waits, 2 * i + 3);
        hpcb_observe_leave(hpcb_observer, true);
        ck_assert_uint_eq(page.waits, 2 * i + 2);
    }
    ck_assert_uint_eq(hpcb_observer->period.period, 1);
}
END_TEST

/* An error handler that throws or jumps. */
START_TEST(a_call_that_never_returns)
{
    iterate(10, 0, 0);
    ck_assert(hpcb_observe_enter(hpcb_observer, 1, FRAME, true));
    iterate(20, 0, 0);
    ck_assert_uint_eq(page.waits % 2, 0);
    ck_assert_uint_eq(hpcb_observer->period.period, 2);
}
END_TEST

START_TEST(no_period_at_all)
{
    for (unsigned i = 0; i < 200000; i++) {
        seed = seed * 1664525U + 1013904223U;
        call(1 + (seed >> 20), true, 0);
    }
    ck_assert(hpcb_observer->resting);
    ck_assert_uint_eq(page.period, 0);
    ck_assert_uint_eq(page.iterations, 0);
    /* Intervals instead, but not many. */
    ck_assert_uint_gt(page.samples, 10);
    ck_assert_uint_lt(page.samples, 1000);
    /* It looks again in the end. */
    iterate(150000, 0, 0);
    ck_assert_uint_eq(page.period, 2);
}
END_TEST

START_TEST(slow_calls_without_a_period)
{
    for (unsigned i = 0; i < 100; i++) {
        sleep_ms(1);
        call(100 + i, true, 1);
    }
    ck_assert_uint_ge(page.samples, 4);
    ck_assert_uint_ge(page.compute_ns, 14000000);
    ck_assert_uint_ge(page.wait_ns, 14000000);
}
END_TEST

/* What somebody else writes into the page is never read. */
START_TEST(a_page_that_others_write)
{
    for (unsigned i = 0; i < 100; i++) {
        memset(&page, (int)(i % 2 ? 0xff : 0), sizeof(page));
        iterate(10, 0, 0);
    }
    iterate(40, 1, 1);
    ck_assert_uint_eq(page.period, 2);
    ck_assert_uint_eq(page.sequence % 2, 0);
    ck_assert_uint_eq(page.waits % 2, 0);
    ck_assert_uint_le(page.iterations, 1040);
}
END_TEST

static char path[] = "/tmp/hpcb-observe-XXXXXX";

static void make_file(off_t size)
{
    int fd;

    strcpy(path + sizeof(path) - 7, "XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    close(fd);
    setenv("HPCB_PAGE", path, 1);
}

/* In a process of its own, as each test is: the page is taken once. */
START_TEST(takes_its_page)
{
    int fd, status = -1;
    pid_t child;

    memset(hpcb_observer, 0, sizeof(*hpcb_observer));
    hpcb_observer = NULL;
    make_file(HPCB_PAGE_SIZE);
    hpcb_observe_start();
    ck_assert_ptr_nonnull(hpcb_observer);
    ck_assert_ptr_null(getenv("HPCB_PAGE"));
    iterate(20, 1, 0);
    fd = open(path, O_RDONLY);
    ck_assert_int_eq(hpcb_page_read(fd, &page), 0);
    ck_assert_uint_eq(page.period, 2);
    child = fork();
    if (child == 0)
        _exit(hpcb_observer ? 1 : 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    hpcb_observe_stop();
    ck_assert_int_eq(hpcb_page_read(fd, &page), 0);
    ck_assert_uint_eq(page.period, 0);
    ck_assert_ptr_null(hpcb_observer);
    hpcb_observe_stop();
    close(fd);
    unlink(path);
}
END_TEST

static void own_by(pid_t owner)
{
    int fd;

    memset(&page, 0, sizeof(page));
    page.owner = (uint64_t)owner;
    fd = open(path, O_WRONLY);
    ck_assert_int_eq(write(fd, &page, sizeof(page)), sizeof(page));
    close(fd);
    setenv("HPCB_PAGE", path, 1);
}

/* As the ranks of a node that mpirun's daemon has started. */
START_TEST(one_page_has_one_writer)
{
    pid_t child;

    memset(hpcb_observer, 0, sizeof(*hpcb_observer));
    hpcb_observer = NULL;
    make_file(HPCB_PAGE_SIZE);
    own_by(getppid());
    hpcb_observe_start();
    ck_assert_ptr_null(hpcb_observer);
    child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    own_by(child);
    hpcb_observe_start();
    ck_assert_ptr_nonnull(hpcb_observer);
    ck_assert_uint_eq(hpcb_observer->page->owner, (uint64_t)getpid());
    hpcb_page_t *mapped = hpcb_observer->page;
    hpcb_observe_stop();
    ck_assert_uint_eq(mapped->owner, 0);
    unlink(path);
}
END_TEST

START_TEST(refuses_what_is_no_page)
{
    static const off_t sizes[] = {0, 255, 257, 4096};
    char link[sizeof(path) + 5];

    memset(hpcb_observer, 0, sizeof(*hpcb_observer));
    hpcb_observer = NULL;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        make_file(sizes[i]);
        hpcb_observe_start();
        ck_assert_ptr_null(hpcb_observer);
        ck_assert_ptr_null(getenv("HPCB_PAGE"));
        unlink(path);
    }
    make_file(HPCB_PAGE_SIZE);
    snprintf(link, sizeof(link), "%s.link", path);
    ck_assert_int_eq(symlink(path, link), 0);
    setenv("HPCB_PAGE", link, 1);
    hpcb_observe_start();
    ck_assert_ptr_null(hpcb_observer);
    unlink(link);
    unlink(path);
    setenv("HPCB_PAGE", "/nowhere/at/all", 1);
    hpcb_observe_start();
    ck_assert_ptr_null(hpcb_observer);
    setenv("HPCB_PAGE", "/dev/null", 1);
    hpcb_observe_start();
    ck_assert_ptr_null(hpcb_observer);
    hpcb_observe_start();
    ck_assert_ptr_null(hpcb_observer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("observe");
    TCase *tcase = tcase_create("observe");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, introduces_itself);
    tcase_add_test(tcase, computing_and_waiting);
    tcase_add_test(tcase, what_an_iteration_usually_takes);
    tcase_add_test(tcase, short_iterations_in_groups);
    tcase_add_test(tcase, iterations_that_become_long);
    tcase_add_test(tcase, a_lost_period);
    tcase_add_test(tcase, calls_inside_of_calls);
    tcase_add_test(tcase, a_call_that_never_returns);
    tcase_add_test(tcase, no_period_at_all);
    tcase_add_test(tcase, slow_calls_without_a_period);
    tcase_add_test(tcase, a_page_that_others_write);
    tcase_add_test(tcase, takes_its_page);
    tcase_add_test(tcase, one_page_has_one_writer);
    tcase_add_test(tcase, refuses_what_is_no_page);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
