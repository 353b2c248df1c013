/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <time.h>
#include "mpi/environ.h"
#include "mpi/sleep.h"
#include "mpi/threads.h"
#include "mpi/wait.h"

#define NS_PER_S 1000000000ULL

/*
 * If the passes since the last reading took longer than usual by these (ns), they have
 * moved data.  After a sleep caches are cold, so that the next pass is slow in any
 * case.
 */
#define MOVED_NS       3000
#define MOVED_AFTER_NS 15000

/* Data that begin to move again within this time (ns) belong to one burst; and of a
 * pass that took longer than this it is asked whether the thread was on its CPU. */
#define BREAK_NS 50000

/* This is only known after an earlier query.  Without one, a pass longer than this (ns)
 * counts as preempted.  Queries are made for so many further waits. */
#define SWITCHED_OFF_NS 1000000
#define ASKING_WAITS    64

/* A thread that has waited so many times without a sleep stops watching what ends
 * sleeps. */
#define WAITS_WITHOUT_NAP 256

/*
 * Readings between two sleeps.  One is not enough: the first pass receives the message,
 * and only the next one begins the round of a collective for which another rank waits;
 * and Open MPI polls some of its transports only in every eighth pass.
 */
#define LOOKS_BETWEEN_NAPS 8

/* Reading the clock takes as long as a pass over shared memory, and a message that
 * comes meanwhile is late by it.  So the clock is read after as many passes as take
 * this time (ns), which is short against MOVED_NS. */
#define LOOK_NS    500
#define STRIDE_MAX 63

/* If they take longer than this (ns), the stride was learned from much faster passes.
 * It becomes 0 at once, not by halves: a wait that ends within the free passes and a
 * stride has no reading, so short waits cannot shorten a stride that a long one has
 * left too long. */
#define LOOK_TOO_LATE_NS (8 * LOOK_NS)

_Thread_local hpcb_wait_t hpcb_wait;

static hpcb_nap_conf_t conf;

static _Thread_local hpcb_nap_table_t table;
static _Thread_local unsigned waits_since_nap;

/* Time (ns) for which the thread had been off its CPU at the last query, including
 * sleeps since then, and for how many further waits queries are made. */
