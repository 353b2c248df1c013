/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "mpi/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

#define PAGE_VARIABLE "HPCB_PAGE"

_Static_assert(HPCB_PERIOD_MAX <= HPCB_PAGE_PERIOD_MAX, "readers refuse longer ones");

/* Reading the clock twice, and what goes with it; more than was ever measured here. */
#define PER_CALL_NS 50

/* Maximum part of the time for timing: 0.05 %. */
#define COST_SHARE 2000

/* Minimum length of a group, because samples are not used more often. */
#define GROUP_NS 5000000

#define GROWTH  4 /* of a group, in one step */
#define LONGEST (1U << 24)

/* Calls without a period after which the detector rests, and for how long. */
#define SEARCH       4096
#define FIRST_REST   8192
#define LONGEST_REST (1U << 20)

/* Calls of an interval that is timed where there is no period, and between two of them
 * unless they are slow. */
#define INTERVAL 16
#define GAP      1024

_Thread_local hpcb_observer_t *hpcb_observer;

static hpcb_observer_t observer;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#define STORE(o, member)                                                               \
    __atomic_store_n(&(o)->page->member, (o)->said.member, __ATOMIC_RELAXED)

/* Copy the data to the page. */
static void publish(hpcb_observer_t *o)
{
    o->said.sequence++;
    STORE(o, sequence);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    STORE(o, period);
    STORE(o, iterations);
    STORE(o, samples);
    STORE(o, compute_ns);
    STORE(o, wait_ns);
    STORE(o, mean_ns);
    STORE(o, ended_ns);
    STORE(o, usual_ns);
    o->said.sequence++;
    __atomic_store_n(&o->page->sequence, o->said.sequence, __ATOMIC_RELEASE);
}

static void introduce(hpcb_observer_t *o)
{
    o->said = (hpcb_page_t){
        .magic = HPCB_PAGE_MAGIC, .version = HPCB_PAGE_VERSION, .size = HPCB_PAGE_SIZE};
    STORE(o, version);
    STORE(o, size);
    publish(o);
    STORE(o, magic);
}

static void begin_timing(hpcb_observer_t *o, uint64_t now)
{
    o->timing = true;
    o->compute = o->wait = 0;
    o->mark = now;
}

static void begin_group(hpcb_observer_t *o, uint64_t length, uint64_t now)
{
    o->length = o->left = length;
    o->began = now;
    begin_timing(o, now);
}

void hpcb_observe_compute(hpcb_observer_t *o)
{
    uint64_t now = clock_ns();

    o->compute += now - o->mark;
    o->mark = now;
}

void hpcb_observe_wait(hpcb_observer_t *o)
{
    uint64_t now = clock_ns();

    o->wait += now - o->mark;
    o->mark = now;
}

/* Return how long a group should take: GROUP_NS, and so long that timing one iteration
 * of it costs little. */
static uint64_t group_ns(const hpcb_observer_t *o)
{
    uint64_t least = (uint64_t)o->period.period * PER_CALL_NS * COST_SHARE;

    return least > GROUP_NS ? least : GROUP_NS;
}

static uint64_t next_length(const hpcb_observer_t *o, uint64_t mean)
{
    uint64_t wanted = group_ns(o) / (mean + 1) + 1;

    if (wanted > o->length * GROWTH)
        wanted = o->length * GROWTH;
    return wanted < LONGEST ? wanted : LONGEST;
}

/* Set the priority that hpcbd has requested recently. */
static void take_priority(hpcb_observer_t *o, uint64_t now)
{
    uint64_t priority = __atomic_load_n(&o->page->asked.priority, __ATOMIC_RELAXED);
    uint64_t until = __atomic_load_n(&o->page->asked.until_ns, __ATOMIC_RELAXED);
    bool holds = now < until && priority >= HPCB_PPR_LOW && priority <= HPCB_PPR_MEDIUM;

    if (!holds && o->priority)
        hpcb_ppr_write(HPCB_PPR_MEDIUM_LOW);
    o->priority = holds ? (unsigned)priority : 0;
}

static void end_group(hpcb_observer_t *o)
{
    uint64_t now = clock_ns();
    uint64_t mean = (now - o->began) / o->length;

    o->said.period = o->period.period;
    o->said.iterations += o->length;
    o->said.samples++;
    o->said.compute_ns = o->compute_of;
    o->said.wait_ns = o->wait_of;
    o->said.mean_ns = mean;
    o->said.ended_ns = now;
    o->ended += o->length;
    o->said.usual_ns = (now - o->found) / o->ended;
    o->published = true;
    publish(o);
    take_priority(o, now);
    /* A period that is old is a true one. */
    if (o->period.light)
        o->nothing = o->rest = 0;
    begin_group(o, next_length(o, mean), now);
}

