/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "queue": the experiments s3, s6 and s7 of Stiehr 2004.  Processors of one
 * CPU each; two lanes, primaries and guests, of groups of applications; a group begins
 * when the one before it has ended.  In the regime dedicated all groups stand in one
 * lane.
 *
 * A process computes for the part u of its running time and waits otherwise (table
 * 3-2), and while it waits, others may need the CPU for it: the kernel, which moves its
 * messages. guests: a guest has what a primary there, and those, leave. nice:
 * beside a guest a primary computes at 1 - s of the speed and waits as before, so that
 * it takes u / (1 - s) + 1 - u times as long; the guest has the rest. What a slow
 * process is for its application depends on the kind: a synchronous one goes as slowly
 * as its slowest process, but for what waits absorb; an irregular one hands the work to
 * others; a coordinated one, too, but its first process only hands it out; the
 * processes of an independent one end by themselves.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model.h"
#include "sim/scenario.h"

#define PROCESSORS_MAX   64
#define APPLICATIONS_MAX 32
#define GROUPS_MAX       32
#define EXPERIMENTS_MAX  64
#define NEVER            1e300

typedef enum { SYNCHRONOUS, IRREGULAR, COORDINATED, INDEPENDENT, KINDS } kind_t;
typedef enum { DEDICATED, NICE, GUESTS, REGIMES } regime_t;

typedef struct {
    const char *name;
    int64_t processes;
    double cpu, others, wall;
    kind_t kind;
} application_t;

typedef struct {
    int64_t processors;
    double nice_share, absorb;
    application_t application[APPLICATIONS_MAX];
    size_t applications;
} setting_t;

/* A process, on the processor of its index. */
typedef struct {
    const application_t *of; /* NULL: none */
    unsigned job;            /* processes of one application have the same number */
    double left;             /* seconds alone */
    double rate;
} process_t;

typedef struct {
    unsigned group[GROUPS_MAX]; /* numbers, GROUPS_MAX and above: guests' */
    size_t groups, next;
    process_t on[PROCESSORS_MAX];
} lane_t;

typedef struct {
    const setting_t *setting;
    json_object *groups[2 * GROUPS_MAX]; /* primaries', then guests' */
    regime_t regime;
    lane_t lane[2]; /* primaries, guests; dedicated: all in the first */
    double now, cpu, turnaround, primaries;
    unsigned jobs;
} run_t;

static double load(const application_t *application)
{
    double u = application->cpu / ((double)application->processes * application->wall);

    return u < 1 ? u : 1;
}

/* Return the part of its processors' time that no other process can have. */
static double taken(const application_t *application)
{
    double part = (application->cpu + application->others) /
                  ((double)application->processes * application->wall);

    return part < 1 ? part : 1;
}

static const application_t *find(const setting_t *setting, const char *name)
{
    for (size_t i = 0; name && i < setting->applications; i++)
        if (strcmp(setting->application[i].name, name) == 0)
            return &setting->application[i];
    return NULL;
}

static bool is_empty(const run_t *run, const lane_t *lane)
{
    for (int i = 0; i < run->setting->processors; i++)
        if (lane->on[i].of)
            return false;
    return true;
}

/* Put the applications of the lane's next group on the processors, one after another;
 * null leaves a processor empty. */
static void begin_group(run_t *run, lane_t *lane)
{
    json_object *group = run->groups[lane->group[lane->next++]];
    int at = 0;

    for (size_t i = 0; i < json_object_array_length(group); i++) {
        const application_t *application = find(
            run->setting, json_object_get_string(json_object_array_get_idx(group, i)));

        if (!application) {
            at++;
            continue;
        }
        run->jobs++;
        for (int n = 0; n < application->processes; n++)
            lane->on[at++] = (process_t){
                .of = application, .job = run->jobs, .left = application->wall};
    }
}

/* Return the speed of a primary with what is on its processor.  A guest has the
 * rest. */
