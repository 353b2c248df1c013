/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "cgroup/favour.h"
#include "cgroup/freeze.h"
#include "cgroup/slices.h"
#include "cgroup/undo.h"
#include "common/cleanup.h"
#include "common/conf.h"
#include "common/log.h"
#include "hpcbctl/ask.h"
#include "hpcbctl/job/balance.h"
#include "hpcbctl/output.h"
#include "hpcbctl/verbs.h"
#include "hpcbctl/job/release_conf.h"
#include "hpcbctl/job/windows.h"

json_object *hpcb_windows_ask(const char *state_dir, hpcb_error_t *err)
{
    hpcb_autojson json_object *jobs = json_object_new_array();
    json_object *last = jobs ? hpcb_ask_pages(state_dir, "status", jobs, err) : NULL;

    if (last && hpcb_json_add(last, "jobs", json_object_get(jobs)) < 0) {
        json_object_put(last);
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return last;
}

static void text_job(json_object *job, FILE *out)
{
    struct timespec now;
    double left;

    if (strcmp(hpcb_json_get_text(job, "window"), "none") == 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    left = (double)hpcb_json_get_u64(job, "next_edge_ns") * 1e-9 -
           ((double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    fprintf(
        out,
        "%-10" PRIu64 "  %-16s  %-8s  %8.3f  %-9s  %7" PRIu64 "  %6" PRIu64 "%s%s\n",
        hpcb_json_get_u64(job, "job"), hpcb_json_get_text(job, "window"),
        hpcb_json_get_text(job, "phase"), left > 0 ? left : 0,
        hpcb_json_get_text(job, "mechanism"), hpcb_json_get_u64(job, "threads"),
        hpcb_json_get_u64(job, "missed"), *hpcb_json_get_text(job, "why") ? "  " : "",
        hpcb_json_get_text(job, "why"));
}

static void text_head(FILE *out)
{
    fprintf(out, "%-10s  %-16s  %-8s  %8s  %-9s  %7s  %6s\n", "JOB", "WINDOW", "PHASE",
            "EDGE s", "MECHANISM", "THREADS", "MISSED");
}

static void text_jobs(json_object *jobs, FILE *out)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++)
        text_job(json_object_array_get_idx(jobs, i), out);
}

static void text_peers(json_object *peers, FILE *out)
{
    size_t count = peers ? json_object_array_length(peers) : 0;

    for (size_t i = 0; i < count; i++) {
        json_object *peer = json_object_array_get_idx(peers, i);
        json_object *offset = json_object_object_get(peer, "offset_us");

        fprintf(out,
                "clock of %s: %+" PRId64 " us (%" PRIu64 " us round trip, %" PRIu64
                " s ago)\n",
                hpcb_json_get_text(peer, "host"), json_object_get_int64(offset),
                hpcb_json_get_u64(peer, "round_trip_us"),
                hpcb_json_get_u64(peer, "age_s"));
    }
}

void hpcb_windows_text(json_object *hpcbd, FILE *out)
{
    json_object *late = hpcbd ? json_object_object_get(hpcbd, "late_us") : NULL;
    json_object *jobs = hpcbd ? json_object_object_get(hpcbd, "jobs") : NULL;
    const char *suspended = hpcbd ? hpcb_json_get_text(hpcbd, "suspended") : "";

    if (!hpcbd || !late || !jobs) {
        fputs("\nhpcbd does not run: no windows\n", out);
        return;
    }
    fprintf(
        out,
        "\nhpcbd: %" PRIu64 " edges, %" PRIu64 " missed, late by %" PRIu64 "/%" PRIu64
        "/%" PRIu64 " us (median, p99, most); %" PRIu64 " clock sets; %.3f s CPU, "
        "%" PRIu64 " KiB%s\n",
        hpcb_json_get_u64(hpcbd, "edges"), hpcb_json_get_u64(hpcbd, "missed"),
        hpcb_json_get_u64(late, "p50"), hpcb_json_get_u64(late, "p99"),
        hpcb_json_get_u64(late, "max"), hpcb_json_get_u64(hpcbd, "clock_sets"),
        hpcb_json_get_double(hpcbd, "cpu_seconds"), hpcb_json_get_u64(hpcbd, "rss_kib"),
        hpcb_json_get_bool(hpcbd, "realtime") ? "" : "; not real-time");
    text_peers(json_object_object_get(hpcbd, "peers"), out);
    if (*suspended)
        fprintf(out, "windows are suspended: %s\n", suspended);
    text_head(out);
    text_jobs(jobs, out);
    hpcb_balance_text(jobs, out);
}

/* Print the cost of guests by hpcbd's experiments. */
static void text_cost(json_object *job, json_object *cost, FILE *out)
{
    fprintf(out, "%-10" PRIu64 "  %+8.2f  %+8.2f  %+8.2f  %5" PRIu64 "  %s\n",
            hpcb_json_get_u64(job, "job"), 100 * hpcb_json_get_double(cost, "cost"),
            100 * hpcb_json_get_double(cost, "low"),
            100 * hpcb_json_get_double(cost, "high"),
            hpcb_json_get_u64(cost, "comparisons"), hpcb_json_get_text(cost, "method"));
}

static void text_costs(json_object *jobs, FILE *out)
{
    bool headed = false;

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i), *cost;

        if (!json_object_object_get_ex(job, "guest_cost", &cost))
            continue;
        if (!headed)
            fprintf(out, "\n%-10s  %8s  %8s  %8s  %5s  %s\n", "JOB", "GUESTS %", "LOW",
                    "HIGH", "TIMES", "MEASURED BY");
        headed = true;
        text_cost(job, cost, out);
    }
}

