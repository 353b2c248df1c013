/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reductions of floating-point numbers whose sum depends on the order: every bit must
 * be what it is without the library, at every length that has an algorithm of its own.
 */
#include <stdint.h>
#include "late.h"
#include "say.h"

#define MOST   70000
#define LATE_S 0.01

static int rank, size;
static double *out, *in;

/* FNV-1a of the bytes. */
static uint64_t hash(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    uint64_t value = 0xcbf29ce484222325U;

    for (size_t i = 0; i < length; i++)
        value = (value ^ bytes[i]) * 0x100000001b3U;
    return value;
}

static void say_result(const char *name, int count)
{
    say("%s of %d: %016llx, the first %a", name, count,
        (unsigned long long)hash(in, (size_t)count * sizeof *in), in[0]);
    memset(in, 0, MOST * sizeof *in);
}

/* Magnitudes from 1e-8 to 1e8, so that every order rounds differently. */
static void fill(void)
{
    static const double scale[] = {1e8, 1e-8, 1.0, 1e4, 1e-4};
    uint32_t state = 12345U + 7919U * (uint32_t)rank;

    for (int i = 0; i < MOST; i++) {
        state = state * 1664525U + 1013904223U;
        out[i] = scale[(i + rank) % 5] * (1.0 + (double)(state >> 8)) / 3.0;
    }
}

static void reductions(int count, MPI_Comm comm)
{
    int block = count / size;

    if (rank == count % size)
        be_late(LATE_S);
    MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
    say_result("Allreduce", count);
    MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, size - 1, comm);
    if (rank == size - 1)
        say_result("Reduce", count);
    MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
    say_result("Scan", count);
    MPI_Exscan(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
    if (rank > 0)
        say_result("Exscan", count);
    MPI_Reduce_scatter_block(out, in, block, MPI_DOUBLE, MPI_SUM, comm);
    say_result("Reduce_scatter_block", block);
    MPI_Allreduce(out, in, count, MPI_FLOAT, MPI_PROD, comm);
    say_result("Allreduce of floats", count / 2);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 7, 100, 3000, MOST};
    MPI_Comm copy;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    say_open("", rank);
    out = calloc(MOST, sizeof *out);
    in = calloc(MOST, sizeof *in);
    fill();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        reductions(counts[i], MPI_COMM_WORLD);
        reductions(counts[i], copy);
    }
    free(out);
    free(in);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
