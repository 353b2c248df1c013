/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Preloaded into programs of a node whose clock has been stepped: CLOCK_REALTIME is off
 * by what the file $CLOCK_STEP says, in seconds.  The machine's own clock is
 * everybody's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long offset(void)
{
    const char *path = getenv("CLOCK_STEP");
    char text[32] = "";
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);

    if (status == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += offset();
    return status;
}
