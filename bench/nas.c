/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * nas: a program that goes to memory as one of the NAS benchmarks does, with as much
 * computing between as makes its demand what a mix needs (Koukis and Koziris, section
 * 3).
 */
#include "config.h"
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/kernels.h"
#include "bench/peers.h"
#include "bench/usage.h"
#include "bench/work.h"

#define MIB  ((uint64_t)1 << 20)
#define SEED 1

static const char help[] =
    "Usage: nas --kernel NAME [--size MIB] [--work UNITS] [--meet MIB] [--seconds S]\n"
    "           [--trace FILE [--every-ms MS]] [--damage]\n"
    "Goes to memory as that NAS benchmark does, checks its results, and prints one "
    "JSON\n"
    "line with how many bytes that were.  SIGTERM ends it early, with its result.\n"
    "\n"
    "  --kernel NAME  CG, EP, FT, IS, LU or MG\n"
    "  --size MIB     of its memory, 1 to 65536 (default 160).  Bytes are counted as\n"
    "                 if no cache had any of it, not even CG's vector, a quarter\n"
    "                 of it, or the counts of IS, a half\n"
    "  --work UNITS   computing after each MiB, about a microsecond a unit (default "
    "0)\n"
    "  --meet MIB     go on with the other ranks after each so many MiB (default 16);\n"
    "                 nas.openmpi and nas.mpich have some\n"
    "  --seconds S    how long, at most 3600 (default 1)\n"
    "  --trace FILE   append lines \"<CLOCK_MONOTONIC> <bytes so far>\"\n"
    "  --every-ms MS  so often (default 20)\n"
    "  --damage       damage a word of its memory at the begin, for tests: the "
    "program\n"
    "                 ends with an error\n"
    "  --help         this text\n";

typedef struct {
    const char *kernel, *trace;
    size_t size;
    uint64_t work, meet;
    double seconds, every;
    bool damage;
} config_t;

static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
    (void)signal;
    ended = 1;
}

static void set(config_t *config, int opt)
{
    if (opt == 'k')
        config->kernel = optarg;
    else if (opt == 's')
        config->size = bench_arg_count("size", optarg, 1, 65536) << 20;
    else if (opt == 'w')
        config->work = bench_arg_count("work", optarg, 0, 1000000);
    else if (opt == 'm')
        config->meet = bench_arg_count("meet", optarg, 1, 65536) << 20;
    else if (opt == 'S')
        config->seconds = bench_arg_real("seconds", optarg, 1e-3, 3600);
    else if (opt == 'f')
        config->trace = optarg;
    else if (opt == 'e')
        config->every = bench_arg_real("every-ms", optarg, 1, 1e6) * 1e-3;
    else if (opt == 'd')
        config->damage = true;
    else if (opt == 'h')
        exit(fputs(help, stdout) < 0);
    else
        exit(2);
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"kernel", required_argument, NULL, 'k'},
        {"size", required_argument, NULL, 's'},
        {"work", required_argument, NULL, 'w'},
        {"meet", required_argument, NULL, 'm'},
        {"seconds", required_argument, NULL, 'S'},
        {"trace", required_argument, NULL, 'f'},
        {"every-ms", required_argument, NULL, 'e'},
        {"damage", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {
        .size = 160 * MIB, .meet = 16 * MIB, .seconds = 1, .every = 0.02};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
        set(&config, opt);
    bench_args_end(argc, argv);
    if (!config.kernel)
        errx(2, "--kernel NAME is needed");
    return config;
}

static bench_kernel_t *open_kernel(const config_t *config)
{
    bench_kernel_t *kernel = bench_kernel_open(config->kernel, config->size);
    unsigned i = 0;

    while (bench_kernel_name(i) && strcmp(bench_kernel_name(i), config->kernel) != 0)
        i++;
    if (!bench_kernel_name(i))
        errx(2, "--kernel: there is no \"%s\"", config->kernel);
    if (!kernel)
        errx(1, "%s: no memory", config->kernel);
    if (config->damage)
        bench_kernel_damage(kernel);
    return kernel;
}

static int open_trace(const config_t *config)
{
    int fd = -1;

    if (config->trace) {
        fd = open(config->trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0)
            err(1, "%s", config->trace);
    }
    return fd;
}

typedef struct {
    const config_t *config;
    bench_kernel_t *kernel;
    int trace;
    double traced;  /* when */
    uint64_t bytes; /* so far */
    uint64_t owed;  /* bytes after which nothing has been computed yet */
    uint64_t alone; /* bytes since the ranks met last */
    uint64_t state; /* of the computing */
} run_t;

/* A line in one write: a reader never sees a torn one. */
static void trace(run_t *run, double now)
{
    if (run->trace < 0 || now - run->traced < run->config->every)
        return;
    run->traced = now;
    if (dprintf(run->trace, "%.6f %" PRIu64 "\n", now, run->bytes) < 0)
        err(1, "trace");
}

static void step(run_t *run)
{
    uint64_t bytes = bench_kernel_step(run->kernel), units;

    if (bytes == 0)
        errx(1, "%s: a result is wrong", run->config->kernel);
    run->bytes += bytes;
    run->alone += bytes;
    run->owed += bytes * run->config->work;
    units = run->owed / MIB;
    run->owed %= MIB;
    run->state = bench_work(run->state, units);
}

static void go(run_t *run)
{
    double begin = bench_now(), now = begin;
    bool over = false;

    while (!over) {
        step(run);
        now = bench_now();
        trace(run, now);
        if (bench_peers_exist() && run->alone < run->config->meet)
            continue;
        run->alone = 0;
        over = bench_peers_meet(ended || now - begin >= run->config->seconds);
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    run_t run = {.state = SEED};
    bench_usage_t usage;
    config_t config;

    bench_peers_begin(&argc, &argv);
    config = parse(argc, argv);
    run.config = &config;
    run.kernel = open_kernel(&config);
    run.trace = open_trace(&config);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    go(&run);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");
    printf("{\"program\":\"nas\",\"kernel\":\"%s\",\"work\":%" PRIu64 ",",
           config.kernel, config.work);
    bench_usage_print(&usage);
    printf(",\"bytes\":%" PRIu64 ",\"checksum\":\"%016" PRIx64 "\"}\n", run.bytes,
           run.state);
    if (run.trace >= 0)
        close(run.trace);
    bench_kernel_close(run.kernel);
    bench_peers_end();
    return 0;
}
