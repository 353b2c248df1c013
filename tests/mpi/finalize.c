/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MPI calls from the callbacks that MPI_Finalize makes for attributes of MPI_COMM_SELF.
 * What other ranks do at that time is the same, or in a part of the rounds a blocking
 * call before their own MPI_Finalize.
 */
#include "late.h"
#include "say.h"

#define LATE_S 0.03

static int rank, size;

static void talk(const char *what, MPI_Comm comm)
{
    int sum = 0, in = -1, next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Comm copy;

    if (rank == size - 1)
        be_late(LATE_S);
    MPI_Barrier(comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Irecv(&in, 1, MPI_INT, last, 0, comm, &request);
    MPI_Ssend(&rank, 1, MPI_INT, next, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup(comm, &copy);
    MPI_Bcast(&sum, 1, MPI_INT, size - 1, copy);
    MPI_Comm_free(&copy);
    say("%s: sum %d, got %d", what, sum, in);
}

/* Rank 0 waits for the others here, who have not called MPI_Finalize yet. */
static int on_first(MPI_Comm comm, int key, void *value, void *extra)
{
    int word = 0;

    (void)comm, (void)key, (void)extra;
    if (rank == 0)
        for (int i = 1; i < size; i++) {
            MPI_Recv(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            say("first callback: got %d", word);
        }
    say("first callback: attribute %d", *(int *)value);
    return MPI_SUCCESS;
}

static int on_second(MPI_Comm comm, int key, void *value, void *extra)
{
    int finalized = -1;

    (void)comm, (void)key, (void)extra;
    MPI_Finalized(&finalized);
    say("second callback: attribute %d, finalized %d", *(int *)value, finalized);
    talk("second callback", MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

/* Some ranks are in a callback of theirs while the others have yet to finalize. */
static int on_third(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    if (rank % 2)
        talk("third callback", MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

/* Callbacks come in the reverse order of the attributes. */
static void attach(MPI_Comm_delete_attr_function *function, int *value)
{
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, value);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    static int values[] = {11, 12, 13};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say_open("", rank);
    attach(on_second, &values[1]);
    attach(on_first, &values[0]);
    attach(on_third, &values[2]);
    if (rank % 2 == 0)
        talk("before MPI_Finalize", MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    say("end");
    return 0;
}
