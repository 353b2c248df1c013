/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The hardware-thread priority that a page asks for: kept while the rank computes,
 * lower in a blocking call, and gone with its time.  On POWER the register is read;
 * elsewhere only what the observer believes.  Without Check, as tests/cgroup/ppr.c.
 *
 * Nothing is printed and no clock asked between a call and the look at the register:
 * on Linux a system call ends a priority, which qemu-user does not show.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cgroup/mechanism_ppr.h"
#include "mpi/observe.h"

#define FRAME  0x7fff0000U
#define SECOND 1000000000U

static hpcb_page_t page;
static int number, failed;

static void ok(bool good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
    failed += !good;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Iterations of 6 ms, each of one blocking call; what the register was inside of the
 * last one goes to *inside. */
static void iterate(int *inside)
{
    const struct timespec computing = {.tv_nsec = 6000000};

    for (int i = 0; i < 8; i++) {
        nanosleep(&computing, NULL);
        hpcb_observe_enter(hpcb_observer, 1, FRAME, true);
        *inside = hpcb_ppr_get();
        hpcb_observe_leave(hpcb_observer, true);
    }
}

static bool is_power(void)
{
    return hpcb_ppr_get() >= 0;
}

/* What a page asks for, and what becomes of it in the call and behind it. */
static void check(uint64_t priority, uint64_t until, unsigned kept, int in_call,
                  int behind, const char *what)
{
    int inside, after;

    page.asked = (hpcb_page_level_t){priority, until};
    iterate(&inside);
    after = hpcb_ppr_get();
    ok(hpcb_observer->priority == kept &&
           (!is_power() || (inside == in_call && after == behind)),
       what);
}

int main(void)
{
    uint64_t later;

    hpcb_observe_page(&page);
    hpcb_ppr_write(HPCB_PPR_MEDIUM_LOW);
    later = now_ns() + 600U * SECOND;
    check(0, 0, 0, 3, 3, "nothing is asked for");
    check(2, later, 2, 2, 2, "low");
    check(4, later, 4, 2, 4, "medium; low while it waits");
    check(4, 1, 0, 3, 3, "what is over counts no more");
    check(3, later, 3, 2, 3, "medium-low");
    check(7, later, 0, 3, 3, "what no user may have is not tried");
    check(1, later, 0, 3, 3, "nor what nobody asks for");
    check(UINT64_C(1) << 32 | 2, later, 0, 3, 3, "nor nonsense");
    check(2, later, 2, 2, 2, "low again");
    check(0, later, 0, 3, 3, "and as usual");
    printf("1..%d\n", number);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
