/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Neighbourhood collectives on a ring and on a star, with a late rank in every one. */
#include "late.h"
#include "say.h"

#define MOST   16
#define LATE_S 0.02

static int rank, size, turn;

/* Another rank is late at every call. */
static void take_turn(void)
{
    if (turn++ % size == rank)
        be_late(LATE_S);
}

static void fill(int *values)
{
    for (int i = 0; i < MOST; i++)
        values[i] = 100 * rank + i;
}

/* sources and destinations: how many neighbours this rank has. */
static void blocking(const char *name, MPI_Comm comm, int sources, int destinations)
{
    int out[MOST], in[MOST] = {0}, counts[MOST], at[MOST];
    MPI_Aint bytes_at[MOST];
    MPI_Datatype types[MOST];

    fill(out);
    for (int i = 0; i < MOST; i++) {
        counts[i] = 1;
        at[i] = i;
        bytes_at[i] = (MPI_Aint)sizeof(int) * i;
        types[i] = MPI_INT;
    }
    say("%s: %d sources, %d destinations", name, sources, destinations);
    take_turn();
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    say_ints("allgather", in, sources);
    take_turn();
    MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, at, MPI_INT, comm);
    say_ints("allgatherv", in, sources);
    take_turn();
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    say_ints("alltoall", in, sources);
    take_turn();
    MPI_Neighbor_alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm);
    say_ints("alltoallv", in, sources);
    take_turn();
    MPI_Neighbor_alltoallw(out, counts, bytes_at, types, in, counts, bytes_at, types,
                           comm);
    say_ints("alltoallw", in, sources);
}

static void nonblocking(MPI_Comm comm, int sources)
{
    int out[MOST], in[MOST] = {0};
    MPI_Request request;

    fill(out);
    take_turn();
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("nonblocking alltoall", in, sources);
}

static void ring(void)
{
    const int dims[] = {size}, periodic[] = {1};
    MPI_Comm comm;

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &comm);
    blocking("ring", comm, 2, 2);
    nonblocking(comm, 2);
    MPI_Comm_free(&comm);
}

/* Rank 0 gets from all others, who get from their left neighbour. */
static void star(void)
{
    int sources[MOST], weights[MOST] = {0}, count = 0,
                       destinations[] = {(rank + 1) % size, 0};
    int outs = rank == 0 || rank == size - 1 ? 1 : 2;
    MPI_Comm comm;

    if (rank == 0)
        while (++count < size)
            sources[count - 1] = count;
    else
        sources[0] = rank - 1;
    count = rank == 0 ? size - 1 : 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, sources, weights, outs,
                                   destinations, weights, MPI_INFO_NULL, 0, &comm);
    blocking("star", comm, count, outs);
    nonblocking(comm, count);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say_open("", rank);
    ring();
    star();
    MPI_Finalize();
    return 0;
}
