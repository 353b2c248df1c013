/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The MPIs and their hooks, determined from the sources of Open MPI 4.1 to 6.0 and
 * MPICH 4.0 to 5.0 and by running them; for Intel MPI 2021.19 only by running it.
 *
 * Open MPI: opal_progress() makes a pass, and calls sched_yield() after one that found
 * nothing if it is set to yield.  Its waits hold no lock meanwhile.  A pass that does
 * not yield has found something.  The waits of pml/ucx call ucp_worker_progress()
 * themselves, and opal_progress() only in one of 100 passes.
 *
 * Over shared memory Open MPI 4 and 5 treat a send of 257 bytes to 4 KiB as complete
 * only when the receiver has polled, because they expect the receiver to read from the
 * sender's memory.  Then a rank that is never late waits for one that sleeps.  Without
 * the flag "inplace" of that transport (a variable that it reads at its start) the
 * sender copies, as it does with up to 256 bytes, and continues.
 *
 * MPICH and its family: sched_yield() after each pass of most waits, without a lock, if
 * each virtual interface has a lock of its own (the default from 5.0 on).  Over UCX, in
 * all versions, ucp_worker_progress() in each pass that found nothing in shared memory,
 * with MPICH's lock held if the program has threads.  Waits with neither are not
 * reached: 4.0 over libfabric, and MPI_Probe and MPI_Waitany of 5.0 over libfabric.
 *
 * Intel MPI: sched_yield() in the mode that its variable requests, except in MPI_Probe.
 *
 * A poll of UCX counts if there are several per yield or there is no yield.
 */
#include "config.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "mpi/environ.h"
#include "mpi/hook.h"
#include "mpi/next.h"
#include "mpi/wait.h"

/* Functions that an MPI calls after a pass that found nothing. */
enum { HOOK_YIELD = 1, HOOK_UCX = 2 };

/* A variable of the environment while an MPI begins; name NULL: none. */
typedef struct {
    const char *name, *value;
} setting_t;

typedef struct {
    const char *mpi;
    const char *symbol;       /* that this MPI has, in its library or one below that */
    unsigned hooks;           /* HOOK_... */
    setting_t yields;         /* makes it yield, if the user has not set it */
    setting_t (*sends)(void); /* makes short sends end without their receivers */
    bool (*arm)(void);        /* after it has begun; false: the hook is not called */
} row_t;

/* The MPI yields only because this library requested it: nothing depends on the CPU
 * actually being yielded then. */
static atomic_bool yields_for_us;

static bool arm_openmpi(void)
{
    hpcb_fn_t fn = hpcb_mpi_symbol("opal_progress_set_yield_when_idle");

    if (!fn)
        return false;
    /* A previous setting was made by the user or the launcher. */
    if (!((bool (*)(bool))fn)(true))
        atomic_store(&yields_for_us, true);
    return true;
}

/* MPI_MAX_LIBRARY_VERSION_STRING of any MPI, and what Open MPI's begins with. */
#define VERSION_SIZE 8192
#define VERSION_NAME "Open MPI v"

/* 0: it does not say.  May be asked before MPI_Init. */
static int openmpi_release(void)
{
    hpcb_fn_t fn = hpcb_mpi_symbol("PMPI_Get_library_version");
    char text[VERSION_SIZE] = "";
    int length = 0;

    if (!fn || ((int (*)(char *, int *))fn)(text, &length) != 0 ||
        strncmp(text, VERSION_NAME, strlen(VERSION_NAME)) != 0)
        return 0;
    return atoi(text + strlen(VERSION_NAME));
}

#define VADER_FLAGS "OMPI_MCA_btl_vader_flags"
#define SM_FLAGS    "OMPI_MCA_btl_sm_flags"

/* The default flags but "inplace".  Release 5 adds put and get itself if the node has
 * them, and knows the old name as well. */
static setting_t openmpi_sends(void)
{
    int release = openmpi_release();

    if (getenv(VADER_FLAGS) || release < 4)
        return (setting_t){NULL, NULL};
    if (release == 4)
        return (setting_t){VADER_FLAGS, "send,put,get,atomics,fetching-atomics"};
    return (setting_t){SM_FLAGS, "send"};
}

static const row_t rows[] = {
    {.mpi = "Open MPI",
     .symbol = "opal_progress_set_yield_when_idle",
     .hooks = HOOK_YIELD | HOOK_UCX,
     .sends = openmpi_sends,
     .arm = arm_openmpi},
    {.mpi = "Intel MPI",
     .symbol = "I_MPI_Check_image_status",
     .hooks = HOOK_YIELD,
     .yields = {"I_MPI_WAIT_MODE", "1"}},
    {.mpi = "MPICH", .symbol = "MPII_Keyval_set_proxy", .hooks = HOOK_YIELD | HOOK_UCX},
};

