/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Errors of every wrapped call: the class that comes back, and how often the error
 * handler of which communicator was called with which class.  Two ranks.
 */
#include "say.h"

static int rank, peer;
static MPI_Comm world, other; /* two duplicates, each with a handler of its own */
static int calls[3], classes[3];

static void note(int which, int code)
{
    calls[which]++;
    classes[which] = error_class(code);
}

static void on_any(MPI_Comm *comm, int *code, ...)
{
    note(*comm == world ? 0 : *comm == other ? 1 : 2, *code);
}

static void result(const char *what, int code)
{
    say("%s: class %d, handlers called %d %d %d, with classes %d %d %d", what,
        error_class(code), calls[0], calls[1], calls[2], classes[0], classes[1],
        classes[2]);
    memset(calls, 0, sizeof calls);
    memset(classes, 0, sizeof classes);
}

static void bad_messages(void)
{
    int value = 0;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;

    result("Send count", MPI_Send(&value, -1, MPI_INT, peer, 0, world));
    result("Send type", MPI_Send(&value, 1, MPI_DATATYPE_NULL, peer, 0, other));
    result("Send rank", MPI_Send(&value, 1, MPI_INT, 99, 0, world));
    result("Send tag", MPI_Send(&value, 1, MPI_INT, peer, -5, other));
    result("Send comm", MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_NULL));
    result("Ssend rank", MPI_Ssend(&value, 1, MPI_INT, 99, 0, world));
    result("Rsend rank", MPI_Rsend(&value, 1, MPI_INT, 99, 0, other));
    result("Recv count", MPI_Recv(&value, -1, MPI_INT, peer, 0, other, &status));
    result("Recv rank", MPI_Recv(&value, 1, MPI_INT, 99, 0, world, &status));
    result("Recv comm", MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &status));
    result("Probe rank", MPI_Probe(99, 0, other, &status));
    result("Mprobe rank", MPI_Mprobe(99, 0, other, &message, &status));
    result("Sendrecv dest", MPI_Sendrecv(&value, 1, MPI_INT, 99, 0, &value, 1, MPI_INT,
                                         peer, 0, world, &status));
    result("Sendrecv source", MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, &value, 1,
                                           MPI_INT, 99, 0, other, &status));
    result("Sendrecv comm", MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, &value, 1,
                                         MPI_INT, peer, 0, MPI_COMM_NULL, &status));
    result("Sendrecv_replace count",
           MPI_Sendrecv_replace(&value, -1, MPI_INT, peer, 0, peer, 0, world, &status));
    result("Sendrecv_replace dest",
           MPI_Sendrecv_replace(&value, 1, MPI_INT, 99, 0, peer, 0, other, &status));
    result("Sendrecv_replace comm",
           MPI_Sendrecv_replace(&value, 1, MPI_INT, peer, 0, peer, 0, MPI_COMM_NULL,
                                &status));
}

/* Nothing of the failed exchanges may be left over. */
static void still_clean(void)
{
    MPI_Status status;
    int out = 40 + rank, in = 0;

    MPI_Sendrecv(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, world, &status);
    result("Sendrecv", MPI_SUCCESS);
    say("got %d", in);
}

/* The peer sends two integers where there is room for one. */
static void send_two(MPI_Comm comm)
{
    int two[2] = {1, 2};

    MPI_Send(two, 2, MPI_INT, peer, 0, comm);
}

