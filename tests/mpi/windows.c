/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* One-sided communication in all its kinds of synchronization, with late ranks. */
#include "late.h"
#include "say.h"

#define COUNT  8
#define ROUNDS 12
#define LATE_S 0.02

static int rank, size, next, last;
static int *memory;
static MPI_Win window;

static void fences(void)
{
    int out[COUNT];

    for (int i = 0; i < COUNT; i++)
        out[i] = 10 * rank + i;
    for (int turn = 0; turn < size; turn++) {
        MPI_Win_fence(0, window);
        if (turn == rank)
            be_late(LATE_S);
        MPI_Put(out, COUNT, MPI_INT, next, 0, COUNT, MPI_INT, window);
        MPI_Win_fence(0, window);
        say_ints("fence", memory, COUNT);
        out[0]++;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

/* Post, start, complete and wait: every rank writes to the next one. */
static void epochs(void)
{
    MPI_Group all, to, from;

    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &last, &from);
    for (int turn = 0; turn < size; turn++) {
        int value = 100 * turn + rank;

        if (turn == rank)
            be_late(LATE_S);
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(&value, 1, MPI_INT, next, turn, 1, MPI_INT, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        say("epoch %d: %d", turn, memory[turn]);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* All ranks increment what rank 0 has: under an exclusive lock, and atomically. */
static void locks(void)
{
    int value, one = 1, before;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        value++;
        if (i == rank)
            be_late(LATE_S);
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 1, MPI_SUM, window);
        MPI_Accumulate(&rank, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_flush_local_all(window);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    say("under locks: %d", value);
    if (rank == 0)
        say_ints("atomically", memory + 1, 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    say_open("", rank);
    MPI_Win_allocate(COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, COUNT * sizeof *memory);
    fences();
    epochs();
    MPI_Win_fence(0, window);
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Barrier(MPI_COMM_WORLD);
    locks();
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