static double local_rate(const run_t *run, unsigned which, int at)
{
    const process_t *mine = &run->lane[which].on[at],
                    *other = &run->lane[!which].on[at];
    double s = run->setting->nice_share, u, rate;

    if (!other->of || (which == 0 && run->regime != NICE))
        return 1;
    if (which == 0) {
        u = load(mine->of);
        return 1 / (u / (1 - s) + 1 - u);
    }
    rate = (1 - taken(other->of) * other->rate) / taken(mine->of);
    return rate < 1 ? rate : 1;
}

/* The processes of a job go as its kind has it. */
static void couple(const run_t *run, lane_t *lane, int first,
                   const application_t *application)
{
    double least = 1, sum = 0, n = 0;

    for (int i = first; i < run->setting->processors; i++) {
        if (!lane->on[i].of || lane->on[i].job != lane->on[first].job)
            continue;
        least = lane->on[i].rate < least ? lane->on[i].rate : least;
        if (application->kind == COORDINATED && i == first &&
            application->processes > 1)
            continue;
        sum += lane->on[i].rate;
        n++;
    }
    if (application->kind == SYNCHRONOUS) {
        bool reach = load(application) / (1 - run->setting->nice_share) <= 1;

        sum = least +
              (reach && lane == &run->lane[0] ? run->setting->absorb : 0) * (1 - least);
    } else {
        sum /= n;
    }
    for (int i = first; i < run->setting->processors; i++)
        if (lane->on[i].of && lane->on[i].job == lane->on[first].job)
            lane->on[i].rate = sum;
}

static void set_rates(run_t *run)
{
    for (unsigned which = 0; which < 2; which++) {
        lane_t *lane = &run->lane[which];
        unsigned done = 0;

        for (int i = 0; i < run->setting->processors; i++)
            if (lane->on[i].of)
                lane->on[i].rate = local_rate(run, which, i);
        for (int i = 0; i < run->setting->processors; i++) {
            if (!lane->on[i].of || lane->on[i].of->kind == INDEPENDENT ||
                lane->on[i].job == done)
                continue;
            done = lane->on[i].job;
            couple(run, lane, i, lane->on[i].of);
        }
    }
}

static double next_end(const run_t *run)
{
    double next = NEVER;

    for (unsigned which = 0; which < 2; which++) {
        for (int i = 0; i < run->setting->processors; i++) {
            const process_t *process = &run->lane[which].on[i];

            if (process->of && process->rate > 0 &&
                process->left / process->rate < next)
                next = process->left / process->rate;
        }
    }
    return next;
}

static bool has_more(const run_t *run, const lane_t *lane, unsigned job)
{
    for (int i = 0; i < run->setting->processors; i++)
        if (lane->on[i].of && lane->on[i].job == job)
            return true;
    return false;
}

static void go_on(run_t *run, double seconds)
{
    run->now += seconds;
    for (unsigned which = 0; which < 2; which++) {
        lane_t *lane = &run->lane[which];

        for (int i = 0; i < run->setting->processors; i++) {
            process_t *process = &lane->on[i];

            if (!process->of)
                continue;
            /* Guests of the one lane come behind GROUPS_MAX. */
            if (which == 0 && lane->group[lane->next - 1] < GROUPS_MAX)
                run->primaries += seconds;
            process->left -= seconds * process->rate;
            if (process->left > 1e-9)
                continue;
            run->cpu += process->of->cpu / (double)process->of->processes;
            process->of = NULL;
            if (!has_more(run, lane, process->job))
                run->turnaround += run->now;
        }
    }
}

static void run_lanes(run_t *run)
{
    for (;;) {
        double next;

        for (unsigned which = 0; which < 2; which++) {
            lane_t *lane = &run->lane[which];

            if (lane->next < lane->groups && is_empty(run, lane))
                begin_group(run, lane);
        }
        set_rates(run);
        next = next_end(run);
        if (next >= NEVER)
            return;
        go_on(run, next);
    }
}

