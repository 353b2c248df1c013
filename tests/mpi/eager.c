/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether a short message ends without its receiver: rank 1 is late and outside of MPI
 * when rank 0 sends.  And what is left in the environment of what Open MPI was told.
 */
#include <mpi.h>
#include "late.h"
#include "say.h"

#define LATE_S 0.05
#define TRIES  5
#define MOST   2048

static char out[MOST], in[MOST];
static int rank;

/* Seconds that rank 0 needs for it. */
static double took(int bytes)
{
    double began;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(out, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        be_late(LATE_S);
        MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return 0;
    }
    began = now_s();
    MPI_Sendrecv(out, bytes, MPI_CHAR, 1, 0, in, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return now_s() - began;
}

/* Most of the tries count: on a busy machine a rank may be off its CPU for as long. */
static void say_size(int bytes)
{
    int waits = 0;

    for (int i = 0; i < TRIES; i++)
        waits += took(bytes) > LATE_S / 2;
    if (rank == 0)
        say("%d bytes wait for their receiver: %d", bytes, waits > TRIES / 2);
}

static void say_variable(const char *name)
{
    const char *value = getenv(name);

    say("%s=%s", name, value ? value : "");
}

int main(int argc, char **argv)
{
    const int sizes[] = {8, 256, 512, MOST};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    say_variable("OMPI_MCA_btl_vader_flags");
    say_variable("OMPI_MCA_btl_sm_flags");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        say_size(sizes[i]);
    MPI_Finalize();
    return 0;
}
