/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What an event costs in the periodicity detector (policy/periodicity.h), in
 * nanoseconds of CPU time: in a stream without a period (searched at every event), in
 * one whose period has held for long, and in one whose period breaks all the time.
 * Each the best of several rounds.  Under `valgrind --tool=callgrind` the events alone
 * can be counted: one stream is named on the command line.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/periodicity.h"

#define EVENTS 65536
#define ROUNDS 20

typedef uint16_t (*source_t)(unsigned i);

static uint16_t noise(unsigned i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15U;

    return hpcb_period_symbol(x ^ x >> 29) % 5 + 1;
}

static uint16_t loop(unsigned i)
{
    return (uint16_t)(1 + i % 7);
}

/* 700 rounds of an inner loop, so that its period is old, and a stray event. */
static uint16_t breaking(unsigned i)
{
    return i % 701 == 700 ? 99 : (uint16_t)(1 + i % 701 % 4);
}

static const struct {
    const char *name;
    source_t source;
} streams[] = {{"none", noise}, {"held", loop}, {"breaking", breaking}};

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static unsigned pass(hpcb_period_t *period,
                                               const uint16_t *events)
{
    unsigned iterations = 0;

    for (unsigned i = 0; i < EVENTS; i++)
        iterations += hpcb_period_event(period, events[i]) == HPCB_PERIOD_END;
    return iterations;
}

static void measure(const char *name, source_t source)
{
    static uint16_t events[EVENTS];
    static hpcb_period_t period;
    uint64_t best = UINT64_MAX;
    unsigned iterations = 0;

    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = source(i);
    hpcb_period_reset(&period);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t start = cpu_ns();

        iterations += pass(&period, events);
        start = cpu_ns() - start;
        if (start < best)
            best = start;
    }
    printf("%-8s  %6.2f ns an event, %" PRIu32 " iterations of %d events\n", name,
           (double)best / EVENTS, iterations, ROUNDS * EVENTS);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        if (argc < 2 || strcmp(argv[1], streams[i].name) == 0)
            measure(streams[i].name, streams[i].source);
    return EXIT_SUCCESS;
}
