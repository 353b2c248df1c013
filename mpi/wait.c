/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <sys/prctl.h>
#include <time.h>
#include "mpi/environ.h"
#include "mpi/sleep.h"
#include "mpi/threads.h"
#include "mpi/wait.h"

#define NS_PER_S 1000000000ULL

/*
 * A pass that took longer than the usual one by these (ns) has moved data.  After a nap
 * caches are cold, so that the next pass is slow in any case.
 */
#define MOVED_NS       3000
#define MOVED_AFTER_NS 15000

/* And one that took longer than this (ns) was switched off meanwhile. */
#define SWITCHED_OFF_NS 1000000

/* Data that move again within this time (ns) belong to one burst. */
#define BREAK_NS 50000

/*
 * Looks between two naps.  One is not enough: in the first pass the message comes in,
 * only in the next one does a collective begin the round that another rank waits for;
 * and Open MPI looks at some of its transports in every eighth pass only.
 */
#define LOOKS_BETWEEN_NAPS 8

_Thread_local hpcb_wait_t hpcb_wait;

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

static void begin(hpcb_wait_t *wait)
{
    wait->site = hpcb_nap_site(&table, wait->call_site);
    wait->began = wait->looked = clock_ns();
    wait->usual_pass = UINT64_MAX;
    wait->since_nap = 0;
    wait->blind_from = 0;
    wait->served = false;
    wait->event = false;
}

/* Data moved between the last look and now. */
static void note_move(hpcb_wait_t *wait, uint64_t now)
{
    /* What took long was switched off, or copied what was there at once. */
    if (!wait->served || now - wait->moved > BREAK_NS)
        wait->burst = now - wait->looked > BREAK_NS ? now : wait->looked;
    wait->served = true;
    wait->moved = now;
}

/* Whether data moved since the last look; forgets what was reported. */
static bool has_moved(hpcb_wait_t *wait, uint64_t now, unsigned pass)
{
    uint64_t took = now - wait->looked;
    uint64_t slow = wait->since_nap == 0 ? MOVED_AFTER_NS : MOVED_NS;
    bool moved = wait->event || hpcb_threads_came();

    wait->event = false;
    if (moved || pass & HPCB_PASS_EXACT)
        return moved;
    if (took < wait->usual_pass)
        wait->usual_pass = took;
    return took - wait->usual_pass > slow && took < SWITCHED_OFF_NS;
}

static void judge_pass(hpcb_wait_t *wait, uint64_t now, unsigned pass)
{
    bool moved = has_moved(wait, now, pass);

    /* The wait goes on, so what came was for others: did they wait for this rank?  Not
     * if it was woken by what came. */
    if (wait->since_nap == 0 && wait->blind_from != 0 &&
        wait->blind_from < wait->looked)
        hpcb_nap_learn_service(&table, moved);
    if (moved)
        note_move(wait, now);
    wait->looked = now;
    wait->since_nap++;
}

/* Whether it slept. */
static bool nap(hpcb_wait_t *wait, uint64_t now, uint64_t ns, unsigned pass)
{
    bool to_the_end;

    if (!hpcb_threads_nap_begin(pass & HPCB_PASS_LOCKED))
        return false;
    make_slack_small();
    to_the_end = hpcb_sleep(ns, now);
    hpcb_threads_nap_end(!to_the_end);
    wait->looked = clock_ns();
    wait->since_nap = 0;
    wait->blind_from = now;
    if (to_the_end) {
        hpcb_nap_learn_late(&table, ns, wait->looked - now);
        return true;
    }
    /* Woken because something has come in: it has not been waiting long. */
    wait->blind_from = wait->looked;
    note_move(wait, wait->looked);
    return true;
}

bool hpcb_wait_look(hpcb_wait_t *wait, unsigned pass)
{
    hpcb_nap_wait_t so_far;
    uint64_t now, ns;

    if (wait->began == 0) {
        begin(wait);
        return false;
    }
    now = clock_ns();
    judge_pass(wait, now, pass);
    if (wait->since_nap < LOOKS_BETWEEN_NAPS)
        return false;
    so_far.elapsed_ns = now - wait->began;
    so_far.quiet_ns = wait->served ? now - wait->moved : so_far.elapsed_ns;
    so_far.busy_ns = wait->served ? wait->moved - wait->burst + 1 : 0;
    ns = hpcb_nap_next(&conf, wait->site, &table, &so_far);
    return ns > 0 && nap(wait, now, ns, pass);
}

/* When the wait for data was over: at the last look, or when the burst began that came
 * before it. */
static uint64_t end_of_wait(const hpcb_wait_t *wait)
{
    uint64_t ended = wait->looked;

    if (wait->served && wait->looked - wait->moved <= BREAK_NS)
        ended = wait->burst;
    /* What came while the thread slept may have come at any time of the nap. */
    if (wait->blind_from != 0 && wait->blind_from < ended &&
        wait->since_nap < LOOKS_BETWEEN_NAPS)
        ended = wait->blind_from + (ended - wait->blind_from) / 2;
    return ended;
}

void hpcb_wait_learn(hpcb_wait_t *wait)
{
    hpcb_nap_learn(wait->site, end_of_wait(wait) - wait->began);
}
