/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Waits in MPIs that are made up: the test has their functions, the clock (the name
 * clock_gettime is replaced where this and wait.c are compiled), and a sleep that only
 * sets the clock and is counted.  A pass takes a microsecond, if the case does not say
 * otherwise.  Each case runs in a process of its own, so that it begins before
 * MPI_Init.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mpi/hook.h"
#include "mpi/next.h"
#include "mpi/sleep.h"
#include "mpi/threads.h"
#include "mpi/wait.h"

#define US 1000ULL
#define MS 1000000ULL

/* The frame of a call that all functions here are called from. */
#define OUTER (UINTPTR_MAX - 1)

intptr_t opal_progress(void);
unsigned ucp_worker_progress(void *worker);

/* The MPI that the process has: the one symbol that tells which. */
static const char *marker = "";
static bool user_yields, told_to_yield;
static unsigned ended_by_others, unwatched;
static volatile unsigned naps; /* sched.h says of sched_yield that it changes nothing */
static unsigned found;         /* by the next pass */
static hpcb_sleep_end_t next_end; /* of the next sleep; half as long if ended */

static unsigned clock_reads;
static uint64_t slept_until, slept_ns; /* the last nap */
static uint64_t awake_ns;              /* between the last two */
static uint64_t pass_ns = US;
static uint64_t now_ns = 1000 * MS;
static uint64_t off_ns; /* of these the thread was not on its CPU */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    uint64_t ns = clock == CLOCK_MONOTONIC ? now_ns : now_ns - off_ns;

    ck_assert(clock == CLOCK_MONOTONIC || clock == CLOCK_THREAD_CPUTIME_ID);
    clock_reads++;
    now->tv_sec = (time_t)(ns / (1000 * MS));
    now->tv_nsec = (long)(ns % (1000 * MS));
    return 0;
}

static bool set_yield(bool wanted)
{
    told_to_yield = wanted;
    return user_yields;
}

/* As Open MPI has it. */
static intptr_t make_pass(void)
{
    now_ns += pass_ns;
    if (found == 0 && (told_to_yield || user_yields))
        sched_yield();
    return found;
}

static unsigned make_ucx_pass(void *worker)
{
    ck_assert_ptr_null(worker);
    now_ns += pass_ns;
    return found;
}

/* NULL: this MPI has no such call. */
static const char *library_version;

static int get_library_version(char *text, int *length)
{
    strcpy(text, library_version);
    *length = (int)strlen(text);
    return 0;
}

hpcb_fn_t hpcb_mpi_symbol(const char *name)
{
    if (library_version && strcmp(name, "PMPI_Get_library_version") == 0)
        return (hpcb_fn_t)get_library_version;
    if (strcmp(name, marker) != 0)
        return NULL;
    return (hpcb_fn_t)set_yield;
}

static unsigned looked_up;

hpcb_fn_t hpcb_need_bound(const char *name, const void *caller)
{
    looked_up++;
    ck_assert_ptr_nonnull(caller);
    return strcmp(name, "opal_progress") == 0 ? (hpcb_fn_t)make_pass
                                              : (hpcb_fn_t)make_ucx_pass;
}

hpcb_sleep_end_t hpcb_sleep(uint64_t ns, uint64_t now)
{
    hpcb_sleep_end_t end = next_end;

    ck_assert_uint_gt(ns, 0);
    ck_assert_uint_eq(now, now_ns);
    next_end = HPCB_SLEEP_TO_THE_END;
    naps++;
    awake_ns = now_ns - slept_until;
    slept_ns = end == HPCB_SLEEP_TO_THE_END ? ns + 10 * US : ns / 2;
    now_ns += slept_ns;
    slept_until = now_ns;
    off_ns += ns;
    return end;
}

void hpcb_sleep_unwatch(void)
{
    unwatched++;
}

void hpcb_sleep_can_be_ended(void)
{
}

void hpcb_sleep_end_one(void)
{
    ended_by_others++;
}

static void pass_openmpi(void)
{
    opal_progress();
}

static void pass_ucx(void)
{
    ucp_worker_progress(NULL);
}

static void pass_yield(void)
{
    now_ns += pass_ns;
    sched_yield();
}

/* A pass that finds something. */
static void pass_with_event(void (*pass)(void))
{
    found = 1;
    pass == pass_yield ? pass_ucx() : pass();
    found = 0;
}