static _Thread_local uint64_t off_before;
static _Thread_local unsigned asking;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Ever, with a constant more. */
static uint64_t off_cpu_ns(uint64_t now)
{
    return now - read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void hpcb_wait_setup(void)
{
    conf = hpcb_environ_naps();
}

/* Return whether the arrival was in or immediately after the last sleep. */
static bool is_just_after_nap(const hpcb_wait_t *wait)
{
    return wait->blind_from != 0 && wait->since_nap < LOOKS_BETWEEN_NAPS;
}

/* Choose the time of the next reading by the time since the last one; soon after a
 * sleep, because the next one may follow. */
static void pace(hpcb_wait_t *wait, uint64_t took)
{
    if (is_just_after_nap(wait))
        return;
    if (took > LOOK_TOO_LATE_NS)
        wait->stride = 0;
    else if (took > LOOK_NS)
        wait->stride /= 2;
    else if (took < LOOK_NS / 2 && wait->stride < STRIDE_MAX)
        wait->stride = 2 * wait->stride + 1;
    wait->left = wait->stride;
}

static void begin(hpcb_wait_t *wait)
{
    wait->site = hpcb_nap_site(&table, wait->call_site);
    wait->began = wait->looked = clock_ns();
    wait->usual_pass = UINT64_MAX;
    wait->left = wait->stride;
    wait->since_nap = 0;
    wait->blind_from = 0;
    wait->first = 0;
    wait->served = false;
    wait->event = false;
    if (asking > 0) {
        off_before = off_cpu_ns(wait->began);
        asking--;
    }
    if (++waits_since_nap == WAITS_WITHOUT_NAP)
        hpcb_sleep_unwatch();
}

/* Return whether the thread was on its CPU in the long pass that ends now. */
static bool was_running(uint64_t now, uint64_t took)
{
    uint64_t off = off_cpu_ns(now);
    int64_t lost = (int64_t)(off - off_before);
    bool running = asking > 0 ? lost < (int64_t)(took / 2) : took < SWITCHED_OFF_NS;

    off_before = off;
    asking = ASKING_WAITS;
    return running;
}

/* Return the begin of the quiet time. */
static uint64_t quiet_since(const hpcb_wait_t *wait)
{
    return wait->served ? wait->moved : wait->began;
}

/* Return the estimated arrival of what was noticed at seen: in the middle of the sleep,
 * if the thread slept and no data have moved since then.  Never before quiet_since. */
static uint64_t arrival(const hpcb_wait_t *wait, uint64_t seen)
{
    bool after_data = wait->served && wait->moved >= wait->blind_from;

    if (is_just_after_nap(wait) && wait->blind_from < seen && !after_data)
        return wait->blind_from + (seen - wait->blind_from) / 2;
    return seen;
}

/* Note that data moved between since and now.  sure: not just a long pass. */
static void note_move(hpcb_wait_t *wait, uint64_t since, uint64_t now, bool sure)
{
    uint64_t before = quiet_since(wait);
    bool of_burst = wait->served && since - before <= BREAK_NS;

    if (!of_burst) {
        wait->burst = since;
        wait->came = arrival(wait, since);
        wait->quiet = wait->came - before;
    }
    wait->doubtful = !sure && !of_burst;
    wait->served = true;
    wait->moved = now;
    if (wait->first == 0 && !wait->doubtful && wait->quiet >= HPCB_NAP_QUIET_NS)
        wait->first = wait->came;
}

/* Return whether a pass took longer than one that finds nothing. */
static bool was_slow(hpcb_wait_t *wait, uint64_t took)
{
    uint64_t slow = wait->since_nap == 0 ? MOVED_AFTER_NS : MOVED_NS;

    if (took < wait->usual_pass)
        wait->usual_pass = took;
    return took - wait->usual_pass > slow;
}

static void judge_pass(hpcb_wait_t *wait, uint64_t now)
{
    uint64_t took = now - wait->looked;
    bool running = took <= BREAK_NS || was_running(now, took);
    bool event = wait->event;
    bool moved = event || (was_slow(wait, took) && running);

    wait->event = false;
    if (hpcb_threads_came())
        wait->stirred = now;
    /* The wait goes on, so what came was for others: did they wait for this rank?  Not
     * if it was woken by what came. */
    if (wait->since_nap == 0 && wait->blind_from != 0 &&
        wait->blind_from < wait->looked)
        hpcb_nap_learn_service(&table, moved);
    /* If the thread was not running, at some time in between. */
    if (moved)
        note_move(wait, running ? wait->looked : now, now, event);
    wait->looked = now;
    wait->since_nap++;
}

/* Return whether it slept. */
static bool nap(hpcb_wait_t *wait, uint64_t now, uint64_t ns, bool locked)
{
    hpcb_sleep_end_t end;

    if (!hpcb_threads_nap_begin(locked))
        return false;
    end = hpcb_sleep(ns, now);
    hpcb_threads_nap_end(end != HPCB_SLEEP_TO_THE_END);
    wait->looked = clock_ns();
    off_before += wait->looked - now;
    wait->since_nap = 0;
    wait->left = wait->stride = 0;
    waits_since_nap = 0;
    wait->woken = end == HPCB_SLEEP_WOKEN;
    switch (end) {
    case HPCB_SLEEP_TO_THE_END:
        wait->blind_from = now;
        hpcb_nap_learn_late(&table, ns, wait->looked - now);
        break;
    case HPCB_SLEEP_WOKEN: /* the arrival has not been waiting long */
        wait->blind_from = wait->looked;
        note_move(wait, wait->looked, wait->looked, true);
        break;
    case HPCB_SLEEP_STIRRED: /* says nothing about messages */
        wait->blind_from = 0;
        wait->stirred = wait->looked;
        break;
    }
    return true;
}

/* Return the state of the wait.  For data that may be on their way it stays awake as if
 * they had moved, but learns nothing from it. */
static hpcb_nap_wait_t standing(const hpcb_wait_t *wait, uint64_t now)
{
    hpcb_nap_wait_t so_far = {.elapsed_ns = now - wait->began,
                              .quiet_ns = now - quiet_since(wait),
                              .came = wait->first > 0};

    if (wait->served) {
        so_far.busy_ns = wait->moved - wait->burst + 1;
        so_far.doubtful = wait->doubtful;
    }
    if (wait->stirred > quiet_since(wait)) {
        so_far.quiet_ns = now - wait->stirred;
        so_far.busy_ns += !wait->served;
        so_far.doubtful = false;
    }
    return so_far;
}

bool hpcb_wait_look(hpcb_wait_t *wait, bool locked)
{
    hpcb_nap_wait_t so_far;
    uint64_t now, ns;

    if (wait->began == 0) {
        begin(wait);
        return false;
    }
    now = clock_ns();
    pace(wait, now - wait->looked);
    judge_pass(wait, now);
    if (wait->since_nap < LOOKS_BETWEEN_NAPS)
        return false;
    so_far = standing(wait, now);
    ns = hpcb_nap_next(&conf, wait->site, &table, &so_far);
    return ns > 0 && nap(wait, now, ns, locked);
}

/* Return the end of the wait for data: at the last reading, or at the begin of the
 * series before it. */
static uint64_t end_of_wait(const hpcb_wait_t *wait)
{
    if (wait->served && wait->looked - wait->moved <= BREAK_NS)
        return wait->came;
    return arrival(wait, wait->looked);
}

void hpcb_wait_learn(hpcb_wait_t *wait)
{
    uint64_t ended = end_of_wait(wait);
    uint64_t first = wait->first > 0 && wait->first < ended ? wait->first : ended;

    if (is_just_after_nap(wait))
        hpcb_nap_learn_end(&table, wait->woken);
    hpcb_nap_learn(wait->site, first - wait->began, ended - wait->began);
}