void hpcb_observe_end(hpcb_observer_t *o)
{
    /* The period has only just been found. */
    if (o->period.held == 0) {
        o->ended = 0;
        o->found = clock_ns();
        begin_group(o, 1, o->found);
        return;
    }
    if (o->timing) {
        o->timing = false;
        o->compute_of = o->compute;
        o->wait_of = o->wait;
        o->left = o->length - 1;
        if (o->left > 0)
            return;
    } else if (o->left > 0 && clock_ns() - o->began < 2 * group_ns(o)) {
        return;
    }
    /* The group may be over early: iterations have become longer. */
    o->length -= o->left;
    end_group(o);
}

/* A time interval without iterations; from the beginning of a call. */
static void sample_interval(hpcb_observer_t *o)
{
    if (o->timing && ++o->timed < INTERVAL)
        return;
    if (o->timing) {
        o->timing = false;
        o->said.samples++;
        o->said.compute_ns = o->compute;
        o->said.wait_ns = o->wait;
        o->said.mean_ns = 0;
        o->said.ended_ns = o->mark;
        publish(o);
        take_priority(o, o->mark);
        if (o->compute + o->wait < INTERVAL * PER_CALL_NS * COST_SHARE)
            o->gap = GAP;
    }
    if (o->gap > 0) {
        o->gap--;
        return;
    }
    o->timed = 0;
    begin_timing(o, clock_ns());
}

static void begin_rest(hpcb_observer_t *o)
{
    o->rest = o->rest == 0 ? FIRST_REST : o->rest * 2;
    if (o->rest > LONGEST_REST)
        o->rest = LONGEST_REST;
    o->resting = true;
    o->nothing = 0;
}

static void lose(hpcb_observer_t *o)
{
    if (o->published) {
        o->said.period = 0;
        publish(o);
    }
    o->published = false;
    o->timing = false;
    o->left = 0;
    o->gap = 0;
}

void hpcb_observe_young(hpcb_observer_t *o, hpcb_period_place_t place)
{
    if (place != HPCB_PERIOD_NONE) {
        if (o->period.held > 0)
            return;
        /* Found; its first iteration begins when this call ends. */
        o->timing = false;
        o->left = 1;
        return;
    }
    if (o->left > 0)
        lose(o);
    sample_interval(o);
    if (++o->nothing == SEARCH)
        begin_rest(o);
}

void hpcb_observe_resting(hpcb_observer_t *o)
{
    o->ends = false;
    sample_interval(o);
    if (++o->nothing < o->rest)
        return;
    o->nothing = 0;
    o->resting = false;
    hpcb_period_reset(&o->period);
}

void hpcb_observe_page(hpcb_page_t *page)
{
    memset(&observer, 0, sizeof(observer));
    hpcb_period_reset(&observer.period);
    observer.page = page;
    introduce(&observer);
    hpcb_observer = &observer;
}

/* The child of a fork is no rank, and what it does is none of the page's business. */
static void in_child(void)
{
    hpcb_observer = NULL;
}

static hpcb_page_t *map_page(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *page = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == HPCB_PAGE_SIZE)
        page = mmap(NULL, HPCB_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return page == MAP_FAILED ? NULL : page;
}

static bool is_alive(uint64_t process)
{
    return process > 0 && process <= INT32_MAX &&
           (kill((pid_t)process, 0) == 0 || errno == EPERM);
}

/* Return true if no other process writes. */
static bool claim(hpcb_page_t *page)
{
    uint64_t own = (uint64_t)getpid();
    uint64_t owner = __atomic_load_n(&page->owner, __ATOMIC_RELAXED);

    return (owner == own || !is_alive(owner)) &&
           __atomic_compare_exchange_n(&page->owner, &owner, own, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void hpcb_observe_start(void)
{
    const char *path = getenv(PAGE_VARIABLE);
    hpcb_page_t *page = path && !observer.page ? map_page(path) : NULL;

    /* Not for the programs that this one starts. */
    unsetenv(PAGE_VARIABLE);
    if (page && claim(page) && pthread_atfork(NULL, NULL, in_child) == 0)
        hpcb_observe_page(page);
}

void hpcb_observe_stop(void)
{
    if (!hpcb_observer)
        return;
    lose(hpcb_observer);
    __atomic_store_n(&hpcb_observer->page->owner, 0, __ATOMIC_RELAXED);
    hpcb_observer = NULL;
}
