/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <stdatomic.h>
#include "mpi/sleep.h"
#include "mpi/threads.h"

static atomic_bool counts;
static atomic_uint inside;   /* threads in calls */
static atomic_uint sleepers; /* of these, those that sleep */
static atomic_uint entries;  /* ever; wraps around */

/* Of this thread: its outermost call, 0: none (see hpcb_wait_t.frame), and the entries
 * that it knows of. */
static _Thread_local uintptr_t own_frame;
static _Thread_local unsigned known;

void hpcb_threads_setup(void)
{
    hpcb_sleep_can_be_ended();
    atomic_store(&counts, true);
}

bool hpcb_threads_enter(uintptr_t frame)
{
    bool is_left_over = own_frame != 0;

    if (own_frame > frame)
        return false;
    own_frame = frame;
    if (!is_left_over)
        atomic_fetch_add(&inside, 1);
    known = atomic_fetch_add(&entries, 1) + 1;
    if (atomic_load(&sleepers) > 0)
        hpcb_sleep_end_one();
    return true;
}

void hpcb_threads_leave(void)
{
    own_frame = 0;
    atomic_fetch_sub(&inside, 1);
}

/* Who enters counts itself before it looks for sleepers, and a sleeper the other way
 * round: one of them sees the other. */
bool hpcb_threads_nap_begin(bool locked)
{
    if (!atomic_load_explicit(&counts, memory_order_relaxed))
        return true;
    atomic_fetch_add(&sleepers, 1);
    if (atomic_load(&entries) == known && (!locked || atomic_load(&inside) <= 1))
        return true;
    atomic_fetch_sub(&sleepers, 1);
    return false;
}

/* What ends a sleep wakes one thread only (epoll(7)), and which one the others rely on
 * is not to be known. */
void hpcb_threads_nap_end(bool early)
{
    if (!atomic_load_explicit(&counts, memory_order_relaxed))
        return;
    if (atomic_fetch_sub(&sleepers, 1) > 1 && early)
        hpcb_sleep_end_one();
}

bool hpcb_threads_came(void)
{
    unsigned now;

    if (!atomic_load_explicit(&counts, memory_order_relaxed))
        return false;
    now = atomic_load(&entries);
    if (now == known)
        return false;
    known = now;
    return true;
}
