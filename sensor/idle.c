/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "sensor/idle.h"

#define LINE_BYTES 512

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* "cpu3 user nice system idle iowait ...".  False: the lines of CPUs are over. */
static bool add_line(const char *line, hpcb_idle_t *idle)
{
    uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t ticks, waits;
    unsigned cpu;

    if (strncmp(line, "cpu", 3) != 0)
        return false;
    if (sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &ticks, &waits) !=
            3 ||
        cpu >= HPCB_CPUS_MAX)
        return true;
    idle->idle_us[cpu] = (ticks + waits) * tick_us;
    if (cpu >= idle->count)
        idle->count = cpu + 1;
    return true;
}

int hpcb_idle_read(const hpcb_node_t *node, hpcb_idle_t *idle, hpcb_error_t *err)
{
    char path[PATH_MAX], line[LINE_BYTES];
    FILE *stream;

    if (hpcb_node_path(node, "proc/stat", path, sizeof(path), err) < 0)
        return -1;
    stream = fopen(path, "re");
    if (!stream)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    memset(idle, 0, sizeof(*idle));
    while (fgets(line, sizeof(line), stream) && add_line(line, idle))
        ;
    fclose(stream);
    idle->time_us = now_us();
    if (idle->count)
        return 0;
    errno = ENODATA;
    return hpcb_error(err, "%s names no CPU", path);
}

double hpcb_idle_part(const hpcb_idle_t *before, const hpcb_idle_t *after,
                      const hpcb_cpus_t *cpus)
{
    double passed_us = (double)(after->time_us - before->time_us), idle_us = 0;
    size_t count = 0;

    for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < after->count;
         cpu = hpcb_cpus_from(cpus, cpu + 1)) {
        count++;
        /* iowait may go back (proc(5)). */
        if (cpu < before->count && after->idle_us[cpu] > before->idle_us[cpu])
            idle_us += (double)(after->idle_us[cpu] - before->idle_us[cpu]);
    }
    if (count == 0 || passed_us <= 0)
        return 0;
    idle_us /= passed_us * (double)count;
    return idle_us < 1 ? idle_us : 1;
}
