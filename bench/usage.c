/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include "bench/usage.h"

static double seconds_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double bench_process_cpu(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_thread_cpu(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* run_delay in ns of the thread behind a schedstat file, or -1 with errno. */
static double run_delay_of(const char *path)
{
    unsigned long long delay;
    FILE *f = fopen(path, "re");

    if (!f)
        return -1;
    int n = fscanf(f, "%*u %llu", &delay);
    fclose(f);
    if (n != 1) {
        errno = EPROTO;
        return -1;
    }
    return (double)delay;
}

static int process_run_delay(double *seconds)
{
    /* Whether this kernel has the file at all: below, a missing one only means
     * that its thread has ended between readdir and open. */
    if (run_delay_of("/proc/self/schedstat") < 0)
        return -1;

    DIR *dir = opendir("/proc/self/task");
    double sum = 0;

    if (!dir)
        return -1;
    for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        char path[64];

        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", d->d_name);
        double ns = run_delay_of(path);
        if (ns > 0)
            sum += ns;
    }
    closedir(dir);
    *seconds = sum * 1e-9;
    return 0;
}

int bench_usage_start(bench_usage_t *usage)
{
    struct rusage ru;
    double delay;

    if (process_run_delay(&delay) < 0 || getrusage(RUSAGE_SELF, &ru) < 0)
        return -1;
    *usage = (bench_usage_t){.start = bench_now(),
                             .cpu = bench_process_cpu(),
                             .run_delay = delay,
                             .voluntary = (double)ru.ru_nvcsw,
                             .involuntary = (double)ru.ru_nivcsw};
    return 0;
}

int bench_usage_stop(bench_usage_t *usage)
{
    double end = bench_now();
    double cpu = bench_process_cpu();
    struct rusage ru;
    double delay;

    if (process_run_delay(&delay) < 0 || getrusage(RUSAGE_SELF, &ru) < 0)
        return -1;
    usage->end = end;
    usage->cpu = cpu - usage->cpu;
    usage->run_delay = delay - usage->run_delay;
    usage->voluntary = (double)ru.ru_nvcsw - usage->voluntary;
    usage->involuntary = (double)ru.ru_nivcsw - usage->involuntary;
    return 0;
}

void bench_usage_print(const bench_usage_t *usage)
{
    double wall = usage->end - usage->start;

    printf("\"start\":%.6f,\"end\":%.6f,\"wall\":%.6f,\"cpu\":%.6f,"
           "\"run_delay\":%.6f,\"stolen\":%.6f,\"voluntary\":%.0f,"
           "\"involuntary\":%.0f",
           usage->start, usage->end, wall, usage->cpu, usage->run_delay,
           wall > 0 ? usage->run_delay / wall : 0, usage->voluntary,
           usage->involuntary);
}
