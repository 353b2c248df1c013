/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "policy/cpus.h"
#include "sensor/membench_kernel.h"
#include "sensor/probe.h"

#define LINE      64
#define WORD      sizeof(hpcb_membench_word_t)
#define CACHES    8
#define DEFAULT   ((size_t)32 << 20)
#define MEMORY_OF 128 /* a block is at most this part of memory */

/* Of a burst, the first part: reads from the first cache. */
#define CACHE_US 100

/* A longer time between two readings of the clock, which are about 10 us apart, means
 * that another task ran. */
#define GAP_US 250

/* Until the CPU is ours. */
#define ARRIVE_US 1000

#define CHUNKS 8

/* Bytes of the block that are written between two checks for other tasks. */
#define PIECE ((size_t)64 << 10)

struct hpcb_probe {
    hpcb_membench_word_t *words;
    size_t block, touched; /* bytes; those from the beginning that have been written */
    size_t at;             /* the next word */
    double sum;            /* for the compiler */
    hpcb_cpus_t before; /* affinity of the calling thread before a burst changed it */
};

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* "32768K", "1M"; 0 for what is no such size. */
static size_t size_of(const char *text)
{
    char unit = '\0';
    size_t size;

    if (sscanf(text, "%zu%c", &size, &unit) < 1 || size > SIZE_MAX >> 31)
        return 0;
    if (unit == 'K')
        return size << 10;
    return unit == 'M' ? size << 20 : size;
}

static size_t largest_cache(const hpcb_node_t *node)
{
    size_t largest = 0;

    for (unsigned i = 0; i < CACHES; i++) {
        char name[96], text[64];
        size_t size;

        snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu0/cache/index%u/size",
                 i);
        if (hpcb_node_read(node, name, text, sizeof(text), NULL) < 0)
            continue;
        size = size_of(text);
        if (size > largest)
            largest = size;
    }
    return largest;
}

size_t hpcb_probe_block(const hpcb_node_t *node, uint64_t memory, hpcb_error_t *err)
{
    size_t cache = largest_cache(node);
    size_t block = 2 * (cache ? cache : DEFAULT);

    if (block <= memory / MEMORY_OF)
        return block;
    errno = ENOMEM;
    hpcb_error(err,
               "caches of %zu MiB need a block of more than a %dth part of this node's "
               "memory",
               block >> 21, MEMORY_OF);
    return 0;
}

static int move_to(hpcb_probe_t *probe, unsigned cpu)
{
    hpcb_cpus_t only = {0};

    probe->before = (hpcb_cpus_t){0};
    hpcb_cpus_add(&only, cpu);
    if (sched_getaffinity(0, sizeof(probe->before), (cpu_set_t *)&probe->before) < 0)
        return -1;
    return sched_setaffinity(0, sizeof(only), (cpu_set_t *)&only);
}

/* A CPU that has been taken off the node meanwhile is left out by the kernel. */
static void leave(const hpcb_probe_t *probe)
{
    (void)sched_setaffinity(0, sizeof(probe->before),
                            (const cpu_set_t *)&probe->before);
}

/* Huge pages where they fit, of the node on which it is touched, whatever policy hpcbd
 * was started with, and never swapped out, which would appear as saturated memory.  If
 * the kernel refuses any of this, its default applies. */
static void advise(void *words, size_t block)
{
    (void)madvise(words, block, MADV_HUGEPAGE);
    (void)syscall(SYS_mbind, words, block, MPOL_LOCAL, NULL, 0, 0);
    (void)mlock2(words, block, MLOCK_ONFAULT);
}

