/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Several threads wait in MPI at once, with waits from nothing to some milliseconds, so
 * that they nap side by side; a thread's collectives have a communicator of their own.
 */
#include <pthread.h>
#include <time.h>
#include "say.h"

#define THREADS 3
#define ROUNDS  60

static int rank, peer, provided;
static MPI_Comm comms[THREADS];
static long sums[THREADS];

static void pause_sometimes(int thread, int round)
{
    struct timespec time = {0, 1000000L * ((round * 7 + thread + rank) % 4)};

    if (round % 5 == 0)
        nanosleep(&time, NULL);
}

static void one_round(int thread, int round)
{
    int out = 100 * rank + 10 * thread + round, in = -1, sum = 0;
    MPI_Request requests[2];

    pause_sometimes(thread, round);
    if (rank == 0) {
        MPI_Send(&out, 1, MPI_INT, peer, thread, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&in, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&out, 1, MPI_INT, peer, thread, MPI_COMM_WORLD);
    }
    MPI_Irecv(&in, 1, MPI_INT, peer, 10, comms[thread], &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, peer, 10, comms[thread], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comms[thread]);
    sums[thread] += in + sum;
}

static void *work(void *arg)
{
    int thread = (int)(long)arg;

    for (int round = 0; round < ROUNDS; round++)
        one_round(thread, round);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    say("multiple: %d", provided == MPI_THREAD_MULTIPLE);
    if (provided == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < THREADS; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            say("thread %d: %ld", i, sums[i]);
            MPI_Comm_free(&comms[i]);
        }
    }
    MPI_Finalize();
    return 0;
}