#define ROWS (sizeof rows / sizeof rows[0])

/* Hooks in use in this process; 0 before MPI_Init. */
static atomic_uint in_use;

/* Of this thread: the frame of the opal_progress under way, 0: none, and whether it has
 * yielded.  As in hpcb_wait_t it may have been left by longjmp. */
static _Thread_local uintptr_t pass_frame;
static _Thread_local bool has_yielded;

static const row_t *find_row(void)
{
    for (size_t i = 0; i < ROWS; i++)
        if (hpcb_mpi_symbol(rows[i].symbol))
            return &rows[i];
    return NULL;
}

/* Setting during an MPI's start, name NULL: none, and whether it was told to yield,
 * which explains its yields then. */
static setting_t yields_set, sends_set;
static bool was_asked;

/* Unless the user has set it, or it has been set already: a tool's MPI_Init calls
 * PMPI_Init.  Return whether it has been set now, and is to be unset by *done. */
static bool set(setting_t wanted, setting_t *done)
{
    if (!wanted.name || getenv(wanted.name) ||
        setenv(wanted.name, wanted.value, 0) != 0)
        return false;
    *done = wanted;
    return true;
}

static void unset(setting_t *setting)
{
    if (setting->name)
        unsetenv(setting->name);
    setting->name = NULL;
}

void hpcb_hook_before_init(void)
{
    const row_t *row = hpcb_environ_naps_wanted() ? find_row() : NULL;

    if (!row)
        return;
    if (set(row->yields, &yields_set))
        was_asked = true;
    if (row->sends)
        set(row->sends(), &sends_set);
}

void hpcb_hook_after_init(void)
{
    unset(&yields_set);
    unset(&sends_set);
}

static void debug(const row_t *row)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!hpcb_environ_debug() || atomic_flag_test_and_set(&said))
        return;
    if (row)
        dprintf(STDERR_FILENO,
                "libhpcb_mpi: %s: waits sleep where it yields or polls UCX\n",
                row->mpi);
    else
        dprintf(STDERR_FILENO,
                "libhpcb_mpi: this MPI has no known hook: waits stay as they are\n");
}

bool hpcb_hook_start(void)
{
    const row_t *row = find_row();

    if (row && row->arm && !row->arm())
        row = NULL;
    debug(row);
    if (!row)
        return false;
    if (was_asked && !getenv("I_MPI_THREAD_YIELD"))
        atomic_store(&yields_for_us, true);
    hpcb_wait_setup();
    atomic_store(&in_use, row->hooks);
    return true;
}

/*
 * The functions that this library stands in front of, for each place that they are
 * called from: modules of a program may bring along a UCX each (MPI and Python's
 * wheels), and a worker of one is nothing to another.  0: free; fn is set last.
 */
#define PLACES       256
#define PLACES_TRIED 8

typedef struct {
    _Atomic(uintptr_t) caller;
    _Atomic(hpcb_fn_t) fn;
} kept_t;

/* Return the i-th place to search for the entry of caller. */
static kept_t *place_of(kept_t *table, uintptr_t caller, unsigned i)
{
    /* Fibonacci hashing, as in policy/nap.c; the upper eight bits. */
    return &table[((caller * 0x9e3779b97f4a7c15ULL >> 56) + i) % PLACES];
}

/* If the table is full it is looked up each time. */
static hpcb_fn_t look_up(kept_t *table, const char *name, void *caller)
{
    hpcb_fn_t fn = hpcb_need_bound(name, caller);
    uintptr_t own = (uintptr_t)caller;

    for (unsigned i = 0; i < PLACES_TRIED; i++) {
        kept_t *kept = place_of(table, own, i);
        uintptr_t none = 0;

        if (atomic_compare_exchange_strong(&kept->caller, &none, own) || none == own) {
            atomic_store(&kept->fn, fn);
            break;
        }
    }
    return fn;
}

static hpcb_fn_t known_at(kept_t *kept, void *caller)
{
    if (atomic_load_explicit(&kept->caller, memory_order_relaxed) != (uintptr_t)caller)
        return NULL;
    return atomic_load_explicit(&kept->fn, memory_order_acquire);
}

