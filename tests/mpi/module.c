/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MPI inside a module that a program loads at run time, as Python does with mpi4py: the
 * MPI library is not among the symbols of the process.  dlopened.c is the program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include "say.h"
#include "slept.h"

#define LATE_NS 100000000L
#define TRIES   10

int module_run(void);

/* As a program has it that runs with MPIs of all ages. */
int MPI_Send_c(const void *data, MPI_Count count, MPI_Datatype type, int to, int tag,
               MPI_Comm comm) __attribute__((weak));

static void say_large_counts(int rank)
{
    int value = 7;

    say("there is a call with large counts: %d", MPI_Send_c != NULL);
    say("the loader finds what is not there: %d",
        !MPI_Send_c && dlsym(RTLD_DEFAULT, "MPI_Send_c"));
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (MPI_Send_c)
        MPI_Send_c(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
}

/* Whether rank 0 slept while rank 1 was late: known to rank 0. */
static int sleeps(int rank, int *value)
{
    struct timespec late = {0, LATE_NS};
    struct rusage before;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        before = slept_begin();
        MPI_Recv(value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return slept_since(&before);
    }
    nanosleep(&late, NULL);
    *value = 5;
    MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    return 0;
}

int module_run(void)
{
    int rank, sum = 0, value = 0, slept = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    say_large_counts(rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* On a busy machine rank 0 may be the one that is late. */
    for (int i = 0; i < TRIES && !slept; i++) {
        slept = sleeps(rank, &value);
        MPI_Bcast(&slept, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        say("sleeps: %d", slept);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    say("sum %d value %d", sum, value);
    MPI_Finalize();
    return 0;
}
