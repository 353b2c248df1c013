/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/state.h"
#include "hpcbctl/calibrate/calibrate.h"
#include "hpcbctl/tasks.h"
#include "sensor/membench_cache.h"
#include "sensor/membench_kernel.h"
#include "sensor/membench_run.h"

#define PASSES HPCB_CALIBRATE_PASSES

/* ---- Who else is on the node ---- */

typedef struct {
    hpcb_company_t *company;
    uint32_t own;    /* the caller's job, or 0 */
    uint32_t *known; /* jobs with a record */
    size_t n_known, size;
} count_t;

static void add_primary(hpcb_company_t *company, uint32_t job_id)
{
    company->primaries++;
    company->a_primary = job_id;
}

static int add_record(const hpcb_job_state_t *job, void *arg)
{
    count_t *count = arg;

    if (count->n_known == count->size) {
        size_t size = count->size ? 2 * count->size : 64;
        uint32_t *known = reallocarray(count->known, size, sizeof(*known));

        if (!known)
            return -1;
        count->known = known;
        count->size = size;
    }
    count->known[count->n_known++] = job->job_id;
    if (job->job_id == count->own)
        return 0;
    if (job->klass == HPCB_CLASS_GUEST)
        count->company->guests++;
    else
        add_primary(count->company, job->job_id);
    return 0;
}

static bool has_record(const count_t *count, uint32_t job_id)
{
    for (size_t i = 0; i < count->n_known; i++)
        if (count->known[i] == job_id)
            return true;
    return false;
}

static uint32_t job_of(const hpcb_task_t *tasks, size_t n_tasks, pid_t pid)
{
    for (size_t i = 0; i < n_tasks; i++)
        if (tasks[i].pid == pid)
            return tasks[i].job_id;
    return 0;
}

int hpcb_company_jobs(const hpcb_conf_t *conf, const hpcb_node_t *node,
                      hpcb_company_t *company, hpcb_error_t *err)
{
    hpcb_autofree hpcb_task_t *tasks = NULL;
    count_t count = {.company = company};
    size_t n_tasks = 0;
    int rc;

    company->primaries = company->guests = 0;
    company->a_primary = 0;
    rc = hpcb_tasks_scan(node, conf, &tasks, &n_tasks, err);
    count.own = job_of(tasks, n_tasks, getpid());
    if (hpcb_state_each(conf->state_dir, add_record, &count, err) < 0)
        rc = -1;
    /* Tasks are sorted by job: a job without a record counts once. */
    for (size_t i = 0; i < n_tasks; i++)
        if ((i == 0 || tasks[i].job_id != tasks[i - 1].job_id) &&
            tasks[i].job_id != count.own && !has_record(&count, tasks[i].job_id))
            add_primary(company, tasks[i].job_id);
    free(count.known);
    return rc;
}

int hpcb_company_ticks(const char *stat, double *busy, double *all)
{
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;

    if (sscanf(stat,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
        return -1;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    *busy = (double)(user + nice + system + irq + softirq + steal) * tick;
    *all = *busy + (double)(idle + iowait) * tick;
    return 0;
}

/* ---- Memory ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* From membench-max to membench-min (Koukis and Koziris, section 3), reading and
 * writing. */
static void choose_rows(size_t line, hpcb_memory_t *memory)
{
    size_t words = line / sizeof(hpcb_membench_word_t);
    const size_t strides[] = {words, words / 2, 1};

    memory->rows = 0;
    for (size_t i = 0; i < HPCB_CALIBRATE_ROWS; i++)
        if (strides[i / 2] > 0)
            memory->row[memory->rows++] =
                (hpcb_memory_row_t){.stride = strides[i / 2], .write = i % 2 == 1};
}

static void sum_up(double rates[HPCB_CALIBRATE_ROWS][PASSES], hpcb_memory_t *memory)
{
    for (size_t i = 0; i < memory->rows; i++) {
        qsort(rates[i], PASSES, sizeof(rates[i][0]), by_value);
        memory->row[i].least = rates[i][0];
        memory->row[i].median = rates[i][PASSES / 2];
        memory->row[i].most = rates[i][PASSES - 1];
    }
    /* The first two rows have the stride of a line. */
    memory->capacity = (uint64_t)fmin(memory->row[0].median, memory->row[1].median);
}

/* All rows in each pass, so that a slow moment hits all of them. */
static int run_passes(hpcb_membench_t *bench, double seconds,
                      void (*progress)(unsigned pass, unsigned passes),
                      hpcb_memory_t *memory, hpcb_error_t *err)
{
    double rates[HPCB_CALIBRATE_ROWS][PASSES];
    double cpu = 0, wall = 0;

    for (unsigned pass = 0; pass < PASSES; pass++) {
        if (progress)
            progress(pass + 1, PASSES);
        for (size_t i = 0; i < memory->rows; i++) {
            hpcb_membench_pass_t one = {.stride = memory->row[i].stride,
                                        .write = memory->row[i].write,
                                        .reuse = 1,
                                        .seconds =
                                            seconds / PASSES / (double)memory->rows};
            hpcb_membench_result_t result;

            if (hpcb_membench_pass(bench, &one, &result, err) < 0)
                return -1;
            rates[i][pass] = (double)result.bytes / (result.end - result.start);
            cpu += result.cpu;
            wall += result.end - result.start;
        }
    }
    sum_up(rates, memory);
    memory->cpu_part = cpu / (wall * memory->cpus);
    return 0;
}

int hpcb_calibrate_memory(const hpcb_cpus_t *cpus, double seconds,
                          void (*progress)(unsigned pass, unsigned passes),
                          hpcb_memory_t *memory, hpcb_error_t *err)
{
    hpcb_memory_t found = {.cpus = hpcb_cpus_count(cpus)};
    hpcb_membench_options_t options = {
        .threads = found.cpus, .cpus = cpus, .huge_pages = true};
    hpcb_membench_cache_t cache;
    hpcb_membench_t *bench;
    int rc;

    if (hpcb_membench_cache(NULL, cpus, &cache, err) < 0)
        return -1;
    options.block = found.block = cache.block;
    options.line = cache.line;
    choose_rows(cache.line, &found);
    if (hpcb_membench_open(&options, &bench, err) < 0)
        return -1;
    found.huge = hpcb_membench_huge_bytes();
    rc = run_passes(bench, seconds, progress, &found, err);
    hpcb_membench_close(bench);
    if (rc == 0)
        *memory = found;
    return rc;
}

/* ---- The line ---- */

/* In the format of hpcb_text_size, never more than bytes: more than three digits exceed
 * the precision of the measurement. */
static int add_size(char *line, size_t size, const char *key, uint64_t bytes)
{
    static const char units[] = "KMGT";
    size_t used = strlen(line);
    double value = (double)bytes;
    char unit[2] = "";
    int n;

    if (bytes == 0)
        return 0;
    for (size_t i = 0; i < strlen(units) && value >= 1024; i++) {
        value /= 1024;
        unit[0] = units[i];
    }
    if (unit[0])
        value = floor(value * 10) / 10;
    n = snprintf(line + used, size - used, " %s=%.*f%s", key, unit[0] ? 1 : 0, value,
                 unit);
    return n < (int)(size - used) ? 0 : -1;
}

int hpcb_calibrate_line(const char *node, uint64_t mem, uint64_t net, char *line,
                        size_t size)
{
    if ((mem == 0 && net == 0) ||
        snprintf(line, size, "NodeName=%s", node) >= (int)size)
        return -1;
    return add_size(line, size, "MemBandwidth", mem) < 0
               ? -1
               : add_size(line, size, "NetBandwidth", net);
}
