/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Run delay of a job: sum over the CPUs of its tasks (PSI, Linux 4.20 and later, if the
 * kernel was built and booted with it).
 *
 * There is one group per task: ours with cgroup v1 (sensor/meter.h), Slurm's
 * step_<S>/user/task_<N> on pure v2.  The job's own group would give the mean over all
 * its CPUs.  For a task with threads on several CPUs the kernel's figure is such a
 * mean, too; policy/delay.h computes a sum from it and the task's CPU time.  The last
 * figures of tasks stay in the sum after their groups have disappeared.
 *
 * All files stay open, because opening costs more than reading.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "policy/delay.h"
#include "sensor/rows.h"
#include "sensor/stat.h"
#include "sensor/threads.h"

/* Interval at which the number of a task's CPUs is determined. */
#define LOOK_US UINT64_C(5000000)

/* Maximum number of threads of a task that are scanned. */
#define THREADS_MAX 1024

typedef struct {
    char *dir;
    ino_t group;
    bool seen;     /* in the scan that is under way */
    int pressure;  /* its cpu.pressure */
    int stat;      /* its cpu.stat; -1: it was on one CPU so far */
    unsigned cpus; /* on so many it can be at once */
    uint64_t looked_us;
    /* At the last reading; time 0: none. */
    uint64_t time_us, mean_us, cpu_us;
} task_t;

typedef struct {
    char dir[PATH_MAX]; /* the job's group */
    bool v2;
    nlink_t links; /* of it, at the last scan */
    uint64_t sum_us;
    size_t n_tasks, space;
    task_t *tasks;
} delay_t;

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    char text[512];

    if (!hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return hpcb_error(err, "no cgroup2 hierarchy is mounted");
    if (hpcb_node_read(node, "proc/pressure/cpu", text, sizeof(text), NULL) == 0)
        return 0;
    return hpcb_error(err, "this kernel accounts no pressure (boot it with psi=1)");
}

static void close_file(int *fd)
{
    if (*fd < 0)
        return;
    hpcb_cleanup_close(fd);
    hpcb_stat_give(1);
    *fd = -1;
}

/* -1 with errno and err; EMFILE: there are too many. */
static int open_file(const char *dir, const char *name, hpcb_error_t *err)
{
    int fd;

    if (hpcb_stat_take(1, err) < 0)
        return -1;
    fd = hpcb_stat_open(dir, name, err);
    if (fd < 0)
        hpcb_stat_give(1);
    return fd;
}

static void close_task(task_t *task)
{
    close_file(&task->pressure);
    close_file(&task->stat);
    free(task->dir);
}

static void close_delay(void *handle)
{
    delay_t *delay = handle;

    for (size_t i = 0; i < delay->n_tasks; i++)
        close_task(&delay->tasks[i]);
    free(delay->tasks);
    free(delay);
}

static task_t *find(const delay_t *delay, ino_t group)
{
    for (size_t i = 0; i < delay->n_tasks; i++) {
        if (delay->tasks[i].group == group)
            return &delay->tasks[i];
    }
    return NULL;
}

static int make_room(delay_t *delay)
{
    size_t space = delay->space ? 2 * delay->space : 8;
    task_t *more;

    if (delay->n_tasks < delay->space)
        return 0;
    more = realloc(delay->tasks, space * sizeof(*more));
    if (!more)
        return -1;
    delay->tasks = more;
    delay->space = space;
    return 0;
}

/* Take in a task's group, if it is new.  One that has gone meanwhile is no failure. */
static int see(delay_t *delay, const char *dir, ino_t group, hpcb_error_t *err)
{
    task_t *task = find(delay, group);
    task_t new = {.group = group, .seen = true, .stat = -1, .cpus = 1};

    if (task) {
        task->seen = true;
        return 0;
    }
    new.dir = make_room(delay) < 0 ? NULL : strdup(dir);
    if (!new.dir)
        return hpcb_error(err, "no memory");
    new.pressure = open_file(dir, "cpu.pressure", err);
    if (new.pressure < 0) {
        free(new.dir);
        return errno == EMFILE ? -1 : 0;
    }
    delay->tasks[delay->n_tasks++] = new;
    return 0;
}

/* Call for each directory in dir whose name begins with prefix and contains part. */
static int each(delay_t *delay, const char *dir, const char *prefix, const char *part,
                int (*visit)(delay_t *, const char *, ino_t, hpcb_error_t *),
                hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX];
    int rc = 0;

    /* Tasks that are not seen are dropped, and counted again when they are. */
    if (!handle && !hpcb_knob_gone(errno))
        return hpcb_error(err, "%s: %s", dir, strerror(errno));
    while (handle && rc == 0 && (entry = readdir(handle))) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            strstr(entry->d_name, part) &&
            hpcb_knob_path(dir, entry->d_name, path, sizeof(path), NULL) == 0)
            rc = visit(delay, path, entry->d_ino, err);
    }
    return rc;
}

static int see_step(delay_t *delay, const char *step, ino_t group, hpcb_error_t *err)
{
    char user[PATH_MAX];

    (void)group;
    if (hpcb_knob_path(step, "user", user, sizeof(user), NULL) < 0)
        return 0;
    return each(delay, user, "task_", "", see, err);
}

