/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A program that yields outside of MPI calls must not sleep there: in the thread that
 * calls MPI, in another one while the first waits, in a child, and in a program that
 * the child becomes.  A sleep is a voluntary switch (getrusage(2)), a yield is none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "late.h"
#include "say.h"

#define YIELDS  500 /* and for so long, at least */
#define YIELD_S 0.02
#define MOST    20 /* yields for each voluntary switch, of a page fault or a lock */
#define LATE_S  0.05
#define CHILD   "yield"

static int rank, peer;

/* Whether the thread yields for a while without sleeps. */
static int stays_awake(void)
{
    struct rusage before, after;
    double until = now_s() + YIELD_S;
    int failed = 0;
    long yields = 0;

    getrusage(RUSAGE_THREAD, &before);
    for (; yields < YIELDS || now_s() < until; yields++)
        failed |= sched_yield();
    getrusage(RUSAGE_THREAD, &after);
    return !failed && after.ru_nvcsw - before.ru_nvcsw <= yields / MOST;
}

static void *in_thread(void *arg)
{
    *(int *)arg = stays_awake();
    return NULL;
}

/* The yields go on in a thread while this one waits. */
static void beside_a_wait(void)
{
    pthread_t thread;
    int value = 0, awake = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        be_late(LATE_S);
    else
        pthread_create(&thread, NULL, in_thread, &awake);
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &value, 1, MPI_INT, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        pthread_join(thread, NULL);
    say("beside a wait: awake %d, got %d", rank == 0 ? awake : 1, value);
}

/* path: what the child becomes, NULL: itself. */
static int in_child(const char *path)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (path)
            execl(path, path, CHILD, (char *)NULL);
        _exit(path ? 127 : !stays_awake());
    }
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    int provided;

    if (argc > 1 && strcmp(argv[1], CHILD) == 0)
        return !stays_awake();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    say("alone: awake %d", stays_awake());
    beside_a_wait();
    say("after a wait: awake %d", stays_awake());
    say("child: status %d", in_child(NULL));
    say("program: status %d", in_child("/proc/self/exe"));
    beside_a_wait();
    MPI_Finalize();
    say("after MPI_Finalize: awake %d", stays_awake());
    return 0;
}
