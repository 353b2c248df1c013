/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A guest that gives nothing back by itself. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/memory/hostile.h"

#define MIB         (1UL << 20)
#define GREED_BYTES (64 * MIB)
#define CACHE_BYTES (64 * MIB)
#define BLOCK_BYTES MIB

/* In memory that the kernel cannot take back. */
static void hold(size_t size, int fd)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED) {
        perror("memory-touch");
        exit(EXIT_FAILURE);
    }
    memset(memory, 1, size);
    mlock(memory, size);
}

static int memory_file(size_t size)
{
    int fd = memfd_create("hostile", 0);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
        perror("memory-touch");
        exit(EXIT_FAILURE);
    }
    return fd;
}

/* Each child allocates, forks the next one, and ends. */
static void allocate_for_ever(void)
{
    for (;;) {
        char *memory = mmap(NULL, GREED_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory != MAP_FAILED) {
            memset(memory, 1, GREED_BYTES);
            munmap(memory, GREED_BYTES);
        }
        if (fork() > 0)
            _exit(EXIT_SUCCESS);
    }
}

/* Page cache that is dirty, then active, then dirty again. */
static void fill_cache_for_ever(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
    static char block[BLOCK_BYTES];

    if (fd < 0)
        _exit(EXIT_FAILURE);
    for (;;) {
        for (off_t at = 0; at < (off_t)CACHE_BYTES; at += BLOCK_BYTES)
            if (pwrite(fd, block, BLOCK_BYTES, at) < 0 ||
                pread(fd, block, BLOCK_BYTES, at) < 0)
                break;
        usleep(1000);
    }
}

void hostile_hold(size_t size, const char *dir)
{
    if (fork() == 0)
        allocate_for_ever();
    if (fork() == 0)
        fill_cache_for_ever(dir);
    hold(size / 2, -1);
    hold(size - size / 2, memory_file(size - size / 2));
}
