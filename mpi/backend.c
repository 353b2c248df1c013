/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The bodies of the wrapped calls.  Compiled once per MPI ABI, with that MPI's mpi.h and
 * HPCB_BACKEND naming the result; only entry.c calls into it.
 *
 * Every blocking call is begun by its nonblocking form and then tested until it is done,
 * with pauses in between (wait.h).  Arguments are checked, errors raised and statuses
 * filled by the MPI itself, in the nonblocking form or in the test, once either way.
 * What is called here are the MPI's own PMPI_ functions, so that tools stacked before or
 * after see the calls of the application and not our tests.
 *
 * No symbol of an MPI is referenced: functions are found at MPI_Init, and where a
 * handle is the address of an object (Open MPI) so is that.
 *
 * Collectives: blocking and nonblocking ones never match each other, so whether the
 * form changes must come out the same on all ranks of a communicator.  It depends on
 * the communicator alone: not for intercommunicators, and not for groups that reach
 * beyond this process' MPI_COMM_WORLD, because spawned programs may run without us.
 */
#include <mpi.h>
#include <stdlib.h>
#include "mpi/backend.h"
#include "mpi/wait.h"

#ifdef OPEN_MPI
#define MARKER "ompi_mpi_comm_world"
#else
#define MARKER "MPI_UNWEIGHTED"
#endif

/* Answers kept as an attribute of a communicator; its address is all that counts. */
static char change_form, keep_form;

static struct {
    MPI_Comm null, self, world;
    MPI_Datatype packed;
} handle;

/* Functions of the MPI that are called here besides the nonblocking collectives. */
#define FUNCTIONS(X)     \
    X(Cancel)            \
    X(Comm_create_keyval) \
    X(Comm_free_keyval)  \
    X(Comm_get_attr)     \
    X(Comm_group)        \
    X(Comm_set_attr)     \
    X(Comm_test_inter)   \
    X(Group_free)        \
    X(Group_size)        \
    X(Group_translate_ranks) \
    X(Improbe)           \
    X(Imrecv)            \
    X(Iprobe)            \
    X(Irecv)             \
    X(Irsend)            \
    X(Isend)             \
    X(Issend)            \
    X(Pack)              \
    X(Pack_size)         \
    X(Sendrecv_replace)  \
    X(Test)              \
    X(Testall)           \
    X(Testany)           \
    X(Testsome)          \
    X(Wait)

static struct {
#define DECLARE(name) __typeof__(PMPI_##name) *name;
    FUNCTIONS(DECLARE)
#define CALL(name, nargs)
#define COLLECTIVE(name, nargs, form, params, args) \
    __typeof__(PMPI_##name) *name;                  \
    __typeof__(PMPI_##form) *form;
#include "mpi/calls.def"
} mpi;

static int keyval;

/* Test until the request is done; begun earlier or not, wait counts from its first. */
static int finish(hpcb_wait_t *wait, MPI_Request *request, MPI_Status *status)
{
    int done = 0;
    int rc;

    while ((rc = mpi.Test(request, &done, status)) == MPI_SUCCESS && !done)
        hpcb_wait_pause(wait);
    return rc;
}

static int complete(MPI_Request *request, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int rc = finish(&wait, request, status);

    hpcb_wait_end(&wait);
    return rc;
}

#define SEND(name, form)                                                             \
    static int do_##name(const void *buf, int count, MPI_Datatype type, int dest,    \
                         int tag, MPI_Comm comm)                                     \
    {                                                                                \
        MPI_Request request;                                                         \
        int rc = mpi.form(buf, count, type, dest, tag, comm, &request);              \
                                                                                     \
        return rc == MPI_SUCCESS ? complete(&request, MPI_STATUS_IGNORE) : rc;       \
    }

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

static int do_Recv(void *buf, int count, MPI_Datatype type, int source, int tag,
                   MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int rc = mpi.Irecv(buf, count, type, source, tag, comm, &request);

    return rc == MPI_SUCCESS ? complete(&request, status) : rc;
}

static int do_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                    MPI_Status *status)
{
    MPI_Request request;
    int rc = mpi.Imrecv(buf, count, type, message, &request);

    return rc == MPI_SUCCESS ? complete(&request, status) : rc;
}

