/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The CPU-bound primary of the benches: a fixed amount of work, then one JSON line. */
#include "config.h"
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: primary-cpu --work UNITS | --seconds S | --calibrate\n"
    "Does a fixed amount of work and prints one JSON line about it.\n"
    "\n"
    "  --work UNITS   units of work (about a microsecond each)\n"
    "  --seconds S    as many units as this processor does in S seconds of CPU\n"
    "  --calibrate    only print how many units it does in a second of CPU\n"
    "  --help         this text\n";

typedef struct {
    uint64_t work;
    double seconds;
    bool calibrate;
} config_t;

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"work", required_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 's'},
        {"calibrate", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {0};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'w')
            config.work = bench_arg_count("work", optarg, 1, UINT64_MAX / 2);
        else if (opt == 's')
            config.seconds = bench_arg_real("seconds", optarg, 1e-3, 1e6);
        else if (opt == 'c')
            config.calibrate = true;
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    if ((config.work > 0) + (config.seconds > 0) + config.calibrate != 1)
        errx(2, "one of --work, --seconds, --calibrate is needed");
    return config;
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    bench_usage_t usage;

    if (config.calibrate) {
        printf("{\"program\":\"primary-cpu\",\"units_per_second\":%.0f}\n",
               bench_work_rate());
        return 0;
    }
    if (config.seconds > 0)
        config.work = (uint64_t)(config.seconds * bench_work_rate());

    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    uint64_t checksum = bench_work(1, config.work);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");

    printf("{\"program\":\"primary-cpu\",\"work\":%" PRIu64 ",", config.work);
    bench_usage_print(&usage);
    printf(",\"checksum\":\"%016" PRIx64 "\"}\n", checksum);
    return 0;
}
