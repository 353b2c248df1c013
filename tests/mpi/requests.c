/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Requests of several kinds in one MPI_Waitall, MPI_Waitany and MPI_Waitsome, and
 * collectives that get more than they have room for.  Two ranks.
 */
#include <pthread.h>
#include "late.h"
#include "say.h"

#define LATE_S 0.03

enum { RECEIVE, SEND, PERSISTENT, COLLECTIVE, GENERAL, NONE, INACTIVE, KINDS };

static int rank, peer;
static MPI_Comm world;
static int in, out, again, sum, unused;
static MPI_Request persistent, inactive;

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 21;
    status->MPI_TAG = 22;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void *complete_late(void *request)
{
    be_late(LATE_S);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

/* One active request of each kind that one can be waited for, and one of each other. */
static void begin(MPI_Request requests[KINDS])
{
    in = again = sum = -1;
    out = 10 + rank;
    MPI_Irecv(&in, 1, MPI_INT, peer, 1, world, &requests[RECEIVE]);
    MPI_Isend(&out, 1, MPI_INT, peer, 1, world, &requests[SEND]);
    MPI_Start(&persistent);
    requests[PERSISTENT] = persistent;
    MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, world, &requests[COLLECTIVE]);
    MPI_Grequest_start(query, release, cancel, NULL, &requests[GENERAL]);
    requests[NONE] = MPI_REQUEST_NULL;
    requests[INACTIVE] = inactive;
}

static void soil(MPI_Status statuses[KINDS])
{
    for (int i = 0; i < KINDS; i++)
        say_soil(&statuses[i]);
}

static void say_kind(int kind, MPI_Status *status)
{
    static const char *const names[KINDS] = {
        "receive", "send", "persistent", "collective", "general", "none", "inactive"};

    if (kind == RECEIVE || kind == PERSISTENT || kind == GENERAL)
        say_status(names[kind], status, MPI_INT);
    else
        say("%s: error %d", names[kind], status->MPI_ERROR);
}

static void say_end(const char *what, const MPI_Request requests[KINDS])
{
    for (int i = 0; i < KINDS; i++)
        say("%s: %d is null: %d", what, i, requests[i] == MPI_REQUEST_NULL);
    say("%s: got %d %d %d", what, in, again, sum);
}

/* Rank 1's share of PERSISTENT is sent, so that one receive has a late sender. */
static void feed(int late)
{
    if (late)
        be_late(LATE_S);
    MPI_Send(&rank, 1, MPI_INT, peer, 2, world);
}

static void all(void)
{
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS];

    begin(requests);
    soil(statuses);
    feed(rank == 1);
    MPI_Grequest_complete(requests[GENERAL]);
    say("Waitall %d", error_class(MPI_Waitall(KINDS, requests, statuses)));
    for (int i = 0; i < KINDS; i++)
        say_kind(i, &statuses[i]);
    say_end("Waitall", requests);
}

/* Waits for a thread of its own.  MPICH 4.0 aborts if that is one of several requests.
 */
static void completed_by_thread(void)
{
    MPI_Request request, same;
    MPI_Status status;
    pthread_t thread;

    MPI_Grequest_start(query, release, cancel, NULL, &request);
    same = request;
    pthread_create(&thread, NULL, complete_late, &same);
    say_soil(&status);
    say("Wait %d", error_class(MPI_Wait(&request, &status)));
    pthread_join(thread, NULL);
    say_status("general", &status, MPI_INT);
}

/* Which one comes first is not certain: said in the order of kinds. */
static void any(void)
{
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS], status;
    int index, done = 0;

    begin(requests);
    soil(statuses);
    feed(rank == 0);
    MPI_Grequest_complete(requests[GENERAL]);
    for (;;) {
        say_soil(&status);
        MPI_Waitany(KINDS, requests, &index, &status);
        if (index == MPI_UNDEFINED)
            break;
        statuses[index] = status;
        done++;
    }
    say("Waitany: %d done", done);
    say_status("Waitany for nothing", &status, MPI_INT);
    for (int i = 0; i <= GENERAL; i++)
        say_kind(i, &statuses[i]);
    say_end("Waitany", requests);
}

