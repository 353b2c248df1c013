/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "policy/spread.h"

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

/* a * b / c, which is at most UINT64_MAX. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
    __extension__ typedef unsigned __int128 wide_t;
    wide_t result = (wide_t)a * b / c;

    return result < UINT64_MAX ? (uint64_t)result : UINT64_MAX;
}

/* The bandwidth that the tasks of a node may use together. */
static uint64_t allowed(const hpcb_spread_job_t *job)
{
    return scale(job->capacity, HPCB_SPREAD_FULL, 100);
}

/* Tasks per node, if packed ones saturate it. */
static uint32_t tasks_that_fit(const hpcb_spread_job_t *job)
{
    uint64_t tasks = scale(allowed(job), job->packed, job->demand);

    if (job->measured && tasks > job->packed / 2)
        tasks = job->packed / 2;
    return tasks > 0 ? (uint32_t)tasks : 1;
}

static uint32_t smaller(uint32_t a, uint64_t b)
{
    return a < b ? a : (uint32_t)b;
}

uint32_t hpcb_spread_packed(const hpcb_spread_limits_t *limits)
{
    uint32_t threads = limits->threads > 0 ? limits->threads : 1;
    uint32_t cores = limits->cpus / threads;
    uint32_t per_task = limits->cpus_per_task > 0 ? limits->cpus_per_task : 1;
    uint32_t tasks;

    if (limits->threads_per_core > 0)
        threads = smaller(threads, limits->threads_per_core);
    tasks = cores * threads / per_task;
    if (limits->tasks_per_core > 0)
        tasks = smaller(tasks, (uint64_t)cores * limits->tasks_per_core);
    if (limits->memory > 0 && limits->memory_per_cpu > 0)
        tasks = smaller(tasks, limits->memory / limits->memory_per_cpu / per_task);
    return tasks;
}

static hpcb_spread_t nothing(hpcb_spread_verdict_t verdict)
{
    return (hpcb_spread_t){.verdict = verdict};
}

/* Use as many nodes as allowed, with as few tasks on each as possible. */
static hpcb_spread_t with_tasks(const hpcb_spread_job_t *job, uint32_t tasks)
{
    uint32_t nodes = divide_up(job->tasks, tasks);

    if (nodes > job->nodes_max)
        nodes = job->nodes_max;
    tasks = nodes > 0 ? divide_up(job->tasks, nodes) : job->packed;
    if (tasks >= job->packed)
        return nothing(HPCB_SPREAD_NO_NODES);
    return (hpcb_spread_t){HPCB_SPREAD_YES, tasks, divide_up(job->tasks, tasks)};
}

hpcb_spread_t hpcb_spread_decide(const hpcb_spread_job_t *job)
{
    if (job->laid_out)
        return nothing(HPCB_SPREAD_LAID_OUT);
    if (job->demand == 0)
        return nothing(HPCB_SPREAD_NO_DEMAND);
    if (job->capacity == 0)
        return nothing(HPCB_SPREAD_NO_CAPACITY);
    if (job->packed == 0 || job->tasks == 0)
        return nothing(HPCB_SPREAD_NO_TASKS);
    if (job->packed == 1 || job->tasks == 1)
        return nothing(HPCB_SPREAD_ONE);
    if (job->demand <= allowed(job))
        return nothing(HPCB_SPREAD_FITS);
    if (job->vain)
        return nothing(HPCB_SPREAD_VAIN);
    return with_tasks(job, tasks_that_fit(job));
}

bool hpcb_spread_less(const hpcb_spread_job_t *job, hpcb_spread_t *spread)
{
    hpcb_spread_t less;

    if (spread->verdict != HPCB_SPREAD_YES || spread->tasks > job->packed / 2)
        return false;
    less = with_tasks(job, 2 * spread->tasks);
    if (less.verdict != HPCB_SPREAD_YES || less.nodes >= spread->nodes)
        return false;
    *spread = less;
    return true;
}

uint64_t hpcb_spread_demand(const hpcb_spread_job_t *job, uint32_t tasks)
{
    return tasks < job->packed ? scale(job->demand, tasks, job->packed) : job->demand;
}
