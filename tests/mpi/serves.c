/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A rank that waits serves others all the same: rank 0 waits while rank 1 reads from
 * its memory, counts in it, reduces long vectors with it and sends it long messages.
 * With the argument "times" it also says how many seconds each part took.  Each line
 * says which of the two waits it was.
 */
#include "late.h"
#include "say.h"

#define REDUCTIONS 20
#define MESSAGES   4
#define LENGTH     131072 /* doubles: 1 MiB, beyond every eager limit */
#define LIMIT_S    20.0 /* a guard against hangs, far above what a busy machine needs */

static int rank;
static int times = 300; /* few: ranks that poll on a busy machine take long for one */
static MPI_Comm world;
static double *data, *got;
static const char *const waits[] = {"a receive", "a barrier"};

/* Rank 0 waits for rank 1 in turns by a receive and by a barrier. */
static void wait_or_end(int turn)
{
    int word = 1;

    if (turn % 2)
        MPI_Barrier(world);
    else if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
    else
        MPI_Send(&word, 1, MPI_INT, 0, 0, world);
}

static void get(int turn)
{
    int right = 0;
    double value;
    MPI_Win window;

    MPI_Win_create(data, (MPI_Aint)(LENGTH * sizeof *data), sizeof *data, MPI_INFO_NULL,
                   world, &window);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        for (int i = 0; i < times; i++) {
            MPI_Get(&value, 1, MPI_DOUBLE, 0, i, 1, MPI_DOUBLE, window);
            MPI_Win_flush(0, window);
            right += value == i;
        }
        MPI_Get(got, LENGTH, MPI_DOUBLE, 0, 0, LENGTH, MPI_DOUBLE, window);
        MPI_Win_unlock(0, window);
        say("get in %s: %d right, last of the long one %.0f", waits[turn], right,
            got[LENGTH - 1]);
    }
    wait_or_end(turn);
    MPI_Win_free(&window);
}

static void fetch_and_op(int turn)
{
    long counter = 0, before, right = 0;
    const long one = 1;
    MPI_Win window;

    MPI_Win_create(&counter, sizeof counter, sizeof counter, MPI_INFO_NULL, world,
                   &window);
    if (rank == 1) {
        MPI_Win_lock_all(0, window);
        for (int i = 0; i < times; i++) {
            MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
            MPI_Win_flush(0, window);
            right += before == i;
        }
        MPI_Win_unlock_all(window);
        say("fetch and op in %s: %ld right", waits[turn], right);
    }
    wait_or_end(turn);
    MPI_Win_free(&window);
    if (rank == 0)
        say("fetch and op in %s: counted to %ld", waits[turn], counter);
}

static void reduce(int turn)
{
    int right = 0;

    for (int i = 0; i < REDUCTIONS; i++) {
        MPI_Reduce(data, got, LENGTH, MPI_DOUBLE, MPI_SUM, 0, world);
        right += rank == 0 && got[LENGTH - 1] == 2.0 * (LENGTH - 1);
    }
    wait_or_end(turn);
    say("reduce in %s: %d right", waits[turn], right);
}

/* The receives are posted, and rank 0 waits for something else. */
static void rendezvous(int turn)
{
    MPI_Request requests[MESSAGES];
    double *many = calloc((size_t)MESSAGES * LENGTH, sizeof *many);
    int right = 0;

    for (int i = 0; i < MESSAGES; i++)
        if (rank == 0)
            MPI_Irecv(many + (long)i * LENGTH, LENGTH, MPI_DOUBLE, 1, 1, world,
                      &requests[i]);
        else
            MPI_Isend(data, LENGTH, MPI_DOUBLE, 0, 1, world, &requests[i]);
    if (rank == 1)
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    wait_or_end(turn);
    if (rank == 0)
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++)
        right += many[(long)i * LENGTH + LENGTH - 1] == LENGTH - 1;
    say("rendezvous in %s: %d right", waits[turn], right);
    free(many);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*part)(int turn);
    } parts[] = {{"get", get},
                 {"fetch and op", fetch_and_op},
                 {"reduce", reduce},
                 {"rendezvous", rendezvous}};
    double began;
    int is_timed = argc > 1 && strcmp(argv[1], "times") == 0;

    if (is_timed)
        times = 5000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    say_open("", rank);
    MPI_Alloc_mem((MPI_Aint)(LENGTH * sizeof *data), MPI_INFO_NULL, &data);
    got = calloc(LENGTH, sizeof *got);
    for (int i = 0; i < LENGTH; i++)
        data[i] = i;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (int turn = 0; turn < 2; turn++) {
            began = now_s();
            parts[i].part(turn);
            if (is_timed)
                say("%s in %s took %.3f", parts[i].name, waits[turn], now_s() - began);
        }
    free(got);
    MPI_Free_mem(data);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