static void drop_unseen(delay_t *delay)
{
    size_t kept = 0;

    for (size_t i = 0; i < delay->n_tasks; i++) {
        if (delay->tasks[i].seen)
            delay->tasks[kept++] = delay->tasks[i];
        else
            close_task(&delay->tasks[i]);
    }
    delay->n_tasks = kept;
}

static int scan(delay_t *delay, hpcb_error_t *err)
{
    int rc;

    for (size_t i = 0; i < delay->n_tasks; i++)
        delay->tasks[i].seen = false;
    rc = delay->v2 ? each(delay, delay->dir, "step_", "", see_step, err)
                   : each(delay, delay->dir, "", ".", see, err);
    drop_unseen(delay);
    return rc;
}

/* Tasks come and go with the number of directories in the job's group; on v2 they are
 * further below. */
static int scan_if_changed(delay_t *delay, hpcb_error_t *err)
{
    struct stat group;

    if (stat(delay->dir, &group) < 0)
        return hpcb_error(err, "the job's group: %s", strerror(errno));
    if (!delay->v2 && group.st_nlink == delay->links)
        return 0;
    delay->links = group.st_nlink;
    return scan(delay, err);
}

/* Tasks that are there get their files now, before other sensors of the job do. */
static int open_delay(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    delay_t *delay = calloc(1, sizeof(*delay));

    if (!delay)
        return hpcb_error(err, "no memory");
    delay->v2 = hpcb_node_version(job->node, HPCB_CTL_CPU) == 2;
    hpcb_error(err, "the name of the job's group is too long");
    if (hpcb_text_copy(delay->dir, sizeof(delay->dir), job->dir) < 0 ||
        scan_if_changed(delay, err) < 0) {
        close_delay(delay);
        return -1;
    }
    *handle = delay;
    return 0;
}

typedef struct {
    unsigned threads;
    hpcb_cpus_t cpus;
} width_t;

static int add_thread(pid_t tid, void *arg, hpcb_error_t *err)
{
    width_t *width = arg;
    hpcb_cpus_t cpus;

    if (hpcb_task_cpus(tid, &cpus, NULL) == 0) {
        hpcb_cpus_join(&width->cpus, &cpus);
        width->threads++;
    }
    return width->threads < THREADS_MAX ? 0 : hpcb_error(err, "too many threads");
}

/* A task that gets a second CPU is read with its CPU time from now on. */
static int look_at(task_t *task, uint64_t time_us, hpcb_error_t *err)
{
    static const hpcb_threads_visitor_t visitor = {.visit = add_thread};
    width_t width = {0};
    unsigned cpus;

    if (task->looked_us && time_us - task->looked_us < LOOK_US)
        return 0;
    task->looked_us = time_us;
    (void)hpcb_threads_each(task->dir, &visitor, &width, NULL);
    cpus = hpcb_cpus_count(&width.cpus);
    task->cpus = width.threads < cpus ? width.threads : cpus;
    if (task->cpus <= 1 || task->stat >= 0)
        return 0;
    task->stat = open_file(task->dir, "cpu.stat", err);
    task->time_us = 0;
    return task->stat < 0 && errno == EMFILE ? -1 : 0;
}

/* Return the task's wait since the last reading; at the first one everything that the
 * kernel has, because the CPUs are not known then. */
static uint64_t waited_us(const task_t *before, const task_t *now)
{
    uint64_t mean_us = now->mean_us - before->mean_us;

    if (!before->time_us || now->stat < 0)
        return mean_us;
    return hpcb_delay_sum(mean_us, now->cpu_us - before->cpu_us,
                          now->time_us - before->time_us, now->cpus);
}

/* One that has gone is dropped by the next scan. */
static int read_task(delay_t *delay, task_t *task, hpcb_error_t *err)
{
    task_t before;

    if (look_at(task, now_us(), err) < 0)
        return -1;
    before = *task;
    if (hpcb_stat_number(task->pressure, "total=", &task->mean_us, NULL) < 0 ||
        (task->stat >= 0 &&
         hpcb_stat_number(task->stat, "usage_usec ", &task->cpu_us, NULL) < 0)) {
        delay->links = 0;
        *task = before;
        return 0;
    }
    task->time_us = now_us();
    delay->sum_us += waited_us(&before, task);
    return 0;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    delay_t *delay = handle;

    if (scan_if_changed(delay, err) < 0)
        return -1;
    for (size_t i = 0; i < delay->n_tasks; i++)
        if (read_task(delay, &delay->tasks[i], err) < 0)
            return -1;
    values[HPCB_FIGURE_RUN_DELAY] = delay->sum_us;
    return 0;
}

const hpcb_sensor_t hpcb_sensor_delay = {
    .name = "delay",
    .what = "time that tasks waited for a CPU (PSI)",
    .figures = 1U << HPCB_FIGURE_RUN_DELAY,
    .probe = probe,
    .open = open_delay,
    .sample = sample,
    .close = close_delay,
};