static void truncated_receives(void)
{
    int value = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;

    say_soil(&status);
    result("Recv", MPI_Recv(&value, 1, MPI_INT, peer, 0, world, &status));
    say("source %d tag %d", status.MPI_SOURCE, status.MPI_TAG);
    MPI_Mprobe(peer, 0, other, &message, MPI_STATUS_IGNORE);
    result("Mrecv", MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    MPI_Irecv(&value, 1, MPI_INT, peer, 0, other, &request);
    result("Wait", MPI_Wait(&request, &status));
    say("request is null: %d", request == MPI_REQUEST_NULL);
}

static void truncated(void)
{
    int two[2] = {3, 4}, one = 0;
    MPI_Status status;

    if (rank == 0) {
        send_two(world);
        send_two(other);
        send_two(other);
        MPI_Sendrecv(two, 2, MPI_INT, peer, 0, two, 2, MPI_INT, peer, 0, world,
                     &status);
        send_two(other);
        MPI_Recv(&one, 1, MPI_INT, peer, 0, other, &status);
        return;
    }
    truncated_receives();
    result("Sendrecv", MPI_Sendrecv(two, 2, MPI_INT, peer, 0, &one, 1, MPI_INT, peer, 0,
                                    world, &status));
    result("Sendrecv_replace",
           MPI_Sendrecv_replace(&one, 1, MPI_INT, peer, 0, peer, 0, other, &status));
}

/* One of two receives fails: MPI_ERR_IN_STATUS, and each status has its own class. */
static void in_status(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int values[2], index = -1, done = -1, indices[2], rc;

    for (int round = 0; round < 3; round++) {
        if (rank == 0) {
            MPI_Barrier(world);
            MPI_Send(values, 1, MPI_INT, peer, 0, other);
            MPI_Send(values, 2, MPI_INT, peer, 1, other);
            continue;
        }
        MPI_Irecv(&values[0], 1, MPI_INT, peer, 0, other, &requests[0]);
        MPI_Irecv(&values[1], 1, MPI_INT, peer, 1, other, &requests[1]);
        MPI_Barrier(world);
        say_soil(&statuses[0]);
        say_soil(&statuses[1]);
        if (round == 0) {
            result("Waitall", MPI_Waitall(2, requests, statuses));
            say("errors %d %d", error_class(statuses[0].MPI_ERROR),
                error_class(statuses[1].MPI_ERROR));
        } else if (round == 1) {
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            result("Waitany", MPI_Waitany(2, requests, &index, &statuses[0]));
            say("index %d", index);
        } else {
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            rc = MPI_Waitsome(2, requests, &done, indices, statuses);
            result("Waitsome", rc);
            say("done %d index %d error %d", done, indices[0],
                error_class(statuses[0].MPI_ERROR));
        }
        say("null: %d %d", requests[0] == MPI_REQUEST_NULL,
            requests[1] == MPI_REQUEST_NULL);
    }
}

static void bad_waits(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int index = 0;

    result("Waitall count", MPI_Waitall(-1, &request, &status));
    result("Waitany count", MPI_Waitany(-1, &request, &index, &status));
    result("Waitsome count", MPI_Waitsome(-1, &request, &index, &index, &status));
}

static void add_nothing(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

static void bad_collectives(MPI_Comm comm)
{
    int a[4] = {0}, b[4] = {0}, counts[2] = {1, 1}, minus[2] = {-1, -1}, at[2] = {0, 1};
    MPI_Datatype none[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Op op; /* MPICH 5.0 fails an assertion for a predefined one without a type */

    MPI_Op_create(add_nothing, 1, &op);
    result("Barrier", MPI_Barrier(MPI_COMM_NULL));
    result("Bcast root", MPI_Bcast(a, 1, MPI_INT, 99, comm));
    result("Bcast comm", MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_NULL));
    result("Reduce op", MPI_Reduce(a, b, 1, MPI_INT, MPI_OP_NULL, 0, comm));
    result("Reduce op and type", MPI_Reduce(a, b, 1, MPI_DOUBLE, MPI_BAND, 0, comm));
    result("Allreduce type", MPI_Allreduce(a, b, 1, MPI_DATATYPE_NULL, op, comm));
    result("Allreduce op", MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    result("Gather root", MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, -9, comm));
    result("Gatherv root",
           MPI_Gatherv(a, 1, MPI_INT, b, counts, at, MPI_INT, 99, comm));
    result("Scatter count", MPI_Scatter(a, -1, MPI_INT, b, -1, MPI_INT, 0, comm));
    result("Scatterv root",
           MPI_Scatterv(a, counts, at, MPI_INT, b, 1, MPI_INT, 99, comm));
    result("Allgather type",
           MPI_Allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_DATATYPE_NULL, comm));
    result("Allgatherv count",
           MPI_Allgatherv(a, -1, MPI_INT, b, minus, at, MPI_INT, comm));
    result("Alltoall count", MPI_Alltoall(a, -1, MPI_INT, b, -1, MPI_INT, comm));
    result("Alltoallv count",
           MPI_Alltoallv(a, minus, at, MPI_INT, b, minus, at, MPI_INT, comm));
    result("Alltoallw type",
           MPI_Alltoallw(a, counts, at, none, b, counts, at, none, comm));
    result("Scan op", MPI_Scan(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    result("Exscan type", MPI_Exscan(a, b, 1, MPI_DATATYPE_NULL, op, comm));
    result("Reduce_scatter count",
           MPI_Reduce_scatter(a, b, minus, MPI_INT, MPI_SUM, comm));
    result("Reduce_scatter_block op",
           MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    say_open("", rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_errhandler(on_any, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_set_errhandler(world, handler);
    MPI_Comm_set_errhandler(other, handler);
    bad_messages();
    still_clean();
    truncated();
    in_status();
    bad_waits();
    bad_collectives(other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    truncated();
    MPI_Barrier(world);
    MPI_Comm_free(&world);
    MPI_Comm_free(&other);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
