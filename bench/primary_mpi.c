/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The MPI primary of the benches: iterations of fixed work per rank and a real
 * exchange between them, in two patterns.
 *
 * bulk: every rank computes a grain, swaps a message with its neighbours on a ring
 * and joins an Allreduce.  With --load one rank computes more, so that the others
 * wait for it.
 *
 * sweep: rank r computes its grain when the message of rank r - 1 has come, then
 * passes its own on (a line sweep, as in a distributed triangular solve); the
 * iteration ends with an Allreduce.  Each of N ranks waits for (N - 1) / N of the
 * time, in waits as long as a grain: bound by communication, by construction.
 *
 * What a rank has received goes into its checksum and the last Allreduce makes one
 * of all: runs with the same work, pattern and ranks must print the same.
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
#include "bench/usage.h"
#include "bench/work.h"

static const char help[] =
    "Usage: primary-mpi [--pattern bulk|sweep] [--iterations N] [--grain-us US]\n"
    "                   [--rate UNITS] [--load RANK:FACTOR] [--message BYTES]\n"
    "Computes and exchanges; rank 0 prints one JSON line about it.\n"
    "\n"
    "  --pattern P         bulk: all ranks compute, then exchange (default);\n"
    "                      sweep: one after the other, the rest waits\n"
    "  --iterations N      default 1000\n"
    "  --grain-us US       work of a rank in an iteration, as long as that takes on\n"
    "                      an idle CPU (default 1000)\n"
    "  --rate UNITS        units of work in a second of CPU, as primary-cpu\n"
    "                      --calibrate prints it (default: measured by rank 0); give\n"
    "                      it where several runs must do the same work\n"
    "  --load RANK:FACTOR  this rank computes FACTOR times as much\n"
    "  --message BYTES     to each neighbour (default 8192)\n"
    "  --help              this text\n";

typedef struct {
    bool sweep;
    uint64_t iterations;
    uint64_t grain_us;
    double rate;
    uint64_t load_rank;
    double load_factor;
    uint64_t message;
} config_t;

/* What one rank reports; gathered as doubles. */
typedef struct {
    bench_usage_t usage;
    double compute;      /* wall seconds in the grains */
    double compute_cpu;  /* CPU seconds in the grains: the rest of cpu is MPI */
    double wait;         /* wall seconds in MPI */
    double longest_wait; /* of one iteration */
} rank_report_t;

#define REPORT_DOUBLES ((int)(sizeof(rank_report_t) / sizeof(double)))

typedef struct {
    int rank;
    int size;
    uint64_t units; /* a grain of this rank */
    int message;
    char *out;
    char *in;
    uint64_t checksum;
    rank_report_t report;
} run_t;

static void parse_load(const char *text, config_t *config)
{
    char rank[16];
    const char *colon = strchr(text, ':');

    if (!colon || colon - text >= (int)sizeof(rank))
        errx(2, "--load: \"%s\" is not RANK:FACTOR", text);
    memcpy(rank, text, (size_t)(colon - text));
    rank[colon - text] = '\0';
    config->load_rank = bench_arg_count("load", rank, 0, 1000000);
    config->load_factor = bench_arg_real("load", colon + 1, 0, 1000);
}

static bool parse_sweep(const char *text)
{
    if (strcmp(text, "sweep") != 0 && strcmp(text, "bulk") != 0)
        errx(2, "--pattern: \"%s\" is neither bulk nor sweep", text);
    return strcmp(text, "sweep") == 0;
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"pattern", required_argument, NULL, 'p'},
        {"iterations", required_argument, NULL, 'i'},
        {"grain-us", required_argument, NULL, 'g'},
        {"rate", required_argument, NULL, 'r'},
        {"load", required_argument, NULL, 'l'},
        {"message", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {
        .iterations = 1000, .grain_us = 1000, .load_factor = 1, .message = 8192};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'p')
            config.sweep = parse_sweep(optarg);
        else if (opt == 'i')
            config.iterations = bench_arg_count("iterations", optarg, 1, 1000000000);
        else if (opt == 'g')
            config.grain_us = bench_arg_count("grain-us", optarg, 1, 100000000);
        else if (opt == 'r')
            config.rate = bench_arg_real("rate", optarg, 1e3, 1e12);
        else if (opt == 'l')
            parse_load(optarg, &config);
        else if (opt == 'm')
            config.message = bench_arg_count("message", optarg, 8, 1 << 30);
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

static void compute(run_t *run)
{
    double wall = bench_now();
    double cpu = bench_thread_cpu();

    run->checksum = bench_work(run->checksum, run->units);
    run->report.compute += bench_now() - wall;
    run->report.compute_cpu += bench_thread_cpu() - cpu;
}

static void pack(run_t *run)
{
    memcpy(run->out, &run->checksum, sizeof(run->checksum));
}

static void unpack(run_t *run)
{
    uint64_t received;

    memcpy(&received, run->in, sizeof(received));
    run->checksum = (run->checksum << 1 | run->checksum >> 63) ^ received;
}

