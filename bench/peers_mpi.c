/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <mpi.h>
#include "bench/peers.h"

#define BORDER (64 << 10) /* bytes */

static char out[BORDER], in[BORDER];

void bench_peers_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
}

bool bench_peers_exist(void)
{
    return true;
}

bool bench_peers_meet(bool ends)
{
    int own = ends, one = 0, rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(out, BORDER, MPI_CHAR, (rank + 1) % size, 0, in, BORDER, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&own, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return one > 0;
}

void bench_peers_end(void)
{
    MPI_Finalize();
}
