/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Every wrapped point-to-point and completion call between two ranks, with statuses. */
#include "say.h"

#define LONG_COUNT 300000 /* ints: beyond every eager limit */

static int rank, peer;
static int *data, *got;
static MPI_Comm world;

static void expect_long(const char *what)
{
    long sum = 0;

    for (int i = 0; i < LONG_COUNT; i++)
        sum += got[i];
    say("%s: sum %ld", what, sum);
    memset(got, 0, LONG_COUNT * sizeof *got);
}

/* Rank 0 sends in every mode, first short, then long messages; rank 1 receives. */
static void modes(void)
{
    static const int counts[] = {0, 5, LONG_COUNT};
    MPI_Request request;
    MPI_Status status;

    for (int i = 0; i < 3; i++) {
        if (rank == 0) {
            say("Send %d", MPI_Send(data, counts[i], MPI_INT, 1, i, world));
            say("Ssend %d", MPI_Ssend(data, counts[i], MPI_INT, 1, 100 + i, world));
            MPI_Barrier(world);
            say("Rsend %d", MPI_Rsend(data, counts[i], MPI_INT, 1, 200 + i, world));
            say("Bsend %d", MPI_Bsend(data, 5, MPI_INT, 1, 300 + i, world));
            continue;
        }
        say_soil(&status);
        say("Recv %d", MPI_Recv(got, LONG_COUNT, MPI_INT, 0, i, world, &status));
        say_status("Recv", &status, MPI_INT);
        expect_long("Recv");
        say_soil(&status);
        MPI_Recv(got, LONG_COUNT, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
        say_status("Recv from any", &status, MPI_INT);
        MPI_Irecv(got, LONG_COUNT, MPI_INT, 0, 200 + i, world, &request);
        MPI_Barrier(world);
        say_soil(&status);
        say("Wait %d", MPI_Wait(&request, &status));
        say_status("Wait", &status, MPI_INT);
        say("request is null: %d", request == MPI_REQUEST_NULL);
        MPI_Recv(got, LONG_COUNT, MPI_INT, 0, 300 + i, world, MPI_STATUS_IGNORE);
        expect_long("Bsend");
    }
}

static void exchanges(void)
{
    MPI_Datatype every_other;
    MPI_Status status;
    int small[6];

    say_soil(&status);
    say("Sendrecv %d", MPI_Sendrecv(data, LONG_COUNT, MPI_INT, peer, 1, got, LONG_COUNT,
                                    MPI_INT, peer, MPI_ANY_TAG, world, &status));
    say_status("Sendrecv", &status, MPI_INT);
    expect_long("Sendrecv");
    memcpy(got, data, LONG_COUNT * sizeof *got);
    say_soil(&status);
    say("Sendrecv_replace %d", MPI_Sendrecv_replace(got, LONG_COUNT, MPI_INT, peer, 2,
                                                    peer, 2, world, &status));
    say_status("Sendrecv_replace", &status, MPI_INT);
    expect_long("Sendrecv_replace");
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < 6; i++)
        small[i] = 10 * rank + i;
    say_soil(&status);
    MPI_Sendrecv_replace(small, 1, every_other, peer, 3, peer, 3, world, &status);
    say_status("Sendrecv_replace of a vector", &status, every_other);
    say_ints("Sendrecv_replace of a vector", small, 6);
    MPI_Type_free(&every_other);
    MPI_Sendrecv(data, 2, MPI_INT, 1 - rank, 4, small, 6, MPI_INT, 1 - rank, 4, world,
                 MPI_STATUS_IGNORE);
    say_ints("Sendrecv ignored", small, 6);
}

