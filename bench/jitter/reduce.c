/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The two programs of Jones, "Linux OS Jitter Measurements at Large Node Counts" (3.1):
 *
 * allreduce: consecutive reductions of 32 bytes over all ranks, each one timed;
 * glob: the same over 2, 4, 8, ... ranks (sub-communicators), then all of them.
 *
 * Rank 0 prints one JSON line with the distribution of the times of one operation. With
 * --window the operations are told apart by the part of the period in which they began,
 * and those that reach from one part into another make a class of their own: so one run
 * says what noise costs while the job is favoured and what it costs over whole periods.
 * With --stretch (bench/jitter/stretch.h) favoured operations are told apart, too, by
 * whether there was noise, and the mean of all in each stretch is printed: a machine
 * that drifts from run to run does so in both alike.
 *
 * The result of each reduction goes into the next one's operands: nothing can be left
 * out, and a wrong sum ends the program.
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
#include "bench/jitter/stretch.h"
#include "bench/jitter/stretch_means.h"
#include "bench/usage.h"
#include "common/histogram.h"
#include "common/window.h"
#include "policy/window.h"

static const char help[] =
    "Usage: jitter-reduce [--glob] [--operations N] [--seconds S] [--window P:D]\n"
    "                     [--stretch MS [--settle MS]]\n"
    "Times reductions of 32 bytes; rank 0 prints one JSON line.\n"
    "\n"
    "  --glob           over 2, 4, 8, ... ranks, N operations each\n"
    "  --operations N   default 100000\n"
    "  --seconds S      as many operations as fit into S seconds instead (rank 0's\n"
    "                   clock decides every 64 operations)\n"
    "  --warm-up N      operations before the clock starts (default 1000)\n"
    "  --window P:D     count by parts of these windows (1s:90%), epoch 1970\n"
    "  --stretch MS     tell favoured operations apart by stretches of time: noise is\n"
    "                   in every other one (as jitter-noise --stretch MS); and print "
    "the\n"
    "                   mean of each stretch\n"
    "  --settle MS      leave the begin of each stretch out of its mean\n"
    "  --help           this text\n";

#define WORDS 4 /* 32 bytes of doubles */
#define CHUNK 64

/* By where an operation begins and ends. */
enum { FAVOURED, REGULAR, ACROSS, PARTS };
static const char *const part_names[PARTS] = {"favoured", "regular", "across"};

typedef struct {
    bool glob;
    uint64_t operations;
    double seconds;
    uint64_t warm_up;
    bool windowed;
    hpcb_window_t window;
    uint64_t stretch_ms; /* 0: not told apart */
    uint64_t settle_ms;
} config_t;

typedef struct {
    double wall;
    hpcb_histogram_t all;
    hpcb_histogram_t part[PARTS];
    hpcb_histogram_t noisy, silent; /* of the favoured */
    bench_stretch_means_t means;    /* of all */
} result_t;

static void read_window(config_t *config, const char *text)
{
    hpcb_window_spec_t spec;

    if (hpcb_window_parse(text, &spec))
        errx(2, "--window: \"%s\"; %s", text, hpcb_window_rule);
    config->windowed = true;
    config->window.period_ns = (int64_t)spec.period_us * 1000;
    config->window.favoured_ns = (int64_t)spec.favoured_us * 1000;
}

static config_t read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"glob", no_argument, NULL, 'g'},
        {"operations", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 't'},
        {"warm-up", required_argument, NULL, 'u'},
        {"window", required_argument, NULL, 'w'},
        {"stretch", required_argument, NULL, 'i'},
        {"settle", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.operations = 100000, .warm_up = 1000};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'g')
            config.glob = true;
        else if (c == 'n')
            config.operations = bench_arg_count("operations", optarg, 1, UINT32_MAX);
        else if (c == 't')
            config.seconds = bench_arg_real("seconds", optarg, 0.001, 1e5);
        else if (c == 'u')
            config.warm_up = bench_arg_count("warm-up", optarg, 0, UINT32_MAX);
        else if (c == 'w')
            read_window(&config, optarg);
        else if (c == 'i')
            config.stretch_ms =
                bench_arg_count("stretch", optarg, 1, BENCH_STRETCH_MAX_MS);
        else if (c == 'e')
            config.settle_ms =
                bench_arg_count("settle", optarg, 0, BENCH_STRETCH_MAX_MS);
        else if (c == 'h') {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        } else
            exit(2);
    }
    bench_args_end(argc, argv);
    return config;
}

static int part_of(const hpcb_window_t *window, int64_t start, int64_t end)
{
    hpcb_window_phase_t phase = hpcb_window_phase(window, start);

    if (end >= phase.edge_ns)
        return ACROSS;
    return phase.favoured ? FAVOURED : REGULAR;
}

