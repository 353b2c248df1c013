/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Every wrapped collective, with MPI_IN_PLACE where it exists, a user's operation that
 * does not commute, and a derived datatype, on the world, a duplicate, a reversed
 * split, MPI_COMM_SELF and an intercommunicator, mixed with nonblocking ones of the
 * program.
 */
#include "say.h"

#define COUNT 6
#define LINES (COUNT / 2) /* as many pairs */
#define MOST  16          /* ranks */

static int rank, size, root;
static MPI_Op chain;      /* composition of x -> m x + c: associative only */
static MPI_Datatype line; /* m and c */

#define MODULUS 10007

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        b[i + 1] = (a[i + 1] * b[i] + b[i + 1]) % MODULUS;
        b[i] = a[i] * b[i] % MODULUS;
    }
}

static void fill(int *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = rank * 100 + i;
}

static void reductions(MPI_Comm comm)
{
    int out[COUNT * MOST], in[COUNT * MOST] = {0}, counts[MOST];

    fill(out, COUNT * size);
    say("Reduce %d", MPI_Reduce(out, in, COUNT, MPI_INT, MPI_SUM, root, comm));
    if (rank == root)
        say_ints("Reduce", in, COUNT);
    memcpy(in, out, sizeof in);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, in, LINES, line, chain, root, comm);
    if (rank == root)
        say_ints("Reduce in place", in, COUNT);
    MPI_Allreduce(out, in, LINES, line, chain, comm);
    say_ints("Allreduce", in, COUNT);
    memcpy(in, out, sizeof in);
    MPI_Allreduce(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_MAX, comm);
    say_ints("Allreduce in place", in, COUNT);
    MPI_Allreduce(out, in, 0, MPI_INT, MPI_SUM, comm);
    MPI_Scan(out, in, LINES, line, chain, comm);
    say_ints("Scan", in, COUNT);
    memcpy(in, out, sizeof in);
    MPI_Scan(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, comm);
    say_ints("Scan in place", in, COUNT);
    memset(in, 0, sizeof in);
    MPI_Exscan(out, in, LINES, line, chain, comm);
    say_ints("Exscan", in, rank ? COUNT : 0);
    MPI_Reduce_scatter_block(out, in, COUNT, MPI_INT, MPI_SUM, comm);
    say_ints("Reduce_scatter_block", in, COUNT);
    for (int i = 0; i < size; i++)
        counts[i] = i % LINES;
    MPI_Reduce_scatter(out, in, counts, line, chain, comm);
    say_ints("Reduce_scatter", in, 2 * counts[rank]);
    memcpy(in, out, sizeof in);
    MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, comm);
    say_ints("Reduce_scatter in place", in, counts[rank]);
}

static void moves(MPI_Comm comm)
{
    int out[COUNT * MOST], in[COUNT * MOST] = {0};

    fill(out, COUNT * size);
    memcpy(in, out, sizeof in);
    MPI_Bcast(in, COUNT, MPI_INT, root, comm);
    say_ints("Bcast", in, COUNT);
    MPI_Gather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, root, comm);
    say_ints("Gather", in, COUNT * size);
    MPI_Scatter(out, COUNT, MPI_INT, in, COUNT, MPI_INT, root, comm);
    say_ints("Scatter", in, COUNT);
    MPI_Scatter(out, COUNT, MPI_INT, rank == root ? MPI_IN_PLACE : in, COUNT, MPI_INT,
                root, comm);
    say_ints("Scatter in place", in, COUNT);
    MPI_Allgather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
    say_ints("Allgather", in, COUNT * size);
    memcpy(in + COUNT * rank, out, COUNT * sizeof in[0]);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, COUNT, MPI_INT, comm);
    say_ints("Allgather in place", in, COUNT * size);
    MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
    say_ints("Alltoall", in, COUNT * size);
    memcpy(in, out, sizeof in);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, COUNT, MPI_INT, comm);
    say_ints("Alltoall in place", in, COUNT * size);
}

static void uneven_moves(MPI_Comm comm)
{
    int out[COUNT * MOST], in[COUNT * MOST] = {0}, counts[MOST], at[MOST], same[MOST];
    int own = rank % COUNT;

    fill(out, COUNT * size);
    for (int i = 0; i < size; i++) {
        counts[i] = i % COUNT;
        at[i] = COUNT * (size - 1 - i);
        same[i] = own;
    }
    MPI_Gatherv(out, own, MPI_INT, in, counts, at, MPI_INT, root, comm);
    say_ints("Gatherv", in, COUNT * size);
    MPI_Scatterv(out, counts, at, MPI_INT, in, own, MPI_INT, root, comm);
    say_ints("Scatterv", in, own);
    MPI_Allgatherv(out, own, MPI_INT, in, counts, at, MPI_INT, comm);
    say_ints("Allgatherv", in, COUNT * size);
    MPI_Alltoallv(out, counts, at, MPI_INT, in, same, at, MPI_INT, comm);
    say_ints("Alltoallv", in, COUNT * size);
}

