/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The bodies of the wrapped calls.  Compiled once per MPI ABI, with that MPI's mpi.h
 * and HPCB_BACKEND naming the result; only entry.c calls into it.
 *
 * Every blocking call is begun by its nonblocking form and then tested until it is
 * done, with pauses in between (wait.h).  Arguments are checked, errors raised and
 * statuses filled by the MPI itself, in the nonblocking form or in the test, once
 * either way. What is called here are the MPI's own PMPI_ functions, so that tools
 * stacked before or after see the calls of the application and not our tests.
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
#include <stdatomic.h>
#include <stdlib.h>
#include "mpi/backend.h"
#include "mpi/wait.h"

#ifdef OPEN_MPI
#define MARKER          "ompi_mpi_comm_world"
#define RAISES_ON_WORLD 0
#define SETS_ERROR      0
#else
#define MARKER          "MPI_UNWEIGHTED"
#define RAISES_ON_WORLD 1
/* The blocking calls set MPI_ERROR of a status without error, the tests leave it. */
#define SETS_ERROR      1
#endif

/* Answers kept as an attribute of a communicator; its address is all that counts. */
static char change_form, keep_form;

static struct {
    MPI_Comm null, self, world;
    MPI_Datatype packed;
    MPI_Request no_request;
} handle;

/* Functions of the MPI that are called here besides the nonblocking collectives. */
#define FUNCTIONS(X)                                                                   \
    X(Cancel)                                                                          \
    X(Comm_create_keyval)                                                              \
    X(Comm_free_keyval)                                                                \
    X(Comm_get_attr)                                                                   \
    X(Comm_get_errhandler)                                                             \
    X(Comm_group)                                                                      \
    X(Comm_set_attr)                                                                   \
    X(Comm_size)                                                                       \
    X(Comm_set_errhandler)                                                             \
    X(Comm_test_inter)                                                                 \
    X(Errhandler_free)                                                                 \
    X(Group_free)                                                                      \
    X(Group_size)                                                                      \
    X(Group_translate_ranks)                                                           \
    X(Improbe)                                                                         \
    X(Imrecv)                                                                          \
    X(Iprobe)                                                                          \
    X(Irecv)                                                                           \
    X(Irsend)                                                                          \
    X(Isend)                                                                           \
    X(Issend)                                                                          \
    X(Mrecv)                                                                           \
    X(Pack)                                                                            \
    X(Pack_size)                                                                       \
    X(Recv)                                                                            \
    X(Send)                                                                            \
    X(Sendrecv)                                                                        \
    X(Sendrecv_replace)                                                                \
    X(Test)                                                                            \
    X(Testall)                                                                         \
    X(Testany)                                                                         \
    X(Testsome)                                                                        \
    X(Wait)                                                                            \
    X(Waitany)                                                                         \
    X(Waitsome)

static struct {
#define DECLARE(name) __typeof__(PMPI_##name) *name;
    FUNCTIONS(DECLARE)
#define CALL(name, nargs)
#define WATCHED(name, nargs, blocks)
#define COLLECTIVE(name, nargs, form, params, args)                                    \
    __typeof__(PMPI_##name) *name;                                                     \
    __typeof__(PMPI_##form) *form;
#include "mpi/calls.def"
} mpi;

static int keyval;

/*
 * MPICH (since 4.3) answers MPI_SUCCESS when a handler function of the program has
 * dealt with an error.  That there was one shows in what a call should have written and
 * has not: a request, a flag.  HANDLED, no error code of any MPI, says so among
 * ourselves.
 */
#define HANDLED   (-1)
#define UNTOUCHED (-1)

/* rc of a call that should have written flag, which was UNTOUCHED. */
static int written(int rc, int flag)
{
    return rc == MPI_SUCCESS && flag == UNTOUCHED ? HANDLED : rc;
}

/* rc of a call that should have begun request, which was null. */
static int begun(int rc, MPI_Request request)
{
    return rc == MPI_SUCCESS && request == handle.no_request ? HANDLED : rc;
}

/* What the MPI would say to the program. */
static int answer(int rc)
{
    return rc == HANDLED ? MPI_SUCCESS : rc;
}

/* Test until flag is not 0, or there is an error; the caller ends the wait. */
#define REPEAT(wait, rc, flag, call)                                                   \
    do {                                                                               \
        while (flag = UNTOUCHED, (rc = call) == MPI_SUCCESS && flag == 0)              \
            hpcb_wait_pause(wait);                                                     \
        rc = written(rc, flag);                                                        \
    } while (0)

static int finish(hpcb_wait_t *wait, MPI_Request *request, MPI_Status *status)
{
    int done, rc;

    REPEAT(wait, rc, done, mpi.Test(request, &done, status));
    return rc;
}

static int complete(MPI_Request *request, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int rc = finish(&wait, request, status);

    hpcb_wait_end(&wait);
    return rc;
}

/* The rest of a blocking call, of which rc began request; the answer to the program. */
static int finish_begun(int rc, MPI_Request *request, MPI_Status *status)
{
    rc = begun(rc, *request);
    return answer(rc == MPI_SUCCESS ? complete(request, status) : rc);
}

#define SEND(name, form)                                                               \
    static int do_##name(const void *buf, int count, MPI_Datatype type, int dest,      \
                         int tag, MPI_Comm comm)                                       \
    {                                                                                  \
        MPI_Request request = handle.no_request;                                       \
        int rc = mpi.form(buf, count, type, dest, tag, comm, &request);                \
                                                                                       \
        return finish_begun(rc, &request, MPI_STATUS_IGNORE);                          \
    }

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

/* The program has set an error handler, of whatever communicator. */
static atomic_bool handlers_set;

static int do_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    atomic_store(&handlers_set, true);
    return mpi.Comm_set_errhandler(comm, handler);
}

