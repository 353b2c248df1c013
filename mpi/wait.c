/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <sys/prctl.h>
#include <time.h>
#include "mpi/environ.h"
#include "mpi/sleep.h"
#include "mpi/wait.h"

#define NS_PER_S 1000000000ULL

/*
 * A test that took longer than the usual one by these (ns) has moved data: a long
 * message is coming in piece by piece, and a nap would only let its pieces pile up.
 * After a nap caches are cold, so that the next test is slow in any case.
 */
#define MOVED_NS       3000
#define MOVED_AFTER_NS 15000

/*
 * Tests between two naps.  One is not enough: in the first the message comes in, only
 * in the next one does a collective begin the round that another rank is waiting for.
 */
#define TESTS_BETWEEN_NAPS 4

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
    bool to_the_end;

    make_slack_small();
    to_the_end = hpcb_sleep(ns, now);
    wait->looked = clock_ns();
    wait->since_nap = 0;
    wait->blind_from = now;
    if (to_the_end) {
        hpcb_nap_learn_late(&table, ns, wait->looked - now);
        return;
    }
    /* Woken because something has come in: it has not been waiting long. */
    wait->blind_from = wait->looked;
    wait->moved = wait->looked;
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
    uint64_t slow = wait->since_nap == 0 ? MOVED_AFTER_NS : MOVED_NS;

    if (took < wait->usual_test)
        wait->usual_test = took;
    if (took - wait->usual_test > slow)
        wait->moved = now;
    wait->looked = now;
    wait->since_nap++;
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
    if (wait->since_nap < TESTS_BETWEEN_NAPS)
        return;
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
    if (wait->blind_from != 0 && wait->since_nap < TESTS_BETWEEN_NAPS)
        ended = wait->blind_from + (wait->looked - wait->blind_from) / 2;
    hpcb_nap_learn(wait->site, ended - wait->began);
}
