/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How long the shortest calls between two ranks take, as bench/waits measures it.
 *
 *   waits_pingpong BYTES ROUNDS [pin]
 *
 * Rank 0 prints one line of JSON, in microseconds, medians over blocks of rounds:
 * pingpong: half a round trip; allreduce: an MPI_Allreduce of one double.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 20

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

typedef void round_fn(char *buf, int bytes, int rank);

static void allreduce(char *buf, int bytes, int rank)
{
    double mine = 1.0, sum;

    (void)buf;
    (void)bytes;
    (void)rank;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void round_trip(char *buf, int bytes, int rank)
{
    if (rank == 0)
        MPI_Send(buf, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buf, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(buf, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_us(round_fn *round, char *buf, int bytes, int rounds, int rank)
{
    double block[BLOCKS];

    for (int b = 0; b < BLOCKS; b++) {
        MPI_Barrier(MPI_COMM_WORLD);
        block[b] = MPI_Wtime();
        for (int i = 0; i < rounds / BLOCKS; i++)
            round(buf, bytes, rank);
        block[b] = (MPI_Wtime() - block[b]) / (rounds / BLOCKS) * 1e6;
    }
    qsort(block, BLOCKS, sizeof block[0], compare);
    return (block[BLOCKS / 2 - 1] + block[BLOCKS / 2]) / 2;
}

int main(int argc, char **argv)
{
    int rank, bytes, rounds;
    double pingpong, sum;
    char *buf;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bytes = argc > 1 ? atoi(argv[1]) : 8;
    rounds = argc > 2 ? atoi(argv[2]) : 0;
    buf = calloc(1, (size_t)bytes + 1);
    if (!buf || rounds < BLOCKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 3)
        pin(rank);
    median_us(round_trip, buf, bytes, rounds / 4 + BLOCKS, rank);
    pingpong = median_us(round_trip, buf, bytes, rounds, rank) / 2;
    sum = median_us(allreduce, buf, bytes, rounds, rank);
    if (rank == 0)
        printf("{\"pingpong\": %.3f, \"allreduce\": %.3f}\n", pingpong, sum);
    free(buf);
    MPI_Finalize();
    return 0;
}
