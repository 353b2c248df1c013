/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Does a call really sleep when it waits?  In every call rank 1 comes late, and rank 0
 * says whether it slept meanwhile: "sleeps" or "spins".  Calls that wait for nobody on
 * rank 0 (a root's Bcast) are turned round.  On a busy machine it may be rank 0 that
 * comes late: then the call is done again.
 */
#define _GNU_SOURCE
#include <time.h>
#include "say.h"
#include "slept.h"

#define LATE_S     0.05
#define TRIES      10
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

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
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

/* What rank 0 does before, the call on rank 0, and on rank 1, what rank 0 does after.
 */
typedef struct {
    const char *name;
    call_fn *before, *call, *other, *after;
} call_t;

static const call_t calls[] = {
    {"Recv", nothing, recv_call, send_it, nothing},
    {"Send", nothing, send_call, receive_it, nothing},
    {"Ssend", nothing, ssend_call, receive_it, nothing},
    {"Sendrecv", nothing, sendrecv_call, sendrecv_call, nothing},
    {"Sendrecv_replace", nothing, sendrecv_replace_call, sendrecv_replace_call,
     nothing},
    {"Wait", post_it, wait_call, send_it, nothing},
    {"Waitall", post_it, waitall_call, send_it, nothing},
    {"Waitany", post_it, waitany_call, send_it, nothing},
    {"Waitsome", post_it, waitsome_call, send_it, nothing},
    {"Probe", nothing, probe_call, send_it, recv_call},
    {"Mprobe", nothing, mprobe_call, send_it, mrecv_call},
    {"Barrier", nothing, barrier_call, barrier_call, nothing},
    {"Bcast", nothing, bcast_call, bcast_call, nothing},
    {"Reduce", nothing, reduce_call, reduce_call, nothing},
    {"Allreduce", nothing, allreduce_call, allreduce_call, nothing},
    {"Gather", nothing, gather_call, gather_call, nothing},
    {"Gatherv", nothing, gatherv_call, gatherv_call, nothing},
    {"Scatter", nothing, scatter_call, scatter_call, nothing},
    {"Scatterv", nothing, scatterv_call, scatterv_call, nothing},
    {"Allgather", nothing, allgather_call, allgather_call, nothing},
    {"Allgatherv", nothing, allgatherv_call, allgatherv_call, nothing},
    {"Alltoall", nothing, alltoall_call, alltoall_call, nothing},
    {"Alltoallv", nothing, alltoallv_call, alltoallv_call, nothing},
    {"Alltoallw", nothing, alltoallw_call, alltoallw_call, nothing},
    {"Scan", nothing, scan_call, scan_call, nothing},
    {"Exscan", nothing, exscan_call, exscan_call, nothing},
    {"Reduce_scatter", nothing, reduce_scatter_call, reduce_scatter_call, nothing},
    {"Reduce_scatter_block", nothing, reduce_scatter_block_call,
     reduce_scatter_block_call, nothing},
};

/* Rank 1 is late by the clock, so that other load only makes it later. */
static void late(call_fn *call)
{
    double until = now_s() + LATE_S;
    struct timespec left;

    do {
        left.tv_sec = 0;
        left.tv_nsec = 1000000;
        nanosleep(&left, NULL);
    } while (now_s() < until);
    call();
}

enum result { DID_NOT_WAIT, SPINS, SLEEPS };

static int judge(const call_t *call)
{
    double wall = now_s();
    struct rusage before = slept_begin();
    int slept;

    call->call();
    slept = slept_since(&before);
    return now_s() - wall < LATE_S / 2 ? DID_NOT_WAIT : slept ? SLEEPS : SPINS;
}

/* Rank 0's judgement on both ranks, which go on alike. */
static int try(const call_t *call)
{
    int result = DID_NOT_WAIT;

    if (rank == 0)
        call->before();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        result = judge(call);
        call->after();
    } else {
        late(call->other);
    }
    MPI_Bcast(&result, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return result;
}

static void say_call(const call_t *call)
{
    static const char *const words[] = {"did not wait", "spins", "sleeps"};
    int result = DID_NOT_WAIT;

    for (int i = 0; i < TRIES && result != SLEEPS; i++)
        result = try(call);
    say("%s %s", call->name, words[result]);
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
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        say_call(&calls[i]);
    free(data);
    free(got);
    MPI_Comm_free(&world);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