/* MPI_Init of the MPI that has name. */
static void begin_mpi(const char *name)
{
    marker = name;
    hpcb_hook_before_init();
    hpcb_hook_after_init();
    ck_assert(hpcb_hook_start());
}

/* Make passes for ns that find nothing; how often the thread slept. */
static unsigned idle_for(void (*pass)(void), uint64_t ns)
{
    unsigned before = naps;

    for (uint64_t until = now_ns + ns; now_ns < until;)
        pass();
    return naps - before;
}

/* The same inside a blocking call. */
static unsigned wait_for(void (*pass)(void), uint64_t ns)
{
    unsigned slept;

    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    slept = idle_for(pass, ns);
    hpcb_wait_leave(&hpcb_wait);
    return slept;
}

static const struct {
    const char *marker;
    void (*pass)(void);
} mpis[] = {
    {"opal_progress_set_yield_when_idle", pass_openmpi},
    {"I_MPI_Check_image_status", pass_yield},
    {"MPII_Keyval_set_proxy", pass_yield},
    {"MPII_Keyval_set_proxy", pass_ucx},
    {"opal_progress_set_yield_when_idle", pass_ucx},
};

#define MPIS ((int)(sizeof mpis / sizeof mpis[0]))

START_TEST(sleeps_only_inside_blocking_calls)
{
    begin_mpi(mpis[_i].marker);
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 20 * MS), 0);
    ck_assert_uint_gt(wait_for(mpis[_i].pass, 20 * MS), 10);
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 20 * MS), 0);
}
END_TEST

START_TEST(other_calls_are_no_hooks)
{
    begin_mpi("I_MPI_Check_image_status");
    ck_assert_uint_eq(wait_for(pass_ucx, 20 * MS), 0);
}
END_TEST

static void pass_both(void)
{
    unsigned before = naps;

    pass_ucx();
    ck_assert_uint_eq(naps, before);
    pass_yield();
}

/* Open MPI's pml/ucx: 99 polls, then a pass that polls as well. */
static void pass_pml_ucx(void)
{
    for (int i = 0; i < 99; i++)
        pass_ucx();
    pass_openmpi();
}

static void pass_openmpi_and_ucx(void)
{
    unsigned before = naps;

    pass_ucx();
    ck_assert_uint_eq(naps, before);
    pass_openmpi();
}

START_TEST(sleeps_where_openmpi_polls_ucx)
{
    uint64_t began;

    begin_mpi("opal_progress_set_yield_when_idle");
    ck_assert_uint_gt(wait_for(pass_pml_ucx, 20 * MS), 10);
    /* And not only after a hundred passes. */
    began = now_ns;
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    for (unsigned before = naps; naps == before;)
        pass_ucx();
    ck_assert_uint_lt(now_ns - slept_ns - began, 80 * US);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(idle_for(pass_pml_ucx, 20 * MS), 0);
}
END_TEST

/* If each pass yields that polls UCX too, it sleeps there. */
START_TEST(sleeps_where_openmpi_yields)
{
    begin_mpi("opal_progress_set_yield_when_idle");
    ck_assert_uint_gt(wait_for(pass_openmpi_and_ucx, 20 * MS), 10);
}
END_TEST

/* Where MPICH holds no lock, rather than where it does. */
START_TEST(sleeps_in_yields_if_there_are_any)
{
    begin_mpi("MPII_Keyval_set_proxy");
    ck_assert_uint_gt(wait_for(pass_both, 20 * MS), 10);
}
END_TEST

/* Each place that it is called from may be bound to a UCX of its own
 * (tests/mpi/copies). */
START_TEST(each_place_is_looked_up_once)
{
    unsigned before;

    /* The compiler may make more than one place of it. */
    idle_for(mpis[_i].pass, 1000 * US);
    ck_assert_uint_le(looked_up, 10);
    before = looked_up;
    ucp_worker_progress(NULL);
    ck_assert_uint_eq(looked_up, before + 1);
}
END_TEST

/* What ends a session and what ends MPI, one inside of the other (a tool's), and both
 * at the same time: until the last one is over. */
