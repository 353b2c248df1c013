/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * `hpcbctl metrics`: figures of this node for Prometheus.  Counters are about all jobs
 * that have ended here (SpoolDir/totals) or are here, gauges about what is here now (as
 * status sees it).
 * With --output the file is replaced as a whole, as node_exporter's textfile collector
 * wants it; a run that fails leaves the old one, whose age tells.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbctl/status/metrics.h"
#include "hpcbctl/job/windows.h"
#include "hpcbctl/output.h"
#include "hpcbctl/status/status.h"
#include "hpcbctl/verbs.h"

#define MILLION   1000000
#define STATS_MAX 4096

typedef struct {
    const char *name;
    const char *help;
    bool seconds;
    uint64_t (*figure)(const hpcb_totals_t *totals);
} counter_t;

/* Members of the collector's stats.json (hpcbd/collector/collector.c).  Counters begin
 * anew with each start of it, which Prometheus knows how to take. */
static const struct {
    const char *member, *name, *type, *help;
} collected[] = {
    {"records", "hpcb_collector_records_total", "counter", "Records of nodes taken."},
    {"duplicates", "hpcb_collector_duplicates_total", "counter",
     "Records of nodes that were there already."},
    {"refused_records", "hpcb_collector_refused_records_total", "counter",
     "Records that are none, or another node's."},
    {"runs", "hpcb_collector_runs_total", "counter", "Runs of jobs written."},
    {"incomplete_runs", "hpcb_collector_incomplete_runs_total", "counter",
     "Runs of jobs written before all of their nodes had reported."},
    {"pending_runs", "hpcb_collector_pending_runs", "gauge",
     "Runs of jobs that wait for more of their nodes."},
    {"write_failures", "hpcb_collector_write_failures_total", "counter",
     "Times that files could not be written."},
    {"requests", "hpcb_collector_requests_total", "counter", "Requests of nodes."},
    {"dropped_connections", "hpcb_collector_dropped_connections_total", "counter",
     "Connections closed for what came over them."},
    {"malformed_frames", "hpcb_collector_malformed_frames_total", "counter",
     "Messages that are none."},
    {"refused_credentials", "hpcb_collector_refused_credentials_total", "counter",
     "Messages whose sender is not root of a host of the cluster."},
    {"malformed_requests", "hpcb_collector_malformed_requests_total", "counter",
     "Requests that cannot be read."},
    {"limited_requests", "hpcb_collector_limited_requests_total", "counter",
     "Messages not opened because their sender had sent too many."},
};

static uint64_t jobs_of(const hpcb_totals_t *totals)
{
    return totals->jobs;
}

static uint64_t cpu_of(const hpcb_totals_t *totals)
{
    return totals->cpu_us;
}

static uint64_t wall_of(const hpcb_totals_t *totals)
{
    return totals->wall_us;
}

static uint64_t stolen_of(const hpcb_totals_t *totals)
{
    return totals->run_delay_us;
}

static const counter_t counters[] = {
    {"hpcb_jobs_ended_total", "Runs of jobs that have ended on this node.", false,
     jobs_of},
    {"hpcb_cpu_seconds_total", "CPU time of jobs on this node.", true, cpu_of},
    {"hpcb_wall_seconds_total", "Running time of jobs on this node.", true, wall_of},
    {"hpcb_stolen_seconds_total",
     "Time in which tasks of jobs on this node waited for a CPU.", true, stolen_of},
};