#ifdef OPEN_MPI
static int raises_elsewhere(MPI_Comm comm, bool *elsewhere)
{
    (void)comm;
    *elsewhere = false;
    return MPI_SUCCESS;
}
#else
#define IS_PREDEFINED(handler) ((unsigned)(handler) >> 30 == 1)

/* The same as what comm's handler does, if both are the same predefined one. */
static bool acts_alike(MPI_Errhandler handler, MPI_Errhandler world)
{
    bool alike = handler == world && IS_PREDEFINED(handler);

    if (!IS_PREDEFINED(handler))
        mpi.Errhandler_free(&handler);
    if (!IS_PREDEFINED(world))
        mpi.Errhandler_free(&world);
    return alike;
}

static int get_handler(MPI_Comm comm, MPI_Errhandler *handler)
{
    int rc;

    *handler = MPI_ERRHANDLER_NULL;
    rc = mpi.Comm_get_errhandler(comm, handler);
    return rc == MPI_SUCCESS && *handler == MPI_ERRHANDLER_NULL ? HANDLED : rc;
}

/*
 * MPICH (4.0) raises what a test finds, a message that is too long above all, on
 * MPI_COMM_WORLD, while a blocking receive raises it on its communicator.  Where that
 * could be told apart the receive must stay what it is.  An error code of MPI, raised
 * already, or HANDLED, if comm is none.
 */
static int raises_elsewhere(MPI_Comm comm, bool *elsewhere)
{
    MPI_Errhandler handler, world;
    int rc;

    *elsewhere = comm == handle.null;
    if (!atomic_load(&handlers_set) || comm == handle.world || comm == handle.null)
        return MPI_SUCCESS;
    rc = get_handler(comm, &handler);
    if (rc == MPI_SUCCESS)
        rc = get_handler(handle.world, &world);
    if (rc == MPI_SUCCESS)
        *elsewhere = !acts_alike(handler, world);
    return rc;
}
#endif

static int do_Recv(void *buf, int count, MPI_Datatype type, int source, int tag,
                   MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request = handle.no_request;
    bool keep;
    int rc = raises_elsewhere(comm, &keep);

    if (rc != MPI_SUCCESS)
        return answer(rc);
    /* MPICH (4.0) fills the status of a receive from nobody only if it blocks. */
    if (keep || source == MPI_PROC_NULL)
        return mpi.Recv(buf, count, type, source, tag, comm, status);
    rc = mpi.Irecv(buf, count, type, source, tag, comm, &request);
    return finish_begun(rc, &request, status);
}

/* Which communicator it raises its errors on is not to be seen. */
static int do_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                    MPI_Status *status)
{
    MPI_Request request = handle.no_request;
    int rc;

    if (RAISES_ON_WORLD && atomic_load(&handlers_set))
        return mpi.Mrecv(buf, count, type, message, status);
    rc = mpi.Imrecv(buf, count, type, message, &request);
    return finish_begun(rc, &request, status);
}

/*
 * The receive is posted first, as is usual; if the send then turned out to be wrong,
 * the receive might have taken a message already that is meant for a later one.  So see
 * first that the send is right: to nobody it is checked and not done.  *doubtful: the
 * destination is not plainly right.
 */
