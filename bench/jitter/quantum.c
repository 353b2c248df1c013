/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Fixed work quanta: the same small piece of work again and again, each one timed. What
 * is longer than the shortest is what the node itself (kernel, daemons, hypervisor) has
 * taken: its noise, without any communication.
 */
#include "config.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bench/args.h"
#include "common/histogram.h"
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: jitter-quantum [--quantum-us US] [--seconds S] [--rate UNITS]\n"
    "Times equal pieces of work and prints one JSON line: their durations (us), and\n"
    "noise: what they took above the shortest, as a part of all time.\n"
    "\n"
    "  --quantum-us US   length of a piece on an idle CPU (default 1000)\n"
    "  --seconds S       default 5\n"
    "  --rate UNITS      units of work in a second of CPU (default: measured)\n"
    "  --help            this text\n";

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

typedef struct {
    uint64_t quantum_us;
    double seconds;
    double rate;
} config_t;

static config_t read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"quantum-us", required_argument, NULL, 'q'},
        {"seconds", required_argument, NULL, 't'},
        {"rate", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.quantum_us = 1000, .seconds = 5};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'q')
            config.quantum_us = bench_arg_count("quantum-us", optarg, 10, 10000000);
        else if (c == 't')
            config.seconds = bench_arg_real("seconds", optarg, 0.001, 1e5);
        else if (c == 'r')
            config.rate = bench_arg_real("rate", optarg, 1, 1e12);
        else if (c == 'h') {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        } else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

int main(int argc, char **argv)
{
    static hpcb_histogram_t histogram;
    config_t config = read_options(argc, argv);
    volatile uint64_t sink = 1;
    uint64_t start, end, units;
    double mean;

    if (config.rate == 0)
        config.rate = bench_work_rate();
    units = (uint64_t)(config.rate * (double)config.quantum_us / 1e6);
    if (units == 0)
        units = 1;
    start = now_ns();
    end = start + (uint64_t)(config.seconds * 1e9);
    while (start < end) {
        uint64_t done;

        sink = bench_work(sink, units);
        done = now_ns();
        hpcb_histogram_add(&histogram, done - start);
        start = done;
    }
    mean = (double)histogram.sum_ns / (double)histogram.count;
    printf("{\"quantum_us\":%" PRIu64 ",\"noise\":%.6f,\"durations\":",
           config.quantum_us, 1 - (double)histogram.min_ns / mean);
    hpcb_histogram_print(&histogram);
    puts("}");
    return EXIT_SUCCESS;
}
