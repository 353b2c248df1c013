/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A message that is too long, with the handler that MPI starts with: the job dies. */
#include <unistd.h>
#include "say.h"

int main(int argc, char **argv)
{
    int rank, two[2] = {1, 2};

    /* The launcher of MPICH 4.2 ends without the rank that still waits. */
    alarm(30);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    say("alive");
    if (rank == 0)
        MPI_Send(two, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        say("not reached");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
