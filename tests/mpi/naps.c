/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Does a call really sleep when it waits?  In every call rank 1 comes late, and rank 0
 * says whether it slept meanwhile: "sleeps" or "spins".  Calls that wait for nobody on
 * rank 0 (a root's Bcast) are turned round.  On a busy machine it may be rank 0 that
 * comes late: then the call is done again.
 *
 * With the argument "everywhere" rank 0 says of these calls, and of more that wait in
 * the MPI, "NAME WALL CPU": the milliseconds that it waited, less those in which it
 * wanted a CPU and had none, and the CPU time of its thread in them.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include "late.h"
#include "say.h"
#include "slept.h"

#define LATE_S     0.05
#define TRIES      10
#define WAITS      3       /* that are added up for the times of a call */
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
    if (rank == 0)
        MPI_Irecv(got, 1, MPI_INT, peer, 0, world, &request);
}

static void nothing(void)
{
}

static void recv_probed(void)
{
    if (rank == 0)
        MPI_Recv(two, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE);
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

static void mrecv_probed(void)
{
    if (rank == 0)
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

static MPI_Win window;
static MPI_File file;
static char file_name[4096];
static MPI_Comm graph;

/* The second one ends the epoch, so that other kinds may follow. */
static void fence_call(void)
{
    MPI_Win_fence(0, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

/* This rank's memory is open to the peer, who has finished when it returns. */
static void expose_call(void)
{
    MPI_Group all, other;

    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    MPI_Win_post(other, 0, window);
    MPI_Win_wait(window);
    MPI_Group_free(&all);
    MPI_Group_free(&other);
}

static void access_call(void)
{
    MPI_Group all, other;

    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    MPI_Win_start(other, 0, window);
    MPI_Put(one, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Group_free(&all);
    MPI_Group_free(&other);
}

static void hold_lock(void)
{
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
}

static void release_lock(void)
{
    MPI_Win_unlock(1, window);
}

static void lock_call(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Put(one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_unlock(1, window);
}

static void open_call(void)
{
    MPI_File_open(world, file_name,
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
}

static void close_call(void)
{
    MPI_File_close(&file);
}

static void write_all_call(void)
{
    MPI_File_write_at_all(file, rank, one, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void set_size_call(void)
{
    MPI_File_set_size(file, 64);
}

static void window_call(void)
{
    MPI_Win win;

    MPI_Win_create(two, sizeof two, sizeof two[0], MPI_INFO_NULL, world, &win);
    MPI_Win_free(&win);
}

static void dup_call(void)
{
    MPI_Comm copy;

    MPI_Comm_dup(world, &copy);
    MPI_Comm_free(&copy);
}

static void split_call(void)
{
    MPI_Comm part;

    MPI_Comm_split(world, rank, 0, &part);
    MPI_Comm_free(&part);
}

static void ibarrier_call(void)
{
    MPI_Request barrier;

    MPI_Ibarrier(world, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
}

static void neighbor_call(void)
{
    MPI_Neighbor_allgather(one, 1, MPI_INT, two, 1, MPI_INT, graph);
}

#if MPI_VERSION >= 4
static void recv_c_call(void)
{
    MPI_Recv_c(two, 1, MPI_INT, peer, 0, world, MPI_STATUS_IGNORE);
}

static void ssend_c_call(void)
{
    MPI_Ssend_c(data, 1, MPI_INT, peer, 0, world);
}

static void bcast_c_call(void)
{
    MPI_Bcast_c(one, 1, MPI_INT, 1, world);
}

static void allreduce_c_call(void)
{
    MPI_Allreduce_c(one, two, 1, MPI_INT, MPI_SUM, world);
}

static void alltoall_c_call(void)
{
    MPI_Alltoall_c(one, 1, MPI_INT, two, 1, MPI_INT, world);
}
#endif

/* What both ranks do before, the call on rank 0, and on rank 1, what both do after. */
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
    {"Probe", nothing, probe_call, send_it, recv_probed},
    {"Mprobe", nothing, mprobe_call, send_it, mrecv_probed},
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

/* Calls that were never made nonblocking ones.  An MPI need not wait in all of them. */
static const call_t more_calls[] = {
    {"Win_fence", nothing, fence_call, fence_call, nothing},
    {"Win_wait", nothing, expose_call, access_call, nothing},
    {"Win_complete", nothing, access_call, expose_call, nothing},
    {"Win_lock", hold_lock, lock_call, release_lock, nothing},
    {"Win_create", nothing, window_call, window_call, nothing},
    {"File_open", nothing, open_call, open_call, close_call},
    {"File_write_at_all", open_call, write_all_call, write_all_call, close_call},
    {"File_set_size", open_call, set_size_call, set_size_call, close_call},
    {"File_close", open_call, close_call, close_call, nothing},
    {"Comm_dup", nothing, dup_call, dup_call, nothing},
    {"Comm_split", nothing, split_call, split_call, nothing},
    {"Wait for Ibarrier", nothing, ibarrier_call, ibarrier_call, nothing},
    {"Neighbor_allgather", nothing, neighbor_call, neighbor_call, nothing},
#if MPI_VERSION >= 4
    {"Recv_c", nothing, recv_c_call, send_it, nothing},
    {"Ssend_c", nothing, ssend_c_call, receive_it, nothing},
    {"Bcast_c", nothing, bcast_c_call, bcast_c_call, nothing},
    {"Allreduce_c", nothing, allreduce_c_call, allreduce_c_call, nothing},
    {"Alltoall_c", nothing, alltoall_c_call, alltoall_c_call, nothing},
#endif
};

static void late(call_fn *call)
{
    be_late(LATE_S);
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
static int try(const call_t *call, int (*judgement)(const call_t *call))
{
    int result = DID_NOT_WAIT;

    call->before();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        result = judgement(call);
    else
        late(call->other);
    call->after();
    MPI_Bcast(&result, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return result;
}

static void say_call(const call_t *call)
{
    static const char *const words[] = {"did not wait", "spins", "sleeps"};
    int result = DID_NOT_WAIT;

    for (int i = 0; i < TRIES && result != SLEEPS; i++)
        result = try(call, judge);
    say("%s %s", call->name, words[result]);
}

/* Seconds of this thread; of a call, of all waits in it so far. */
typedef struct {
    double wall, cpu;
} times_t;

static times_t waited;

/* Seconds that this thread has been able to run and was not let: polling ranks share
 * the CPU of a busy machine without being asleep.  0 in a kernel that does not say. */
static double wanted_cpu(void)
{
    FILE *stat = fopen("/proc/thread-self/schedstat", "r");
    uint64_t ran, delayed = 0;

    if (!stat)
        return 0.0;
    if (fscanf(stat, "%" SCNu64 "%" SCNu64, &ran, &delayed) != 2)
        delayed = 0;
    fclose(stat);
    return (double)delayed * 1e-9;
}

static times_t thread_times(void)
{
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (times_t){.wall = now_s() - wanted_cpu(),
                     .cpu = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9};
}

static int add_times(const call_t *call)
{
    double wall = now_s();
    times_t before = thread_times(), after;

    call->call();
    after = thread_times();
    if (now_s() - wall < LATE_S / 2)
        return 0;
    waited.wall += after.wall - before.wall;
    waited.cpu += after.cpu - before.cpu;
    return 1;
}

static void say_times(const call_t *call)
{
    int waits = 0;

    waited = (times_t){0};
    for (int i = 0; i < TRIES && waits < WAITS; i++)
        waits += try(call, add_times);
    if (rank == 0)
        say("%s %.1f %.1f", call->name, waited.wall * 1e3, waited.cpu * 1e3);
}

static void for_each(const call_t *table, size_t size, void (*fn)(const call_t *call))
{
    for (size_t i = 0; i < size; i++)
        fn(&table[i]);
}

static void everywhere(void)
{
    const char *prefix = getenv("HPCB_TEST_OUT");
    const int dims[] = {2}, periodic[] = {0};
    int shared[2] = {0};

    /* Not the name of a rank's output. */
    snprintf(file_name, sizeof file_name, "%s-file", prefix ? prefix : "out");
    MPI_Win_create(shared, sizeof shared, sizeof shared[0], MPI_INFO_NULL, world,
                   &window);
    MPI_Cart_create(world, 1, dims, periodic, 0, &graph);
    for_each(calls, sizeof calls / sizeof calls[0], say_times);
    for_each(more_calls, sizeof more_calls / sizeof more_calls[0], say_times);
    MPI_Comm_free(&graph);
    MPI_Win_free(&window);
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
    if (argc > 1 && strcmp(argv[1], "everywhere") == 0)
        everywhere();
    else
        for_each(calls, sizeof calls / sizeof calls[0], say_call);
    free(data);
    free(got);
    MPI_Comm_free(&world);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