int hpcb_probe_open(size_t block, hpcb_probe_t **probe, hpcb_error_t *err)
{
    hpcb_probe_t *made = calloc(1, sizeof(*made));
    void *words = MAP_FAILED;

    if (made)
        words = mmap(NULL, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
    if (words == MAP_FAILED) {
        free(made);
        errno = ENOMEM;
        return hpcb_error(err, "no memory for a block of %zu MiB", block >> 20);
    }
    advise(words, block);
    made->words = words;
    made->block = block;
    *probe = made;
    return 0;
}

void hpcb_probe_close(hpcb_probe_t *probe)
{
    if (!probe)
        return;
    munmap(probe->words, probe->block);
    free(probe);
}

/* Return how often another task has preempted this thread. */
static long times_preempted(void)
{
    struct rusage usage = {.ru_nivcsw = 0};

    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* No two pages are alike: a hypervisor would merge them, and reads would come from
 * caches. */
static void touch_piece(hpcb_probe_t *probe, size_t page)
{
    size_t end = probe->touched + PIECE;

    for (; probe->touched < end && probe->touched < probe->block;
         probe->touched += page) {
        size_t number = probe->touched / page;

        probe->words[probe->touched / WORD] = 1 + (double)number;
    }
}

/* Return 0: a part of the block, or the rest of it, is touched; -1: another task ran;
 * the part touched before that counts. */
static int touch_part(hpcb_probe_t *probe)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = probe->touched + HPCB_PROBE_PART;
    uint64_t begin = now_us();
    long before = times_preempted();

    while (probe->touched < end && probe->touched < probe->block &&
           now_us() - begin < HPCB_PROBE_BURST_US) {
        touch_piece(probe, page);
        if (times_preempted() != before)
            return -1;
    }
    return 0;
}

static void advance(hpcb_probe_t *probe, size_t words)
{
    probe->at += words;
    if ((probe->at + words) * WORD > probe->block)
        probe->at = 0;
}

/* Read for at least us, in whole rounds.  Return 0, or -1 if another task ran
 * meanwhile. */
static int read_for(hpcb_probe_t *probe, uint64_t us, size_t stride, bool forward,
                    uint64_t *rate)
{
    const hpcb_membench_chunk_t chunk = hpcb_membench_chunk(stride, LINE, false);
    uint64_t begin = now_us(), last = begin, now = begin, bytes = 0;

    while (now - begin < us) {
        for (unsigned i = 0; i < CHUNKS; i++) {
            probe->sum += hpcb_membench_read(probe->words + probe->at, &chunk, stride);
            if (forward)
                advance(probe, chunk.span);
        }
        bytes += CHUNKS * chunk.bytes;
        now = now_us();
        if (now - last > GAP_US)
            return -1;
        last = now;
    }
    *rate = bytes * 1000000 / (now - begin);
    return 0;
}

static int read_both(hpcb_probe_t *probe, uint64_t *memory, uint64_t *cache)
{
    const size_t line = LINE / WORD;
    uint64_t ignored;

    /* The chunk must have come to the cache before it is read from there. */
    if (read_for(probe, 1, 1, false, &ignored) < 0 ||
        read_for(probe, CACHE_US, 1, false, cache) < 0)
        return -1;
    advance(probe, hpcb_membench_chunk(1, LINE, false).span);
    return read_for(probe, HPCB_PROBE_BURST_US - CACHE_US, line, true, memory);
}

/* move_to, and the CPU was ours at once. */
static int arrive(hpcb_probe_t *probe, unsigned cpu)
{
    uint64_t begin = now_us();

    if (move_to(probe, cpu) < 0)
        return -1;
    if (now_us() - begin <= ARRIVE_US)
        return 0;
    leave(probe);
    errno = EBUSY;
    return -1;
}

int hpcb_probe_touch(hpcb_probe_t *probe, unsigned cpu)
{
    int status;

    if (arrive(probe, cpu) < 0)
        return -1;
    status = touch_part(probe);
    leave(probe);
    if (status == 0 && probe->touched >= probe->block)
        return 0;
    errno = status < 0 ? EBUSY : EAGAIN;
    return -1;
}

int hpcb_probe_burst(hpcb_probe_t *probe, unsigned cpu, uint64_t *memory,
                     uint64_t *cache)
{
    uint64_t from_memory = 0, from_cache = 0;
    int status;

    if (arrive(probe, cpu) < 0)
        return -1;
    status = read_both(probe, &from_memory, &from_cache);
    leave(probe);
    if (status < 0) {
        errno = EBUSY;
        return -1;
    }
    *memory = from_memory;
    *cache = from_cache;
    return 0;
}