START_TEST(no_sleep_in_ucx_while_something_ends)
{
    begin_mpi("MPII_Keyval_set_proxy");
    hpcb_hook_before_finalize();
    ck_assert_uint_eq(wait_for(pass_ucx, 20 * MS), 0);
    ck_assert_uint_gt(wait_for(pass_yield, 20 * MS), 10);
    hpcb_hook_before_finalize();
    hpcb_hook_after_finalize();
    ck_assert_uint_eq(wait_for(pass_ucx, 20 * MS), 0);
    hpcb_hook_after_finalize();
    ck_assert_uint_gt(wait_for(pass_ucx, 20 * MS), 10);
}
END_TEST

START_TEST(nothing_before_mpi_begins)
{
    ck_assert_uint_eq(wait_for(mpis[_i].pass, 20 * MS), 0);
}
END_TEST

START_TEST(an_unknown_mpi_is_left_alone)
{
    marker = "something_else";
    hpcb_hook_before_init();
    hpcb_hook_after_init();
    ck_assert(!hpcb_hook_start());
    ck_assert_uint_eq(wait_for(pass_yield, 5 * MS), 0);
    ck_assert_uint_eq(wait_for(pass_ucx, 5 * MS), 0);
}
END_TEST

START_TEST(openmpi_is_told_to_yield_after_each_init)
{
    begin_mpi("opal_progress_set_yield_when_idle");
    ck_assert(told_to_yield);
    told_to_yield = false;
    ck_assert(hpcb_hook_start());
    ck_assert(told_to_yield);
}
END_TEST

START_TEST(intel_mpi_reads_its_variable_while_it_begins)
{
    marker = "I_MPI_Check_image_status";
    hpcb_hook_before_init();
    ck_assert_str_eq(getenv("I_MPI_WAIT_MODE"), "1");
    hpcb_hook_after_init();
    ck_assert_ptr_null(getenv("I_MPI_WAIT_MODE"));
    setenv("I_MPI_WAIT_MODE", "0", 1);
    hpcb_hook_before_init();
    ck_assert_str_eq(getenv("I_MPI_WAIT_MODE"), "0");
    hpcb_hook_after_init();
    ck_assert_str_eq(getenv("I_MPI_WAIT_MODE"), "0");
}
END_TEST

static const char *const flags[] = {"OMPI_MCA_btl_vader_flags",
                                    "OMPI_MCA_btl_sm_flags"};

/* What each release is told while it begins, NULL: nothing. */
static const struct {
    const char *version, *flags[2];
} releases[] = {
    {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
     {"send,put,get,atomics,fetching-atomics", NULL}},
    {"Open MPI v4.0.0rc1", {"send,put,get,atomics,fetching-atomics", NULL}},
    {"Open MPI v5.0.7, package: Debian OpenMPI", {NULL, "send"}},
    {"Open MPI v6.1.0a1", {NULL, "send"}},
    {"Open MPI v10.0.0", {NULL, "send"}},
    {"Open MPI v3.1.6", {NULL, NULL}},
    {"Open MPI", {NULL, NULL}},
    {"IBM Spectrum MPI v10.4.0", {NULL, NULL}},
    {NULL, {NULL, NULL}},
};

#define RELEASES ((int)(sizeof releases / sizeof releases[0]))

static void check_flags(const char *vader, const char *sm)
{
    ck_assert_pstr_eq(getenv(flags[0]), vader);
    ck_assert_pstr_eq(getenv(flags[1]), sm);
}

START_TEST(openmpi_sends_without_its_receiver)
{
    marker = "opal_progress_set_yield_when_idle";
    library_version = releases[_i].version;
    for (int times = 0; times < 2; times++) {
        hpcb_hook_before_init();
        check_flags(releases[_i].flags[0], releases[_i].flags[1]);
        hpcb_hook_after_init();
        check_flags(NULL, NULL);
    }
}
END_TEST

/* Under either name in release 5, which has both. */
START_TEST(flags_of_the_user_stay)
{
    bool reads_both = releases[_i].flags[1] != NULL;

    marker = "opal_progress_set_yield_when_idle";
    library_version = releases[_i].version;
    setenv(flags[0], "send,inplace", 1);
    hpcb_hook_before_init();
    check_flags("send,inplace", NULL);
    hpcb_hook_after_init();
    check_flags("send,inplace", NULL);
    unsetenv(flags[0]);
    setenv(flags[1], "send,inplace", 1);
    hpcb_hook_before_init();
    check_flags(reads_both ? NULL : releases[_i].flags[0], "send,inplace");
    hpcb_hook_after_init();
    check_flags(NULL, "send,inplace");
}
END_TEST

