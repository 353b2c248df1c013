/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MPI inside a module that a program loads at run time, as Python does with mpi4py: the
 * MPI library is not among the symbols of the process.  dlopened.c is the program.
 */
#include <time.h>
#include "say.h"

#define LATE_NS 100000000L

int module_run(void);

int module_run(void)
{
    struct timespec before, after, late = {0, LATE_NS};
    int rank, sum = 0, value = 0;
    double cpu;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        cpu = (double)(after.tv_sec - before.tv_sec) * 1e9 +
              (double)(after.tv_nsec - before.tv_nsec);
        say("sleeps: %d", cpu < (double)LATE_NS / 2);
    } else {
        nanosleep(&late, NULL);
        value = 5;
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    say("sum %d value %d", sum, value);
    MPI_Finalize();
    return 0;
}
