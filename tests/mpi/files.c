/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Files written and read by all ranks together, with a late one in every call. */
#include "late.h"
#include "say.h"

#define COUNT  1000 /* ints a rank */
#define LATE_S 0.02

static int rank, size, turn;
static int out[COUNT], in[COUNT];

static void take_turn(void)
{
    if (turn++ % size == rank)
        be_late(LATE_S);
}

static void say_in(const char *what, MPI_Status *status)
{
    int count = -1, first = in[0], last = in[COUNT - 1];

    MPI_Get_count(status, MPI_INT, &count);
    say("%s: %d, from %d to %d", what, count, first, last);
    memset(in, 0, sizeof in);
}

/* Each rank's part alternates with the others'. */
static void set_view(MPI_File file)
{
    MPI_Datatype part;

    MPI_Type_vector(COUNT / 10, 10, 10 * size, MPI_INT, &part);
    MPI_Type_commit(&part);
    take_turn();
    MPI_File_set_view(file, (MPI_Offset)(10 * sizeof(int)) * rank, MPI_INT, part,
                      "native", MPI_INFO_NULL);
    MPI_Type_free(&part);
}

static void by_view(MPI_File file)
{
    MPI_Status status;

    set_view(file);
    take_turn();
    MPI_File_write_all(file, out, COUNT, MPI_INT, &status);
    take_turn();
    MPI_File_sync(file);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    take_turn();
    MPI_File_read_all(file, in, COUNT, MPI_INT, &status);
    say_in("read_all", &status);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static void by_offset(MPI_File file)
{
    MPI_Status status;
    MPI_Offset at = (MPI_Offset)COUNT * (size - 1 - rank), length = 0;

    take_turn();
    MPI_File_write_at_all(file, at, out, COUNT, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    take_turn();
    MPI_File_read_at_all(file, (MPI_Offset)COUNT * rank, in, COUNT, MPI_INT, &status);
    say_in("read_at_all", &status);
    MPI_File_get_size(file, &length);
    say("size %ld", (long)length);
}

int main(int argc, char **argv)
{
    const char *prefix = getenv("HPCB_TEST_OUT");
    char path[4096];
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say_open("", rank);
    for (int i = 0; i < COUNT; i++)
        out[i] = COUNT * rank + i;
    /* The name must not look like a rank's output. */
    snprintf(path, sizeof path, "%s-file", prefix ? prefix : "out");
    take_turn();
    say("open %d", MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                                 MPI_INFO_NULL, &file));
    by_view(file);
    by_offset(file);
    take_turn();
    say("close %d", MPI_File_close(&file));
    MPI_Finalize();
    return 0;
}
