/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Unbalanced MPI programs as Boneti's thesis measures them.
 *
 *  - Metbench (section 3.5.1): a master that only waits, and workers, each with a load
 *    of its own; a barrier begins and ends each iteration.
 *  - MetbenchVar (section 4.4.2): --reverse=K: after every K iterations the loads
 * change sides (worker i has the load of worker n - 1 - i, counted in pairs: 0 with 1,
 * 2 with 3).
 *  - A stencil over zones of different sizes as BT-MZ's (section 3.5.2):
 * --exchange=ring instead of barriers, each rank with its two neighbours, nonblocking.
 *
 * Rank 0 prints one line of JSON: wall time from the first to the last iteration, and
 * for each rank the time that it computed and waited, its CPU time, and a checksum that
 * is the same however long it took; with --times how long each iteration took (rank 0).
 */
#include "config.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/args.h"
#include "bench/loads.h"
#include "bench/usage.h"

#define RANKS_MAX 256
#define HALO      512 /* doubles */

typedef struct {
    bool master;
    bool ring;
    bool times;
    uint64_t iterations;
    uint64_t reverse;
    double unit_ms; /* a load of 1, alone on a CPU */
    double rate;    /* micro-iterations a second, 0: measure */
    const char *kind;
    unsigned n_loads;
    double load[RANKS_MAX];
} config_t;

typedef struct {
    double compute, wait, cpu;
} report_t;

static const char usage[] =
    "usage: metbench [option...]\n"
    "  --loads=L,L,...     of the workers, repeated as needed (1,4)\n"
    "  --unit-ms=T         a load of 1, alone on a CPU (10)\n"
    "  --kind=NAME         micro-benchmark that makes the load (cpu_int)\n"
    "  --rate=R            its micro-iterations a second (measured by rank 0)\n"
    "  --iterations=N      (45)\n"
    "  --reverse=K         loads change sides after every K iterations (0: never)\n"
    "  --exchange=HOW      barrier, or ring: with two neighbours (barrier)\n"
    "  --master            rank 0 has no load\n"
    "  --times             print how long each iteration took, too\n";

static void parse_loads(const char *text, config_t *config)
{
    char *copy = strdup(text), *rest = copy, *one;

    config->n_loads = 0;
    while (copy && (one = strsep(&rest, ",")) != NULL) {
        if (config->n_loads == RANKS_MAX)
            errx(2, "--loads: more than %d", RANKS_MAX);
        config->load[config->n_loads++] = bench_arg_real("--loads", one, 0, 1e6);
    }
    free(copy);
}

static void parse_exchange(const char *text, config_t *config)
{
    if (strcmp(text, "barrier") != 0 && strcmp(text, "ring") != 0)
        errx(2, "--exchange=%s: barrier or ring", text);
    config->ring = strcmp(text, "ring") == 0;
}

static void option(int name, const char *text, config_t *config)
{
    switch (name) {
    case 'l':
        parse_loads(text, config);
        break;
    case 'u':
        config->unit_ms = bench_arg_real("--unit-ms", text, 1e-4, 1e6);
        break;
    case 'k':
        config->kind = text;
        break;
    case 'R':
        config->rate = bench_arg_real("--rate", text, 1, 1e15);
        break;
    case 'n':
        config->iterations = bench_arg_count("--iterations", text, 1, UINT32_MAX);
        break;
    case 'r':
        config->reverse = bench_arg_count("--reverse", text, 0, UINT32_MAX);
        break;
    case 'e':
        parse_exchange(text, config);
        break;
    case 'm':
        config->master = true;
        break;
    case 't':
        config->times = true;
        break;
    default:
        fputs(usage, name == 'h' ? stdout : stderr);
        exit(name == 'h' ? 0 : 2);
    }
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"loads", required_argument, NULL, 'l'},
        {"unit-ms", required_argument, NULL, 'u'},
        {"kind", required_argument, NULL, 'k'},
        {"rate", required_argument, NULL, 'R'},
        {"iterations", required_argument, NULL, 'n'},
        {"reverse", required_argument, NULL, 'r'},
        {"exchange", required_argument, NULL, 'e'},
        {"master", no_argument, NULL, 'm'},
        {"times", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.iterations = 45,
                       .unit_ms = 10,
                       .kind = "cpu_int",
                       .n_loads = 2,
                       .load = {1, 4}};
    int name;

    while ((name = getopt_long(argc, argv, "", options, NULL)) != -1)
        option(name, optarg, &config);
    bench_args_end(argc, argv);
    return config;
}