static __attribute__((noinline)) hpcb_fn_t search(kept_t *table, const char *name,
                                                  void *caller)
{
    for (unsigned i = 1; i < PLACES_TRIED; i++) {
        hpcb_fn_t fn = known_at(place_of(table, (uintptr_t)caller, i), caller);

        if (fn)
            return fn;
    }
    return look_up(table, name, caller);
}

/* caller: an address in the code that called.  It is asked in each pass. */
static inline hpcb_fn_t real(kept_t *table, const char *name, void *caller)
{
    hpcb_fn_t fn = known_at(place_of(table, (uintptr_t)caller, 0), caller);

    return __builtin_expect(fn != NULL, 1) ? fn : search(table, name, caller);
}

/* In a loop that polls UCX no more often than this between two yields the thread sleeps
 * in its yields, where the MPI holds no lock. */
#define POLLS_PER_YIELD 8

#define EXPORTED __attribute__((visibility("default")))
#define FRAME()  ((uintptr_t)__builtin_frame_address(0))

/* Return whether a function with its stack frame at frame may sleep: inside a blocking
 * call of this thread that was not left. */
static bool naps_in(unsigned hook, uintptr_t frame)
{
    return hpcb_wait.frame > frame &&
           atomic_load_explicit(&in_use, memory_order_relaxed) & hook;
}

/* Return whether the wait is in its first passes, whose events are ignored
 * (HPCB_WAIT_FREE_PASSES). */
static bool is_young(uintptr_t frame)
{
    return hpcb_wait.frame > frame && hpcb_wait.began == 0;
}

/* Whether the present loop polls more often is known from one yield to the next. */
static void note_yield(hpcb_wait_t *wait)
{
    wait->polls_more = wait->polls >= POLLS_PER_YIELD;
    wait->polls = 0;
}

/* Return whether the poll counts. */
static bool note_poll(hpcb_wait_t *wait)
{
    if (wait->polls < POLLS_PER_YIELD)
        wait->polls++;
    else
        wait->polls_more = true;
    return wait->polls_more;
}

EXPORTED int sched_yield(void);
EXPORTED int sched_yield(void)
{
    bool in_pass = pass_frame > FRAME();
    bool slept = false;

    has_yielded = true;
    if (naps_in(HOOK_YIELD, FRAME())) {
        note_yield(&hpcb_wait);
        slept = hpcb_wait_idle(&hpcb_wait, false);
    } else if (!in_pass) {
        return (int)syscall(SYS_sched_yield);
    }
    if (slept || atomic_load_explicit(&yields_for_us, memory_order_relaxed))
        return 0;
    return (int)syscall(SYS_sched_yield);
}

/* In Open MPI 4 it returns nothing, from 5 on an int. */
typedef intptr_t (*pass_t)(void);

static __attribute__((noinline)) intptr_t watch_pass(pass_t pass)
{
    intptr_t found;

    has_yielded = false;
    pass_frame = FRAME();
    found = pass();
    pass_frame = 0;
    if (!has_yielded)
        hpcb_wait_event(&hpcb_wait);
    return found;
}

EXPORTED intptr_t opal_progress(void);
EXPORTED intptr_t opal_progress(void)
{
    static kept_t kept[PLACES];
    pass_t pass = (pass_t)real(kept, "opal_progress", __builtin_return_address(0));

    return is_young(FRAME()) ? pass() : watch_pass(pass);
}

/* MPICH 4.0 over TCP: a rank that has flushed its endpoints waits for its launcher and
 * polls nothing else.  Another one that slept meanwhile would flush forever.  So this
 * counts the present finalizing calls, of MPI and of sessions, because it is unknown
 * which of them is the last one, in which MPICH flushes. */
static atomic_uint ends;

void hpcb_hook_before_finalize(void)
{
    atomic_fetch_add(&ends, 1);
}

void hpcb_hook_after_finalize(void)
{
    atomic_fetch_sub(&ends, 1);
}

EXPORTED unsigned ucp_worker_progress(void *worker);
EXPORTED unsigned ucp_worker_progress(void *worker)
{
    static kept_t kept[PLACES];
    hpcb_fn_t fn = real(kept, "ucp_worker_progress", __builtin_return_address(0));
    unsigned found = ((unsigned (*)(void *))fn)(worker);

    if (found > 0)
        hpcb_wait_event(&hpcb_wait);
    else if (naps_in(HOOK_UCX, FRAME()) && note_poll(&hpcb_wait) &&
             atomic_load_explicit(&ends, memory_order_relaxed) == 0)
        hpcb_wait_idle(&hpcb_wait, true);
    return found;
}
