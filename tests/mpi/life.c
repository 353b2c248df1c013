/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The life of a program: before MPI_Init, what its children see of LD_PRELOAD after it,
 * programs that it spawns through MPI (they may lack the library: collectives over both
 * worlds must still match), after MPI_Finalize.
 */
#include "late.h"
#include "say.h"

#define LATE_S 0.03

static void say_child_environment(void)
{
    char line[4096] = "";
    FILE *child = popen("echo \"${LD_PRELOAD-unset}\"", "r");
    char *base;

    if (child && !fgets(line, sizeof line, child))
        line[0] = '\0';
    if (child)
        pclose(child);
    line[strcspn(line, "\n")] = '\0';
    base = strrchr(line, '/');
    say("LD_PRELOAD of a child: %s", base ? base + 1 : line);
}

/* The parents wait for a child that is late, and it for them. */
static void between(MPI_Comm inter, int is_child)
{
    int rank, sum = 0, word = 0;

    MPI_Comm_rank(inter, &rank);
    if (is_child) {
        be_late(LATE_S);
        MPI_Ssend(&rank, 1, MPI_INT, 0, 0, inter);
        MPI_Recv(&word, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        be_late(2 * LATE_S);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, inter);
    }
    rank++;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    say("between: got %d, sum %d", word, sum);
}

/* Sum over both worlds, merged, and over a part of them. */
static void across(MPI_Comm inter, int is_child)
{
    MPI_Comm merged, part;
    int rank, sum = 0, value;

    MPI_Intercomm_merge(inter, is_child, &merged);
    MPI_Comm_rank(merged, &rank);
    value = 1 << rank;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, merged);
    say("merged rank %d: %d", rank, sum);
    MPI_Comm_split(merged, rank == 1, rank, &part);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part);
    say("part: %d", sum);
    MPI_Bcast(&sum, 1, MPI_INT, 0, merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&part);
    MPI_Comm_free(&merged);
}

static void parent_life(char *self, int rank)
{
    MPI_Comm children = MPI_COMM_NULL;
    int rc;

    say_open("parent", rank);
    say_child_environment();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                        &children, MPI_ERRCODES_IGNORE);
    /* Debian's MPICH has no process manager that spawns. */
    if (rc != MPI_SUCCESS) {
        say("cannot spawn");
        return;
    }
    between(children, 0);
    across(children, 0);
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv)
{
    int rank, initialized = 1, finalized = 1;
    MPI_Comm parent;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        parent_life(argv[0], rank);
    } else {
        say_open("child", rank);
        between(parent, 1);
        across(parent, 1);
        MPI_Comm_disconnect(&parent);
    }
    say("before: %d %d", initialized, finalized);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    say("after: %d", finalized);
    return 0;
}