static void some(void)
{
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS], now[KINDS];
    int indices[KINDS], count, done = 0;

    begin(requests);
    soil(statuses);
    feed(rank == 1);
    MPI_Grequest_complete(requests[GENERAL]);
    for (;;) {
        soil(now);
        MPI_Waitsome(KINDS, requests, &count, indices, now);
        if (count == MPI_UNDEFINED)
            break;
        for (int i = 0; i < count; i++)
            statuses[indices[i]] = now[i];
        done += count;
    }
    say("Waitsome: %d done", done);
    for (int i = 0; i <= GENERAL; i++)
        say_kind(i, &statuses[i]);
    say_end("Waitsome", requests);
}

/* One message is too long; all have come before MPI_Waitall is called.  Open MPI 4.1
 * does not return from it. */
static void in_status(void)
{
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS];
    int two[2] = {1, 2}, word;

    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    begin(requests);
    MPI_Wait(&requests[RECEIVE], MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_INT, peer, 4, world, &requests[RECEIVE]);
    feed(0);
    MPI_Send(two, 2, MPI_INT, peer, 4, world);
    MPI_Grequest_complete(requests[GENERAL]);
    MPI_Wait(&requests[COLLECTIVE], MPI_STATUS_IGNORE);
    MPI_Sendrecv(two, 1, MPI_INT, peer, 5, &word, 1, MPI_INT, peer, 5, world,
                 MPI_STATUS_IGNORE);
    soil(statuses);
    say("Waitall: class %d", error_class(MPI_Waitall(KINDS, requests, statuses)));
    /* What the others say depends on how many of them the MPI has looked at. */
    say("the long one: class %d", error_class(statuses[RECEIVE].MPI_ERROR));
    say("it is null: %d", requests[RECEIVE] == MPI_REQUEST_NULL);
    MPI_Waitall(KINDS, requests, statuses);
}

static void of_kinds(int provided)
{
    all();
    if (provided == MPI_THREAD_MULTIPLE)
        completed_by_thread();
    any();
    some();
}

/* A communicator of its own for each, because what is left over stays in it. */
#define TRUNCATED(name, call)                                                          \
    do {                                                                               \
        MPI_Comm comm;                                                                 \
                                                                                       \
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);                                           \
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);                              \
        say("%s: class %d", name, error_class(call));                                  \
        MPI_Barrier(MPI_COMM_WORLD);                                                   \
    } while (0)

/* One rank sends four integers to one that has room for two. */
static void truncated(void)
{
    int four[8] = {1, 2, 3, 4}, two[8] = {0}, counts[2] = {2, 2}, at[2] = {0, 2};
    int few = rank == 0 ? 4 : 2;

    TRUNCATED("Bcast", MPI_Bcast(four, few, MPI_INT, 0, comm));
    TRUNCATED("Scatter", MPI_Scatter(four, 4, MPI_INT, two, few, MPI_INT, 0, comm));
    TRUNCATED("Gather",
              MPI_Gather(four, rank == 0 ? 2 : 4, MPI_INT, two, 2, MPI_INT, 0, comm));
    TRUNCATED("Gatherv", MPI_Gatherv(four, rank == 0 ? 2 : 4, MPI_INT, two, counts, at,
                                     MPI_INT, 0, comm));
    TRUNCATED("Alltoall", MPI_Alltoall(four, few, MPI_INT, two, few, MPI_INT, comm));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "kinds";
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Recv_init(&again, 1, MPI_INT, peer, 2, world, &persistent);
    MPI_Recv_init(&unused, 1, MPI_INT, peer, 3, world, &inactive);
    if (strcmp(what, "truncated") == 0)
        truncated();
    else if (strcmp(what, "status") == 0)
        in_status();
    else
        of_kinds(provided);
    MPI_Request_free(&persistent);
    MPI_Request_free(&inactive);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
