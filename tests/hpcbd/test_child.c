/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The end of a child of hpcbd's beside a process that never waits. */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hpcbd/child.h"
#include "hpcbd/loop.h"
#include "tests/common/scratch.h"

#define TRIES 5

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void bind_to_first(void)
{
    cpu_set_t all, one;
    int cpu = 0;

    sched_getaffinity(0, sizeof(all), &all);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* As the one that measures memory bandwidth, which gets only what nobody wants. */
static int work(void *arg)
{
    static const struct sched_param none;
    const int *ready = arg;

    bind_to_first();
    sched_setscheduler(0, SCHED_IDLE, &none);
    if (write(*ready, "", 1) != 1)
        return 1;
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}

static pid_t start_rival(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to_first();
    setpriority(PRIO_PROCESS, 0, -20);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}

/* As hpcbd itself. */
static bool be_real_time(void)
{
    static const struct sched_param lowest = {.sched_priority = 1};

    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

/* The daemon waits for it, and its windows with it. */
START_TEST(an_idle_child_ends_at_once)
{
    hpcb_error_t err = {""};
    hpcb_loop_t *loop = hpcb_loop_new(&err);
    int ready = HPCBD_CHILD_SOCKET;
    uint64_t longest = 0;
    pid_t rival;
    char byte;

    ck_assert_msg(loop != NULL, "%s", err.text);
    rival = start_rival();
    if (!be_real_time()) {
        fprintf(stderr, "# skipped: no real-time priority\n");
        kill(rival, SIGKILL);
        waitpid(rival, NULL, 0);
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        hpcbd_child_t *child =
            hpcbd_child_start(loop, "hpcbd: test", work, &ready, &err);
        uint64_t begin;

        ck_assert_msg(child != NULL, "%s", err.text);
        ck_assert_int_eq(read(hpcbd_child_socket(child), &byte, 1), 1);
        usleep(20000); /* it has had what it may have */
        begin = now_ms();
        hpcbd_child_stop(child);
        if (now_ms() - begin > longest)
            longest = now_ms() - begin;
    }
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    hpcb_loop_free(loop);
    fprintf(stderr, "# the longest of %d took %ju ms\n", TRIES, (uintmax_t)longest);
    ck_assert_uint_lt(longest, 150);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("child");
    TCase *tc = scratch_case("child");

    tcase_set_tags(tc, "timed");
    tcase_add_test(tc, an_idle_child_ends_at_once);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
