/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * `hpcbctl status`: everything is collected as JSON, and the text for people is made
 * from that, so that both always say the same.  Nothing is written anywhere and no name
 * service is asked (users are numbers), so it works on a node in trouble.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include "cgroup/life.h"
#include "cgroup/mechanism.h"
#include "cgroup/siblings.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbctl/output.h"
#include "hpcbctl/status/status.h"
#include "hpcbctl/tasks.h"
#include "hpcbctl/calibrate/topology.h"
#include "hpcbctl/verbs.h"
#include "hpcbctl/job/cpus.h"
#include "hpcbctl/job/windows.h"
#include "sensor/meter.h"
#include "sensor/sensor.h"

typedef struct {
    const hpcb_conf_t *conf;
    const hpcb_node_t *node;
    json_object *jobs;
    const hpcb_task_t *tasks; /* of all jobs */
    size_t n_tasks;
    unsigned *problems;
    bool out_of_memory;
} walk_t;

/* The processes of one job and what lowers them. */
typedef struct {
    const hpcb_task_t *tasks;
    size_t count;
    size_t exposed;        /* tasks of a guest for which nothing is in force */
    const char *mechanism; /* in force for one of the others, or NULL */
    const char *siblings;  /* hpcb_siblings_state of the worst; "" without SMT */
} force_t;

