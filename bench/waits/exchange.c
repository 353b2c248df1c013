/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A program of two ranks that computes and exchanges, in turns (turns.h), as
 * bench/waits measures it.
 *
 *   waits_exchange DIRECTORY [CPU0 CPU1]
 *
 * DIRECTORY holds the pipes, CPUr is what rank r is bound to.  A turn is
 *
 *   calibrate
 *   PATTERN LOAD SCATTER UNITS STEPS WARM SEED
 *
 * PATTERN  recv (MPI_Send, MPI_Recv), sendrecv, waitall, allreduce, barrier: all ranks
 *          compute, then exchange; rendezvous: sendrecv of messages so long that
 *          they need their receivers; chain: one rank computes while the
 *          other one waits
 * LOAD     rank 1 computes LOAD times as long as rank 0
 * SCATTER  percent by which the work of a step differs at random, up or down
 * UNITS    work of rank 0 in a step (work, not time: a slower CPU takes longer)
 * STEPS    how often; WARM steps before them are not measured
 * SEED     of the scatter
 *
 * Each exchange is timed by the clock and by the CPU time of the thread.  Each rank
 * answers with wall (s), delay (s on the run queue), wait and cpu (s in exchanges and
 * CPU time of these), and the last two once more of exchanges that took at least 1 ms
 * (long) and of those from 200 us to 1 ms (middle).  calibrate: units in one
 * microsecond.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include "../turns.h"

#define DOUBLES       64 /* 512 bytes: a halo row; Open MPI may wait, see mpi/hook.c */
#define LONG_DOUBLES  8192 /* 64 KiB: Open MPI and MPICH wait for the receiver */
#define LONG_WAIT_S   1e-3
#define MIDDLE_WAIT_S 200e-6

typedef struct {
    double wait, cpu;
} times_t;

typedef void exchange_fn(int peer);

typedef struct {
    char pattern[16];
    double load;
    int scatter;
    long units, steps, warm;
    unsigned seed;
} turn_t;

static double out[LONG_DOUBLES], in[LONG_DOUBLES];
static times_t all, longs, middles;
static volatile double sink;

