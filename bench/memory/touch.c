/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * memory-touch KIND THREADS MIB [DIR]: wait for a line of standard input, touch that
 * much memory as fast as it goes, print the seconds that it took and those of CPU time,
 * and hold it until standard input ends.
 *
 *   anon     pages of the base size
 *   huge     transparent huge pages, where the kernel has some
 *   shm      a file in memory (memfd), shared
 *   file     a file in DIR, which is removed at once
 *   hostile  as a guest that gives nothing back: bench/memory/hostile.h
 *
 * Ignores SIGTERM.  Exits with 1 if it does not get the memory.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/memory/hostile.h"

#define THREADS_MAX 1024

typedef struct {
    char *start;
    size_t size;
    pthread_t thread;
} part_t;

static void *touch(void *arg)
{
    const part_t *part = arg;

    memset(part->start, 1, part->size);
    return NULL;
}

static int open_file(const char *kind, const char *dir, size_t size)
{
    int fd = strcmp(kind, "shm") == 0 ? memfd_create("touch", 0)
                                      : open(dir, O_TMPFILE | O_RDWR, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
        perror("memory-touch");
        exit(EXIT_FAILURE);
    }
    return fd;
}

static char *map(const char *kind, const char *dir, size_t size)
{
    bool file = strcmp(kind, "shm") == 0 || strcmp(kind, "file") == 0;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                        file ? open_file(kind, dir, size) : -1, 0);

    if (memory == MAP_FAILED) {
        perror("memory-touch");
        exit(EXIT_FAILURE);
    }
    madvise(memory, size, strcmp(kind, "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memory;
}

static void touch_all(char *memory, size_t size, unsigned threads)
{
    static part_t parts[THREADS_MAX];

    for (unsigned i = 0; i < threads; i++) {
        size_t from = size / threads * i;

        parts[i].start = memory + from;
        parts[i].size = i + 1 < threads ? size / threads : size - from;
        if (pthread_create(&parts[i].thread, NULL, touch, &parts[i])) {
            fputs("memory-touch: no thread\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(parts[i].thread, NULL);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void wait_for_line(void)
{
    int c;

    do
        c = getchar();
    while (c != '\n' && c != EOF);
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
    size_t size = argc > 3 ? (size_t)atol(argv[3]) << 20 : 0;
    const char *dir = argc > 4 ? argv[4] : "/var/tmp";
    struct timespec start, end;

    if (threads < 1 || threads > THREADS_MAX || size == 0) {
        fputs("usage: memory-touch anon|huge|shm|file|hostile THREADS MIB [DIR]\n",
              stderr);
        return 2;
    }
    signal(SIGTERM, SIG_IGN);
    wait_for_line();
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (strcmp(argv[1], "hostile") == 0)
        hostile_hold(size, dir);
    else
        touch_all(map(argv[1], dir, size), size, threads);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.6f %.6f\n",
           (double)(end.tv_sec - start.tv_sec) +
               (double)(end.tv_nsec - start.tv_nsec) * 1e-9,
           cpu_seconds());
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return EXIT_SUCCESS;
}
