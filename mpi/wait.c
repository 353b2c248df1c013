/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "mpi/environ.h"
#include "mpi/wait.h"

#define NS_PER_S 1000000000ULL

/*
 * A test that took longer than the usual one by these (ns) has moved data: a long
 * message is coming in piece by piece, and a nap would only let its pieces pile up.
 * After a nap caches are cold, so that the next test is slow in any case.
 */
#define MOVED_NS       3000
#define MOVED_AFTER_NS 15000

_Thread_local uintptr_t hpcb_call_site;

static hpcb_nap_conf_t conf;

static _Thread_local hpcb_nap_table_t table;
static _Thread_local bool slack_is_small;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void hpcb_wait_setup(void)
{
    conf = hpcb_environ_naps();
}

/* The kernel ends a sleep up to the thread's timer slack late: 50 us by default. */
static void make_slack_small(void)
{
    if (!slack_is_small)
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    slack_is_small = true;
}

static void nap(hpcb_wait_t *wait, uint64_t now, uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_S),
                            .tv_nsec = (long)(ns % NS_PER_S)};

    make_slack_small();
    wait->nap_began = now;
    wait->napped = true;
    /* Not through the C library: there it is a cancellation point, MPI calls are none. */
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    wait->looked = clock_ns();
    hpcb_nap_learn_late(&table, ns, wait->looked - now);
}

static void begin(hpcb_wait_t *wait)
{
    wait->site = hpcb_nap_site(&table, hpcb_call_site);
    wait->began = wait->looked = wait->moved = clock_ns();
    wait->usual_test = UINT64_MAX;
}

static void judge_test(hpcb_wait_t *wait, uint64_t now)
{
    uint64_t took = now - wait->looked;
    uint64_t slow = wait->napped ? MOVED_AFTER_NS : MOVED_NS;

    if (took < wait->usual_test)
        wait->usual_test = took;
    if (took - wait->usual_test > slow)
        wait->moved = now;
    wait->looked = now;
    wait->napped = false;
}

void hpcb_wait_look(hpcb_wait_t *wait)
{
    hpcb_nap_wait_t so_far;
    uint64_t now, ns;

    if (wait->began == 0) {
        begin(wait);
        return;
    }
    now = clock_ns();
    judge_test(wait, now);
    so_far.elapsed_ns = now - wait->began;
    so_far.quiet_ns = now - wait->moved;
    ns = hpcb_nap_next(&conf, wait->site, table.late_ns, &so_far);
    if (ns > 0)
        nap(wait, now, ns);
}

void hpcb_wait_learn(const hpcb_wait_t *wait)
{
    uint64_t ended = wait->looked;

    /* What ended while the task slept may have ended at any time of the nap. */
    if (wait->napped)
        ended = wait->nap_began + (wait->looked - wait->nap_began) / 2;
    hpcb_nap_learn(wait->site, ended - wait->began);
}
