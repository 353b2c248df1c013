/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Several threads of a rank wait at once for long, while others of it send, poll the
 * MPI and yield: none may keep another from what it waits for.  Two ranks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "late.h"
#include "say.h"

#define WAITERS 3
#define ROUNDS  8
#define LATE_S  0.01

static int rank, peer;
static MPI_Comm comms[WAITERS], collective;
static long sums[WAITERS];
static atomic_bool stopped;

/* Receives only; what it waits for is sent late by the peer's main thread. */
static void *receive(void *arg)
{
    int i = (int)(long)arg, value = -1;

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Recv(&value, 1, MPI_INT, peer, round, comms[i], MPI_STATUS_IGNORE);
        sums[i] += value;
    }
    return NULL;
}

/* Waits in collectives of its own. */
static void *reduce(void *arg)
{
    int sum = 0;

    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2 == rank)
            be_late(LATE_S);
        MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, collective);
        *(long *)arg += sum;
    }
    return NULL;
}

/* A progress thread as libraries have them: polls, and yields in between. */
static void *poll_and_yield(void *arg)
{
    int found;

    while (!atomic_load(&stopped)) {
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        *(int *)arg += found;
        sched_yield();
        be_late(0.0);
    }
    return NULL;
}

static void send_all(void)
{
    int value;

    for (int round = 0; round < ROUNDS; round++) {
        be_late(LATE_S);
        for (int i = 0; i < WAITERS; i++) {
            value = 100 * rank + 10 * round + i;
            MPI_Ssend(&value, 1, MPI_INT, peer, round, comms[i]);
        }
    }
}

static void run(void)
{
    pthread_t waiters[WAITERS], reducer, poller;
    long sum = 0;
    int found = 0;

    pthread_create(&poller, NULL, poll_and_yield, &found);
    pthread_create(&reducer, NULL, reduce, &sum);
    for (long i = 0; i < WAITERS; i++)
        pthread_create(&waiters[i], NULL, receive, (void *)i);
    send_all();
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i], NULL);
        say("waiter %d: %ld", i, sums[i]);
    }
    pthread_join(reducer, NULL);
    atomic_store(&stopped, true);
    pthread_join(poller, NULL);
    say("collectives: %ld, found %d", sum, found);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    say("multiple: %d", provided == MPI_THREAD_MULTIPLE);
    if (provided == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < WAITERS; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_dup(MPI_COMM_WORLD, &collective);
        run();
        for (int i = 0; i < WAITERS; i++)
            MPI_Comm_free(&comms[i]);
        MPI_Comm_free(&collective);
    }
    MPI_Finalize();
    return 0;
}
