/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Does a call really sleep when it waits?  In every call rank 1 comes late, and the CPU
 * time that rank 0 uses meanwhile says whether it slept: "sleeps" or "spins".  Calls
 * that wait for nobody on rank 0 (a root's Bcast) are turned round.
 */
#include <time.h>
#include "say.h"

#define LATE_S     0.05
#define LONG_COUNT 1000000 /* ints: a send of them waits for the receive */

typedef void call_fn(void);

static int rank, peer;
static int *data, *got;
static int one[2], two[2];
static const int counts[2] = {1, 1}, at[2] = {0, 1}, bytes_at[2] = {0, 4};
static MPI_Request request;
static MPI_Message message;
static MPI_Comm world;
static MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void send_it(void)
{
    MPI_Send(one, 1, MPI_INT, peer, 0, world);
}

static void receive_it(void)
{
    MPI_Recv(got, LONG_COUNT, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE);
}

static void post_it(void)
{
    MPI_Irecv(got, 1, MPI_INT, peer, 0, world, &request);
}

static void nothing(void)
{
}

static void recv_call(void)
{
    MPI_Recv(two, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE);
}

static void send_call(void)
{
    MPI_Send(data, LONG_COUNT, MPI_INT, peer, 0, world);
}

static void ssend_call(void)
{
    MPI_Ssend(data, 1, MPI_INT, peer, 0, world);
}

static void sendrecv_call(void)
{
    MPI_Sendrecv(one, 1, MPI_INT, peer, 0, two, 1, MPI_INT, peer, 0, world,
                 MPI_STATUS_IGNORE);
}

static void sendrecv_replace_call(void)
{
    MPI_Sendrecv_replace(two, 1, MPI_INT, peer, 0, peer, 0, world, MPI_STATUS_IGNORE);
}

static void wait_call(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void waitall_call(void)
{
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static void waitany_call(void)
{
    int index;

    MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
}

static void waitsome_call(void)
{
    int done, index;

    MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE);
}

static void probe_call(void)
{
    MPI_Probe(peer, 0, world, MPI_STATUS_IGNORE);
}

static void mprobe_call(void)
{
    MPI_Mprobe(peer, 0, world, &message, MPI_STATUS_IGNORE);
}

static void mrecv_call(void)
{
    MPI_Mrecv(two, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void barrier_call(void)
{
    MPI_Barrier(world);
}

static void bcast_call(void)
{
    MPI_Bcast(one, 1, MPI_INT, 1, world);
}

static void reduce_call(void)
{
    MPI_Reduce(one, two, 1, MPI_INT, MPI_SUM, 0, world);
}

static void allreduce_call(void)
{
    MPI_Allreduce(one, two, 1, MPI_INT, MPI_SUM, world);
}

static void gather_call(void)
{
    MPI_Gather(one, 1, MPI_INT, two, 1, MPI_INT, 0, world);
}

static void gatherv_call(void)
{
    MPI_Gatherv(one, 1, MPI_INT, two, counts, at, MPI_INT, 0, world);
}

static void scatter_call(void)
{
    MPI_Scatter(two, 1, MPI_INT, one, 1, MPI_INT, 1, world);
}

static void scatterv_call(void)
{
    MPI_Scatterv(two, counts, at, MPI_INT, one, 1, MPI_INT, 1, world);
}

static void allgather_call(void)
{
    MPI_Allgather(one, 1, MPI_INT, two, 1, MPI_INT, world);
}

static void allgatherv_call(void)
{
    MPI_Allgatherv(one, 1, MPI_INT, two, counts, at, MPI_INT, world);
}

static void alltoall_call(void)
{
    MPI_Alltoall(one, 1, MPI_INT, two, 1, MPI_INT, world);
}

static void alltoallv_call(void)
{
    MPI_Alltoallv(one, counts, at, MPI_INT, two, counts, at, MPI_INT, world);
}

static void alltoallw_call(void)
{
    MPI_Alltoallw(one, counts, bytes_at, types, two, counts, bytes_at, types, world);
}

/* Ranks wait for lower ones only. */
static MPI_Comm reversed;

static void scan_call(void)
{
    MPI_Scan(one, two, 1, MPI_INT, MPI_SUM, reversed);
}

static void exscan_call(void)
{
    MPI_Exscan(one, two, 1, MPI_INT, MPI_SUM, reversed);
}

static void reduce_scatter_call(void)
{
    MPI_Reduce_scatter(one, two, counts, MPI_INT, MPI_SUM, world);
}

static void reduce_scatter_block_call(void)
{
    MPI_Reduce_scatter_block(one, two, 1, MPI_INT, MPI_SUM, world);
}

/* What rank 0 does before, the call on rank 0, and on rank 1. */
static const struct {
    const char *name;
    call_fn *before, *call, *other;
} calls[] = {
    {"Recv", nothing, recv_call, send_it},
    {"Send", nothing, send_call, receive_it},
    {"Ssend", nothing, ssend_call, receive_it},
    {"Sendrecv", nothing, sendrecv_call, sendrecv_call},
    {"Sendrecv_replace", nothing, sendrecv_replace_call, sendrecv_replace_call},
    {"Wait", post_it, wait_call, send_it},
    {"Waitall", post_it, waitall_call, send_it},
    {"Waitany", post_it, waitany_call, send_it},
    {"Waitsome", post_it, waitsome_call, send_it},
    {"Probe", nothing, probe_call, send_it},
    {"(Recv)", nothing, recv_call, nothing},
    {"Mprobe", nothing, mprobe_call, send_it},
    {"(Mrecv)", nothing, mrecv_call, nothing},
    {"Barrier", nothing, barrier_call, barrier_call},
    {"Bcast", nothing, bcast_call, bcast_call},
    {"Reduce", nothing, reduce_call, reduce_call},
    {"Allreduce", nothing, allreduce_call, allreduce_call},
    {"Gather", nothing, gather_call, gather_call},
    {"Gatherv", nothing, gatherv_call, gatherv_call},
    {"Scatter", nothing, scatter_call, scatter_call},
    {"Scatterv", nothing, scatterv_call, scatterv_call},
    {"Allgather", nothing, allgather_call, allgather_call},
    {"Allgatherv", nothing, allgatherv_call, allgatherv_call},
    {"Alltoall", nothing, alltoall_call, alltoall_call},
    {"Alltoallv", nothing, alltoallv_call, alltoallv_call},
    {"Alltoallw", nothing, alltoallw_call, alltoallw_call},
    {"Scan", nothing, scan_call, scan_call},
    {"Exscan", nothing, exscan_call, exscan_call},
    {"Reduce_scatter", nothing, reduce_scatter_call, reduce_scatter_call},
    {"Reduce_scatter_block", nothing, reduce_scatter_block_call,
     reduce_scatter_block_call},
};

/* Rank 1 is late by the clock, so that other load only makes it later. */
static void late(call_fn *call)
{
    double until = seconds(CLOCK_MONOTONIC) + LATE_S;
    struct timespec left;

    do {
        left.tv_sec = 0;
        left.tv_nsec = 1000000;
        nanosleep(&left, NULL);
    } while (seconds(CLOCK_MONOTONIC) < until);
    call();
}

static void judge(const char *name, call_fn *call)
{
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);

    call();
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    if (name[0] != '(')
        say("%s %s", name, cpu < LATE_S / 2 ? "sleeps" : "spins");
    if (wall < LATE_S / 2 && name[0] != '(')
        say("%s did not wait", name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(world, 0, -rank, &reversed);
    peer = 1 - rank;
    types[0] = types[1] = MPI_INT;
    say_open("", rank);
    data = calloc(LONG_COUNT, sizeof *data);
    got = calloc(LONG_COUNT, sizeof *got);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (rank == 0)
            calls[i].before();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            judge(calls[i].name, calls[i].call);
        else if (calls[i].name[0] == '(')
            calls[i].other();
        else
            late(calls[i].other);
    }
    free(data);
    free(got);
    MPI_Comm_free(&world);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