static void begin_metric(FILE *out, const char *name, const char *type,
                         const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and line end are what a label's value must not hold as they are. */
static void label(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            fputs("\\n", out);
            continue;
        }
        if (*text == '\\' || *text == '"')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void seconds(FILE *out, uint64_t us)
{
    fprintf(out, "%" PRIu64 ".%06" PRIu64 "\n", us / MILLION, us % MILLION);
}

static void put_counters(const hpcb_metrics_t *metrics, FILE *out)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        const counter_t *row = &counters[i];

        begin_metric(out, row->name, "counter", row->help);
        for (int klass = 0; klass < HPCB_N_CLASSES; klass++) {
            uint64_t figure = row->figure(&metrics->totals[klass]);

            fprintf(out, "%s{class=\"%s\"} ", row->name, hpcb_class_name(klass));
            if (row->seconds)
                seconds(out, figure);
            else
                fprintf(out, "%" PRIu64 "\n", figure);
        }
    }
    begin_metric(
        out, "hpcb_evictions_total", "counter",
        "Runs of guests on this node that had been evicted from a node before.");
    fprintf(out, "hpcb_evictions_total %" PRIu64 "\n",
            metrics->totals[HPCB_CLASS_GUEST].evictions);
}

static bool is_class(json_object *job, int klass)
{
    return strcmp(hpcb_json_get_text(job, "class"), hpcb_class_name(klass)) == 0;
}

static uint64_t us_of(json_object *job, const char *member)
{
    double us = hpcb_json_get_double(job, member) * MILLION;

    return us > 0 ? (uint64_t)(us + 0.5) : 0;
}

/* The totals were read before the jobs, and a job's state goes before it is added to
 * them: no job is counted twice. */
void hpcb_metrics_add_jobs(hpcb_metrics_t *metrics, uint64_t now_us)
{
    json_object *jobs = json_object_object_get(metrics->status, "jobs");

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);
        uint64_t begin_us = us_of(job, "begin");
        hpcb_class_t klass;

        if (hpcb_class_from_name(hpcb_json_get_text(job, "class"), &klass))
            continue;
        metrics->totals[klass].cpu_us += us_of(job, "cpu_seconds");
        metrics->totals[klass].run_delay_us += us_of(job, "run_delay_seconds");
        metrics->totals[klass].wall_us += now_us > begin_us ? now_us - begin_us : 0;
    }
}

/* CPUs that jobs of a class hold, also between their steps. */
static uint64_t held(json_object *jobs, int klass)
{
    uint64_t total = 0;

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        if (is_class(job, klass))
            total += hpcb_json_get_u64(job, "cpus");
    }
    return total;
}

static void put_held(json_object *jobs, FILE *out)
{
    begin_metric(out, "hpcb_cpus_held", "gauge",
                 "CPUs of this node that are allocated to jobs.");
    for (int klass = 0; klass < HPCB_N_CLASSES; klass++)
        fprintf(out, "hpcb_cpus_held{class=\"%s\"} %" PRIu64 "\n",
                hpcb_class_name(klass), held(jobs, klass));
}

/* Over the jobs of a class that run here. */
static double sum(json_object *jobs, int klass, const char *member)
{
    double total = 0;

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        if (is_class(job, klass) && hpcb_json_get_bool(job, "running"))
            total += member ? hpcb_json_get_double(job, member) : 1;
    }
    return total;
}

static void put_gauge(json_object *jobs, FILE *out, const char *name,
                      const char *member, const char *help)
{
    begin_metric(out, name, "gauge", help);
    for (int klass = 0; klass < HPCB_N_CLASSES; klass++)
        fprintf(out, "%s{class=\"%s\"} %.*f\n", name, hpcb_class_name(klass),
                member ? 6 : 0, sum(jobs, klass, member));
}

static unsigned guests_by(json_object *jobs, const char *mechanism)
{
    unsigned count = 0;

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        if (is_class(job, HPCB_CLASS_GUEST) &&
            strcmp(hpcb_json_get_text(job, "mechanism"), mechanism) == 0)
            count++;
    }
    return count;
}

static uint64_t exposed(json_object *jobs)
{
    uint64_t count = 0;

    for (size_t i = 0; i < json_object_array_length(jobs); i++)
        count += hpcb_json_get_u64(json_object_array_get_idx(jobs, i), "exposed");
    return count;
}