static bool has_window(json_object *jobs)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++)
        if (strcmp(hpcb_json_get_text(json_object_array_get_idx(jobs, i), "window"),
                   "none") != 0)
            return true;
    return false;
}

void hpcb_windows_jobs_text(json_object *jobs, FILE *out)
{
    if (has_window(jobs)) {
        fputc('\n', out);
        text_head(out);
        text_jobs(jobs, out);
    }
    hpcb_balance_text(jobs, out);
    text_costs(jobs, out);
}

static int load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf,
                       &err) == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return -1;
}

int hpcb_windows_json(const hpcb_ctl_t *ctl)
{
    hpcb_autojson json_object *hpcbd = NULL;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (load_conf(ctl, &conf))
        return 1;
    hpcbd = hpcb_windows_ask(conf.state_dir, &err);
    if (!hpcbd) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return 1;
    }
    return hpcb_json_print(hpcbd, stdout) || fflush(stdout) ? 1 : 0;
}

int hpcb_release_windows(const hpcb_ctl_t *ctl)
{
    char dir[PATH_MAX];
    hpcb_node_t *node;
    hpcb_conf_t conf;
    hpcb_error_t err;
    int favoured, frozen, balanced, slices, lent;
    bool sure = hpcb_release_conf(ctl, &conf), failed;

    if (snprintf(dir, sizeof(dir), "%s/window", conf.state_dir) >= (int)sizeof(dir) ||
        hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "release windows: this node cannot be looked at");
        return 1;
    }
    favoured = hpcb_favour_release(node, dir, conf.window_cgroup, &err);
    failed = favoured < 0;
    frozen = hpcb_freeze_release(node, conf.state_dir, failed ? NULL : &err);
    failed |= frozen < 0;
    balanced = hpcb_balance_release(node, &conf, failed ? NULL : &err);
    failed |= balanced < 0;
    slices = hpcb_slices_release(node, failed ? NULL : &err);
    failed |= slices < 0;
    lent = hpcb_undo_replay_lent(conf.state_dir, failed ? NULL : &err);
    failed |= lent < 0;
    hpcb_node_close(node);
    if (failed) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return 1;
    }
    printf("%d settings of favoured and %d of balanced jobs undone, %d groups of "
           "guests thawed, slices of %d threads and memory limits of %d guests given "
           "back\n",
           favoured, balanced, frozen, slices, lent);
    return sure ? 0 : 1;
}
