/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Noise as in Jones, "Linux OS Jitter Measurements at Large Node Counts" (3.1.7): a
 * burst of computing of random length (uniform), a sleep of 500 ms, and again.  Noise
 * of p percent means bursts of p percent of the sleep on average: 2 % is 10 ms, 21 % is
 * 105 ms.  Bursts are counted work, so that a burst that others preempt takes longer
 * but does not become less noise.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: jitter-noise [--percent P] [--sleep-ms MS] [--seconds S] [--rate UNITS]\n"
    "                    [--seed N]\n"
    "Computes in random bursts until it is told to end (SIGTERM, SIGINT) or for S\n"
    "seconds, then prints one JSON line.\n"
    "\n"
    "  --percent P     mean burst as a part of the sleep (default 21)\n"
    "  --sleep-ms MS   between bursts (default 500)\n"
    "  --seconds S     end after S seconds (default: run on)\n"
    "  --rate UNITS    units of work in a second of CPU (default: measured)\n"
    "  --seed N        of the lengths of the bursts (default: the process id)\n"
    "  --help          this text\n";

typedef struct {
    double percent;
    uint64_t sleep_ms;
    double seconds;
    double rate;
    uint64_t seed;
} config_t;

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

static config_t read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"percent", required_argument, NULL, 'p'},
        {"sleep-ms", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 't'},
        {"rate", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.percent = 21, .sleep_ms = 500, .seed = (uint64_t)getpid()};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'p')
            config.percent = bench_arg_real("percent", optarg, 0.01, 1000);
        else if (c == 's')
            config.sleep_ms = bench_arg_count("sleep-ms", optarg, 1, 3600000);
        else if (c == 't')
            config.seconds = bench_arg_real("seconds", optarg, 0.001, 1e6);
        else if (c == 'r')
            config.rate = bench_arg_real("rate", optarg, 1, 1e12);
        else if (c == 'n')
            config.seed = bench_arg_count("seed", optarg, 0, UINT64_MAX);
        else if (c == 'h') {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        } else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = end;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* In slices, so that the end does not wait for a burst. */
static uint64_t burst(uint64_t sink, uint64_t units)
{
    const uint64_t slice = 1000;

    for (; units > slice && !ended; units -= slice)
        sink = bench_work(sink, slice);
    return bench_work(sink, ended ? 0 : units);
}

int main(int argc, char **argv)
{
    config_t config = read_options(argc, argv);
    struct timespec pause = {(time_t)(config.sleep_ms / 1000),
                             (long)(config.sleep_ms % 1000) * 1000000};
    volatile uint64_t sink = 1;
    uint64_t bursts = 0;
    double start, cpu, in_bursts = 0, mean;

    catch_signals();
    if (config.rate == 0)
        config.rate = bench_work_rate();
    mean = config.percent / 100 * (double)config.sleep_ms / 1e3 * config.rate;
    srand48((long)config.seed);
    start = bench_now();
    cpu = bench_process_cpu();
    while (!ended && (config.seconds == 0 || bench_now() - start < config.seconds)) {
        double begun = bench_now();

        sink = burst(sink, (uint64_t)(drand48() * 2 * mean));
        in_bursts += bench_now() - begun;
        bursts++;
        if (!ended)
            nanosleep(&pause, NULL);
    }
    cpu = bench_process_cpu() - cpu;
    printf("{\"percent\":%g,\"bursts\":%" PRIu64 ",\"wall\":%.6f,\"cpu\":%.6f,"
           "\"in_bursts\":%.6f,\"units_per_second\":%.0f}\n",
           config.percent, bursts, bench_now() - start, cpu, in_bursts, config.rate);
    return EXIT_SUCCESS;
}
