/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a program's MPI calls cost more under libhpcb_mpi.so: CALLS cheap ones a second
 * would be too noisy to see it in, so this makes nothing but cheap calls.  Each rank
 * alone: MPI_Start and MPI_Request_free would need a partner, a send to MPI_PROC_NULL
 * needs none, and goes through the library like any other.
 *
 *   observe_cost [ROUNDS]
 *
 * Rank 0 prints the nanoseconds of CPU time of a call, the best of several rounds, once
 * for a blocking and once for a nonblocking one.  bench/observe runs it with and
 * without the library.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS  200000
#define ROUNDS 15

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Two sites in turns, as an iteration has several. */
static void blocking(int calls)
{
    int data = 0;

    for (int i = 0; i < calls / 2; i++) {
        MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
        MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    }
}

static void nonblocking(int calls)
{
    int data = 0;
    MPI_Request request;

    for (int i = 0; i < calls / 2; i++) {
        MPI_Bsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
        MPI_Isend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
        MPI_Request_free(&request);
    }
}

static double best(void (*make)(int), int rounds)
{
    double least = 0;

    for (int i = 0; i < rounds; i++) {
        double start = cpu_ns(), took;

        make(CALLS);
        took = (cpu_ns() - start) / CALLS;
        if (i == 0 || took < least)
            least = took;
    }
    return least;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, rank;
    double blocks, starts;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    blocks = best(blocking, rounds);
    starts = best(nonblocking, rounds);
    if (rank == 0)
        printf("%.2f %.2f\n", blocks, starts);
    MPI_Finalize();
    return 0;
}
