/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Ranks that take turns.
 *
 * bench/waits starts the same two-rank program several times, each with another library
 * preloaded, all on the same CPUs.  One of the programs works at a time; the ranks of
 * the others sleep in read(2) of a pipe, outside of MPI.  A turn is one line that both
 * ranks of a program get and answer with one line of JSON.
 *
 * Everything is in this header because each program is compiled from one file, by the
 * compiler wrapper of its MPI.
 */
#ifndef HPCB_BENCH_TURNS_H
#define HPCB_BENCH_TURNS_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TURNS_LINE 256 /* bytes of a turn, with its end */

typedef struct {
    FILE *in;
    FILE *out;
} turns_t;

static inline FILE *turns_open(const char *directory, int rank, const char *end,
                               int flags, const char *mode)
{
    char path[4096];
    int fd;

    if (snprintf(path, sizeof path, "%s/%d.%s", directory, rank, end) >=
        (int)sizeof path)
        return NULL;
    fd = open(path, flags | O_CLOEXEC);
    return fd >= 0 ? fdopen(fd, mode) : NULL;
}

/*
 * Open the pipes DIRECTORY/RANK.in and DIRECTORY/RANK.out and say hello.  The process
 * dies with its parent, the launcher.  cpu: bind the thread to it; -1: do not.
 * Returns 0; -1 with errno.
 */
static inline int turns_begin(turns_t *turns, const char *directory, int rank, int cpu)
{
    cpu_set_t set;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -1;
    if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set))
            return -1;
    }
    turns->in = turns_open(directory, rank, "in", O_RDONLY, "r");
    turns->out = turns_open(directory, rank, "out", O_WRONLY, "w");
    if (!turns->in || !turns->out)
        return -1;
    if (fprintf(turns->out, "{\"rank\": %d}\n", rank) < 0 || fflush(turns->out))
        return -1;
    return 0;
}

/* Sleep until the next turn and read it into line.  Returns false when there is none:
 * whoever gave them has closed the pipe or has ended. */
static inline bool turns_next(turns_t *turns, char line[TURNS_LINE])
{
    return fgets(line, TURNS_LINE, turns->in) != NULL;
}

/* Seconds of a clock. */
static inline double turns_seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds that this thread has waited on the run queue so far (second field of
 * schedstat); 0 if the kernel does not count them. */
static inline double turns_run_delay(void)
{
    unsigned long long cpu, delay;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");

    if (!file)
        return 0.0;
    if (fscanf(file, "%llu %llu", &cpu, &delay) != 2)
        delay = 0;
    fclose(file);
    return (double)delay * 1e-9;
}

#endif