/* A tool's MPI_Init calls PMPI_Init, which is this library's, too. */
START_TEST(what_was_set_twice_is_unset)
{
    marker = _i ? "I_MPI_Check_image_status" : "opal_progress_set_yield_when_idle";
    library_version = _i ? NULL : releases[0].version;
    hpcb_hook_before_init();
    hpcb_hook_before_init();
    hpcb_hook_after_init();
    hpcb_hook_after_init();
    check_flags(NULL, NULL);
    ck_assert_ptr_null(getenv("I_MPI_WAIT_MODE"));
}
END_TEST

/* Who only observes changes nothing of the MPI. */
START_TEST(nothing_is_set_if_nobody_sleeps)
{
    marker = _i ? "I_MPI_Check_image_status" : "opal_progress_set_yield_when_idle";
    library_version = _i ? NULL : releases[0].version;
    setenv("HPCB_YIELD", "off", 1);
    hpcb_hook_before_init();
    check_flags(NULL, NULL);
    ck_assert_ptr_null(getenv("I_MPI_WAIT_MODE"));
    hpcb_hook_after_init();
}
END_TEST

/* A pass that finds something every 20 us: nobody is to wait for this rank. */
START_TEST(stays_awake_while_it_serves)
{
    unsigned slept = 0;

    begin_mpi(mpis[_i].marker);
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    for (uint64_t until = now_ns + 30 * MS; now_ns < until;) {
        pass_with_event(mpis[_i].pass);
        slept += idle_for(mpis[_i].pass, 20 * US);
    }
    ck_assert_uint_eq(slept, 0);
    /* And no longer than it had served. */
    ck_assert_uint_gt(idle_for(mpis[_i].pass, 30 * MS), 10);
    hpcb_wait_leave(&hpcb_wait);
}
END_TEST

/* What began inside of a blocking call is part of it; one that was left by longjmp,
 * with a frame further down the stack, is over when the next one begins. */
START_TEST(nested_and_abandoned_calls)
{
    begin_mpi(mpis[0].marker);
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    ck_assert(!hpcb_wait_enter(&hpcb_wait, 2, OUTER - 100));
    ck_assert_uint_gt(idle_for(pass_openmpi, 5 * MS), 0);
    ck_assert(hpcb_wait_enter(&hpcb_wait, 3, OUTER));
    ck_assert_uint_ge(hpcb_wait.left, HPCB_WAIT_FREE_PASSES);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(idle_for(pass_openmpi, 5 * MS), 0);
}
END_TEST

/* The calls that follow one that was left all come from deeper down: some of them seem
 * to lie inside of it, and then no more. */
START_TEST(a_call_that_was_left_is_over_some_time)
{
    unsigned calls = 0;

    begin_mpi(mpis[_i].marker);
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    while (!hpcb_wait_enter(&hpcb_wait, 2, OUTER - 100))
        ck_assert_uint_lt(++calls, 100);
    ck_assert_uint_gt(idle_for(mpis[_i].pass, 5 * MS), 0);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 20 * MS), 0);
}
END_TEST

/* Many calls may lie inside of one that goes on, a tool's one each time. */
START_TEST(many_calls_inside_of_one)
{
    uint32_t waits;

    begin_mpi(mpis[_i].marker);
    for (int i = 0; i < 100; i++) {
        ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
        ck_assert(!hpcb_wait_enter(&hpcb_wait, 2, OUTER - 100));
        hpcb_wait_leave(&hpcb_wait);
    }
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    for (int i = 0; i < 100; i++)
        if (hpcb_wait_enter(&hpcb_wait, 2, OUTER - 100)) {
            idle_for(mpis[_i].pass, 5 * MS);
            hpcb_wait_leave(&hpcb_wait);
        }
    waits = hpcb_wait.site->waits;
    ck_assert_uint_gt(waits, 0);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(hpcb_wait.site->waits, waits);
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 20 * MS), 0);
}
END_TEST

/* Waits that always take 4 ms: the last nap ends before they do. */
START_TEST(learns_how_long_waits_take)
{
    uint64_t began;

    begin_mpi(mpis[_i].marker);
    for (int i = 0; i < 20; i++)
        wait_for(mpis[_i].pass, 4 * MS);
    began = now_ns;
    ck_assert_uint_gt(wait_for(mpis[_i].pass, 4 * MS), 0);
    ck_assert_uint_lt(now_ns - began, 4 * MS + 20 * US);
    ck_assert_uint_gt(hpcb_wait.site->end.mean_ns, 3900 * US);
    ck_assert_uint_lt(hpcb_wait.site->end.mean_ns, 4100 * US);
}
END_TEST

