/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A second PMPI tool, to be preloaded before or after the library: it counts the calls
 * of the application and prints them at the end.  With TOOL_NEXT=1 it goes on through
 * dlsym(RTLD_NEXT) as some tools do, else through PMPI_.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INIT, SEND, RECV, SENDRECV, WAITALL, ALLREDUCE, TEST, IRECV, FINALIZE, KINDS };

static int counts[KINDS];

/* name without its P, if the tool is to go on that way; else NULL. */
static void *next(const char *name)
{
    const char *style = getenv("TOOL_NEXT");

    return style && *style == '1' ? dlsym(RTLD_NEXT, name + 1) : NULL;
}

/* name is the one with P in front. */
#define GO_ON(kind, name, ...)                                                         \
    do {                                                                               \
        __typeof__(name) *fn = (__typeof__(name) *)next(#name);                        \
                                                                                       \
        counts[kind]++;                                                                \
        return fn ? fn(__VA_ARGS__) : name(__VA_ARGS__);                               \
    } while (0)

int MPI_Init(int *argc, char ***argv)
{
    GO_ON(INIT, PMPI_Init, argc, argv);
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm)
{
    GO_ON(SEND, PMPI_Send, buf, count, type, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    GO_ON(RECV, PMPI_Recv, buf, count, type, source, tag, comm, status);
}

int MPI_Sendrecv(const void *out, int nout, MPI_Datatype tout, int dest, int tag_out,
                 void *in, int nin, MPI_Datatype tin, int source, int tag_in,
                 MPI_Comm comm, MPI_Status *status)
{
    GO_ON(SENDRECV, PMPI_Sendrecv, out, nout, tout, dest, tag_out, in, nin, tin, source,
          tag_in, comm, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    GO_ON(WAITALL, PMPI_Waitall, count, requests, statuses);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    GO_ON(ALLREDUCE, PMPI_Allreduce, out, in, count, type, op, comm);
}

/* The program calls neither of these two: a tool must not see our own tests. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    GO_ON(TEST, PMPI_Test, request, flag, status);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    GO_ON(IRECV, PMPI_Irecv, buf, count, type, source, tag, comm, request);
}

static void print_counts(void)
{
    const char *prefix = getenv("HPCB_TEST_OUT");
    char path[4096];
    FILE *file;
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.tool%d", prefix ? prefix : "out", rank);
    file = fopen(path, "w");
    if (!file)
        abort();
    for (int i = 0; i < KINDS; i++)
        fprintf(file, "tool: %d\n", counts[i]);
    fclose(file);
}

int MPI_Finalize(void)
{
    counts[FINALIZE]++;
    print_counts();
    counts[FINALIZE]--;
    GO_ON(FINALIZE, PMPI_Finalize);
}
