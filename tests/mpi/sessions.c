/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sessions of MPI 4 (the argument says when): alone, begun before MPI_Init or after it,
 * used on both sides of MPI_Init and MPI_Finalize, and errors on them.  In an MPI
 * without sessions it does nothing.
 */
#include "late.h"
#include "say.h"

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)

#define LATE_S 0.02

static int handled;

static MPI_Comm comm_of(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Waits of every kind, with the last rank late. */
static void talk(const char *what, MPI_Comm comm)
{
    int rank, size, sum = 0, in = -1;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == size - 1)
        be_late(LATE_S);
    MPI_Barrier(comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    say("%s: sum %d, got %d", what, sum, in);
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    say("handler of the communicator: class %d", error_class(*code));
}

/* The last rank sends two integers to the first, which has room for one. */
static void truncated(MPI_Comm comm)
{
    int rank, size, two[2] = {1, 2};

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == size - 1)
        MPI_Send(two, 2, MPI_INT, 0, 1, comm);
    if (rank == 0)
        say("too long: class %d", error_class(MPI_Recv(two, 1, MPI_INT, size - 1, 1,
                                                       comm, MPI_STATUS_IGNORE)));
}

/* Open MPI 5.0 has sessions, and says that it has MPI 3.1. */
#if MPI_VERSION >= 4
static void on_session(MPI_Session *session, int *code, ...)
{
    (void)session;
    handled++;
    say("handler of the session: class %d", error_class(*code));
}

/* MPICH 4.0 aborts for a process set that does not exist, whatever the handler. */
static void say_session_errors(MPI_Session session)
{
    MPI_Errhandler handler;

    MPI_Session_create_errhandler(on_session, &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Errhandler_free(&handler);
    MPI_Session_call_errhandler(session, MPI_ERR_ARG);
}
#else
static void say_session_errors(MPI_Session session)
{
    (void)session;
}
#endif

static void say_errors(MPI_Session session, MPI_Comm comm)
{
    MPI_Errhandler handler;
    int value = 0;

    say_session_errors(session);
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    say("no such rank: class %d",
        error_class(MPI_Send(&value, 1, MPI_INT, 99, 0, comm)));
    say("no such root: class %d", error_class(MPI_Bcast(&value, 1, MPI_INT, 99, comm)));
    truncated(comm);
    say("handled %d", handled);
}

/* World rank: the launcher's, because there may be no MPI_COMM_WORLD. */
static int launched_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");

    if (!text)
        text = getenv("PMI_RANK");
    return text ? atoi(text) : 0;
}

static MPI_Session begin(void)
{
    MPI_Session session;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    return session;
}

static void use(MPI_Session session, const char *tag)
{
    MPI_Comm comm = comm_of(session, tag);

    talk(tag, comm);
    say_errors(session, comm);
    MPI_Comm_free(&comm);
}

static void alone(void)
{
    MPI_Session session = begin();

    use(session, "alone");
    MPI_Session_finalize(&session);
}

static void before(int *argc, char ***argv)
{
    MPI_Session session = begin();

    use(session, "before MPI_Init");
    MPI_Init(argc, argv);
    talk("world", MPI_COMM_WORLD);
    use(session, "before MPI_Init, used after");
    MPI_Session_finalize(&session);
    talk("world after the session", MPI_COMM_WORLD);
    MPI_Finalize();
}

static void after(int *argc, char ***argv)
{
    MPI_Session session;

    MPI_Init(argc, argv);
    talk("world", MPI_COMM_WORLD);
    session = begin();
    use(session, "after MPI_Init");
    MPI_Session_finalize(&session);
    talk("world after the session", MPI_COMM_WORLD);
    MPI_Finalize();
}

/* The ranks' MPI_Init and MPI_Finalize are on different sides of what they do in the
 * session. */
static void across(int *argc, char ***argv, int odd)
{
    MPI_Session session = begin();
    MPI_Comm comm = comm_of(session, "across");

    if (odd)
        MPI_Init(argc, argv);
    talk("across MPI_Init", comm);
    if (!odd)
        MPI_Init(argc, argv);
    talk("world", MPI_COMM_WORLD);
    if (odd)
        MPI_Finalize();
    talk("across MPI_Finalize", comm);
    if (!odd)
        MPI_Finalize();
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "alone";

    say_open("", launched_rank());
    if (strcmp(when, "before") == 0)
        before(&argc, &argv);
    else if (strcmp(when, "after") == 0)
        after(&argc, &argv);
    else if (strcmp(when, "across") == 0)
        across(&argc, &argv, launched_rank() % 2);
    else
        alone();
    say("end");
    return 0;
}
#else
int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    say("no sessions");
    MPI_Finalize();
    return 0;
}
#endif