/* How often a wait of ns reads the clock. */
static unsigned clock_reads_of(void (*pass)(void), uint64_t ns)
{
    unsigned before = clock_reads;

    wait_for(pass, ns);
    return clock_reads - before;
}

/* As in a ping-pong over shared memory: the message is there after some passes of 20
 * ns, and reading the clock takes longer than a pass. */
START_TEST(short_waits_do_not_read_the_clock)
{
    begin_mpi(mpis[_i].marker);
    pass_ns = 20;
    for (int i = 0; i < 100; i++)
        wait_for(mpis[_i].pass, 400);
    clock_reads_of(mpis[_i].pass, 10 * US);
    ck_assert_uint_eq(clock_reads_of(mpis[_i].pass, 400), 0);
    ck_assert_uint_le(clock_reads_of(mpis[_i].pass, 10 * US), 10 * US / 250);
    /* And a wait that is long sleeps all the same. */
    ck_assert_uint_gt(wait_for(mpis[_i].pass, 20 * MS), 10);
    ck_assert_uint_le(awake_ns, 12 * pass_ns);
    /* Where a pass takes long, nothing is gained by looking seldom. */
    pass_ns = US;
    wait_for(mpis[_i].pass, 100 * US);
    ck_assert_uint_ge(clock_reads_of(mpis[_i].pass, 20 * US), 10);
}
END_TEST

/* A long message: it comes after a millisecond, then data move with a pause in between.
 */
static void wait_for_transfer(void (*pass)(void), uint64_t *late)
{
    uint64_t came;

    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    came = now_ns + MS;
    idle_for(pass, MS);
    *late = now_ns - came;
    for (int burst = 0; burst < 2; burst++) {
        for (int i = 0; i < 25; i++) {
            pass_with_event(pass);
            ck_assert_uint_eq(idle_for(pass, 20 * US), 0);
        }
        if (burst == 0)
            ck_assert_uint_eq(idle_for(pass, 100 * US), 0);
    }
    hpcb_wait_leave(&hpcb_wait);
}

START_TEST(learns_when_transfers_begin)
{
    uint64_t late;

    begin_mpi(mpis[_i].marker);
    for (int i = 0; i < 30; i++)
        wait_for_transfer(mpis[_i].pass, &late);
    ck_assert_uint_gt(hpcb_wait.site->end.mean_ns, 1500 * US);
    ck_assert_uint_gt(hpcb_wait.site->first.mean_ns, 980 * US);
    ck_assert_uint_lt(hpcb_wait.site->first.mean_ns, 1020 * US);
    ck_assert_uint_lt(late, 5 * US);
}
END_TEST

/* A pass that takes so much longer. */
static void pass_slowly(void (*pass)(void), uint64_t more_ns)
{
    pass_ns += more_ns;
    pass();
    pass_ns -= more_ns;
}

/* Begin a wait, and return in the pass after its first sleep, in which data have moved:
 * when the sleep began. */
static uint64_t data_after_nap(void (*pass)(void))
{
    uint64_t began = 0;

    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    for (unsigned before = naps; naps == before;) {
        began = now_ns + pass_ns;
        pass();
    }
    pass_slowly(pass, 16 * US);
    return began;
}

/* Within eight looks of the sleep; but data have moved in between, so that what comes
 * now has not come in the sleep. */
START_TEST(second_burst_after_a_nap_is_none_of_it)
{
    uint64_t moved;

    begin_mpi(mpis[_i].marker);
    pass_ns = 10 * US;
    data_after_nap(mpis[_i].pass);
    moved = now_ns;
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 60 * US), 0);
    pass_with_event(mpis[_i].pass);
    mpis[_i].pass();
    ck_assert_uint_eq(hpcb_wait.first, moved + 60 * US);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(hpcb_wait.site->end.mean_ns, moved + 60 * US - hpcb_wait.began);
}
END_TEST