/* The send could not be begun: nothing may stay behind in the receive buffer. */
static void withdraw(MPI_Request *request)
{
    mpi.Cancel(request);
    mpi.Wait(request, MPI_STATUS_IGNORE);
}

static int do_Sendrecv(const void *out, int nout, MPI_Datatype tout, int dest,
                       int tag_out, void *in, int nin, MPI_Datatype tin, int source,
                       int tag_in, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request send, receive;
    hpcb_wait_t wait = {0};
    int rc, rc_receive;

    rc = mpi.Irecv(in, nin, tin, source, tag_in, comm, &receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi.Isend(out, nout, tout, dest, tag_out, comm, &send);
    if (rc != MPI_SUCCESS) {
        withdraw(&receive);
        return rc;
    }
    rc = finish(&wait, &send, MPI_STATUS_IGNORE);
    rc_receive = finish(&wait, &receive, status);
    hpcb_wait_end(&wait);
    return rc != MPI_SUCCESS ? rc : rc_receive;
}

/* There is no nonblocking form of it in MPI 3: send a packed copy. */
static int do_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest,
                               int tag_out, int source, int tag_in, MPI_Comm comm,
                               MPI_Status *status)
{
    int size, used = 0;
    void *copy;
    int rc = mpi.Pack_size(count, type, comm, &size);

    if (rc != MPI_SUCCESS)
        return rc;
    copy = malloc(size > 0 ? (size_t)size : 1);
    if (!copy)
        return mpi.Sendrecv_replace(buf, count, type, dest, tag_out, source, tag_in,
                                    comm, status);
    rc = mpi.Pack(buf, count, type, copy, size, &used, comm);
    if (rc == MPI_SUCCESS)
        rc = do_Sendrecv(copy, used, handle.packed, dest, tag_out, buf, count, type,
                         source, tag_in, comm, status);
    free(copy);
    return rc;
}

static int do_Wait(MPI_Request *request, MPI_Status *status)
{
    return complete(request, status);
}

static int do_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    hpcb_wait_t wait = {0};
    int done = 0;
    int rc;

    while ((rc = mpi.Testall(count, requests, &done, statuses)) == MPI_SUCCESS && !done)
        hpcb_wait_pause(&wait);
    hpcb_wait_end(&wait);
    return rc;
}

static int do_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int done = 0;
    int rc;

    while ((rc = mpi.Testany(count, requests, index, &done, status)) == MPI_SUCCESS &&
           !done)
        hpcb_wait_pause(&wait);
    hpcb_wait_end(&wait);
    return rc;
}

static int do_Waitsome(int count, MPI_Request requests[], int *ndone, int indices[],
                       MPI_Status statuses[])
{
    hpcb_wait_t wait = {0};
    int rc;

    /* All requests inactive, or none at all: *ndone is MPI_UNDEFINED, not 0. */
    while ((rc = mpi.Testsome(count, requests, ndone, indices, statuses)) ==
               MPI_SUCCESS &&
           *ndone == 0)
        hpcb_wait_pause(&wait);
    hpcb_wait_end(&wait);
    return rc;
}

static int do_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int found = 0;
    int rc;

    while ((rc = mpi.Iprobe(source, tag, comm, &found, status)) == MPI_SUCCESS && !found)
        hpcb_wait_pause(&wait);
    hpcb_wait_end(&wait);
    return rc;
}

static int do_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                     MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int found = 0;
    int rc;

    while ((rc = mpi.Improbe(source, tag, comm, &found, message, status)) ==
               MPI_SUCCESS &&
           !found)
        hpcb_wait_pause(&wait);
    hpcb_wait_end(&wait);
    return rc;
}