/* "p0" or "g0" of dedicated_order. */
static int read_place(const char *text, size_t primaries, size_t guests,
                      unsigned *group)
{
    char kind = 0, rest = 0;
    unsigned number = 0;

    if (!text || sscanf(text, "%c%2u%c", &kind, &number, &rest) != 2 ||
        (kind != 'p' && kind != 'g') || number >= (kind == 'p' ? primaries : guests))
        return -1;
    *group = number + (kind == 'g' ? GROUPS_MAX : 0);
    return 0;
}

static int check_group(const setting_t *setting, json_object *group, const char *where,
                       hpcb_error_t *err)
{
    int64_t processes = 0;
    bool any = false;

    if (!json_object_is_type(group, json_type_array))
        return hpcb_error(err, "%s: a group is a list of applications", where);
    for (size_t i = 0; i < json_object_array_length(group); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(group, i));
        const application_t *application = find(setting, name);

        if (name && !application)
            return hpcb_error(err, "%s: '%s' is none of the applications", where, name);
        processes += application ? application->processes : 1;
        any = any || application;
    }
    if (!any || processes > setting->processors)
        return hpcb_error(err, "%s: a group of %d processes on %d processors", where,
                          (int)processes, (int)setting->processors);
    return 0;
}

static int read_lane(const setting_t *setting, json_object *experiment, const char *key,
                     const char *where, json_object *groups[], size_t *n,
                     hpcb_error_t *err)
{
    json_object *list;

    if (hpcb_sim_list(experiment, where, key, GROUPS_MAX, &list, err) < 0)
        return -1;
    *n = json_object_array_length(list);
    for (size_t i = 0; i < *n; i++) {
        groups[i] = json_object_array_get_idx(list, i);
        if (check_group(setting, groups[i], where, err) < 0)
            return -1;
    }
    return 0;
}

static int fill_lanes(json_object *experiment, const char *where, size_t primaries,
                      size_t guests, run_t *run, hpcb_error_t *err)
{
    json_object *order;

    if (run->regime != DEDICATED) {
        for (unsigned i = 0; i < primaries; i++)
            run->lane[0].group[run->lane[0].groups++] = i;
        for (unsigned i = 0; i < guests; i++)
            run->lane[1].group[run->lane[1].groups++] = GROUPS_MAX + i;
        return 0;
    }
    if (hpcb_sim_list(experiment, where, "dedicated_order", GROUPS_MAX, &order, err) <
        0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(order); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(order, i));

        if (read_place(text, primaries, guests,
                       &run->lane[0].group[run->lane[0].groups]) < 0)
            return hpcb_error(err, "%s: dedicated_order: '%s' is no group", where,
                              text ? text : "");
        run->lane[0].groups++;
    }
    return 0;
}

static void put_row(json_object *rows, const char *experiment, const run_t *run)
{
    static const char *const names[] = {"dedicated", "nice", "guests"};
    json_object *row = hpcb_sim_row(rows);

    hpcb_sim_put_text(row, "experiment", experiment);
    hpcb_sim_put_text(row, "regime", names[run->regime]);
    hpcb_sim_put_int(row, "jobs", run->jobs);
    hpcb_sim_put_real(row, "throughput_jobs_per_hour", 3600 * run->jobs / run->now);
    hpcb_sim_put_real(row, "efficiency_percent",
                      100 * run->cpu / ((double)run->setting->processors * run->now));
    hpcb_sim_put_real(row, "turnaround_mean_seconds", run->turnaround / run->jobs);
    hpcb_sim_put_real(row, "primary_seconds", run->primaries);
}

