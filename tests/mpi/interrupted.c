/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Signals every millisecond while ranks wait, with a handler that yields: every wait
 * ends with what it was for and not before.  Two ranks.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include "late.h"
#include "say.h"

#define EVERY_US 1000
#define ROUNDS   10
#define LATE_S   0.02
#define MANY     20 /* of about 400; a busy machine delivers fewer */

static volatile sig_atomic_t signals;
static int rank, peer;

static void on_alarm(int number)
{
    int saved = errno;

    (void)number;
    signals = signals + 1;
    sched_yield();
    errno = saved;
}

/* restart: whether system calls are to go on after a signal. */
static void every_us(long us, int restart)
{
    struct sigaction action = {.sa_handler = on_alarm,
                               .sa_flags = restart ? SA_RESTART : 0};
    struct itimerval timer = {{0, us}, {0, us}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* By turns one rank waits for the other; a wait that ended early has the wrong sum. */
static int exchange(int round)
{
    int in = -1, total = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (round % 2 == rank) {
        be_late(LATE_S);
        MPI_Send(&round, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
        in = round;
    } else {
        MPI_Recv(&in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&in, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

static void rounds(int restart)
{
    int sum = 0;

    signals = 0;
    every_us(EVERY_US, restart);
    for (int i = 0; i < ROUNDS; i++)
        sum += exchange(i);
    every_us(0, restart);
    say("restart %d: sum %d, many signals: %d", restart, sum, signals >= MANY);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    rounds(0);
    rounds(1);
    MPI_Finalize();
    return 0;
}
