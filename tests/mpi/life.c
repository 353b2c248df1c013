/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The life of a program: before MPI_Init, what its children see of LD_PRELOAD after it,
 * programs that it spawns through MPI (they may lack the library: collectives over both
 * worlds must still match), after MPI_Finalize.
 */
#include "say.h"

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
        across(parent, 1);
        MPI_Comm_disconnect(&parent);
    }
    say("before: %d %d", initialized, finalized);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    say("after: %d", finalized);
    return 0;
}
