/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time and run delay of a job.
 *
 * CPU time comes from the job's own group, which keeps what groups below it have used
 * after they were removed.  So does run delay on pure cgroup v2.  Beside cgroup v1 it
 * is the sum over task groups (sensor/meter.c says why).  A step that ends takes its
 * groups away: what they had when they were last read stays in the sum.
 *
 * All files stay open, because opening costs more than reading; the task groups are
 * looked up again when the number of directories in the job's group has changed or one
 * has gone.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "sensor/rows.h"
#include "sensor/stat.h"

typedef struct {
    int pressure; /* cpu.pressure of its group */
    ino_t group;
    bool seen; /* in the scan that is under way */
    uint64_t delay_us;
} task_t;

typedef struct {
    int stat;     /* cpu.stat of the job's group */
    int pressure; /* cpu.pressure of it; -1: add up task groups */
    int dir;      /* the job's group, -1 on pure v2 */
    nlink_t links;
    uint64_t ended_us; /* run delay of task groups that have gone */
    size_t n_tasks, space;
    task_t *tasks;
} cpu_t;

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return 0;
    return hpcb_error(err, "no cgroup2 hierarchy is mounted");
}

static void close_task(const task_t *task)
{
    close(task->pressure);
    hpcb_stat_give(1);
}

static void close_cpu(void *handle)
{
    cpu_t *cpu = handle;

    for (size_t i = 0; i < cpu->n_tasks; i++)
        close_task(&cpu->tasks[i]);
    free(cpu->tasks);
    hpcb_cleanup_close(&cpu->stat);
    hpcb_cleanup_close(&cpu->pressure);
    hpcb_cleanup_close(&cpu->dir);
    free(cpu);
}

static int open_files(cpu_t *cpu, const hpcb_sensor_job_t *job, hpcb_error_t *err)
{
    cpu->stat = hpcb_stat_open(job->dir, "cpu.stat", err);
    if (cpu->stat < 0)
        return -1;
    if (hpcb_node_version(job->node, HPCB_CTL_CPU) == 2) {
        cpu->pressure = hpcb_stat_open(job->dir, "cpu.pressure", NULL);
        return 0;
    }
    cpu->dir = open(job->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cpu->dir < 0 ? hpcb_error(err, "%s: %s", job->dir, strerror(errno)) : 0;
}

static int open_cpu(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    cpu_t *cpu = calloc(1, sizeof(*cpu));

    if (!cpu)
        return hpcb_error(err, "no memory");
    cpu->stat = cpu->pressure = cpu->dir = -1;
    if (open_files(cpu, job, err) < 0) {
        close_cpu(cpu);
        return -1;
    }
    *handle = cpu;
    return 0;
}

static task_t *find(cpu_t *cpu, ino_t group)
{
    for (size_t i = 0; i < cpu->n_tasks; i++) {
        if (cpu->tasks[i].group == group)
            return &cpu->tasks[i];
    }
    return NULL;
}

static int add_task(cpu_t *cpu, ino_t group, int pressure)
{
    if (cpu->n_tasks == cpu->space) {
        size_t space = cpu->space ? 2 * cpu->space : 8;
        task_t *more = realloc(cpu->tasks, space * sizeof(*more));

        if (!more)
            return -1;
        cpu->tasks = more;
        cpu->space = space;
    }
    cpu->tasks[cpu->n_tasks++] =
        (task_t){.pressure = pressure, .group = group, .seen = true};
    return 0;
}

/* Take in a task's group, if it is one (its name has a dot) and it is new.  One that
 * has gone meanwhile is no failure. */
static int see(cpu_t *cpu, const struct dirent *entry, hpcb_error_t *err)
{
    task_t *task = find(cpu, entry->d_ino);
    hpcb_autoclose int group = -1;
    int pressure;

    if (task) {
        task->seen = true;
        return 0;
    }
    if (entry->d_name[0] == '.' || !strchr(entry->d_name, '.'))
        return 0;
    group = openat(cpu->dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group < 0)
        return 0;
    if (hpcb_stat_take(1, err) < 0)
        return -1;
    pressure = openat(group, "cpu.pressure", O_RDONLY | O_CLOEXEC);
    if (pressure >= 0 && add_task(cpu, entry->d_ino, pressure) == 0)
        return 0;
    hpcb_stat_give(1);
    if (pressure >= 0)
        close(pressure);
    return 0;
}

static void drop_unseen(cpu_t *cpu)
{
    size_t kept = 0;

    for (size_t i = 0; i < cpu->n_tasks; i++) {
        if (cpu->tasks[i].seen) {
            cpu->tasks[kept++] = cpu->tasks[i];
            continue;
        }
        cpu->ended_us += cpu->tasks[i].delay_us;
        close_task(&cpu->tasks[i]);
    }
    cpu->n_tasks = kept;
}

static int scan(cpu_t *cpu, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = NULL;
    int again = openat(cpu->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent *entry;
    int rc = 0;

    if (again >= 0)
        dir = fdopendir(again);
    if (!dir) {
        hpcb_cleanup_close(&again);
        return hpcb_error(err, "the job's group: %s", strerror(errno));
    }
    for (size_t i = 0; i < cpu->n_tasks; i++)
        cpu->tasks[i].seen = false;
    while (rc == 0 && (entry = readdir(dir)))
        rc = see(cpu, entry, err);
    drop_unseen(cpu);
    return rc;
}

/* Read all task groups.  Returns true if one of them has gone. */
static bool read_tasks(cpu_t *cpu)
{
    bool gone = false;

    for (size_t i = 0; i < cpu->n_tasks; i++) {
        task_t *task = &cpu->tasks[i];

        gone |= hpcb_stat_number(task->pressure, "total=", &task->delay_us, NULL) < 0 &&
                errno == ENODEV;
    }
    return gone;
}

static int add_tasks(cpu_t *cpu, uint64_t *value, hpcb_error_t *err)
{
    struct stat group;

    if (fstat(cpu->dir, &group) < 0)
        return hpcb_error(err, "the job's group: %s", strerror(errno));
    if (group.st_nlink != cpu->links && scan(cpu, err) < 0)
        return -1;
    cpu->links = group.st_nlink;
    if (read_tasks(cpu) && scan(cpu, err) < 0)
        return -1;
    *value = cpu->ended_us;
    for (size_t i = 0; i < cpu->n_tasks; i++)
        *value += cpu->tasks[i].delay_us;
    return 0;
}

/* Where pressure is switched off, nothing is known and the figure stays 0. */
static int run_delay(cpu_t *cpu, uint64_t *value, hpcb_error_t *err)
{
    if (cpu->dir >= 0)
        return add_tasks(cpu, value, err);
    return cpu->pressure < 0 ? 0
                             : hpcb_stat_number(cpu->pressure, "total=", value, err);
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    cpu_t *cpu = handle;

    if (hpcb_stat_number(cpu->stat, "usage_usec ", &values[HPCB_FIGURE_CPU], err) < 0)
        return -1;
    return run_delay(cpu, &values[HPCB_FIGURE_RUN_DELAY], err);
}

const hpcb_sensor_t hpcb_sensor_cpu = {
    .name = "cpu",
    .what = "CPU time and run delay from cgroup2 groups",
    .figures = 1U << HPCB_FIGURE_CPU | 1U << HPCB_FIGURE_RUN_DELAY,
    .probe = probe,
    .open = open_cpu,
    .sample = sample,
    .close = close_cpu,
};