/* A message that came in the sleep, and that takes more than a pass. */
START_TEST(long_copy_after_a_nap_belongs_to_it)
{
    uint64_t slept_at;

    begin_mpi(mpis[_i].marker);
    pass_ns = 10 * US;
    slept_at = data_after_nap(mpis[_i].pass);
    pass_slowly(mpis[_i].pass, 200 * US);
    pass_slowly(mpis[_i].pass, 16 * US);
    ck_assert_uint_gt(hpcb_wait.first, slept_at);
    ck_assert_uint_lt(hpcb_wait.first, slept_until);
    hpcb_wait_leave(&hpcb_wait);
    ck_assert_uint_eq(hpcb_wait.site->end.mean_ns, hpcb_wait.site->first.mean_ns);
}
END_TEST

/* Waits of 2 ms, of which the first sleep is ended early. */
static void waits_with_sleep_ended(void (*pass)(void), hpcb_sleep_end_t end)
{
    for (int i = 0; i < 20; i++) {
        next_end = end;
        wait_for(pass, 2 * MS);
    }
}

/* A message is what is waited for, a signal is not. */
START_TEST(learns_from_the_sleeps_that_messages_end)
{
    begin_mpi(mpis[_i].marker);
    waits_with_sleep_ended(mpis[_i].pass, HPCB_SLEEP_STIRRED);
    ck_assert_uint_gt(hpcb_wait.site->first.mean_ns, 1900 * US);
    waits_with_sleep_ended(mpis[_i].pass, HPCB_SLEEP_WOKEN);
    ck_assert_uint_lt(hpcb_wait.site->first.mean_ns, 1700 * US);
    ck_assert_uint_gt(hpcb_wait.site->end.mean_ns, 1900 * US);
}
END_TEST

/* How long after the begin of a wait at a new place its first sleep begins, which ends
 * like that; the wait ends just after it. */
static uint64_t first_sleep_after(void (*pass)(void), hpcb_sleep_end_t end)
{
    static uintptr_t place = 1000;
    uint64_t began = now_ns;

    next_end = end;
    ck_assert(hpcb_wait_enter(&hpcb_wait, place++, OUTER));
    for (unsigned before = naps; naps == before;)
        pass();
    hpcb_wait_leave(&hpcb_wait);
    return slept_until - slept_ns - began;
}

/* Where messages end sleeps, there are long ones soon.  A signal is no message, but
 * neither has it been a message that nobody noticed. */
START_TEST(trusts_the_sleeps_that_messages_end)
{
    begin_mpi(mpis[_i].marker);
    for (int i = 0; i < 20; i++)
        first_sleep_after(mpis[_i].pass, HPCB_SLEEP_STIRRED);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_gt(first_sleep_after(mpis[_i].pass, HPCB_SLEEP_WOKEN),
                          i < 16 ? 600 * US : 0);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_lt(first_sleep_after(mpis[_i].pass, HPCB_SLEEP_STIRRED),
                          100 * US);
}
END_TEST

/* What has ended it may be for this thread after all. */
START_TEST(stays_awake_after_a_sleep_that_others_end)
{
    begin_mpi(mpis[_i].marker);
    next_end = HPCB_SLEEP_STIRRED;
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    while (naps == 0)
        mpis[_i].pass();
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 45 * US), 0);
    ck_assert_uint_gt(idle_for(mpis[_i].pass, 2 * MS), 0);
    hpcb_wait_leave(&hpcb_wait);
}
END_TEST

/* Looks are as far apart as passes have been quick, and a wait of fewer passes than
 * that does not say that they are quick no longer: one long wait does. */
START_TEST(slow_passes_are_looked_at_soon)
{
    begin_mpi(mpis[_i].marker);
    pass_ns = 5;
    clock_reads_of(mpis[_i].pass, 10 * US);
    pass_ns = 10 * US;
    wait_for(mpis[_i].pass, 1500 * US);
    ck_assert_uint_ge(clock_reads_of(mpis[_i].pass, 300 * US), 20);
}
END_TEST

/* A wait with a pass of 3 ms in it; off: the thread was not on its CPU. */
static void wait_with_long_pass(void (*pass)(void), bool off)
{
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
    idle_for(pass, 20 * US);
    now_ns += 3 * MS;
    off_ns += off ? 3 * MS : 0;
    idle_for(pass, 20 * US);
    hpcb_wait_leave(&hpcb_wait);
}

