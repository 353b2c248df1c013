/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * More messages than an MPI has buffers for, at a receiver that is late for the first
 * one and then stops again and again: all must come, in order, and the run must end.
 * Open MPI once hung in such a flood if sends did not ask for a word when they were
 * done (its issue 3845), which is how it sends with the library.
 */
#include <mpi.h>
#include "late.h"
#include "say.h"

#define MESSAGES 5000
#define LATE_S   0.1
#define PART     500 /* messages between two stops of the receiver */
#define STOP_S   0.005

#define SHORT  512
#define EAGER  4000
#define LONG   9000 /* by rendezvous in Open MPI */
#define LONGER 70000

typedef struct {
    const char *name;
    int sizes[6]; /* in turns; 0: no more */
} flood_t;

static const flood_t floods[] = {
    {"short", {SHORT}},
    {"eager", {EAGER}},
    {"mixed", {SHORT, 8, LONG, 256, EAGER, LONGER}},
};

static int rank, peer;
static char *out[MESSAGES], in[LONGER];
static MPI_Request requests[MESSAGES];

static int size_of(const flood_t *flood, int message)
{
    int kinds = 0;

    while (kinds < 6 && flood->sizes[kinds] > 0)
        kinds++;
    return flood->sizes[message % kinds];
}

static void fill(const flood_t *flood)
{
    for (int i = 0; i < MESSAGES; i++) {
        size_t size = (size_t)size_of(flood, i);

        out[i] = malloc(size);
        if (!out[i])
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(out[i], i % 251, size);
    }
}

static void post_all(const flood_t *flood)
{
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(out[i], size_of(flood, i), MPI_CHAR, peer, 0, MPI_COMM_WORLD,
                  &requests[i]);
}

static void send_all(const flood_t *flood)
{
    for (int i = 0; i < MESSAGES; i++)
        MPI_Send(out[i], size_of(flood, i), MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

static int is_right(const flood_t *flood, int message)
{
    int size = size_of(flood, message), got;
    MPI_Status status;

    MPI_Recv(in, LONGER, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &got);
    for (int i = 0; i < size; i++)
        if (in[i] != (char)(message % 251))
            return 0;
    return got == size;
}

static void receive_all(const flood_t *flood, const char *how)
{
    int wrong = 0;

    be_late(LATE_S);
    for (int i = 0; i < MESSAGES; i++) {
        wrong += !is_right(flood, i);
        if (i % PART == 0)
            be_late(STOP_S);
    }
    say("%s, %s: %d wrong", flood->name, how, wrong);
}

static void finish_all(void)
{
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void run(const flood_t *flood)
{
    fill(flood);
    if (rank == 0) {
        post_all(flood);
        finish_all();
        send_all(flood);
    } else {
        receive_all(flood, "posted");
        receive_all(flood, "one by one");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each rank receives only when it has sent all that it can. */
    post_all(flood);
    receive_all(flood, "both ways");
    finish_all();
    for (int i = 0; i < MESSAGES; i++)
        free(out[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++)
        run(&floods[i]);
    MPI_Finalize();
    return 0;
}