static int check_send(const void *out, int nout, MPI_Datatype tout, int dest,
                      int tag_out, MPI_Comm comm, bool *doubtful)
{
    MPI_Request request = handle.no_request;
    int size = 0;
    int rc = mpi.Isend(out, nout, tout, MPI_PROC_NULL, tag_out, comm, &request);

    rc = begun(rc, request);
    if (rc == MPI_SUCCESS)
        rc = mpi.Wait(&request, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = mpi.Comm_size(comm, &size);
    *doubtful = dest != MPI_PROC_NULL && (dest < 0 || dest >= size);
    return rc;
}

/* The send could not be begun after all, for want of memory or so. */
static void withdraw(MPI_Request *request)
{
    mpi.Cancel(request);
    mpi.Wait(request, MPI_STATUS_IGNORE);
}

static int complete_both(MPI_Request *send, MPI_Request *receive, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int rc = finish(&wait, send, MPI_STATUS_IGNORE);
    int rc_receive = finish(&wait, receive, status);

    hpcb_wait_end(&wait);
    return rc != MPI_SUCCESS ? rc : rc_receive;
}

/* Like MPI_Sendrecv, but may answer HANDLED. */
static int exchange(const void *out, int nout, MPI_Datatype tout, int dest, int tag_out,
                    void *in, int nin, MPI_Datatype tin, int source, int tag_in,
                    MPI_Comm comm, MPI_Status *status)
{
    MPI_Request send = handle.no_request, receive = handle.no_request;
    bool keep;
    int rc = raises_elsewhere(comm, &keep);

    if (rc == MPI_SUCCESS && !keep)
        rc = check_send(out, nout, tout, dest, tag_out, comm, &keep);
    if (rc != MPI_SUCCESS)
        return rc;
    if (keep)
        return mpi.Sendrecv(out, nout, tout, dest, tag_out, in, nin, tin, source,
                            tag_in, comm, status);
    rc = mpi.Irecv(in, nin, tin, source, tag_in, comm, &receive);
    rc = begun(rc, receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi.Isend(out, nout, tout, dest, tag_out, comm, &send);
    rc = begun(rc, send);
    if (rc != MPI_SUCCESS) {
        withdraw(&receive);
        return rc;
    }
    rc = complete_both(&send, &receive, status);
    /* For the status, as in do_Recv. */
    if (rc == MPI_SUCCESS && source == MPI_PROC_NULL)
        rc = mpi.Recv(in, nin, tin, source, tag_in, comm, status);
    return rc;
}

static int do_Sendrecv(const void *out, int nout, MPI_Datatype tout, int dest,
                       int tag_out, void *in, int nin, MPI_Datatype tin, int source,
                       int tag_in, MPI_Comm comm, MPI_Status *status)
{
    return answer(exchange(out, nout, tout, dest, tag_out, in, nin, tin, source, tag_in,
                           comm, status));
}

/* There is no nonblocking form of it in MPI 3: send a packed copy. */
static int replace(void *buf, int count, MPI_Datatype type, int dest, int tag_out,
                   int source, int tag_in, MPI_Comm comm, MPI_Status *status)
{
    int size = UNTOUCHED, used = 0;
    void *copy;
    int rc = mpi.Pack_size(count, type, comm, &size);

    rc = written(rc, size);
    if (rc != MPI_SUCCESS)
        return rc;
    copy = malloc(size > 0 ? (size_t)size : 1);
    if (!copy)
        return mpi.Sendrecv_replace(buf, count, type, dest, tag_out, source, tag_in,
                                    comm, status);
    rc = mpi.Pack(buf, count, type, copy, size, &used, comm);
    if (rc == MPI_SUCCESS && size > 0 && used == 0)
        rc = HANDLED;
    if (rc == MPI_SUCCESS)
        rc = exchange(copy, used, handle.packed, dest, tag_out, buf, count, type,
                      source, tag_in, comm, status);
    free(copy);
    return rc;
}

static int do_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest,
                               int tag_out, int source, int tag_in, MPI_Comm comm,
                               MPI_Status *status)
{
    bool keep;
    int rc = raises_elsewhere(comm, &keep);

    if (rc != MPI_SUCCESS)
        return answer(rc);
    /* MPICH (4.0) refuses to pack from MPI_BOTTOM. */
    if (keep || buf == MPI_BOTTOM)
        return mpi.Sendrecv_replace(buf, count, type, dest, tag_out, source, tag_in,
                                    comm, status);
    rc = replace(buf, count, type, dest, tag_out, source, tag_in, comm, status);
    if (SETS_ERROR && rc == MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
    return answer(rc);
}

static int do_Wait(MPI_Request *request, MPI_Status *status)
{
    return answer(complete(request, status));
}

static void clear_errors(int count, const MPI_Request requests[], MPI_Status statuses[])
{
    if (!requests || !statuses || statuses == MPI_STATUSES_IGNORE)
        return;
    for (int i = 0; i < count; i++)
        if (requests[i] != handle.no_request)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
}

static int do_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    hpcb_wait_t wait = {0};
    int done, rc;

    if (SETS_ERROR)
        clear_errors(count, requests, statuses);
    REPEAT(&wait, rc, done, mpi.Testall(count, requests, &done, statuses));
    hpcb_wait_end(&wait);
    return answer(rc);
}

static int do_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int done, rc;

    REPEAT(&wait, rc, done, mpi.Testany(count, requests, index, &done, status));
    hpcb_wait_end(&wait);
    /* Nothing to wait for: MPICH (4.0) fills the status only if it blocks. */
    if (rc == MPI_SUCCESS && *index == MPI_UNDEFINED)
        rc = mpi.Waitany(count, requests, index, status);
    return answer(rc);
}

