/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How late a timer is that does nothing else: what no daemon on this machine can do
 * better.  It waits as hpcbd does (timerfd on the wall clock, SCHED_FIFO of the same
 * priority), in the middle between hpcbd's edges of a 10 ms period.
 */
#include "config.h"
#include <err.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "common/histogram.h"
#include "common/window.h"

#define BILLION   INT64_C(1000000000)
#define PERIOD_NS INT64_C(5000000)

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * BILLION + now.tv_nsec;
}

/* False when a signal came first. */
static int wait_until(int timer, int64_t at_ns)
{
    struct itimerspec when = {.it_value = {at_ns / BILLION, at_ns % BILLION}};
    uint64_t count;

    return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
                           NULL) == 0 &&
           read(timer, &count, sizeof(count)) == sizeof(count);
}

int main(void)
{
    static hpcb_histogram_t late;
    const struct sched_param param = {.sched_priority = HPCBD_PRIORITY};
    const struct sigaction action = {.sa_handler = end};
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);

    if (timer < 0)
        err(EXIT_FAILURE, "timerfd");
    if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
        err(EXIT_FAILURE, "SCHED_FIFO");
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    while (!ended) {
        int64_t at_ns = now_ns() / PERIOD_NS * PERIOD_NS + PERIOD_NS * 3 / 2;

        if (wait_until(timer, at_ns) && now_ns() >= at_ns)
            hpcb_histogram_add(&late, (uint64_t)(now_ns() - at_ns));
    }
    hpcb_histogram_print(&late);
    puts("");
    return EXIT_SUCCESS;
}