/* Micro-iterations of rank in an iteration. */
static uint64_t work_of(const config_t *config, int rank, uint64_t iteration)
{
    unsigned worker = (unsigned)rank - config->master;

    if (config->master && rank == 0)
        return 0;
    if (config->reverse > 0 && iteration / config->reverse % 2 == 1)
        worker ^= 1U;
    return (uint64_t)(config->load[worker % config->n_loads] * config->unit_ms * 1e-3 *
                      config->rate);
}

static void exchange(int rank, int size)
{
    static double out[HALO], in[2][HALO];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[4];
    MPI_Status statuses[4];

    MPI_Irecv(in[0], HALO, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], HALO, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, HALO, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, HALO, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

/* times: NULL, or of each iteration. */
static uint64_t iterate(const config_t *config, bench_load_t *load, int rank, int size,
                        report_t *report, double *times)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < config->iterations; i++) {
        double begun = bench_now(), start, computed;

        if (!config->ring)
            MPI_Barrier(MPI_COMM_WORLD);
        start = bench_now();
        report->wait += start - begun;
        sum += bench_load_run(load, work_of(config, rank, i));
        computed = bench_now();
        report->compute += computed - start;
        if (config->ring)
            exchange(rank, size);
        else
            MPI_Barrier(MPI_COMM_WORLD);
        report->wait += bench_now() - computed;
        if (times)
            times[i] = bench_now() - begun;
    }
    return sum;
}

static void print_times(const config_t *config, const double *times)
{
    printf(",\"times_ms\":[");
    for (uint64_t i = 0; i < config->iterations; i++)
        printf("%s%.3f", i ? "," : "", times[i] * 1e3);
    printf("]");
}

static void print(const config_t *config, const report_t *reports, int size,
                  double wall, uint64_t sum, const double *times)
{
    printf("{\"program\":\"metbench\",\"kind\":\"%s\",\"exchange\":\"%s\","
           "\"iterations\":%" PRIu64 ",\"reverse\":%" PRIu64 ",\"rate\":%.0f"
           ",\"wall\":%.6f,\"checksum\":\"%016" PRIx64 "\",\"ranks\":[",
           config->kind, config->ring ? "ring" : "barrier", config->iterations,
           config->reverse, config->rate, wall, sum);
    for (int i = 0; i < size; i++)
        printf("%s{\"compute\":%.6f,\"wait\":%.6f,\"cpu\":%.6f,\"util\":%.4f}",
               i ? "," : "", reports[i].compute, reports[i].wait, reports[i].cpu,
               reports[i].compute / (reports[i].compute + reports[i].wait));
    printf("]");
    if (times)
        print_times(config, times);
    printf("}\n");
}

/* The same for all ranks, measured by one while the others sleep in no barrier. */
static void agree_on_rate(config_t *config, bench_load_t *load, int rank)
{
    if (config->rate == 0 && rank == 0)
        config->rate = bench_load_rate(load);
    MPI_Bcast(&config->rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static double *memory_for_times(const config_t *config, int rank)
{
    double *times;

    if (!config->times || rank != 0)
        return NULL;
    times = calloc(config->iterations, sizeof(*times));
    if (!times)
        err(1, "--times");
    return times;
}

static void run(config_t *config, bench_load_t *load, int rank, int size)
{
    report_t report = {0}, reports[RANKS_MAX];
    double *times = memory_for_times(config, rank);
    uint64_t own, sum;
    double start;

    agree_on_rate(config, load, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    report.cpu = -bench_process_cpu();
    own = iterate(config, load, rank, size, &report, times);
    report.cpu += bench_process_cpu();
    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now() - start;
    MPI_Gather(&report, 3, MPI_DOUBLE, reports, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print(config, reports, size, start, sum, times);
    free(times);
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    bench_load_t *load = bench_load_open(config.kind);
    int rank, size;

    if (!load) {
        warnx("--kind=%s: no such micro-benchmark, or no memory", config.kind);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > RANKS_MAX)
        errx(2, "at most %d ranks", RANKS_MAX);
    run(&config, load, rank, size);
    bench_load_close(load);
    MPI_Finalize();
    return 0;
}