static int do_Waitsome(int count, MPI_Request requests[], int *ndone, int indices[],
                       MPI_Status statuses[])
{
    hpcb_wait_t wait = {0};
    int some, rc;

    /* Open MPI (4.1) calls no error handler for it if it does not block. */
    if (count < 0 || !ndone)
        return mpi.Waitsome(count, requests, ndone, indices, statuses);
    /* All requests inactive, or none at all: some is MPI_UNDEFINED, not 0. */
    REPEAT(&wait, rc, some, mpi.Testsome(count, requests, &some, indices, statuses));
    hpcb_wait_end(&wait);
    if (some != UNTOUCHED)
        *ndone = some;
    return answer(rc);
}

static int do_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int found, rc;

    REPEAT(&wait, rc, found, mpi.Iprobe(source, tag, comm, &found, status));
    hpcb_wait_end(&wait);
    return answer(rc);
}

static int do_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                     MPI_Status *status)
{
    hpcb_wait_t wait = {0};
    int found, rc;

    REPEAT(&wait, rc, found, mpi.Improbe(source, tag, comm, &found, message, status));
    hpcb_wait_end(&wait);
    return answer(rc);
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
    bool change = false;

    if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return false;
    if (mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return false;
    if (mpi.Comm_group(handle.world, &world) == MPI_SUCCESS) {
        change = is_in_world(group, world);
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return change;
}

/* An error code of MPI, raised already, or HANDLED, if comm is none. */
static int changes_form(MPI_Comm comm, bool *change)
{
    void *kept = NULL;
    int there = UNTOUCHED;
    int rc;

    *change = comm == handle.world;
    if (*change || comm == handle.self || comm == handle.null)
        return MPI_SUCCESS;
    rc = mpi.Comm_get_attr(comm, keyval, &kept, &there);
    rc = written(rc, there);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!there) {
        kept = judge(comm) ? &change_form : &keep_form;
        mpi.Comm_set_attr(comm, keyval, kept);
    }
    *change = kept == &change_form;
    return MPI_SUCCESS;
}

#define UNPACK(...) __VA_ARGS__
#define CALL(name, nargs)
#define WATCHED(name, nargs, blocks)
#define COLLECTIVE(name, nargs, form, params, args)                                    \
    static int do_##name params                                                        \
    {                                                                                  \
        MPI_Request request = handle.no_request;                                       \
        bool change;                                                                   \
        int rc = changes_form(comm, &change);                                          \
                                                                                       \
        if (rc != MPI_SUCCESS)                                                         \
            return answer(rc);                                                         \
        if (!change)                                                                   \
            return mpi.name args;                                                      \
        rc = mpi.form(UNPACK args, &request);                                          \
        return finish_begun(rc, &request, MPI_STATUS_IGNORE);                          \
    }
#include "mpi/calls.def"

/* Deprecated, and not in every MPI any more. */
#ifdef OPEN_MPI
#define do_Errhandler_set NULL
#else
#define do_Errhandler_set do_Comm_set_errhandler
#endif

static const hpcb_fn_t replacement[HPCB_CALLS] = {
#define WATCHED(name, nargs, blocks)
#define CALL(name, nargs) [HPCB_CALL_##name] = (hpcb_fn_t)do_##name,
#include "mpi/calls.def"
};

/* A duplicate is judged anew: its group is the same, but this is the cheaper rule. */
static int do_not_copy(MPI_Comm comm, int key, void *extra, void *in, void *out,
                       int *copy)
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
    handle.no_request = hpcb_data("ompi_request_null");
    return handle.null && handle.self && handle.world && handle.packed &&
                   handle.no_request
               ? 0
               : -1;
#else
    handle.null = MPI_COMM_NULL;
    handle.self = MPI_COMM_SELF;
    handle.world = MPI_COMM_WORLD;
    handle.packed = MPI_PACKED;
    handle.no_request = MPI_REQUEST_NULL;
    return 0;
#endif
}

#define FIND(name)                                                                     \
    mpi.name = (__typeof__(mpi.name))hpcb_next("PMPI_" #name, NULL);                   \
    if (!mpi.name)                                                                     \
        return -1;

static int find_functions(void)
{
    FUNCTIONS(FIND)
#define CALL(name, nargs)
#define WATCHED(name, nargs, blocks)
#define COLLECTIVE(name, nargs, form, params, args)                                    \
    FIND(name)                                                                         \
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