static int run_experiment(const setting_t *setting, json_object *experiment,
                          json_object *rows, hpcb_error_t *err)
{
    static const char *const known[] = {"name", "primaries", "guests",
                                        "dedicated_order", NULL};
    const char *name;
    size_t primaries, guests;

    if (hpcb_sim_text(experiment, "experiments", "name", &name, err) < 0 ||
        hpcb_sim_known(experiment, name, known, err) < 0)
        return -1;
    for (unsigned regime = 0; regime < REGIMES; regime++) {
        run_t run = {.setting = setting, .regime = (regime_t)regime};

        if (read_lane(setting, experiment, "primaries", name, run.groups, &primaries,
                      err) < 0 ||
            read_lane(setting, experiment, "guests", name, run.groups + GROUPS_MAX,
                      &guests, err) < 0 ||
            fill_lanes(experiment, name, primaries, guests, &run, err) < 0)
            return -1;
        run_lanes(&run);
        put_row(rows, name, &run);
    }
    return 0;
}

static int read_application(const char *name, json_object *object, setting_t *setting,
                            hpcb_error_t *err)
{
    static const char *const known[] = {"processes",    "cpu_seconds", "others_seconds",
                                        "wall_seconds", "kind",        NULL};
    static const char *const kinds[] = {"synchronous", "irregular", "coordinated",
                                        "independent"};
    application_t *application = &setting->application[setting->applications];
    const char *kind;

    *application = (application_t){.name = name};
    if (hpcb_sim_known(object, name, known, err) < 0 ||
        hpcb_sim_int(object, name, "processes", 1, setting->processors,
                     &application->processes, err) < 0 ||
        hpcb_sim_real(object, name, "cpu_seconds", 1e-3, 1e9, &application->cpu, err) <
            0 ||
        (hpcb_sim_has(object, "others_seconds") &&
         hpcb_sim_real(object, name, "others_seconds", 0, 1e9, &application->others,
                       err) < 0) ||
        hpcb_sim_real(object, name, "wall_seconds", 1e-3, 1e9, &application->wall,
                      err) < 0 ||
        hpcb_sim_text(object, name, "kind", &kind, err) < 0)
        return -1;
    for (unsigned i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i], kind) == 0) {
            application->kind = (kind_t)i;
            setting->applications++;
            return 0;
        }
    }
    return hpcb_error(err,
                      "%s: kind=%s: not synchronous, irregular, coordinated or "
                      "independent",
                      name, kind);
}

static int read_setting(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    static const char *const known[] = {
        "model",       "processors", "nice_share", "applications",
        "experiments", "absorb",     NULL};
    json_object *applications;

    if (hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "processors", 1, PROCESSORS_MAX,
                     &setting->processors, err) < 0 ||
        hpcb_sim_real(scenario, "scenario", "nice_share", 0, 0.99, &setting->nice_share,
                      err) < 0 ||
        (hpcb_sim_has(scenario, "absorb") &&
         hpcb_sim_real(scenario, "scenario", "absorb", 0, 1, &setting->absorb, err) <
             0) ||
        hpcb_sim_object(scenario, "scenario", "applications", &applications, err) < 0)
        return -1;
    json_object_object_foreach(applications, name, object)
    {
        if (setting->applications == APPLICATIONS_MAX)
            return hpcb_error(err, "applications: more than %d", APPLICATIONS_MAX);
        if (!json_object_is_type(object, json_type_object))
            return hpcb_error(err, "applications: %s: not an object", name);
        if (read_application(name, object, setting, err) < 0)
            return -1;
    }
    return 0;
}

int hpcb_sim_queue_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err)
{
    setting_t setting = {0};
    json_object *list = NULL;

    (void)seed; /* no chance in it */
    if (read_setting(scenario, &setting, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "experiments", EXPERIMENTS_MAX, &list,
                      err) < 0)
        return -1;
    hpcb_sim_progress_begin(progress, (unsigned)json_object_array_length(list));
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *experiment = json_object_array_get_idx(list, i);

        if (!json_object_is_type(experiment, json_type_object))
            return hpcb_error(err, "experiments: not a list of objects");
        if (run_experiment(&setting, experiment, rows, err) < 0)
            return -1;
        hpcb_sim_progress_step(progress);
    }
    return 0;
}