/* One line for each row of the mechanism table. */
static void put_mechanisms(const hpcb_metrics_t *metrics, FILE *out, json_object *jobs)
{
    json_object *rows = json_object_object_get(metrics->status, "mechanisms");
    static const char *const names[] = {"hpcb_mechanism_available",
                                        "hpcb_guests_by_mechanism"};
    static const char *const helps[] = {
        "Whether this node has the mechanism.",
        "Guests here that the isolating mechanism is in force for."};

    for (size_t kind = 0; kind < 2; kind++) {
        begin_metric(out, names[kind], "gauge", helps[kind]);
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
            json_object *row = json_object_array_get_idx(rows, i);
            const char *name = hpcb_json_get_text(row, "name");

            if (kind == 1 && !hpcb_json_get_bool(row, "isolates"))
                continue;
            fprintf(out, "%s{mechanism=\"", names[kind]);
            label(out, name);
            fprintf(out, "\"} %u\n",
                    kind ? guests_by(jobs, name) : hpcb_json_get_bool(row, "here"));
        }
    }
}

static void put_typed(FILE *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    begin_metric(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void put_one(FILE *out, const char *name, const char *help, uint64_t value)
{
    put_typed(out, name, "gauge", help, value);
}

static void put_memory(json_object *memory, FILE *out)
{
    put_one(out, "hpcb_memory_lent_bytes", "Memory that guests may use on this node.",
            hpcb_json_get_u64(memory, "lent"));
    put_one(out, "hpcb_memory_guests_bytes", "Memory that guests use on this node.",
            hpcb_json_get_u64(memory, "guests"));
    put_one(out, "hpcb_memory_primaries_bytes",
            "Memory that primaries are expected to use on this node.",
            hpcb_json_get_u64(memory, "primaries_expected"));
}

static void put_crumbs(json_object *crumbs, FILE *out)
{
    put_one(out, "hpcb_guests_stopped",
            "Guests on this node that are stopped because they got next to nothing.",
            hpcb_json_get_u64(crumbs, "stopped"));
    put_typed(out, "hpcb_guest_stops_total", "counter",
              "How often guests were stopped because they got next to nothing.",
              hpcb_json_get_u64(crumbs, "stops"));
    put_typed(out, "hpcb_guest_starved_total", "counter",
              "Guests that Slurm was asked to requeue because they starved.",
              hpcb_json_get_u64(crumbs, "requeues"));
}

static void put_harm(json_object *harm, FILE *out)
{
    put_one(
        out, "hpcb_guests_restricted",
        "How far guests on this node are restricted because they cost a primary too "
        "much: 0 not at all, 1 half of the time, 2 a quarter, 3 stopped.",
        hpcb_json_get_u64(harm, "level"));
    put_typed(
        out, "hpcb_guest_restrictions_total", "counter",
        "How often guests were restricted further because they cost a primary too "
        "much.",
        hpcb_json_get_u64(harm, "steps"));
    put_typed(out, "hpcb_guest_harmful_total", "counter",
              "Guests that Slurm was asked to requeue because they cost a primary too "
              "much.",
              hpcb_json_get_u64(harm, "requeues"));
    put_one(out, "hpcb_primaries_with_slices",
            "Primaries on this node with long time slices because guests cost them too "
            "much.",
            hpcb_json_get_u64(harm, "slices"));
    put_typed(
        out, "hpcb_primary_slices_total", "counter",
        "How often a primary got long time slices because guests cost it too much.",
        hpcb_json_get_u64(harm, "slices_given"));
}

/* Of the primary that guests cost most, and how many are measured by this method, NULL:
 * by any. */
typedef struct {
    uint64_t count;
    double most, low, high; /* of the one with the highest cost */
} costs_t;

static costs_t costs_of(json_object *jobs, const char *method)
{
    costs_t costs = {0};

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i), *cost;
        double part;

        if (!json_object_object_get_ex(job, "guest_cost", &cost) ||
            (method && strcmp(hpcb_json_get_text(cost, "method"), method) != 0))
            continue;
        part = hpcb_json_get_double(cost, "cost");
        if (costs.count++ > 0 && part <= costs.most)
            continue;
        costs.most = part;
        costs.low = hpcb_json_get_double(cost, "low");
        costs.high = hpcb_json_get_double(cost, "high");
    }
    return costs;
}

