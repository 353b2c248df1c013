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
 *
 * With --stretch time since 1970 is cut into stretches, and only every other one has
 * noise: what stands beside it, measured in the same run, tells what noise costs.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/jitter/stretch.h"
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: jitter-noise [--percent P] [--sleep-ms MS] [--seconds S] [--rate UNITS]\n"
    "                    [--seed N] [--stretch MS]\n"
    "Computes in random bursts until it is told to end (SIGTERM, SIGINT) or for S\n"
    "seconds, then prints one JSON line.\n"
    "\n"
    "  --percent P     mean burst as a part of the sleep (default 21)\n"
    "  --sleep-ms MS   between bursts (default 500)\n"
    "  --seconds S     end after S seconds (default: run on)\n"
    "  --rate UNITS    units of work in a second of CPU (default: measured)\n"
    "  --seed N        of the lengths of the bursts (default: the process id)\n"
    "  --stretch MS    noise in every other stretch of time only\n"
    "  --help          this text\n";

typedef struct {
    double percent;
    uint64_t sleep_ms;
    double seconds;
    double rate;
    uint64_t seed;
    uint64_t stretch_ms; /* 0: noise all the time */
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
        {"stretch", required_argument, NULL, 'i'},
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
        else if (c == 'i')
            config.stretch_ms =
                bench_arg_count("stretch", optarg, 1, BENCH_STRETCH_MAX_MS);
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

static bool wanted(const config_t *config)
{
    return !ended && bench_stretch(config->stretch_ms, bench_wall_ns()).noisy;
}

/* In slices, so that the end does not wait for a burst. */
static uint64_t burst(const config_t *config, uint64_t sink, uint64_t units)
{
    const uint64_t slice = 1000;

    for (; units > slice && wanted(config); units -= slice)
        sink = bench_work(sink, slice);
    return bench_work(sink, wanted(config) ? units : 0);
}

static void sleep_ns(int64_t ns)
{
    struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    nanosleep(&pause, NULL);
}

/* Until there is noise again: a stretch without is over in one sleep. */
static void rest(const config_t *config)
{
    int64_t now = bench_wall_ns();
    bench_stretch_t stretch = bench_stretch(config->stretch_ms, now);

    sleep_ns(stretch.noisy ? (int64_t)config->sleep_ms * 1000000
                           : stretch.end_ns - now);
}

int main(int argc, char **argv)
{
    config_t config = read_options(argc, argv);
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

        sink = burst(&config, sink, (uint64_t)(drand48() * 2 * mean));
        in_bursts += bench_now() - begun;
        bursts++;
        if (!ended)
            rest(&config);
    }
    cpu = bench_process_cpu() - cpu;
    printf("{\"percent\":%g,\"bursts\":%" PRIu64 ",\"wall\":%.6f,\"cpu\":%.6f,"
           "\"in_bursts\":%.6f,\"units_per_second\":%.0f}\n",
           config.percent, bursts, bench_now() - start, cpu, in_bursts, config.rate);
    return EXIT_SUCCESS;
}
