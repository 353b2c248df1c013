/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A program without MPI, linked dynamically or statically, or setuid: what it writes
 * and its exit code are the same with the library preloaded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "late.h"

#define YIELDS    500 /* and for so long, at least */
#define YIELD_S   0.02
#define MOST      20 /* yields for each voluntary switch, of a page fault or a lock */
#define EXIT_CODE 7

/* Whether the thread yields for a while without sleeps. */
static int stays_awake(void)
{
    struct rusage before, after;
    double until = now_s() + YIELD_S;
    int failed = 0;
    long yields = 0;

    errno = 0;
    getrusage(RUSAGE_THREAD, &before);
    for (; yields < YIELDS || now_s() < until; yields++)
        failed |= sched_yield();
    getrusage(RUSAGE_THREAD, &after);
    return !failed && errno == 0 && after.ru_nvcsw - before.ru_nvcsw <= yields / MOST;
}

static void *in_thread(void *awake)
{
    *(int *)awake = stays_awake();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int awake = 0, status = -1;
    pid_t child;

    printf("secure %lu\n", getauxval(AT_SECURE));
    printf("alone: awake %d\n", stays_awake());
    if (pthread_create(&thread, NULL, in_thread, &awake) == 0)
        pthread_join(thread, NULL);
    printf("thread: awake %d\n", awake);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(!stays_awake());
    if (child > 0)
        waitpid(child, &status, 0);
    printf("child: status %d\n", status);
    printf("timer slack %d\n", prctl(PR_GET_TIMERSLACK));
    return EXIT_CODE;
}