static void typed_moves(MPI_Comm comm)
{
    int out[2 * COUNT * MOST], in[2 * COUNT * MOST] = {0};
    int counts[MOST], at[MOST];
    MPI_Datatype types[MOST], every_other;

    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    fill(out, 2 * COUNT * size);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        at[i] = (int)(2 * COUNT * sizeof(int)) * i;
        types[i] = every_other;
    }
    MPI_Alltoallw(out, counts, at, types, in, counts, at, types, comm);
    say_ints("Alltoallw", in, 2 * COUNT * size);
    memcpy(in, out, sizeof in);
    MPI_Alltoallw(MPI_IN_PLACE, counts, at, types, in, counts, at, types, comm);
    say_ints("Alltoallw in place", in, 2 * COUNT * size);
    MPI_Bcast(in, 1, every_other, root, comm);
    say_ints("Bcast of a vector", in, 2 * COUNT);
    MPI_Type_free(&every_other);
}

/* Long enough for the other algorithms, exact in any order. */
static void long_ones(MPI_Comm comm)
{
    enum { LENGTH = 200000 };
    double *out = calloc(LENGTH, sizeof *out), *in = calloc(LENGTH, sizeof *in);
    double sum = 0.0;

    for (int i = 0; i < LENGTH; i++)
        out[i] = rank + i % 100;
    MPI_Allreduce(out, in, LENGTH, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < LENGTH; i++)
        sum += in[i];
    MPI_Bcast(in, LENGTH, MPI_DOUBLE, root, comm);
    MPI_Reduce(out, in, LENGTH, MPI_DOUBLE, MPI_MAX, root, comm);
    if (rank == root)
        sum += in[LENGTH - 1];
    say("long ones: %.0f", sum);
    free(out);
    free(in);
}

/* Our nonblocking forms go between the program's own and must match in order. */
static void mixed(MPI_Comm comm)
{
    int sum = rank, all = 0, first = rank, second = rank;
    MPI_Request requests[2];

    MPI_Ibcast(&first, 1, MPI_INT, root, comm, &requests[0]);
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, comm);
    MPI_Ibcast(&second, 1, MPI_INT, (root + 1) % size, comm, &requests[1]);
    MPI_Barrier(comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("mixed: %d %d %d", first, all, second);
}

static void on(const char *name, MPI_Comm comm)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (root = 0; root < size; root += 2) {
        say("%s, root %d", name, root);
        say("Barrier %d", MPI_Barrier(comm));
        reductions(comm);
        moves(comm);
        uneven_moves(comm);
        typed_moves(comm);
        mixed(comm);
    }
    root = size - 1;
    long_ones(comm);
}

/* The first rank against all the others. */
static void between(MPI_Comm world)
{
    int mine, others = 0, world_rank, out = 5, root_here;
    MPI_Comm half, inter, merged;

    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_split(world, world_rank > 0, world_rank, &half);
    MPI_Intercomm_create(half, 0, world, world_rank > 0 ? 0 : 1, 9, &inter);
    mine = world_rank + 1;
    say("Allreduce %d", MPI_Allreduce(&mine, &others, 1, MPI_INT, MPI_SUM, inter));
    say("intercommunicator: sum %d", others);
    root_here = world_rank == 0 ? MPI_ROOT : 0;
    if (world_rank == 0)
        out = 17;
    MPI_Bcast(&out, 1, MPI_INT, root_here, inter);
    say("intercommunicator: Bcast %d", out);
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, world_rank > 0, &merged);
    MPI_Allreduce(&mine, &others, 1, MPI_INT, MPI_PROD, merged);
    say("merged: product %d", others);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm copy, reversed;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say_open("", rank);
    MPI_Type_contiguous(2, MPI_INT, &line);
    MPI_Type_commit(&line);
    MPI_Op_create(compose, 0, &chain);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    on("world", MPI_COMM_WORLD);
    on("duplicate", copy);
    on("reversed", reversed);
    on("self", MPI_COMM_SELF);
    between(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&reversed);
    MPI_Op_free(&chain);
    MPI_Type_free(&line);
    MPI_Finalize();
    return 0;
}
