/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The CPU-bound guest of the benches.  It burns until it is told to stop or has
 * done its work, and keeps a trace of its CPU time, so that whoever reads the
 * trace knows how much of it fell into a primary's run.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "bench/work.h"

/* Units between two looks at the clock: about a millisecond. */
#define CHUNK_UNITS 1000

static const char help[] =
    "Usage: guest-burn [--work UNITS] [--trace FILE] [--every-ms MS]\n"
    "                  [--stop-file FILE] [--max-seconds S]\n"
    "Burns CPU until SIGTERM, SIGINT or SIGXCPU, the stop file or the end of its\n"
    "work; prints one JSON line about it.\n"
    "\n"
    "  --work UNITS      stop after that many units (default: never)\n"
    "  --trace FILE      append a line \"<CLOCK_MONOTONIC> <own CPU seconds>\" at the\n"
    "                    start, after every MS ms of own CPU time and at the end\n"
    "  --every-ms MS     default 20\n"
    "  --stop-file FILE  stop when it exists\n"
    "  --max-seconds S   stop after S seconds of wall (default 3600)\n"
    "  --help            this text\n";

typedef struct {
    uint64_t work; /* 0: no end */
    const char *trace;
    const char *stop_file;
    double every; /* seconds of CPU time */
    double max_seconds;
} config_t;

static volatile sig_atomic_t stop_signal;

static void on_signal(int signal)
{
    stop_signal = signal;
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"work", required_argument, NULL, 'w'},
        {"trace", required_argument, NULL, 't'},
        {"every-ms", required_argument, NULL, 'e'},
        {"stop-file", required_argument, NULL, 's'},
        {"max-seconds", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.every = 0.02, .max_seconds = 3600};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'w')
            config.work = bench_arg_count("work", optarg, 1, UINT64_MAX / 2);
        else if (opt == 't')
            config.trace = optarg;
        else if (opt == 'e')
            config.every = bench_arg_real("every-ms", optarg, 1, 1e6) * 1e-3;
        else if (opt == 's')
            config.stop_file = optarg;
        else if (opt == 'm')
            config.max_seconds = bench_arg_real("max-seconds", optarg, 1e-3, 1e6);
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

/* One write per line: with O_APPEND a reader never sees a torn line of ours, and
 * what a killed guest has written so far remains. */
static void trace(int fd)
{
    if (fd >= 0 && dprintf(fd, "%.6f %.6f\n", bench_now(), bench_process_cpu()) < 0)
        err(1, "trace");
}

static const char *stop_reason(const config_t *config, uint64_t done, double start)
{
    if (stop_signal)
        return stop_signal == SIGXCPU  ? "SIGXCPU"
               : stop_signal == SIGINT ? "SIGINT"
                                       : "SIGTERM";
    if (config->work > 0 && done >= config->work)
        return "work";
    if (bench_now() - start >= config->max_seconds)
        return "time";
    return NULL;
}

/* Returns why it stopped. */
static const char *burn(const config_t *config, int fd, uint64_t *done,
                        uint64_t *checksum)
{
    double start = bench_now();
    double reported = bench_process_cpu();
    const char *reason;

    while (!(reason = stop_reason(config, *done, start))) {
        uint64_t chunk = CHUNK_UNITS;

        if (config->work > 0 && config->work - *done < chunk)
            chunk = config->work - *done;
        *checksum = bench_work(*checksum, chunk);
        *done += chunk;
        if (bench_process_cpu() - reported < config->every)
            continue;
        reported = bench_process_cpu();
        trace(fd);
        if (config->stop_file && access(config->stop_file, F_OK) == 0)
            return "stop-file";
    }
    return reason;
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    struct sigaction action = {.sa_handler = on_signal};
    uint64_t done = 0;
    uint64_t checksum = 1;
    bench_usage_t usage;
    int fd = -1;

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGXCPU, &action, NULL);
    if (config.trace) {
        fd = open(config.trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0)
            err(1, "%s", config.trace);
    }
    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    trace(fd);
    const char *reason = burn(&config, fd, &done, &checksum);
    trace(fd);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");
    if (fd >= 0)
        close(fd);

    printf("{\"program\":\"guest-burn\",\"work\":%" PRIu64 ",", done);
    bench_usage_print(&usage);
    printf(",\"reason\":\"%s\",\"checksum\":\"%016" PRIx64 "\"}\n", reason, checksum);
    return 0;
}