static void nobody(void)
{
    MPI_Message message;
    MPI_Status status;
    int value = 3;

    say_soil(&status);
    say("Recv %d", MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 7, world, &status));
    say_status("Recv from nobody", &status, MPI_INT);
    say_soil(&status);
    MPI_Probe(MPI_PROC_NULL, 7, world, &status);
    say_status("Probe of nobody", &status, MPI_INT);
    say_soil(&status);
    MPI_Mprobe(MPI_PROC_NULL, 7, world, &message, &status);
    say_status("Mprobe of nobody", &status, MPI_INT);
    say("no process: %d", message == MPI_MESSAGE_NO_PROC);
    say_soil(&status);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    say_status("Mrecv from nobody", &status, MPI_INT);
    say("message is null: %d", message == MPI_MESSAGE_NULL);
    say_soil(&status);
    MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT,
                 MPI_PROC_NULL, 1, world, &status);
    say_status("Sendrecv with nobody", &status, MPI_INT);
    say_soil(&status);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, world,
                         &status);
    say_status("Sendrecv_replace with nobody", &status, MPI_INT);
    say("Send %d", MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
    say("Ssend %d, value %d", MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world),
        value);
}

static void probes(void)
{
    MPI_Message message;
    MPI_Status status;
    int values[4] = {0};

    if (rank == 0) {
        MPI_Send(data, 3, MPI_INT, 1, 11, world);
        MPI_Send(data, 4, MPI_INT, 1, 12, world);
        MPI_Send(data, LONG_COUNT, MPI_INT, 1, 13, world);
        return;
    }
    say_soil(&status);
    say("Probe %d", MPI_Probe(0, MPI_ANY_TAG, world, &status));
    say_status("Probe", &status, MPI_INT);
    MPI_Recv(values, 4, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, world,
             MPI_STATUS_IGNORE);
    MPI_Probe(0, 12, world, MPI_STATUS_IGNORE);
    say_soil(&status);
    say("Mprobe %d", MPI_Mprobe(MPI_ANY_SOURCE, 12, world, &message, &status));
    say_status("Mprobe", &status, MPI_INT);
    say_soil(&status);
    say("Mrecv %d", MPI_Mrecv(values, 4, MPI_INT, &message, &status));
    say_status("Mrecv", &status, MPI_INT);
    say_ints("Mrecv", values, 4);
    say("message is null: %d", message == MPI_MESSAGE_NULL);
    MPI_Mprobe(0, 13, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(got, LONG_COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
    expect_long("Mrecv");
}

/* Null and inactive requests complete at once, with an empty status. */
static void empty_requests(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int index = -5, done = -5, indices[2] = {-5, -5}, value = 0;

    say_soil(&statuses[0]);
    say("Wait %d", MPI_Wait(&requests[0], &statuses[0]));
    say_status("Wait for null", &statuses[0], MPI_INT);
    MPI_Recv_init(&value, 1, MPI_INT, peer, 5, world, &requests[1]);
    say_soil(&statuses[0]);
    MPI_Wait(&requests[1], &statuses[0]);
    say_status("Wait for inactive", &statuses[0], MPI_INT);
    say_soil(&statuses[0]);
    say_soil(&statuses[1]);
    say("Waitall %d", MPI_Waitall(2, requests, statuses));
    say_status("Waitall 0", &statuses[0], MPI_INT);
    say_status("Waitall 1", &statuses[1], MPI_INT);
    say_soil(&statuses[0]);
    say("Waitany %d", MPI_Waitany(2, requests, &index, &statuses[0]));
    say("index undefined: %d", index == MPI_UNDEFINED);
    say_status("Waitany", &statuses[0], MPI_INT);
    say("Waitsome %d", MPI_Waitsome(2, requests, &done, indices, statuses));
    say("done undefined: %d, indices %d %d", done == MPI_UNDEFINED, indices[0],
        indices[1]);
    MPI_Request_free(&requests[1]);
    index = done = -5;
    say("Waitall of none %d", MPI_Waitall(0, requests, statuses));
    say("Waitany of none %d", MPI_Waitany(0, requests, &index, &statuses[0]));
    say("Waitsome of none %d", MPI_Waitsome(0, requests, &done, indices, statuses));
    say("undefined: %d %d", index == MPI_UNDEFINED, done == MPI_UNDEFINED);
}

static void several(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int values[4] = {0}, index, done, indices[4], total = 0, seen = 0;

    for (int i = 0; i < 4; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, peer, 20 + i, world, &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Send(&data[10 * rank + i], 1, MPI_INT, peer, 20 + i, world);
    for (int i = 0; i < 4; i++)
        say_soil(&statuses[i]);
    say("Waitall %d", MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++)
        say_status("Waitall", &statuses[i], MPI_INT);
    say_ints("Waitall", values, 4);
    MPI_Irecv(&values[0], 1, MPI_INT, peer, 30, world, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Irecv(&values[2], 1, MPI_INT, peer, 31, world, &requests[2]);
    MPI_Send(&data[3], 1, MPI_INT, peer, 31, world);
    say_soil(&statuses[0]);
    say("Waitany %d", MPI_Waitany(3, requests, &index, &statuses[0]));
    say("index %d, request is null: %d", index, requests[2] == MPI_REQUEST_NULL);
    say_status("Waitany", &statuses[0], MPI_INT);
    MPI_Barrier(world);
    MPI_Send(&data[4], 1, MPI_INT, peer, 30, world);
    MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    say("index %d", index);
    for (int i = 0; i < 4; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, peer, 40 + i, world, &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Send(&data[i], 1, MPI_INT, peer, 40 + i, world);
    while (total < 4) {
        MPI_Waitsome(4, requests, &done, indices, statuses);
        for (int i = 0; i < done; i++) {
            seen |= 1 << indices[i];
            total += statuses[i].MPI_TAG == 40 + indices[i];
        }
    }
    say("Waitsome: all %d, right tags %d", seen, total);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int in = 0, out;

    MPI_Send_init(&out, 1, MPI_INT, peer, 50, world, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, peer, 50, world, &requests[1]);
    for (int i = 0; i < 3; i++) {
        out = 10 * i + rank;
        MPI_Startall(2, requests);
        say_soil(&statuses[1]);
        if (i == 1) {
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1], &statuses[1]);
        } else {
            MPI_Waitall(2, requests, statuses);
        }
        say_status("persistent", &statuses[1], MPI_INT);
        say("persistent: %d, kept %d", in, requests[1] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = 0;

    MPI_Irecv(&value, 1, MPI_INT, peer, 60, world, &request);
    MPI_Cancel(&request);
    say_soil(&status);
    say("Wait %d", MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &value);
    say("cancelled %d", value);
}

static int queries;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    queries++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 4;
    status->MPI_TAG = 5;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    say_soil(&status);
    say("Wait %d", MPI_Wait(&request, &status));
    say_status("generalized", &status, MPI_INT);
    say("queries %d", queries);
}

/* Addresses instead of a buffer. */
static void bottom(void)
{
    int values[2] = {rank, rank + 1}, lengths[2] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype type;

    MPI_Get_address(&values[0], &places[0]);
    MPI_Get_address(&values[1], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank == 0)
        MPI_Send(MPI_BOTTOM, 1, type, 1, 70, world);
    else
        MPI_Recv(MPI_BOTTOM, 1, type, 0, 70, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, peer, 71, peer, 71, world,
                         MPI_STATUS_IGNORE);
    MPI_Bcast(MPI_BOTTOM, 1, type, 1, world);
    say_ints("bottom", values, 2);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    void *detached;
    int length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    peer = 1 - rank;
    say_open("", rank);
    data = calloc(LONG_COUNT, sizeof *data);
    got = calloc(LONG_COUNT, sizeof *got);
    for (int i = 0; i < LONG_COUNT; i++)
        data[i] = i % 1000 + rank;
    MPI_Buffer_attach(buffer, sizeof buffer);
    modes();
    MPI_Buffer_detach(&detached, &length);
    exchanges();
    nobody();
    probes();
    empty_requests();
    several();
    persistent();
    cancelled();
    generalized();
    bottom();
    free(data);
    free(got);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
