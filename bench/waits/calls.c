/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How long single calls between two ranks take if nobody is late, in turns (turns.h),
 * as bench/waits measures it.
 *
 *   waits_calls DIRECTORY [CPU0 CPU1]
 *
 * DIRECTORY holds the pipes, CPUr is what rank r is bound to.  A turn is
 *
 *   CALL BYTES ROUNDS WARM
 *
 * CALL   pingpong (a round trip), or the name of a collective (calls[] below)
 * BYTES  of a message; of the vector that each rank contributes to a reduction; of what
 *        each rank sends to each other one in the other collectives
 * ROUNDS how often; WARM rounds before them are not measured
 *
 * Collectives of at least 64 KiB are timed one by one with a barrier between them, so
 * that no rank runs ahead; shorter calls follow each other, since the clock and a
 * barrier would take as long as they do.  Each rank answers with us (microseconds of a
 * round in the mean), wall and delay (s, on the run queue) of the whole turn.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>
#include "../turns.h"

#define RANKS     2
#define APART     65536 /* bytes from which calls are timed one by one */
#define BYTES_MAX (64 << 20)

typedef void call_fn(int rank);

typedef struct {
    char name[24];
    int bytes;
    long rounds, warm;
} turn_t;

/* Of the present turn. */
static char *out, *in;
static int bytes;

static void pingpong(int rank)
{
    if (rank == 0)
        MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static int doubles(void)
{
    return bytes / (int)sizeof(double);
}

static void bcast(int rank)
{
    (void)rank;
    MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void reduce(int rank)
{
    (void)rank;
    MPI_Reduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int rank)
{
    (void)rank;
    MPI_Allreduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int rank)
{
    (void)rank;
    MPI_Gather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void scatter(int rank)
{
    (void)rank;
    MPI_Scatter(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void allgather(int rank)
{
    (void)rank;
    MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoall(int rank)
{
    (void)rank;
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void reduce_scatter(int rank)
{
    int counts[RANKS] = {doubles() / RANKS, doubles() - doubles() / RANKS};

    (void)rank;
    MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    call_fn *call;
} calls[] = {
    {"pingpong", pingpong},
    {"bcast", bcast},
    {"reduce", reduce},
    {"allreduce", allreduce},
    {"gather", gather},
    {"scatter", scatter},
    {"allgather", allgather},
    {"alltoall", alltoall},
    {"reduce_scatter", reduce_scatter},
};

static call_fn *call_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (!strcmp(calls[i].name, name))
            return calls[i].call;
    }
    return NULL;
}

/* Seconds of so many rounds. */
static double rounds(call_fn *call, long count, int rank)
{
    double took = 0.0, start;

    if (bytes >= APART && call != pingpong) {
        for (long i = 0; i < count; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            start = turns_seconds(CLOCK_MONOTONIC);
            call(rank);
            took += turns_seconds(CLOCK_MONOTONIC) - start;
        }
        return took;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = turns_seconds(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++)
        call(rank);
    return turns_seconds(CLOCK_MONOTONIC) - start;
}

/* Room for what all ranks send to one; its pages are there before the clock runs. */
static bool buffers(int wanted)
{
    size_t room = RANKS * (size_t)wanted + sizeof(double);

    free(out);
    free(in);
    out = malloc(room);
    in = malloc(room);
    if (!out || !in)
        return false;
    memset(out, 0, room);
    memset(in, 0, room);
    bytes = wanted;
    return true;
}

static void run(const turns_t *turns, const turn_t *turn, int rank)
{
    call_fn *call = call_of(turn->name);
    double wall, delay, took;

    rounds(call, turn->warm, rank);
    delay = turns_run_delay();
    wall = turns_seconds(CLOCK_MONOTONIC);
    took = rounds(call, turn->rounds, rank);
    wall = turns_seconds(CLOCK_MONOTONIC) - wall;
    delay = turns_run_delay() - delay;
    fprintf(turns->out, "{\"us\": %.5f, \"wall\": %.7f, \"delay\": %.7f}\n",
            took / (double)turn->rounds * 1e6, wall, delay);
    fflush(turns->out);
}

/* Whether line is a turn that run() can make. */
static bool parse(const char *line, turn_t *turn)
{
    return sscanf(line, "%23s %d %ld %ld", turn->name, &turn->bytes, &turn->rounds,
                  &turn->warm) == 4 &&
           call_of(turn->name) && turn->bytes > 0 && turn->bytes <= BYTES_MAX &&
           turn->rounds > 0;
}

int main(int argc, char **argv)
{
    char line[TURNS_LINE];
    turns_t turns = {0};
    turn_t turn;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((argc != 2 && argc != 4) || size != RANKS ||
        turns_begin(&turns, argv[1], rank, argc == 4 ? atoi(argv[2 + rank]) : -1)) {
        fputs("usage: 2 ranks of waits_calls DIRECTORY [CPU0 CPU1]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    while (turns_next(&turns, line)) {
        if (!parse(line, &turn) || (turn.bytes != bytes && !buffers(turn.bytes))) {
            fprintf(stderr, "waits_calls: cannot take this turn: %s", line);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        run(&turns, &turn, rank);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
