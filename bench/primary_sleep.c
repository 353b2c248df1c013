/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The primary that leaves half of its CPU: it computes for a slice of fixed work
 * and sleeps for as long as that slice takes on an idle CPU, again and again.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: primary-sleep --cycles N [--slice-us US] [--rate UNITS]\n"
    "Computes and sleeps half of the time; prints one JSON line about it.\n"
    "\n"
    "  --cycles N      how often it computes and sleeps\n"
    "  --slice-us US   length of each of both (default 10000)\n"
    "  --rate UNITS    units of work in a second of CPU, as primary-cpu --calibrate\n"
    "                  prints it (default: measured at the start); give it where\n"
    "                  several runs must do the same work\n"
    "  --help          this text\n";

typedef struct {
    uint64_t cycles;
    uint64_t slice_us;
    double rate;
} config_t;

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"cycles", required_argument, NULL, 'n'},
        {"slice-us", required_argument, NULL, 's'},
        {"rate", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.slice_us = 10000};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'n')
            config.cycles = bench_arg_count("cycles", optarg, 1, 1000000000);
        else if (opt == 's')
            config.slice_us = bench_arg_count("slice-us", optarg, 10, 10000000);
        else if (opt == 'r')
            config.rate = bench_arg_real("rate", optarg, 1e3, 1e12);
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    if (config.cycles == 0)
        errx(2, "--cycles is needed");
    if (config.rate == 0)
        config.rate = bench_work_rate();
    return config;
}

static void sleep_us(uint64_t us)
{
    struct timespec left = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    uint64_t slice = (uint64_t)(config.rate * (double)config.slice_us * 1e-6) + 1;
    uint64_t checksum = 1;
    bench_usage_t usage;

    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    for (uint64_t i = 0; i < config.cycles; i++) {
        checksum = bench_work(checksum, slice);
        sleep_us(config.slice_us);
    }
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");

    printf("{\"program\":\"primary-sleep\",\"work\":%" PRIu64 ",",
           slice * config.cycles);
    bench_usage_print(&usage);
    printf(",\"checksum\":\"%016" PRIx64 "\"}\n", checksum);
    return 0;
}
