/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/file.h"
#include "hpcbd/balance/balance.h"
#include "hpcbd/harm/crumbs.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/memory/memory.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/node/job_status.h"
#include "hpcbd/windows/windows.h"

static void add_member(json_object *object, const char *key, json_object *value)
{
    if (value)
        json_object_object_add(object, key, value);
}

static void add_text(json_object *object, const char *key, const char *text)
{
    add_member(object, key, json_object_new_string(text));
}

static void add_number(json_object *object, const char *key, uint64_t value)
{
    add_member(object, key, json_object_new_int64((int64_t)value));
}

/* Frees object. */
static int render(json_object *object, char *text, size_t size)
{
    const char *json =
        object ? json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN) : NULL;
    size_t length = json ? strlen(json) : size;

    if (length < size)
        memcpy(text, json, length + 1);
    json_object_put(object);
    return length < size ? (int)length : -1;
}

static void add_window(json_object *object, const hpcbd_job_t *job)
{
    char text[HPCB_WINDOW_TEXT_MAX];

    add_text(object, "window",
             hpcb_window_print(&job->state.window, text, sizeof(text)));
    if (!job->favour)
        return;
    add_text(object, "phase", job->favoured ? "favoured" : "regular");
    add_number(object, "next_edge_ns", (uint64_t)job->edge_ns);
    add_text(object, "mechanism", hpcb_favour_mechanism(job->favour));
    add_text(object, "why", hpcb_favour_why(job->favour));
    add_number(object, "threads", hpcb_favour_threads(job->favour));
    add_number(object, "missed", job->missed);
}

/* Parts of its run time; 0.01: 1 % longer because of guests. */
static json_object *cost_status(uint32_t job_id)
{
    hpcb_progress_verdict_t verdict;
    json_object *object =
        hpcbd_experiment_judge(job_id, &verdict) ? json_object_new_object() : NULL;

    if (!object)
        return NULL;
    add_member(object, "cost", json_object_new_double(verdict.found.cost));
    add_member(object, "low", json_object_new_double(verdict.found.low));
    add_member(object, "high", json_object_new_double(verdict.found.high));
    add_number(object, "comparisons", verdict.found.comparisons);
    add_text(object, "method", hpcb_progress_name(verdict.source));
    return object;
}

int hpcbd_status_job(const hpcbd_job_t *job, char *text, size_t size)
{
    json_object *object = json_object_new_object();

    if (!object)
        return -1;
    add_number(object, "job", job->state.job_id);
    add_number(object, "user_id", job->state.uid);
    add_text(object, "class", hpcb_class_name(job->state.klass));
    add_text(object, "partition", job->state.partition);
    add_window(object, job);
    add_member(object, "balance", hpcbd_balance_status(job->state.job_id));
    add_member(object, "guest_cost", cost_status(job->state.job_id));
    return render(object, text, size);
}

static double own_cpu(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
}

/* Not ru_maxrss, which is also what was there before exec. */
static uint64_t own_rss_kib(void)
{
    unsigned long size, resident;
    char text[128];

    if (hpcb_file_read("/proc/self/statm", text, sizeof(text), NULL) < 0 ||
        sscanf(text, "%lu %lu", &size, &resident) != 2)
        return 0;
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void add_times(json_object *object, const char *key,
                      const hpcb_histogram_t *times)
{
    json_object *us = json_object_new_object();

    if (!us)
        return;
    add_number(us, "p50", hpcb_histogram_quantile(times, 0.5) / 1000);
    add_number(us, "p99", hpcb_histogram_quantile(times, 0.99) / 1000);
    add_number(us, "max", times->max_ns / 1000);
    add_member(object, key, us);
}

static json_object *crumbs_status(void)
{
    const hpcbd_crumbs_stats_t *stats = hpcbd_crumbs_stats();
    json_object *object = json_object_new_object();

    if (!object)
        return NULL;
    add_number(object, "stopped", stats->stopped);
    add_number(object, "stops", stats->stops);
    add_number(object, "requeues", stats->requeues);
    return object;
}

static json_object *harm_status(void)
{
    const hpcbd_restrain_stats_t *stats = hpcbd_restrain_stats();
    json_object *object = json_object_new_object();

    if (!object)
        return NULL;
    add_number(object, "level", stats->level ? stats->level - HPCB_GUARD_SLICES : 0);
    add_number(object, "steps", stats->steps);
    add_number(object, "requeues", stats->requeues);
    add_number(object, "slices", hpcbd_slices_stats()->jobs);
    add_number(object, "slices_given", hpcbd_slices_stats()->given);
    return object;
}

int hpcbd_status_node(size_t next, char *text, size_t size)
{
    const hpcbd_window_stats_t *stats = hpcbd_window_stats();
    json_object *object = json_object_new_object();
    char name[HPCB_NAME_MAX];

    if (!object)
        return -1;
    add_member(object, "end", json_object_new_boolean(1));
    if (next < hpcbd_window_registry()->count)
        add_number(object, "next", next);
    add_text(object, "node", hpcb_node_name(name, sizeof(name)));
    add_text(object, "version", PACKAGE_VERSION);
    add_number(object, "pid", (uint64_t)getpid());
    add_number(object, "jobs", hpcbd_window_registry()->count);
    add_number(object, "edges", stats->edges);
    add_number(object, "missed", stats->missed);
    add_times(object, "late_us", &stats->late);
    add_times(object, "loop_us", &stats->turns);
    add_number(object, "clock_sets", stats->clock_sets);
    add_member(object, "realtime", json_object_new_boolean(stats->realtime));
    add_text(object, "suspended", stats->suspended ? stats->suspended : "");
    add_member(object, "cpu_seconds", json_object_new_double(own_cpu()));
    add_number(object, "rss_kib", own_rss_kib());
    add_member(object, "peers", hpcbd_peers_status());
    add_member(object, "memory", hpcbd_memory_status());
    add_member(object, "memory_saturation", hpcbd_memory_saturation());
    add_member(object, "crumbs", crumbs_status());
    add_member(object, "harm", harm_status());
    return render(object, text, size);
}