/* Data that take long to copy are not waited for. */
START_TEST(learns_no_waits_from_copies)
{
    begin_mpi(mpis[_i].marker);
    for (int i = 0; i < 30; i++)
        wait_with_long_pass(mpis[_i].pass, false);
    ck_assert_uint_lt(hpcb_wait.site->end.mean_ns, 200 * US);
    for (int i = 0; i < 30; i++)
        wait_with_long_pass(mpis[_i].pass, true);
    ck_assert_uint_gt(hpcb_wait.site->end.mean_ns, 2000 * US);
}
END_TEST

START_TEST(who_takes_no_naps_watches_nothing)
{
    begin_mpi(mpis[0].marker);
    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(wait_for(mpis[0].pass, 15 * US), 0);
    ck_assert_uint_eq(unwatched, 1);
    ck_assert_uint_gt(wait_for(mpis[0].pass, 10 * MS), 0);
    for (int i = 0; i < 1000; i++)
        wait_for(mpis[0].pass, 15 * US);
    ck_assert_uint_eq(unwatched, 2);
}
END_TEST

/* Left by longjmp, and nothing has called MPI since. */
START_TEST(no_nap_in_a_call_that_was_left)
{
    begin_mpi(mpis[_i].marker);
    ck_assert(hpcb_wait_enter(&hpcb_wait, 1, 1000));
    ck_assert_uint_eq(idle_for(mpis[_i].pass, 20 * MS), 0);
}
END_TEST

static void *enter_and_leave(void *unused)
{
    ck_assert(hpcb_threads_enter(1000));
    hpcb_threads_leave();
    return unused;
}

/* Entering wakes the one that sleeps, and so does what has ended this one's sleep. */
static void *nap_and_end_early(void *unused)
{
    ck_assert(hpcb_threads_enter(1000));
    ck_assert(hpcb_threads_nap_begin(false));
    hpcb_threads_nap_end(true);
    hpcb_threads_leave();
    return unused;
}

static void in_another_thread(void *(*work)(void *))
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
    pthread_join(thread, NULL);
}

START_TEST(who_enters_ends_naps)
{
    hpcb_threads_setup();
    ck_assert(hpcb_threads_enter(1000));
    ck_assert(!hpcb_threads_enter(900));
    ck_assert(hpcb_threads_nap_begin(true));
    in_another_thread(enter_and_leave);
    ck_assert_uint_eq(ended_by_others, 1);
    hpcb_threads_nap_end(false);
    /* It woke one thread, which wakes the next one. */
    ck_assert(!hpcb_threads_nap_begin(true));
    ck_assert(hpcb_threads_came());
    ck_assert(hpcb_threads_nap_begin(true));
    in_another_thread(nap_and_end_early);
    ck_assert_uint_eq(ended_by_others, 3);
    hpcb_threads_nap_end(true);
    ck_assert_uint_eq(ended_by_others, 3);
    in_another_thread(enter_and_leave);
    ck_assert_uint_eq(ended_by_others, 3);
    /* Its message may be on the way: look before the next nap. */
    ck_assert(!hpcb_threads_nap_begin(true));
    ck_assert(hpcb_threads_came());
    ck_assert(!hpcb_threads_came());
    ck_assert(hpcb_threads_nap_begin(true));
    hpcb_threads_nap_end(false);
    in_another_thread(enter_and_leave);
    ck_assert_uint_eq(ended_by_others, 3);
    hpcb_threads_leave();
}
END_TEST

/* What another thread begins is nothing that comes; but it may be on the way. */
START_TEST(who_enters_is_not_what_is_waited_for)
{
    begin_mpi(mpis[_i].marker);
    hpcb_threads_setup();
    for (int i = 0; i < 20; i++) {
        ck_assert(hpcb_threads_enter(OUTER));
        ck_assert(hpcb_wait_enter(&hpcb_wait, 1, OUTER));
        idle_for(mpis[_i].pass, 400 * US);
        in_another_thread(enter_and_leave);
        ck_assert_uint_eq(idle_for(mpis[_i].pass, 40 * US), 0);
        idle_for(mpis[_i].pass, 1560 * US);
        in_another_thread(enter_and_leave);
        mpis[_i].pass();
        hpcb_wait_leave(&hpcb_wait);
        hpcb_threads_leave();
    }
    ck_assert_uint_gt(hpcb_wait.site->first.mean_ns, 1900 * US);
    ck_assert_uint_gt(hpcb_wait.site->end.mean_ns, 1900 * US);
}
END_TEST