static void reduce(MPI_Comm comm, double values[WORDS], int size)
{
    double sums[WORDS];

    MPI_Allreduce(values, sums, WORDS, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < WORDS; i++) {
        /* Every rank has the same values. */
        if (sums[i] != values[i] * size)
            errx(EXIT_FAILURE, "a reduction gave %g, not %g", sums[i],
                 values[i] * size);
        values[i] = values[i] < 1e6 ? values[i] + 1 : 1;
    }
}

static void add_to_parts(const config_t *config, int64_t start, int64_t end,
                         result_t *result)
{
    int part = part_of(&config->window, start, end);
    bench_stretch_t stretch = bench_stretch(config->stretch_ms, start);
    uint64_t took = (uint64_t)(end - start);

    hpcb_histogram_add(&result->part[part], took);
    if (config->stretch_ms && part == FAVOURED)
        hpcb_histogram_add(stretch.noisy ? &result->noisy : &result->silent, took);
}

/* By the wall clock: the windows' time, and good enough for microseconds. */
static void timed(const config_t *config, MPI_Comm comm, double values[WORDS], int size,
                  result_t *result)
{
    int64_t start = bench_wall_ns(), end;

    reduce(comm, values, size);
    end = bench_wall_ns();
    if (end < start)
        end = start; /* the clock was set */
    hpcb_histogram_add(&result->all, (uint64_t)(end - start));
    if (config->windowed)
        add_to_parts(config, start, end, result);
    if (config->stretch_ms)
        bench_stretch_means_add(&result->means, start, (uint64_t)(end - start));
}

/* All ranks of comm agree on when to end, as rank 0's clock says. */
static bool go_on(const config_t *config, MPI_Comm comm, uint64_t done, double start)
{
    int more;

    if (config->seconds == 0)
        return done < config->operations;
    if (done % CHUNK)
        return true;
    more = bench_now() - start < config->seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, comm);
    return more;
}

static void run(const config_t *config, MPI_Comm comm, result_t *result)
{
    double values[WORDS] = {1, 2, 3, 4}, start;
    uint64_t done = 0;
    int size;

    MPI_Comm_size(comm, &size);
    for (uint64_t i = 0; i < config->warm_up; i++)
        reduce(comm, values, size);
    MPI_Barrier(comm);
    start = bench_now();
    for (; go_on(config, comm, done, start); done++)
        timed(config, comm, values, size, result);
    result->wall = bench_now() - start;
}

static void print_stretches(const result_t *result)
{
    fputs(",\"noisy\":", stdout);
    hpcb_histogram_print(&result->noisy);
    fputs(",\"silent\":", stdout);
    hpcb_histogram_print(&result->silent);
    fputs(",\"stretches\":", stdout);
    bench_stretch_means_print(&result->means);
}

static void print_parts(const result_t *result)
{
    for (int i = 0; i < PARTS; i++) {
        printf(",\"%s\":", part_names[i]);
        hpcb_histogram_print(&result->part[i]);
    }
}

static void print_result(const config_t *config, int ranks, const result_t *result)
{
    printf("{\"ranks\":%d,\"wall\":%.6f,\"sum\":%.6f,\"operation\":", ranks,
           result->wall, (double)result->all.sum_ns / 1e9);
    hpcb_histogram_print(&result->all);
    if (config->windowed)
        print_parts(result);
    if (config->stretch_ms)
        print_stretches(result);
    printf("}");
}

/* The first `ranks` of all; the others wait at the barrier. */
static void run_first(const config_t *config, int ranks, bool first_output)
{
    static result_t result;
    MPI_Comm comm;
    int rank;

    memset(&result, 0, sizeof(result));
    bench_stretch_means_start(&result.means, config->stretch_ms, config->settle_ms);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm != MPI_COMM_NULL) {
        run(config, comm, &result);
        MPI_Comm_free(&comm);
    }
    if (rank == 0) {
        fputs(first_output ? "" : ",", stdout);
        print_result(config, ranks, &result);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    config_t config = read_options(argc, argv);
    bench_usage_t usage;
    double delay;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (bench_usage_start(&usage))
        err(EXIT_FAILURE, "/proc/self/schedstat");
    if (rank == 0)
        printf("{\"program\":\"%s\",\"runs\":[", config.glob ? "glob" : "allreduce");
    for (int ranks = config.glob ? 2 : size; ranks < size; ranks *= 2)
        run_first(&config, ranks, ranks == 2);
    run_first(&config, size, !config.glob || size <= 2);
    if (bench_usage_stop(&usage))
        err(EXIT_FAILURE, "/proc/self/schedstat");
    MPI_Reduce(&usage.run_delay, &delay, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("],\"run_delay_max\":%.6f,", delay);
        bench_usage_print(&usage);
        puts("}");
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