static json_object *mechanism(const hpcb_node_t *node, const hpcb_mechanism_t *row)
{
    json_object *object = json_object_new_object();
    hpcb_error_t why;
    bool here = row->probe(node, &why) == 0;

    if (object && hpcb_json_text(object, "name", row->name) == 0 &&
        hpcb_json_text(object, "what", row->what) == 0 &&
        hpcb_json_bool(object, "isolates", row->isolates) == 0 &&
        hpcb_json_bool(object, "here", here) == 0 &&
        hpcb_json_text(object, "why_not", here ? NULL : why.text) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static json_object *mechanisms(const hpcb_node_t *node)
{
    json_object *array = json_object_new_array();
    const hpcb_mechanism_t *rows;
    size_t count;

    rows = hpcb_mechanisms(&count);
    for (size_t i = 0; array && i < count; i++) {
        if (hpcb_json_append(array, mechanism(node, &rows[i])) < 0) {
            json_object_put(array);
            return NULL;
        }
    }
    return array;
}

static json_object *sensor(const hpcb_sensor_t *row, const char *why_not)
{
    json_object *object = json_object_new_object();

    if (object && hpcb_json_text(object, "name", row->name) == 0 &&
        hpcb_json_text(object, "what", row->what) == 0 &&
        hpcb_json_text(object, "scope", row->whole ? "node" : "job") == 0 &&
        hpcb_json_bool(object, "here", !why_not) == 0 &&
        hpcb_json_text(object, "why_not", why_not) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static json_object *sensors(const hpcb_node_t *node)
{
    json_object *array = json_object_new_array();
    const hpcb_sensor_t *const *rows;
    hpcb_sensing_t *sensing = NULL;
    size_t count;

    rows = hpcb_sensors(&count);
    if (!array || hpcb_sensing_open(node, rows, count, &sensing, NULL) < 0) {
        json_object_put(array);
        return NULL;
    }
    for (size_t i = 0; array && i < count; i++) {
        if (hpcb_json_append(array, sensor(rows[i], hpcb_sensing_why_not(sensing, i))) <
            0) {
            json_object_put(array);
            array = NULL;
        }
    }
    hpcb_sensing_close(sensing);
    return array;
}

/* 0 from hwloc is "cannot tell". */
static int add_count(json_object *object, const char *key, unsigned value)
{
    return value ? hpcb_json_u64(object, key, value)
                 : hpcb_json_text(object, key, NULL);
}

static json_object *topology(const char *synthetic, unsigned *problems)
{
    json_object *object = json_object_new_object();
    hpcb_topology_t found = {0};
    hpcb_error_t err;

    if (hpcb_topology_read(synthetic, &found, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        ++*problems;
    }
    if (object && add_count(object, "packages", found.packages) == 0 &&
        add_count(object, "numa_nodes", found.numa_nodes) == 0 &&
        add_count(object, "cores", found.cores) == 0 &&
        add_count(object, "hardware_threads", found.threads) == 0 &&
        hpcb_json_bool(object, "smt", found.smt) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static force_t tasks_of(const walk_t *walk, uint32_t job_id)
{
    force_t force = {.tasks = walk->tasks};
    size_t left = walk->n_tasks;

    while (left > 0 && force.tasks->job_id != job_id) {
        force.tasks++;
        left--;
    }
    while (force.count < left && force.tasks[force.count].job_id == job_id)
        force.count++;
    return force;
}

static hpcb_target_t target_of(const walk_t *walk, const hpcb_task_t *task)
{
    return (hpcb_target_t){
        .node = walk->node,
        .pid = task->pid,
        .job_id = task->job_id,
        .guest_cgroup = walk->conf->guest_cgroup,
        .oom_score_adj = walk->conf->guest_oom_score_adj,
        .memory_high = walk->conf->guest_memory_high,
    };
}

static const hpcb_mechanism_t *isolated(const walk_t *walk, const hpcb_task_t *task,
                                        hpcb_error_t *err)
{
    const hpcb_target_t target = target_of(walk, task);

    return hpcb_isolated(&target, err);
}

#define NONE_NEEDED "none needed"
#define EXPOSED     "exposed"

/*
 * What keeps this process of a guest from running beside primaries on one core; NULL
 * where nothing can be said of it: it has ended, or it is the placeholder of the extern
 * step, which has the job's cookie but is not throttled, because it sleeps.
 */
static const char *siblings_of(const walk_t *walk, const hpcb_task_t *task,
                               hpcb_error_t *err)
{
    const hpcb_target_t target = target_of(walk, task);
    const char *state = hpcb_siblings_state(&target, err);

    if (state)
        return state;
    if (hpcb_steps_is_extern(walk->node, task->pid) || hpcb_life_over(task->pid))
        return NULL;
    return EXPOSED;
}

/* The worst of all processes; a problem only where the configuration says so. */
static void look_at_siblings(const walk_t *walk, force_t *force)
{
    hpcb_error_t err;

    for (size_t i = 0; i < force->count; i++) {
        const char *state = siblings_of(walk, &force->tasks[i], &err);

        if (!state)
            continue;
        if (!force->siblings || strcmp(force->siblings, NONE_NEEDED) == 0 ||
            strcmp(state, EXPOSED) == 0)
            force->siblings = state;
        if (strcmp(state, EXPOSED) == 0)
            break;
    }
    if (!force->siblings || strcmp(force->siblings, EXPOSED) != 0 ||
        !walk->conf->guest_siblings_required)
        return;
    hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", force->tasks->job_id, err.text);
    ++*walk->problems;
}

/* Every process is asked: one that got out of the guest group is what matters. */
static void look_at_guest(const walk_t *walk, force_t *force)
{
    hpcb_error_t err, first = {""};
    pid_t pid = 0;

    for (size_t i = 0; i < force->count; i++) {
        const hpcb_mechanism_t *row = isolated(walk, &force->tasks[i], &err);

        if (row) {
            force->mechanism = force->mechanism ? force->mechanism : row->name;
            continue;
        }
        /* Of one that exits the kernel says on v1 that it is in the root group, and we
         * lift it so that it gets there (cgroup/exiting.h). */
        if (hpcb_life_over(force->tasks[i].pid))
            continue;
        if (force->exposed++ == 0) {
            first = err;
            pid = force->tasks[i].pid;
        }
    }
    if (force->exposed == 0)
        return;
    hpcb_log(HPCB_LOG_ERROR,
             "job %" PRIu32 ": nothing lowers task %d (%zu of %zu) of this guest: %s",
             force->tasks->job_id, (int)pid, force->exposed, force->count, first.text);
    ++*walk->problems;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What finished steps have left in the record and what running ones use now.  Returns
 * true where the running ones are metered. */
static bool use_of(const walk_t *walk, const hpcb_job_state_t *job, pid_t pid,
                   hpcb_usage_t *usage)
{
    hpcb_usage_scope_t scope;
    hpcb_usage_t now;
    hpcb_error_t err;

    *usage = (hpcb_usage_t){0};
    if (hpcb_state_usage(walk->conf->state_dir, job->job_id, usage, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job->job_id, err.text);
        ++*walk->problems;
    }
    if (hpcb_meter_read(walk->node, job->job_id, pid, &now, &scope, NULL) < 0)
        return false;
    usage->memory_peak = larger(usage->memory_peak, now.memory_peak);
    if (scope == HPCB_USAGE_JOB) {
        usage->cpu_us = larger(usage->cpu_us, now.cpu_us);
        usage->run_delay_us = larger(usage->run_delay_us, now.run_delay_us);
        return true;
    }
    usage->cpu_us += now.cpu_us;
    usage->run_delay_us += now.run_delay_us;
    return true;
}

static int add_job(const walk_t *walk, const hpcb_job_state_t *job, json_object *object)
{
    force_t force = tasks_of(walk, job->job_id);
    hpcb_usage_t usage;
    bool metered = use_of(walk, job, force.count ? force.tasks->pid : 0, &usage);

    if (job->klass == HPCB_CLASS_GUEST) {
        look_at_guest(walk, &force);
        look_at_siblings(walk, &force);
    }
    if (hpcb_json_u64(object, "job_id", job->job_id) < 0 ||
        hpcb_json_text(object, "class", hpcb_class_name(job->klass)) < 0 ||
        hpcb_json_u64(object, "user_id", job->uid) < 0 ||
        hpcb_json_text(object, "partition", job->partition) < 0 ||
        hpcb_json_text(object, "policy", hpcb_policy_name(job->policy)) < 0 ||
        hpcb_json_bool(object, "yield_waits", job->yield_waits) < 0 ||
        hpcb_json_seconds(object, "begin", job->begin_us) < 0)
        return -1;
    return add_count(object, "cpus",
                     hpcb_cpus_load(walk->conf->state_dir, job->job_id)) ||
           hpcb_json_bool(object, "running", force.count > 0) ||
           hpcb_json_text(object, "mechanism", force.mechanism) ||
           hpcb_json_u64(object, "exposed", force.exposed) ||
           hpcb_json_text(object, "siblings",
                          force.siblings && *force.siblings ? force.siblings : NULL) ||
           hpcb_json_bool(object, "metered", metered) ||
           hpcb_json_seconds(object, "cpu_seconds", usage.cpu_us) ||
           hpcb_json_seconds(object, "run_delay_seconds", usage.run_delay_us) ||
           hpcb_json_u64(object, "memory_peak_bytes", usage.memory_peak);
}

static int visit(const hpcb_job_state_t *job, void *arg)
{
    walk_t *walk = arg;
    json_object *object = json_object_new_object();

    if (object && add_job(walk, job, object) == 0)
        walk->out_of_memory |= hpcb_json_append(walk->jobs, object) < 0;
    else {
        walk->out_of_memory = true;
        json_object_put(object);
    }
    return walk->out_of_memory;
}

json_object *hpcb_status_jobs(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              unsigned *problems)
{
    hpcb_autofree hpcb_task_t *tasks = NULL;
    walk_t walk = {.conf = conf, .node = node, .problems = problems};
    hpcb_error_t err;

    walk.jobs = json_object_new_array();
    if (!walk.jobs)
        return NULL;
    if (hpcb_tasks_scan(node, conf, &tasks, &walk.n_tasks, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        ++*problems;
    }
    walk.tasks = tasks;
    if (hpcb_state_each(conf->state_dir, visit, &walk, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        ++*problems;
    }
    if (!walk.out_of_memory)
        return walk.jobs;
    json_object_put(walk.jobs);
    return NULL;
}

json_object *hpcb_status_collect(const hpcb_conf_t *conf, const hpcb_node_t *node,
                                 const char *synthetic, unsigned *problems)
{
    json_object *status = json_object_new_object();
    char name[HPCB_NAME_MAX];

    if (status &&
        hpcb_json_text(status, "node", hpcb_node_name(name, sizeof(name))) == 0 &&
        hpcb_json_text(status, "configuration", conf->path) == 0 &&
        hpcb_json_add(status, "mechanisms", mechanisms(node)) == 0 &&
        hpcb_json_add(status, "sensors", sensors(node)) == 0 &&
        hpcb_json_add(status, "topology", topology(synthetic, problems)) == 0 &&
        hpcb_json_add(status, "jobs", hpcb_status_jobs(conf, node, problems)) == 0)
        return status;
    json_object_put(status);
    return NULL;
}

static void text_count(FILE *out, json_object *topology, const char *key,
                       const char *one, const char *many)
{
    uint64_t n = hpcb_json_get_u64(topology, key);

    if (n == 0)
        fprintf(out, "unknown %s", many);
    else
        fprintf(out, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

static void text_topology(json_object *status, FILE *out)
{
    json_object *topology = json_object_object_get(status, "topology");

    fprintf(out, "Node %s: ", hpcb_json_get_text(status, "node"));
    text_count(out, topology, "packages", "package", "packages");
    fprintf(out, ", ");
    text_count(out, topology, "cores", "core", "cores");
    fprintf(out, ", ");
    text_count(out, topology, "hardware_threads", "hardware thread",
               "hardware threads");
    fprintf(out, "%s\n", hpcb_json_get_bool(topology, "smt") ? " (SMT)" : ", no SMT");
    fprintf(out, "Configuration: %s\n", hpcb_json_get_text(status, "configuration"));
}

static void text_mechanisms(json_object *rows, FILE *out)
{
    fprintf(out, "\n%-16s  %-8s  %s\n", "MECHANISM", "ISOLATES", "HERE");
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        bool here = hpcb_json_get_bool(row, "here");

        fprintf(out, "%-16s  %-8s  %s%s\n", hpcb_json_get_text(row, "name"),
                hpcb_json_get_bool(row, "isolates") ? "yes" : "no",
                here ? "yes: " : "no: ",
                hpcb_json_get_text(row, here ? "what" : "why_not"));
    }
}

static void text_sensors(json_object *rows, FILE *out)
{
    fprintf(out, "\n%-16s  %-8s  %s\n", "SENSOR", "SCOPE", "HERE");
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        bool here = hpcb_json_get_bool(row, "here");

        fprintf(out, "%-16s  %-8s  %s%s\n", hpcb_json_get_text(row, "name"),
                hpcb_json_get_text(row, "scope"), here ? "yes: " : "no: ",
                hpcb_json_get_text(row, here ? "what" : "why_not"));
    }
}

const char *hpcb_status_mechanism(json_object *job)
{
    const char *name = hpcb_json_get_text(job, "mechanism");

    if (*name && hpcb_json_get_u64(job, "exposed") > 0)
        return "PARTLY";
    if (*name)
        return name;
    if (strcmp(hpcb_json_get_text(job, "class"), "guest") != 0)
        return "-";
    return hpcb_json_get_bool(job, "running") ? "NONE" : "no task";
}

static void text_jobs(json_object *jobs, FILE *out)
{
    size_t count = json_object_array_length(jobs);

    if (count == 0) {
        fprintf(out, "\nNo jobs.\n");
        return;
    }
    fprintf(out, "\n%-10s  %-7s  %-10s  %-12s  %-8s  %-10s  %-16s  %12s  %12s  %10s\n",
            "JOB", "CLASS", "USER", "PARTITION", "POLICY", "MECHANISM", "SIBLINGS",
            "CPU s", "DELAY s", "MEMORY MiB");
    for (size_t i = 0; i < count; i++) {
        json_object *job = json_object_array_get_idx(jobs, i);
        const char *siblings = hpcb_json_get_text(job, "siblings");

        fprintf(out,
                "%-10s  %-7s  %-10s  %-12s  %-8s  %-10s  %-16s  %12.3f  %12.3f  "
                "%10" PRIu64 "\n",
                hpcb_json_get_text(job, "job_id"), hpcb_json_get_text(job, "class"),
                hpcb_json_get_text(job, "user_id"),
                hpcb_json_get_text(job, "partition"), hpcb_json_get_text(job, "policy"),
                hpcb_status_mechanism(job), *siblings ? siblings : "-",
                hpcb_json_get_double(job, "cpu_seconds"),
                hpcb_json_get_double(job, "run_delay_seconds"),
                hpcb_json_get_u64(job, "memory_peak_bytes") >> 20);
    }
}

/* "Memory bandwidth: saturated (a CPU reads 41 % of what it does on the idle node, 38
 * to 44 %; 32 bursts)". */
static void text_saturation(json_object *found, FILE *out)
{
    const char *why;

    if (!found)
        return;
    why = hpcb_json_get_text(found, "why");
    fprintf(out, "\nMemory bandwidth: %s (", hpcb_json_get_text(found, "level"));
    if (json_object_object_get(found, "part"))
        fprintf(out,
                "one CPU reads %.0f %% of what it reads on the idle node, %.0f to %.0f "
                "%% with 95 %% confidence; %" PRIu64 " bursts)\n",
                100 * hpcb_json_get_double(found, "part"),
                100 * hpcb_json_get_double(found, "low"),
                100 * hpcb_json_get_double(found, "high"),
                hpcb_json_get_u64(found, "bursts"));
    else
        fprintf(out, "%s)\n", *why ? why : "not probed");
}

void hpcb_status_text(json_object *status, FILE *out)
{
    text_topology(status, out);
    text_mechanisms(json_object_object_get(status, "mechanisms"), out);
    text_sensors(json_object_object_get(status, "sensors"), out);
    text_saturation(json_object_object_get(status, "memory_saturation"), out);
    text_jobs(json_object_object_get(status, "jobs"), out);
    hpcb_windows_text(json_object_object_get(status, "hpcbd"), out);
}

static int print(json_object *status, bool json)
{
    if (json)
        return hpcb_json_print(status, stdout);
    hpcb_status_text(status, stdout);
    return fflush(stdout);
}

/* What the daemon says of the node's memory has places of its own. */
static void add_hpcbd(json_object *status, json_object *said)
{
    static const char *const names[] = {"memory", "memory_saturation"};

    json_object_object_add(status, "hpcbd", said);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_object *member;

        if (!json_object_object_get_ex(said, names[i], &member))
            continue;
        json_object_object_add(status, names[i], json_object_get(member));
        json_object_object_del(said, names[i]);
    }
}

int hpcb_status(const hpcb_ctl_t *ctl)
{
    hpcb_autojson json_object *status = NULL;
    char path[PATH_MAX];
    hpcb_node_t *node;
    unsigned problems = 0;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), &conf,
                       &err) < 0 ||
        hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return 1;
    }
    status = hpcb_status_collect(&conf, node, NULL, &problems);
    hpcb_node_close(node);
    if (status)
        add_hpcbd(status, hpcb_windows_ask(conf.state_dir, &err));
    if (!status || print(status, ctl->json) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "status: %s",
                 status ? "cannot write to stdout" : "out of memory");
        return 1;
    }
    return problems ? 1 : 0;
}
