/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* CPU time of a job, from its own group, which keeps what groups below it have used
 * after they were removed. */
#include "config.h"

#include <stdlib.h>
#include "common/cleanup.h"
#include "sensor/rows.h"
#include "sensor/stat.h"

typedef struct {
    int stat; /* cpu.stat of the job's group */
} cpu_t;

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return 0;
    return hpcb_error(err, "no cgroup2 hierarchy is mounted");
}

static void close_cpu(void *handle)
{
    cpu_t *cpu = handle;

    hpcb_cleanup_close(&cpu->stat);
    free(cpu);
}

static int open_cpu(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    cpu_t *cpu = calloc(1, sizeof(*cpu));

    if (!cpu)
        return hpcb_error(err, "no memory");
    cpu->stat = hpcb_stat_open(job->dir, "cpu.stat", err);
    if (cpu->stat < 0) {
        free(cpu);
        return -1;
    }
    *handle = cpu;
    return 0;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const cpu_t *cpu = handle;

    return hpcb_stat_number(cpu->stat, "usage_usec ", &values[HPCB_FIGURE_CPU], err);
}

const hpcb_sensor_t hpcb_sensor_cpu = {
    .name = "cpu",
    .what = "CPU time from cgroup2 groups",
    .figures = 1U << HPCB_FIGURE_CPU,
    .probe = probe,
    .open = open_cpu,
    .sample = sample,
    .close = close_cpu,
};