/* More than one process, all of them in world. */
static bool is_in_world(MPI_Group group, MPI_Group world)
{
    int size = 0, there;

    if (mpi.Group_size(group, &size) != MPI_SUCCESS)
        return false;
    for (int rank = 0; rank < size; rank++)
        if (mpi.Group_translate_ranks(group, 1, &rank, world, &there) != MPI_SUCCESS ||
            there == MPI_UNDEFINED)
            return false;
    return size > 1;
}

/* The same on all ranks of comm, which is a valid communicator. */
static bool judge(MPI_Comm comm)
{
    MPI_Group group, world;
    int inter = 1;
    bool answer = false;

    if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return false;
    if (mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return false;
    if (mpi.Comm_group(handle.world, &world) == MPI_SUCCESS) {
        answer = is_in_world(group, world);
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return answer;
}

/* An error code of MPI, raised already, if comm is none. */
static int changes_form(MPI_Comm comm, bool *answer)
{
    void *kept = NULL;
    int there = 0;
    int rc;

    *answer = comm == handle.world;
    if (*answer || comm == handle.self || comm == handle.null)
        return MPI_SUCCESS;
    rc = mpi.Comm_get_attr(comm, keyval, &kept, &there);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!there) {
        kept = judge(comm) ? &change_form : &keep_form;
        mpi.Comm_set_attr(comm, keyval, kept);
    }
    *answer = kept == &change_form;
    return MPI_SUCCESS;
}

#define UNPACK(...) __VA_ARGS__
#define CALL(name, nargs)
#define COLLECTIVE(name, nargs, form, params, args)                                  \
    static int do_##name params                                                      \
    {                                                                                \
        MPI_Request request;                                                         \
        bool change;                                                                 \
        int rc = changes_form(comm, &change);                                        \
                                                                                     \
        if (rc != MPI_SUCCESS)                                                       \
            return rc;                                                               \
        if (!change)                                                                 \
            return mpi.name args;                                                    \
        rc = mpi.form(UNPACK args, &request);                                        \
        return rc == MPI_SUCCESS ? complete(&request, MPI_STATUS_IGNORE) : rc;       \
    }
#include "mpi/calls.def"

static const hpcb_fn_t replacement[HPCB_CALLS] = {
#define CALL(name, nargs) [HPCB_CALL_##name] = (hpcb_fn_t)do_##name,
#include "mpi/calls.def"
};

/* A duplicate is judged anew: its group is the same, but this is the cheaper rule. */
static int do_not_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *copy)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *copy = 0;
    return MPI_SUCCESS;
}

static int do_not_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

static int find_handles(void)
{
#ifdef OPEN_MPI
    handle.null = hpcb_data("ompi_mpi_comm_null");
    handle.self = hpcb_data("ompi_mpi_comm_self");
    handle.world = hpcb_data("ompi_mpi_comm_world");
    handle.packed = hpcb_data("ompi_mpi_packed");
    return handle.null && handle.self && handle.world && handle.packed ? 0 : -1;
#else
    handle.null = MPI_COMM_NULL;
    handle.self = MPI_COMM_SELF;
    handle.world = MPI_COMM_WORLD;
    handle.packed = MPI_PACKED;
    return 0;
#endif
}

#define FIND(name)                                                               \
    mpi.name = (__typeof__(mpi.name))hpcb_next("PMPI_" #name, NULL);             \
    if (!mpi.name)                                                               \
        return -1;

static int find_functions(void)
{
    FUNCTIONS(FIND)
#define CALL(name, nargs)
#define COLLECTIVE(name, nargs, form, params, args) \
    FIND(name)                                      \
    FIND(form)
#include "mpi/calls.def"
    return 0;
}

static int start(void)
{
    if (find_handles() || find_functions())
        return -1;
    return mpi.Comm_create_keyval(do_not_copy, do_not_delete, &keyval, NULL) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

static void stop(void)
{
    mpi.Comm_free_keyval(&keyval);
}

const hpcb_backend_t HPCB_BACKEND = {
    .marker = MARKER,
    .start = start,
    .stop = stop,
    .replacement = replacement,
};