static void compute(long units)
{
    double x = sink;

    for (long i = 0; i < units; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static void receive(int peer)
{
    MPI_Recv(in, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void give(int peer)
{
    MPI_Send(out, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
}

static void give_receive(int peer)
{
    give(peer);
    receive(peer);
}

static void swap(int peer, int count)
{
    MPI_Sendrecv(out, count, MPI_DOUBLE, peer, 0, in, count, MPI_DOUBLE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sendrecv(int peer)
{
    swap(peer, DOUBLES);
}

static void rendezvous(int peer)
{
    swap(peer, LONG_DOUBLES);
}

static void waitall(int peer)
{
    MPI_Request requests[2];

    MPI_Irecv(in, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void allreduce(int peer)
{
    (void)peer;
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(int peer)
{
    (void)peer;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void add(times_t *sum, double wait, double cpu)
{
    sum->wait += wait;
    sum->cpu += cpu;
}

static void timed(exchange_fn *exchange, int peer)
{
    double cpu = turns_seconds(CLOCK_THREAD_CPUTIME_ID);
    double wait = turns_seconds(CLOCK_MONOTONIC);

    exchange(peer);
    wait = turns_seconds(CLOCK_MONOTONIC) - wait;
    cpu = turns_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    add(&all, wait, cpu);
    if (wait >= LONG_WAIT_S)
        add(&longs, wait, cpu);
    else if (wait >= MIDDLE_WAIT_S)
        add(&middles, wait, cpu);
}

static void chain_step(long units, int rank)
{
    if (rank == 1)
        timed(receive, 0);
    compute(units);
    timed(give, 1 - rank);
    if (rank == 0)
        timed(receive, 1);
}

static const struct {
    const char *name;
    exchange_fn *exchange; /* NULL: chain_step() */
} patterns[] = {
    {"recv", give_receive},   {"sendrecv", sendrecv}, {"waitall", waitall},
    {"allreduce", allreduce}, {"barrier", barrier},   {"rendezvous", rendezvous},
    {"chain", NULL},
};

/* Index into patterns[]; -1: there is none of that name. */
static int pattern_of(const char *name)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (!strcmp(patterns[i].name, name))
            return (int)i;
    }
    return -1;
}

static void steps(exchange_fn *exchange, turn_t *turn, long count, int rank)
{
    unsigned percents = 2 * (unsigned)turn->scatter + 1;

    for (long i = 0; i < count; i++) {
        long more = (long)((unsigned)rand_r(&turn->seed) % percents) - turn->scatter;
        long units = turn->units + turn->units * more / 100;

        if (exchange) {
            compute(units);
            timed(exchange, 1 - rank);
        } else {
            chain_step(units, rank);
        }
    }
}

static void answer(const turns_t *turns, double wall, double delay)
{
    fprintf(turns->out,
            "{\"wall\": %.7f, \"delay\": %.7f, \"wait\": %.7f, \"cpu\": %.7f, "
            "\"long\": [%.7f, %.7f], \"middle\": [%.7f, %.7f]}\n",
            wall, delay, all.wait, all.cpu, longs.wait, longs.cpu, middles.wait,
            middles.cpu);
    fflush(turns->out);
}

static void run(const turns_t *turns, turn_t *turn, int rank)
{
    exchange_fn *exchange = patterns[pattern_of(turn->pattern)].exchange;
    double wall, delay;

    turn->seed = 2 * turn->seed + (unsigned)rank;
    if (rank == 1)
        turn->units = (long)((double)turn->units * turn->load);
    steps(exchange, turn, turn->warm, rank);
    all = longs = middles = (times_t){0};
    MPI_Barrier(MPI_COMM_WORLD);
    delay = turns_run_delay();
    wall = turns_seconds(CLOCK_MONOTONIC);
    steps(exchange, turn, turn->steps, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    wall = turns_seconds(CLOCK_MONOTONIC) - wall;
    answer(turns, wall, turns_run_delay() - delay);
}

/* The best of ten tries counts: other load only takes time away. */
static void calibrate(const turns_t *turns)
{
    const long units = 2000000;
    double best = 1e9;

    for (int i = 0; i < 10; i++) {
        double took = turns_seconds(CLOCK_MONOTONIC);

        compute(units);
        took = turns_seconds(CLOCK_MONOTONIC) - took;
        best = took < best ? took : best;
    }
    fprintf(turns->out, "{\"units\": %.3f}\n", (double)units / (best * 1e6));
    fflush(turns->out);
}

/* Whether line is a turn that run() can make. */
static bool parse(const char *line, turn_t *turn)
{
    return sscanf(line, "%15s %lf %d %ld %ld %ld %u", turn->pattern, &turn->load,
                  &turn->scatter, &turn->units, &turn->steps, &turn->warm,
                  &turn->seed) == 7 &&
           pattern_of(turn->pattern) >= 0 && turn->load >= 0 && turn->scatter >= 0 &&
           turn->scatter <= 100 && turn->units >= 0 && turn->steps > 0;
}

int main(int argc, char **argv)
{
    char line[TURNS_LINE];
    turns_t turns = {0};
    turn_t turn;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((argc != 2 && argc != 4) || size != 2 ||
        turns_begin(&turns, argv[1], rank, argc == 4 ? atoi(argv[2 + rank]) : -1)) {
        fputs("usage: 2 ranks of waits_exchange DIRECTORY [CPU0 CPU1]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    while (turns_next(&turns, line)) {
        if (!strcmp(line, "calibrate\n")) {
            calibrate(&turns);
        } else if (parse(line, &turn)) {
            run(&turns, &turn, rank);
        } else {
            fprintf(stderr, "waits_exchange: not a turn: %s", line);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    MPI_Finalize();
    return 0;
}
