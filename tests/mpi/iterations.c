/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Iterations that are known: what the library has written about them into the page
 * $HPCB_TEST_PAGE.<rank>.  "Computing" is sleeping here, so that a loaded machine makes
 * less of a difference.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../common/page.h"
#include "say.h"

#define ITERATIONS 60
#define SHORT_MS   2
#define LONG_MS    40

static void compute(int ms)
{
    struct timespec time = {0, 1000000L * ms};

    nanosleep(&time, NULL);
}

static void iterate(int rank)
{
    int out = rank, in, sum;

    compute(rank == 0 ? SHORT_MS : LONG_MS);
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static hpcb_page_t read_page(int rank)
{
    hpcb_page_t page = {0};
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s.%d", getenv("HPCB_TEST_PAGE"), rank);
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &page, sizeof(page)) != sizeof(page))
        say("no page");
    close(fd);
    return page;
}

/* What a loaded machine adds is added to the waits of the slow rank, too. */
static bool as_expected(int rank)
{
    hpcb_page_t page = read_page(rank);

    return rank == 0 ? page.wait_ns > page.compute_ns
                     : page.compute_ns >= LONG_MS * UINT64_C(1000000);
}

static void say_page(int rank, int expected)
{
    hpcb_page_t page = read_page(rank);

    say("period %d", (int)page.period);
    say("iterations: %d",
        page.iterations > ITERATIONS / 2 && page.iterations <= ITERATIONS);
    say("samples: %d", page.samples > 0 && page.samples <= page.iterations);
    say("mostly %s: %d", rank == 0 ? "waits" : "computes", expected > ITERATIONS / 4);
    say("in a call: %d", (int)(page.waits % 2));
}

/* Neither the child of a fork nor what it starts writes into the page. */
static void fork_one(int rank)
{
    uint64_t before = read_page(rank).waits;
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(getenv("HPCB_PAGE") || read_page(rank).waits != before ? 1 : 0);
    waitpid(child, &status, 0);
    say("child: %d", status);
}

int main(int argc, char **argv)
{
    int rank, expected = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(rank);
        expected += i >= ITERATIONS / 2 && as_expected(rank);
    }
    say_page(rank, expected);
    fork_one(rank);
    MPI_Finalize();
    say("at the end: %d", (int)read_page(rank).period);
    return 0;
}
