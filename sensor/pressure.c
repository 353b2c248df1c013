/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Time for which a task of a job waited for memory or storage (PSI, Linux 4.20 and
 * later, if the kernel was built and booted with it). */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>
#include "sensor/rows.h"
#include "sensor/stat.h"

typedef struct {
    int memory, io;
} pressure_t;

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    char text[512];

    if (!hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return hpcb_error(err, "no cgroup2 hierarchy is mounted");
    if (hpcb_node_read(node, "proc/pressure/memory", text, sizeof(text), NULL) == 0)
        return 0;
    return hpcb_error(err, "this kernel accounts no pressure (boot it with psi=1)");
}

static void close_pressure(void *handle)
{
    pressure_t *pressure = handle;

    if (pressure->memory >= 0)
        close(pressure->memory);
    if (pressure->io >= 0)
        close(pressure->io);
    free(pressure);
}

static int open_pressure(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    pressure_t *pressure = calloc(1, sizeof(*pressure));

    if (!pressure)
        return hpcb_error(err, "no memory");
    pressure->memory = hpcb_stat_open(job->dir, "memory.pressure", err);
    pressure->io = -1;
    if (pressure->memory >= 0)
        pressure->io = hpcb_stat_open(job->dir, "io.pressure", err);
    if (pressure->io < 0) {
        close_pressure(pressure);
        return -1;
    }
    *handle = pressure;
    return 0;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const pressure_t *pressure = handle;

    if (hpcb_stat_number(pressure->memory, "total=", &values[HPCB_FIGURE_STALL_MEMORY],
                         err) < 0)
        return -1;
    return hpcb_stat_number(pressure->io, "total=", &values[HPCB_FIGURE_STALL_IO], err);
}

const hpcb_sensor_t hpcb_sensor_pressure = {
    .name = "pressure",
    .what = "time that tasks waited for memory and storage (PSI)",
    .figures = 1U << HPCB_FIGURE_STALL_MEMORY | 1U << HPCB_FIGURE_STALL_IO,
    .probe = probe,
    .open = open_pressure,
    .sample = sample,
    .close = close_pressure,
};
