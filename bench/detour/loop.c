/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary that notes when it is interrupted: it does the same small work again and
 * again and reads the clock after each.  A turn that takes longer than usual by
 * --least-us is a detour; its length is what it takes more than the shortest turn.
 * Everything that takes the CPU away counts: other tasks, interrupts, the hypervisor.
 */
#include "config.h"
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "bench/work.h"

/* As many as the simulator reads (sim/scenario.h). */
#define DETOURS_MAX 1000000

#define TURN_UNITS     1
#define SHORTEST_TURNS 100000

static const char help[] =
    "Usage: detour-loop [--seconds S] [--least-us N]\n"
    "Works without a pause and prints one JSON line about what interrupted it.\n"
    "\n"
    "  --seconds S    so long (10)\n"
    "  --least-us N   shorter interruptions do not count (20)\n"
    "  --help         this text\n";

typedef struct {
    double seconds;
    uint64_t least_ns;
} config_t;

typedef struct {
    int64_t at_ns, length_ns; /* at_ns: since the first turn */
} detour_t;

static detour_t detours[DETOURS_MAX];
static size_t n_detours;

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'},
        {"least-us", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.seconds = 10, .least_ns = 20000};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 's')
            config.seconds = bench_arg_real("seconds", optarg, 0.01, 1e5);
        else if (opt == 'l')
            config.least_ns = bench_arg_count("least-us", optarg, 1, 1000000) * 1000;
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One turn; *now_at becomes its end, and checksum depends on its work. */
static int64_t turn(int64_t *now_at, uint64_t *checksum)
{
    int64_t before = *now_at;

    *checksum = bench_work(*checksum, TURN_UNITS);
    *now_at = now_ns();
    return *now_at - before;
}

/* ns, of a turn that nobody interrupts. */
static int64_t shortest_turn(uint64_t *checksum)
{
    int64_t now_at = now_ns(), shortest = INT64_MAX;

    for (int i = 0; i < SHORTEST_TURNS; i++) {
        int64_t length = turn(&now_at, checksum);

        if (length < shortest)
            shortest = length;
    }
    return shortest;
}

/* Returns how long it has run, in ns. */
static int64_t watch(const config_t *config, int64_t usual_ns, uint64_t *checksum)
{
    int64_t begin = now_ns(), now_at = begin;
    int64_t end = begin + (int64_t)(config->seconds * 1e9);

    while (now_at < end) {
        int64_t from = now_at, more = turn(&now_at, checksum) - usual_ns;

        if (more < (int64_t)config->least_ns)
            continue;
        if (n_detours == DETOURS_MAX)
            errx(1, "more than %d interruptions: raise --least-us", DETOURS_MAX);
        detours[n_detours++] = (detour_t){.at_ns = from - begin, .length_ns = more};
    }
    return now_at - begin;
}

static void print_detours(void)
{
    fputs(",\"at_ns\":[", stdout);
    for (size_t i = 0; i < n_detours; i++)
        printf("%s%" PRId64, i ? "," : "", detours[i].at_ns);
    fputs("],\"length_ns\":[", stdout);
    for (size_t i = 0; i < n_detours; i++)
        printf("%s%" PRId64, i ? "," : "", detours[i].length_ns);
    putchar(']');
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    uint64_t checksum = 1;
    int64_t usual_ns, elapsed_ns;
    bench_usage_t usage;

    memset(detours, 1, sizeof(detours)); /* no page fault later on */
    usual_ns = shortest_turn(&checksum);
    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    elapsed_ns = watch(&config, usual_ns, &checksum);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");
    printf("{\"program\":\"detour-loop\",\"least_ns\":%" PRIu64 ",\"turn_ns\":%" PRId64
           ",\"elapsed_ns\":%" PRId64 ",",
           config.least_ns, usual_ns, elapsed_ns);
    bench_usage_print(&usage);
    print_detours();
    printf(",\"checksum\":\"%016" PRIx64 "\"}\n", checksum);
    return 0;
}
