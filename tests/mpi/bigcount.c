/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Calls with MPI_Count arguments on odd ranks, plain ones on the others: MPI 4 says
 * that they match.  In an MPI without them it does nothing.
 */
#include "late.h"
#include "say.h"

#if MPI_VERSION >= 4

#define COUNT  4
#define LATE_S 0.02

static int rank, size, big;

/* The last rank, the first, and none is late by turns. */
static void wait_turn(int turn)
{
    if ((turn % 3 == 0 && rank == size - 1) || (turn % 3 == 1 && rank == 0))
        be_late(LATE_S);
}

static void messages(MPI_Comm comm)
{
    int in[COUNT] = {0}, out[COUNT] = {rank, 1, 2, 3};
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv_c(in, COUNT, MPI_INT, last, 0, comm, &request);
    if (big)
        MPI_Ssend_c(out, COUNT, MPI_INT, next, 0, comm);
    else
        MPI_Ssend(out, COUNT, MPI_INT, next, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("Ssend", in, COUNT);
    say_soil(&status);
    if (big)
        MPI_Sendrecv_c(out, COUNT, MPI_INT, next, 1, in, COUNT, MPI_INT, last, 1, comm,
                       &status);
    else
        MPI_Sendrecv(out, COUNT, MPI_INT, next, 1, in, COUNT, MPI_INT, last, 1, comm,
                     &status);
    say_status("Sendrecv", &status, MPI_INT);
}

static void reductions(MPI_Comm comm)
{
    int out[COUNT] = {rank, 1, 2, 3}, in[COUNT] = {0};

    if (big)
        MPI_Allreduce_c(out, in, COUNT, MPI_INT, MPI_SUM, comm);
    else
        MPI_Allreduce(out, in, COUNT, MPI_INT, MPI_SUM, comm);
    say_ints("Allreduce", in, COUNT);
    memset(in, 0, sizeof in);
    if (big)
        MPI_Reduce_c(out, in, COUNT, MPI_INT, MPI_SUM, 0, comm);
    else
        MPI_Reduce(out, in, COUNT, MPI_INT, MPI_SUM, 0, comm);
    say_ints("Reduce", in, COUNT);
    if (big)
        MPI_Scan_c(out, in, COUNT, MPI_INT, MPI_SUM, comm);
    else
        MPI_Scan(out, in, COUNT, MPI_INT, MPI_SUM, comm);
    say_ints("Scan", in, COUNT);
}

static void moves(MPI_Comm comm)
{
    int *out = calloc((size_t)size, sizeof *out),
        *in = calloc((size_t)size, sizeof *in);

    for (int i = 0; i < size; i++)
        out[i] = 10 * rank + i;
    if (big)
        MPI_Bcast_c(in, 1, MPI_INT, 0, comm);
    else
        MPI_Bcast(in, 1, MPI_INT, 0, comm);
    if (big)
        MPI_Allgather_c(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    else
        MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    say_ints("Allgather", in, size);
    if (big)
        MPI_Alltoall_c(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    else
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    say_ints("Alltoall", in, size);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say_open("", rank);
    big = rank % 2;
    for (int turn = 0; turn < 6; turn++) {
        wait_turn(turn);
        messages(MPI_COMM_WORLD);
        wait_turn(turn);
        reductions(MPI_COMM_WORLD);
        wait_turn(turn);
        moves(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
#else
int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    say("no calls with MPI_Count");
    MPI_Finalize();
    return 0;
}
#endif