static void swap_with_neighbours(run_t *run)
{
    int right = (run->rank + 1) % run->size;
    int left = (run->rank + run->size - 1) % run->size;

    pack(run);
    MPI_Sendrecv(run->out, run->message, MPI_BYTE, right, 0, run->in, run->message,
                 MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    unpack(run);
}

static void receive_from_left(run_t *run)
{
    if (run->rank == 0)
        return;
    MPI_Recv(run->in, run->message, MPI_BYTE, run->rank - 1, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    unpack(run);
}

static void send_to_right(run_t *run)
{
    if (run->rank == run->size - 1)
        return;
    pack(run);
    MPI_Send(run->out, run->message, MPI_BYTE, run->rank + 1, 0, MPI_COMM_WORLD);
}

static void reduce(run_t *run)
{
    uint64_t all;

    MPI_Allreduce(&run->checksum, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    run->checksum ^= all << 3;
}

static void iterate(run_t *run, bool sweep)
{
    double before = bench_now();
    double computed = run->report.compute;

    if (sweep)
        receive_from_left(run);
    compute(run);
    if (sweep)
        send_to_right(run);
    else
        swap_with_neighbours(run);
    reduce(run);

    double wait = bench_now() - before - (run->report.compute - computed);
    run->report.wait += wait;
    if (wait > run->report.longest_wait)
        run->report.longest_wait = wait;
}

/* The same for all ranks: rank 0 measures it where the user gave none. */
static uint64_t grain_units(const config_t *config, int rank)
{
    double rate = config->rate;

    if (rate == 0 && rank == 0)
        rate = bench_work_rate();
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double units = rate * (double)config->grain_us * 1e-6;
    if (config->load_rank == (uint64_t)rank)
        units *= config->load_factor;
    return (uint64_t)units;
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count, size);

    if (!p)
        err(1, "%zu bytes", count * size);
    return p;
}

static void print_rank(const rank_report_t *report, int rank)
{
    printf("%s{\"rank\":%d,", rank ? "," : "", rank);
    bench_usage_print(&report->usage);
    printf(",\"compute\":%.6f,\"compute_cpu\":%.6f,\"wait\":%.6f,\"longest_wait\":"
           "%.6f}",
           report->compute, report->compute_cpu, report->wait, report->longest_wait);
}

/*
 * The job's figures: from the first start to the last end; times are sums over the
 * ranks, and stolen is what a rank lost in the mean, so that it is comparable with
 * a serial program's.  (CLOCK_MONOTONIC of several machines would not do: the
 * sandbox has one.)
 */
static void print_job(const rank_report_t *ranks, int size)
{
    bench_usage_t sum = ranks[0].usage;
    double compute_cpu = ranks[0].compute_cpu;
    double wait = ranks[0].wait;

    for (int i = 1; i < size; i++) {
        const bench_usage_t *usage = &ranks[i].usage;

        if (usage->start < sum.start)
            sum.start = usage->start;
        if (usage->end > sum.end)
            sum.end = usage->end;
        sum.cpu += usage->cpu;
        sum.run_delay += usage->run_delay;
        sum.voluntary += usage->voluntary;
        sum.involuntary += usage->involuntary;
        compute_cpu += ranks[i].compute_cpu;
        wait += ranks[i].wait;
    }
    double wall = sum.end - sum.start;
    printf("\"size\":%d,\"start\":%.6f,\"end\":%.6f,\"wall\":%.6f,\"cpu\":%.6f,"
           "\"run_delay\":%.6f,\"stolen\":%.6f,\"voluntary\":%.0f,"
           "\"involuntary\":%.0f,\"compute_cpu\":%.6f,\"wait\":%.6f",
           size, sum.start, sum.end, wall, sum.cpu, sum.run_delay,
           sum.run_delay / (wall * size), sum.voluntary, sum.involuntary, compute_cpu,
           wait);
}

static void print_all(const config_t *config, const rank_report_t *ranks, int size,
                      uint64_t checksum)
{
    printf("{\"program\":\"primary-mpi\",\"pattern\":\"%s\",\"iterations\":%" PRIu64
           ",",
           config->sweep ? "sweep" : "bulk", config->iterations);
    print_job(ranks, size);
    printf(",\"checksum\":\"%016" PRIx64 "\",\"ranks\":[", checksum);
    for (int i = 0; i < size; i++)
        print_rank(&ranks[i], i);
    printf("]}\n");
}

static void run_and_report(const config_t *config, run_t *run)
{
    rank_report_t *ranks = NULL;
    uint64_t checksum;

    MPI_Barrier(MPI_COMM_WORLD);
    if (bench_usage_start(&run->report.usage) < 0)
        err(1, "/proc/self/schedstat");
    for (uint64_t i = 0; i < config->iterations; i++)
        iterate(run, config->sweep);
    if (bench_usage_stop(&run->report.usage) < 0)
        err(1, "/proc/self/schedstat");

    if (run->rank == 0)
        ranks = allocate((size_t)run->size, sizeof(*ranks));
    MPI_Gather(&run->report, REPORT_DOUBLES, MPI_DOUBLE, ranks, REPORT_DOUBLES,
               MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&run->checksum, &checksum, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (run->rank == 0)
        print_all(config, ranks, run->size, checksum);
    free(ranks);
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    run_t run = {.message = (int)config.message};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.size);
    run.out = allocate((size_t)run.message, 1);
    run.in = allocate((size_t)run.message, 1);
    run.checksum = (uint64_t)run.rank + 1;
    run.units = grain_units(&config, run.rank);
    run_and_report(&config, &run);
    free(run.out);
    free(run.in);
    MPI_Finalize();
    return 0;
}
