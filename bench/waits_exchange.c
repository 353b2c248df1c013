/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A program that computes and exchanges, as bench/waits measures it.
 *
 *   waits_exchange PATTERN LOAD SCATTER UNITS STEPS [pin]
 *
 * PATTERN  sendrecv, waitall, allreduce: all ranks compute, then exchange;
 *          chain: one rank computes while the other one waits, in turns
 * LOAD     rank 1 computes LOAD times as long as rank 0
 * SCATTER  percent by which the work of a step differs at random, up or down
 * UNITS    work of rank 0 in a step (work, not time: a slower CPU takes longer)
 * STEPS    how often
 * pin      bind rank r to CPU r
 *
 * Every call of MPI is timed by the clock and by the CPU time of the thread.  Rank 0
 * prints one line of JSON: wall (s), and summed over ranks: wait (s in MPI), idle (s of
 * it that the CPU was free for others: the time on the run queue of the whole run is
 * taken off), long_wait and long_idle: the same of single waits longer than 1 ms, and
 * guest: CPU time of the processes $WAITS_GUESTS ("pid pid", one a rank), 0 without.
 * With PATTERN calibrate it prints how many units one microsecond holds.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DOUBLES       64 /* 512 bytes: a halo row, sent eagerly by every MPI */
#define LONG_WAIT_S   1e-3
#define WARM_UP_STEPS 50

typedef struct {
    double wait, cpu, long_wait, long_cpu;
} times_t;

typedef void exchange_fn(int rank, int peer);

static double out[DOUBLES], in[DOUBLES];
static times_t times;
static volatile double sink;

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* On the CPU and on the run queue so far (s): the first two fields of schedstat. */
static void schedstat(const char *path, double *cpu, double *delay)
{
    unsigned long long fields[2] = {0};
    FILE *file = fopen(path, "re");

    if (file && fscanf(file, "%llu %llu", &fields[0], &fields[1]) != 2)
        fields[0] = fields[1] = 0;
    if (file)
        fclose(file);
    *cpu = (double)fields[0] * 1e-9;
    *delay = (double)fields[1] * 1e-9;
}

static double run_delay(void)
{
    double cpu, delay;

    schedstat("/proc/thread-self/schedstat", &cpu, &delay);
    return delay;
}

static double guest_cpu(int rank)
{
    const char *guests = getenv("WAITS_GUESTS");
    int pids[2] = {0};
    double cpu, delay;
    char path[64];

    if (!guests || sscanf(guests, "%d %d", &pids[0], &pids[1]) != 2)
        return 0.0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pids[rank]);
    schedstat(path, &cpu, &delay);
    return cpu;
}

static void compute(long units)
{
    double x = sink;

    for (long i = 0; i < units; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

/* The same on every run, another one on every rank. */
static long scattered(long units, int percent)
{
    static unsigned seed;
    int rank;

    if (percent == 0)
        return units;
    if (seed == 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        seed = (unsigned)rank + 1;
    }
    return units + units / 100 * (rand_r(&seed) % (2 * percent + 1) - percent);
}

static void sendrecv(int rank, int peer)
{
    (void)rank;
    MPI_Sendrecv(out, DOUBLES, MPI_DOUBLE, peer, 0, in, DOUBLES, MPI_DOUBLE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void waitall(int rank, int peer)
{
    MPI_Request requests[2];

    (void)rank;
    MPI_Irecv(in, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void allreduce(int rank, int peer)
{
    (void)rank;
    (void)peer;
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void timed(exchange_fn *exchange, int rank, int peer)
{
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);

    exchange(rank, peer);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    times.wait += wall;
    times.cpu += cpu;
    if (wall > LONG_WAIT_S) {
        times.long_wait += wall;
        times.long_cpu += cpu;
    }
}

static void receive(int rank, int peer)
{
    (void)rank;
    MPI_Recv(in, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int rank, int peer)
{
    (void)rank;
    MPI_Send(out, DOUBLES, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
}

static void chain_step(long units, int rank, int peer)
{
    if (rank == 1)
        timed(receive, rank, peer);
    compute(units);
    timed(send, rank, peer);
    if (rank == 0)
        timed(receive, rank, peer);
}

static exchange_fn *pattern(const char *name)
{
    if (!strcmp(name, "sendrecv"))
        return sendrecv;
    if (!strcmp(name, "waitall"))
        return waitall;
    return !strcmp(name, "allreduce") ? allreduce : NULL;
}

static void steps(const char *name, long units, int scatter, long count, int rank)
{
    exchange_fn *exchange = pattern(name);

    for (long i = 0; i < count; i++) {
        long now = scattered(units, scatter);

        if (exchange) {
            compute(now);
            timed(exchange, rank, 1 - rank);
        } else {
            chain_step(now, rank, 1 - rank);
        }
    }
}

static void report(int rank, double wall, double delay, double guest)
{
    double mine[6] = {times.wait,     times.cpu, times.long_wait,
                      times.long_cpu, delay,     guest};
    double all[6];

    MPI_Reduce(mine, all, 6, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"wall\": %.6f, \"wait\": %.6f, \"idle\": %.6f, \"long_wait\": %.6f, "
               "\"long_idle\": %.6f, \"run_delay\": %.6f, \"guest\": %.6f}\n",
               wall, all[0], all[0] - all[1] - all[4], all[2], all[2] - all[3] - all[4],
               all[4], all[5]);
}

static void run(int argc, char **argv, int rank)
{
    long units = atol(argv[4]), count = atol(argv[5]);
    int scatter = atoi(argv[3]);
    double wall, delay, guest;

    if (rank == 1)
        units = (long)((double)units * atof(argv[2]));
    if (argc > 6) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(rank, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    steps(argv[1], units, scatter, WARM_UP_STEPS, rank);
    memset(&times, 0, sizeof times);
    MPI_Barrier(MPI_COMM_WORLD);
    delay = run_delay();
    guest = guest_cpu(rank);
    wall = seconds(CLOCK_MONOTONIC);
    steps(argv[1], units, scatter, count, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    report(rank, wall, run_delay() - delay, guest_cpu(rank) - guest);
}

/* The best of ten tries counts: other load only takes time away. */
static void calibrate(void)
{
    const long units = 10000000;
    double best = 1e9;

    for (int i = 0; i < 10; i++) {
        double took = seconds(CLOCK_MONOTONIC);

        compute(units);
        took = seconds(CLOCK_MONOTONIC) - took;
        best = took < best ? took : best;
    }
    printf("%.3f\n", (double)units / (best * 1e6));
}

int main(int argc, char **argv)
{
    int rank, size;

    if (argc == 2 && !strcmp(argv[1], "calibrate")) {
        calibrate();
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 6 || size != 2) {
        fprintf(stderr, "usage: 2 ranks of waits_exchange "
                        "PATTERN LOAD SCATTER UNITS STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    run(argc, argv, rank);
    MPI_Finalize();
    return 0;
}
