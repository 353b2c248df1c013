/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <stdatomic.h>
#include "mpi/sleep.h"
#include "mpi/threads.h"

static atomic_bool counts;

/*
 * In one word, so that a call costs one locked operation at each of its ends: threads
 * in calls (16 bits), of these those that sleep (16 bits), and above them the calls
 * that have begun, ever, which wrap around.
 */
#define INSIDE     1ULL
#define SLEEPER    (1ULL << 16)
#define ENTRY      (1ULL << 32)
#define COUNT_MASK 0xffffU
static atomic_ullong state;

static unsigned inside_of(uint64_t word)
{
    return word & COUNT_MASK;
}

static unsigned sleepers_of(uint64_t word)
{
    return word / SLEEPER & COUNT_MASK;
}

static unsigned entries_of(uint64_t word)
{
    return (unsigned)(word / ENTRY);
}

/* Of this thread: its outermost call, 0: none (see hpcb_wait_t.frame), and the entries
 * that it knows of. */
static _Thread_local uintptr_t own_frame;
static _Thread_local unsigned known;
/* The present sleep is in state: counting may begin during a sleep. */
static _Thread_local bool sleeps;

void hpcb_threads_setup(void)
{
    hpcb_sleep_can_be_ended();
    atomic_store(&counts, true);
}

bool hpcb_threads_enter(uintptr_t frame)
{
    uint64_t step = own_frame != 0 ? ENTRY : ENTRY + INSIDE; /* not if left over */
    uint64_t before;

    if (own_frame > frame)
        return false;
    own_frame = frame;
    before = atomic_fetch_add(&state, step);
    known = entries_of(before + ENTRY);
    if (sleepers_of(before) > 0)
        hpcb_sleep_end_one();
    return true;
}

void hpcb_threads_leave(void)
{
    own_frame = 0;
    atomic_fetch_sub(&state, INSIDE);
}

/* An entering thread sees the sleepers at that moment, and a sleeper sees threads that
 * have entered by then, so one of them sees the other. */
bool hpcb_threads_nap_begin(bool locked)
{
    uint64_t before;

    sleeps = atomic_load_explicit(&counts, memory_order_relaxed);
    if (!sleeps)
        return true;
    before = atomic_fetch_add(&state, SLEEPER);
    if (entries_of(before) == known && (!locked || inside_of(before) <= 1))
        return true;
    atomic_fetch_sub(&state, SLEEPER);
    return false;
}

/* The end of a sleep wakes one thread only (epoll(7)), and it is unknown on which one
 * the others depend. */
void hpcb_threads_nap_end(bool early)
{
    if (!sleeps)
        return;
    if (sleepers_of(atomic_fetch_sub(&state, SLEEPER)) > 1 && early)
        hpcb_sleep_end_one();
}

bool hpcb_threads_came(void)
{
    unsigned now;

    if (!atomic_load_explicit(&counts, memory_order_relaxed))
        return false;
    now = entries_of(atomic_load(&state));
    if (now == known)
        return false;
    known = now;
    return true;
}