static void *try_to_nap(void *unused)
{
    ck_assert(hpcb_threads_enter(1000));
    ck_assert(!hpcb_threads_nap_begin(true));
    ck_assert(hpcb_threads_nap_begin(false));
    hpcb_threads_nap_end(false);
    hpcb_threads_leave();
    return unused;
}

START_TEST(no_nap_with_a_lock_that_others_need)
{
    hpcb_threads_setup();
    ck_assert(hpcb_threads_enter(1000));
    in_another_thread(try_to_nap);
    hpcb_threads_leave();
    in_another_thread(enter_and_leave);
}
END_TEST

/* Left by longjmp, the call before is not counted twice. */
START_TEST(an_abandoned_call_counts_once)
{
    hpcb_threads_setup();
    ck_assert(hpcb_threads_enter(1000));
    ck_assert(hpcb_threads_enter(1000));
    ck_assert(hpcb_threads_nap_begin(true));
    hpcb_threads_nap_end(false);
    hpcb_threads_leave();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hook");
    TCase *tcase = tcase_create("hook");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, sleeps_only_inside_blocking_calls, 0, MPIS);
    tcase_add_test(tcase, other_calls_are_no_hooks);
    tcase_add_test(tcase, sleeps_where_openmpi_polls_ucx);
    tcase_add_test(tcase, sleeps_where_openmpi_yields);
    tcase_add_test(tcase, sleeps_in_yields_if_there_are_any);
    tcase_add_loop_test(tcase, each_place_is_looked_up_once, 0, MPIS);
    tcase_add_test(tcase, no_sleep_in_ucx_while_something_ends);
    tcase_add_loop_test(tcase, nothing_before_mpi_begins, 0, MPIS);
    tcase_add_test(tcase, an_unknown_mpi_is_left_alone);
    tcase_add_test(tcase, openmpi_is_told_to_yield_after_each_init);
    tcase_add_test(tcase, intel_mpi_reads_its_variable_while_it_begins);
    tcase_add_loop_test(tcase, openmpi_sends_without_its_receiver, 0, RELEASES);
    tcase_add_loop_test(tcase, flags_of_the_user_stay, 0, RELEASES);
    tcase_add_loop_test(tcase, what_was_set_twice_is_unset, 0, 2);
    tcase_add_loop_test(tcase, nothing_is_set_if_nobody_sleeps, 0, 2);
    tcase_add_loop_test(tcase, stays_awake_while_it_serves, 0, MPIS);
    tcase_add_test(tcase, nested_and_abandoned_calls);
    tcase_add_loop_test(tcase, a_call_that_was_left_is_over_some_time, 0, MPIS);
    tcase_add_loop_test(tcase, many_calls_inside_of_one, 0, MPIS);
    tcase_add_loop_test(tcase, learns_how_long_waits_take, 0, MPIS);
    tcase_add_loop_test(tcase, short_waits_do_not_read_the_clock, 0, MPIS);
    tcase_add_loop_test(tcase, learns_when_transfers_begin, 0, MPIS);
    tcase_add_loop_test(tcase, second_burst_after_a_nap_is_none_of_it, 0, MPIS);
    tcase_add_loop_test(tcase, long_copy_after_a_nap_belongs_to_it, 0, MPIS);
    tcase_add_loop_test(tcase, learns_from_the_sleeps_that_messages_end, 0, MPIS);
    tcase_add_loop_test(tcase, trusts_the_sleeps_that_messages_end, 0, MPIS);
    tcase_add_loop_test(tcase, stays_awake_after_a_sleep_that_others_end, 0, MPIS);
    tcase_add_loop_test(tcase, slow_passes_are_looked_at_soon, 0, MPIS);
    tcase_add_loop_test(tcase, learns_no_waits_from_copies, 0, MPIS);
    tcase_add_test(tcase, who_takes_no_naps_watches_nothing);
    tcase_add_loop_test(tcase, no_nap_in_a_call_that_was_left, 0, MPIS);
    tcase_add_test(tcase, who_enters_ends_naps);
    tcase_add_loop_test(tcase, who_enters_is_not_what_is_waited_for, 0, MPIS);
    tcase_add_test(tcase, no_nap_with_a_lock_that_others_need);
    tcase_add_test(tcase, an_abandoned_call_counts_once);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