/* Not by job: numbers of jobs are no labels. */
static void put_costs(json_object *jobs, FILE *out)
{
    /* policy/progress.h */
    static const char *const methods[] = {"run_delay", "instructions", "iterations"};
    costs_t all = costs_of(jobs, NULL);

    begin_metric(out, "hpcb_guest_cost_measured", "gauge",
                 "Number of primaries on this node whose guest cost is known.");
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        fprintf(out, "hpcb_guest_cost_measured{method=\"%s\"} %" PRIu64 "\n",
                methods[i], costs_of(jobs, methods[i]).count);
    if (all.count == 0)
        return;
    begin_metric(out, "hpcb_guest_cost_max_ratio", "gauge",
                 "Highest guest cost of a primary on this node, as a part of its run "
                 "time.");
    fprintf(out, "hpcb_guest_cost_max_ratio %.6f\n", all.most);
    begin_metric(out, "hpcb_guest_cost_max_low_ratio", "gauge",
                 "Lower end of the 95 % interval of the highest guest cost.");
    fprintf(out, "hpcb_guest_cost_max_low_ratio %.6f\n", all.low);
    begin_metric(out, "hpcb_guest_cost_max_high_ratio", "gauge",
                 "Upper end of the 95 % interval of the highest guest cost.");
    fprintf(out, "hpcb_guest_cost_max_high_ratio %.6f\n", all.high);
}

static void put_collector(json_object *stats, FILE *out)
{
    for (size_t i = 0; i < sizeof(collected) / sizeof(collected[0]); i++) {
        begin_metric(out, collected[i].name, collected[i].type, collected[i].help);
        fprintf(out, "%s %" PRIu64 "\n", collected[i].name,
                hpcb_json_get_u64(stats, collected[i].member));
    }
}

void hpcb_metrics_text(const hpcb_metrics_t *metrics, FILE *out)
{
    json_object *jobs = json_object_object_get(metrics->status, "jobs");

    put_counters(metrics, out);
    put_gauge(jobs, out, "hpcb_jobs_running", NULL, "Jobs that run on this node.");
    put_held(jobs, out);
    put_gauge(jobs, out, "hpcb_running_cpu_seconds", "cpu_seconds",
              "CPU time so far of the jobs that run on this node.");
    put_gauge(
        jobs, out, "hpcb_running_stolen_seconds", "run_delay_seconds",
        "Time in which tasks of the jobs that run on this node waited for a CPU.");
    put_mechanisms(metrics, out, jobs);
    put_one(out, "hpcb_guest_tasks_exposed",
            "Tasks of guests on this node that nothing lowers.", exposed(jobs));
    put_one(out, "hpcb_spooled_records",
            "Records of jobs on this node that the collector does not have.",
            metrics->spooled);
    put_one(out, "hpcb_problems", "What hpcbctl status complains of on this node.",
            metrics->problems);
    if (metrics->memory)
        put_memory(metrics->memory, out);
    if (metrics->crumbs)
        put_crumbs(metrics->crumbs, out);
    if (metrics->harm)
        put_harm(metrics->harm, out);
    if (metrics->jobs)
        put_costs(metrics->jobs, out);
    if (metrics->collector)
        put_collector(metrics->collector, out);
    begin_metric(out, "hpcb_info", "gauge", "The release of slurm-hpc-balance.");
    fprintf(out, "hpcb_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
}

static uint64_t count_spooled(const char *spool_dir)
{
    hpcb_autoclosedir DIR *dir = NULL;
    const struct dirent *entry;
    char path[PATH_MAX];
    uint64_t count = 0;

    if (snprintf(path, sizeof(path), "%s/records", spool_dir) >= (int)sizeof(path))
        return 0;
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);

        count += entry->d_name[0] != '.' && length > 5 &&
                 strcmp(entry->d_name + length - 5, ".json") == 0;
    }
    return count;
}

