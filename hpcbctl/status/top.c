/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpcbctl top: the jobs of this node as top shows processes, with figures of the last
 * second; below them windows and balance, of which hpcbd tells each user those of his
 * own jobs.
 */
#include "config.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbctl/job/windows.h"
#include "hpcbctl/output.h"
#include "hpcbctl/status/status.h"
#include "hpcbctl/status/top.h"
#include "hpcbctl/verbs.h"

/* Lines of a screen that are not jobs: the two sums, the heading, what follows. */
#define OTHER_LINES 8

typedef struct {
    json_object *job;
    double cpus;    /* that it used */
    double waiting; /* tasks of it that waited for a CPU, in the mean */
} row_t;

static json_object *find_job(json_object *jobs, json_object *like)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        if (hpcb_json_get_u64(job, "job_id") == hpcb_json_get_u64(like, "job_id") &&
            hpcb_json_get_double(job, "begin") == hpcb_json_get_double(like, "begin"))
            return job;
    }
    return NULL;
}

/* A second; what goes back, as when a step ends and its group is summed up, is 0. */
static double rate(json_object *before, json_object *now, const char *member,
                   double seconds)
{
    double more;

    if (!before)
        return 0;
    more = hpcb_json_get_double(now, member) - hpcb_json_get_double(before, member);
    return more > 0 ? more / seconds : 0;
}

static int compare(const void *a, const void *b)
{
    double x = ((const row_t *)a)->cpus, y = ((const row_t *)b)->cpus;

    return (x < y) - (x > y);
}

/* The caller frees it; NULL when memory runs out, or without jobs. */
static row_t *make_rows(json_object *before, json_object *now, double seconds)
{
    size_t count = json_object_array_length(now);
    row_t *rows = count ? calloc(count, sizeof(*rows)) : NULL;

    for (size_t i = 0; rows && i < count; i++) {
        json_object *job = json_object_array_get_idx(now, i);
        json_object *old = find_job(before, job);

        rows[i] = (row_t){.job = job,
                          .cpus = rate(old, job, "cpu_seconds", seconds),
                          .waiting = rate(old, job, "run_delay_seconds", seconds)};
    }
    if (rows)
        qsort(rows, count, sizeof(*rows), compare);
    return rows;
}

static void put_class(const row_t *rows, size_t count, const char *klass,
                      const char *plural, FILE *out)
{
    uint64_t held = 0;
    double used = 0, waiting = 0;
    size_t jobs = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(hpcb_json_get_text(rows[i].job, "class"), klass) != 0)
            continue;
        jobs++;
        held += hpcb_json_get_u64(rows[i].job, "cpus");
        used += rows[i].cpus;
        waiting += rows[i].waiting;
    }
    fprintf(out,
            "%4zu %-9s  %6" PRIu64 " CPUs held  %8.2f used  %8.2f tasks wait for a "
            "CPU\n",
            jobs, plural, held, used, waiting);
}

/* The user's name, or the number where there is none. */
static const char *name_of(uint64_t uid, char text[static 33])
{
    const struct passwd *entry = getpwuid((uid_t)uid);

    if (entry)
        snprintf(text, 33, "%.32s", entry->pw_name);
    else
        snprintf(text, 33, "%" PRIu64, uid);
    return hpcb_text_clean(text);
}

static void put_row(const row_t *row, FILE *out)
{
    char user[33];
    const char *cpus = hpcb_json_get_text(row->job, "cpus");

    fprintf(
        out, "%-10s  %-7s  %-10.10s  %-12.12s  %5s  %7.1f  %7.1f  %10" PRIu64 "  %s\n",
        hpcb_json_get_text(row->job, "job_id"), hpcb_json_get_text(row->job, "class"),
        name_of(hpcb_json_get_u64(row->job, "user_id"), user),
        hpcb_json_get_text(row->job, "partition"), *cpus ? cpus : "-", 100 * row->cpus,
        100 * row->waiting, hpcb_json_get_u64(row->job, "memory_peak_bytes") >> 20,
        hpcb_status_mechanism(row->job));
}

void hpcb_top_text(json_object *before, json_object *now, double seconds, size_t rows,
                   FILE *out)
{
    size_t count = json_object_array_length(now);
    hpcb_autofree row_t *table = make_rows(before, now, seconds);
    size_t shown = rows && rows < count ? rows : count;

    if (!table)
        count = shown = 0;
    put_class(table, count, "primary", "primaries", out);
    put_class(table, count, "guest", "guests", out);
    fprintf(out, "\n%-10s  %-7s  %-10s  %-12s  %5s  %7s  %7s  %10s  %s\n", "JOB",
            "CLASS", "USER", "PARTITION", "CPUS", "CPU %", "WAIT %", "MEMORY MiB",
            "MECHANISM");
    for (size_t i = 0; i < shown; i++)
        put_row(&table[i], out);
    if (shown < count)
        fprintf(out, "... and %zu more\n", count - shown);
}

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Rows for jobs on the terminal; 0: as many as there are. */
static size_t screen_rows(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row == 0)
        return 0;
    return size.ws_row > OTHER_LINES + 1 ? size.ws_row - OTHER_LINES : 1;
}

/* Windows and balance, as far as hpcbd is there and tells of any. */
static void put_hpcbd(const hpcb_conf_t *conf, FILE *out)
{
    hpcb_autojson json_object *said = hpcb_windows_ask(conf->state_dir, NULL);
    json_object *jobs = said ? json_object_object_get(said, "jobs") : NULL;

    if (jobs)
        hpcb_windows_jobs_text(jobs, out);
}

/* One screen.  *before is replaced by what is now. */
static int show(const hpcb_conf_t *conf, const hpcb_node_t *node, bool terminal,
                json_object **before, double *at)
{
    char name[HPCB_NAME_MAX];
    unsigned problems = 0;
    double now = now_seconds();
    json_object *jobs = hpcb_status_jobs(conf, node, &problems);

    if (!jobs)
        return -1;
    if (terminal)
        fputs("\033[H\033[J", stdout);
    printf("Node %s: %ld CPUs\n", hpcb_node_name(name, sizeof(name)),
           sysconf(_SC_NPROCESSORS_ONLN));
    hpcb_top_text(*before, jobs, now - *at, terminal ? screen_rows() : 0, stdout);
    put_hpcbd(conf, stdout);
    json_object_put(*before);
    *before = jobs;
    *at = now;
    return fflush(stdout);
}

static int watch(const hpcb_conf_t *conf, const hpcb_node_t *node)
{
    bool terminal = isatty(STDOUT_FILENO);
    unsigned problems = 0;
    double at = now_seconds();
    json_object *before = hpcb_status_jobs(conf, node, &problems);
    int rc = before ? 0 : -1;

    do
        rc = rc == 0 && sleep(1) == 0 ? show(conf, node, terminal, &before, &at) : -1;
    while (rc == 0 && terminal);
    json_object_put(before);
    return rc ? 1 : 0;
}

int hpcb_top(const hpcb_ctl_t *ctl)
{
    char path[PATH_MAX];
    hpcb_node_t *node;
    hpcb_conf_t conf;
    hpcb_error_t err;
    int rc;

    if (ctl->json)
        return hpcb_windows_json(ctl);
    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), &conf,
                       &err) < 0 ||
        hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return 1;
    }
    rc = watch(&conf, node);
    hpcb_node_close(node);
    return rc;
}