/* NULL where this host has no collector, or what it says cannot be read. */
static json_object *collector_stats(const char *dir)
{
    char path[PATH_MAX], text[STATS_MAX];
    json_object *stats;
    hpcb_error_t err;

    if (snprintf(path, sizeof(path), "%s/stats.json", dir) >= (int)sizeof(path))
        return NULL;
    if (hpcb_file_read_trusted(path, text, sizeof(text), &err) < 0) {
        if (errno != ENOENT)
            hpcb_log(HPCB_LOG_ERROR, "metrics: %s", err.text);
        return NULL;
    }
    stats = json_tokener_parse(text);
    if (json_object_is_type(stats, json_type_object))
        return stats;
    json_object_put(stats);
    hpcb_log(HPCB_LOG_ERROR, "metrics: %s: not a JSON object", path);
    return NULL;
}

/* Nothing without an hpcbd, and for callers that it does not tell. */
static void ask_daemon(const char *state_dir, hpcb_metrics_t *metrics)
{
    hpcb_autojson json_object *said = hpcb_windows_ask(state_dir, NULL);

    if (!said)
        return;
    metrics->memory = json_object_get(json_object_object_get(said, "memory"));
    metrics->crumbs = json_object_get(json_object_object_get(said, "crumbs"));
    metrics->harm = json_object_get(json_object_object_get(said, "harm"));
    metrics->jobs = json_object_get(json_object_object_get(said, "jobs"));
}

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * MILLION + (uint64_t)now.tv_nsec / 1000;
}

static int collect(const hpcb_ctl_t *ctl, hpcb_metrics_t *metrics, hpcb_error_t *err)
{
    char path[PATH_MAX];
    hpcb_node_t *node;
    hpcb_conf_t conf;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), &conf, err) <
            0 ||
        hpcb_totals_read(conf.spool_dir, metrics->totals, err) < 0 ||
        hpcb_node_open("/", &node, err) < 0)
        return -1;
    metrics->spooled = count_spooled(conf.spool_dir);
    metrics->collector = collector_stats(conf.collector_dir);
    metrics->status = hpcb_status_collect(&conf, node, NULL, &metrics->problems);
    ask_daemon(conf.state_dir, metrics);
    hpcb_node_close(node);
    if (!metrics->status)
        return hpcb_error(err, "out of memory");
    hpcb_metrics_add_jobs(metrics, now_us());
    if (hpcb_totals_show(conf.spool_dir, metrics->totals, ctl->output && geteuid() == 0,
                         err))
        hpcb_log(HPCB_LOG_ERROR, "metrics: %s", err->text);
    return 0;
}

/* To stdout, or to the file whole or not at all. */
static int deliver(const char *path, const char *text, size_t length, hpcb_error_t *err)
{
    if (path)
        return hpcb_file_replace(path, text, length, 0644, err);
    if (fwrite(text, 1, length, stdout) < length || fflush(stdout) == EOF)
        return hpcb_error(err, "cannot write to stdout: %s", strerror(errno));
    return 0;
}

int hpcb_metrics(const hpcb_ctl_t *ctl)
{
    hpcb_metrics_t metrics = {0};
    hpcb_autofree char *text = NULL;
    size_t length = 0;
    hpcb_error_t err;
    FILE *out;
    int rc = collect(ctl, &metrics, &err);

    if (rc == 0) {
        out = open_memstream(&text, &length);
        if (out)
            hpcb_metrics_text(&metrics, out);
        rc = out && fclose(out) == 0 ? deliver(ctl->output, text, length, &err)
                                     : hpcb_error(&err, "out of memory");
    }
    json_object_put(metrics.collector);
    json_object_put(metrics.memory);
    json_object_put(metrics.crumbs);
    json_object_put(metrics.harm);
    json_object_put(metrics.jobs);
    json_object_put(metrics.status);
    if (rc < 0)
        hpcb_log(HPCB_LOG_ERROR, "metrics: %s", err.text);
    return rc < 0 ? 1 : 0;
}
