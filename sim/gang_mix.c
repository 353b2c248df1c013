/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who has which CPUs of which nodes.  A mix is
 *
 *   ["A", "A", "B", "B"]   each on all nodes with one CPU, the first ones with one of
 *                          their own, the others the same ones again, as bench/membus
 *                          submits them
 *   {"name": ..., "jobs": [{"application": "A", "nodes": [0, 1], "cpus": [0]}, ...]}
 *   {"name": ..., "draw": {"applications": ["A", "B"], "nodes": [1, 2, 4],
 *    "cpus": [1], "deep": 2}}
 *                          jobs by chance, each application, number of nodes and number
 *                          of CPUs a node as likely, until no more fit
 *
 * Of those by chance each CPU gets up to "deep" jobs as from Slurm with
 * OverSubscribe=FORCE:deep: there are so many rows of all CPUs, and a job has its CPUs
 * on all its nodes in the first row in which there are enough, on the first such nodes.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/deal.h"
#include "sim/gang_parts.h"
#include "sim/random.h"
#include "sim/scenario.h"

#define KINDS_MAX 64
#define JOBS_MAX  4096 /* that a scenario lists */

/* Jobs drawn in a row that find no place any more. */
#define MISSES_MAX 64

#define FIRST_ROOM 64

/* ---- lists that grow ---- */

typedef struct {
    hpcb_sim_gang_mix_t *mix;
    size_t job_room, seat_room;
} builder_t;

/* NULL: there is no memory; list stays as it is. */
static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    size_t wanted = *room ? 2 * *room : FIRST_ROOM;
    void *larger = list;

    if (count < *room)
        return list;
    larger = reallocarray(list, wanted, size);
    if (larger)
        *room = wanted;
    return larger;
}

static int out_of_memory(hpcb_error_t *err)
{
    return hpcb_error(err, "%s", strerror(errno));
}

/* nodes: those of the cluster that it runs on. */
static int add_job(builder_t *builder, const hpcb_sim_gang_app_t *app, uint32_t nodes,
                   hpcb_error_t *err)
{
    hpcb_sim_gang_mix_t *mix = builder->mix;
    hpcb_sim_gang_job_t *job =
        grown(mix->job, mix->n_jobs, &builder->job_room, sizeof(mix->job[0]));

    if (!job)
        return out_of_memory(err);
    mix->job = job;
    mix->job[mix->n_jobs++] = (hpcb_sim_gang_job_t){.app = *app, .nodes = nodes};
    return 0;
}

/* Of the last job. */
static int add_seat(builder_t *builder, uint32_t node, uint64_t cpus, hpcb_error_t *err)
{
    hpcb_sim_gang_mix_t *mix = builder->mix;
    hpcb_sim_gang_seat_t *seat =
        grown(mix->seat, mix->n_seats, &builder->seat_room, sizeof(mix->seat[0]));

    if (!seat)
        return out_of_memory(err);
    mix->seat = seat;
    mix->seat[mix->n_seats++] =
        (hpcb_sim_gang_seat_t){.job = mix->n_jobs - 1, .node = node, .cpus = cpus};
    return 0;
}

/* ---- a list ---- */

static int place_list(const hpcb_sim_gang_setting_t *setting, json_object *list,
                      builder_t *builder, hpcb_error_t *err)
{
    hpcb_sim_gang_mix_t *mix = builder->mix;
    const char *name[HPCB_SIM_GANG_APPS] = {NULL};

    mix->listed = true;
    mix->n_nodes = 1;
    for (size_t i = 0; i < HPCB_SIM_GANG_APPS; i++) {
        size_t place = setting->arrangement[i];
        hpcb_sim_gang_app_t app;

        if (hpcb_sim_gang_read_app(setting, json_object_array_get_idx(list, place),
                                   &app, err) < 0 ||
            add_job(builder, &app, mix->nodes, err) < 0 ||
            add_seat(builder, 0, UINT64_C(1) << i % (size_t)setting->processors, err) <
                0)
            return -1;
        name[place] = app.name;
    }
    snprintf(mix->name, sizeof(mix->name), "%s+%s", name[0], name[2]);
    return 0;
}

/* ---- jobs that are named ---- */

static int read_cpus(json_object *list, int64_t processors, uint64_t *cpus,
                     hpcb_error_t *err)
{
    *cpus = 0;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        int64_t cpu = 0;

        if (hpcb_sim_int_at(list, i, "jobs", "cpus", 0, processors - 1, &cpu, err) < 0)
            return -1;
        *cpus |= UINT64_C(1) << cpu;
    }
    return 0;
}

static int place_job(const hpcb_sim_gang_setting_t *setting, json_object *object,
                     builder_t *builder, hpcb_error_t *err)
{
    static const char *const known[] = {"application", "nodes", "cpus", NULL};
    hpcb_sim_gang_mix_t *mix = builder->mix;
    json_object *nodes = NULL, *list = NULL;
    hpcb_sim_gang_app_t app;
    const char *name;
    uint64_t cpus = 0;
    int64_t before = -1;

    if (!json_object_is_type(object, json_type_object))
        return hpcb_error(err, "jobs: not a list of objects");
    if (hpcb_sim_known(object, "jobs", known, err) < 0 ||
        hpcb_sim_text(object, "jobs", "application", &name, err) < 0 ||
        hpcb_sim_gang_read_app(setting, json_object_object_get(object, "application"),
                               &app, err) < 0 ||
        hpcb_sim_list(object, "jobs", "nodes", HPCB_SIM_GANG_NODES_MAX, &nodes, err) <
            0 ||
        hpcb_sim_list(object, "jobs", "cpus", HPCB_SIM_GANG_CPUS_MAX, &list, err) < 0 ||
        read_cpus(list, setting->processors, &cpus, err) < 0 ||
        add_job(builder, &app, (uint32_t)json_object_array_length(nodes), err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(nodes); i++) {
        int64_t node = 0;

        if (hpcb_sim_int_at(nodes, i, "jobs", "nodes", 0, mix->nodes - 1, &node, err) <
            0)
            return -1;
        if (node <= before)
            return hpcb_error(err, "jobs: nodes: not in rising order");
        if (add_seat(builder, (uint32_t)node, cpus, err) < 0)
            return -1;
        before = node;
    }
    return 0;
}

static int place_jobs(const hpcb_sim_gang_setting_t *setting, json_object *object,
                      builder_t *builder, hpcb_error_t *err)
{
    json_object *jobs = NULL;

    if (hpcb_sim_list(object, "mixes", "jobs", JOBS_MAX, &jobs, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(jobs); i++)
        if (place_job(setting, json_object_array_get_idx(jobs, i), builder, err) < 0)
            return -1;
    return 0;
}

/* ---- jobs by chance ---- */

typedef struct {
    size_t apps, widths, sizes; /* numbers of choices */
    hpcb_sim_gang_app_t app[KINDS_MAX];
    int64_t width[KINDS_MAX], cpus[KINDS_MAX]; /* nodes of a job, CPUs on each */
    int64_t deep;
} kinds_t;

/* All CPUs of the cluster. */
typedef struct {
    uint64_t *taken;    /* of each node */
    uint32_t full_upto; /* all nodes before this one are */
} row_t;

static int read_numbers(json_object *object, const char *key, int64_t max,
                        int64_t *values, size_t *count, hpcb_error_t *err)
{
    json_object *list = NULL;

    if (hpcb_sim_list(object, "draw", key, KINDS_MAX, &list, err) < 0)
        return -1;
    *count = json_object_array_length(list);
    return hpcb_sim_ints(list, "draw", key, 1, max, values, err);
}

static int read_kinds(const hpcb_sim_gang_setting_t *setting, json_object *object,
                      kinds_t *kinds, hpcb_error_t *err)
{
    static const char *const known[] = {"applications", "nodes", "cpus", "deep", NULL};
    int64_t most = HPCB_DEAL_NODE_SEATS / setting->processors;
    json_object *draw = NULL, *apps = NULL;

    if (hpcb_sim_object(object, "mixes", "draw", &draw, err) < 0 ||
        hpcb_sim_known(draw, "draw", known, err) < 0 ||
        hpcb_sim_list(draw, "draw", "applications", KINDS_MAX, &apps, err) < 0 ||
        read_numbers(draw, "nodes", HPCB_SIM_GANG_NODES_MAX, kinds->width,
                     &kinds->widths, err) < 0 ||
        read_numbers(draw, "cpus", setting->processors, kinds->cpus, &kinds->sizes,
                     err) < 0 ||
        hpcb_sim_int(draw, "draw", "deep", 1, most, &kinds->deep, err) < 0)
        return -1;
    kinds->apps = json_object_array_length(apps);
    for (size_t i = 0; i < kinds->apps; i++)
        if (hpcb_sim_gang_read_app(setting, json_object_array_get_idx(apps, i),
                                   &kinds->app[i], err) < 0)
            return -1;
    return 0;
}

static unsigned count_free(const row_t *row, uint32_t node, int64_t processors)
{
    return (unsigned)(processors - __builtin_popcountll(row->taken[node]));
}

/* Return how many nodes of the row have so many CPUs, at most wanted. */
static uint32_t count_nodes(const row_t *row, uint32_t nodes, int64_t processors,
                            unsigned cpus, uint32_t wanted)
{
    uint32_t found = 0;

    for (uint32_t node = row->full_upto; node < nodes && found < wanted; node++)
        found += count_free(row, node, processors) >= cpus;
    return found;
}

/* The lowest ones. */
static uint64_t take_cpus(uint64_t *taken, unsigned count)
{
    uint64_t cpus = 0;

    for (unsigned cpu = 0; count > 0; cpu++) {
        if (*taken & UINT64_C(1) << cpu)
            continue;
        cpus |= UINT64_C(1) << cpu;
        count--;
    }
    *taken |= cpus;
    return cpus;
}

static int take_nodes(builder_t *builder, row_t *row, int64_t processors, unsigned cpus,
                      uint32_t wanted, hpcb_error_t *err)
{
    for (uint32_t node = row->full_upto; wanted > 0; node++) {
        if (count_free(row, node, processors) < cpus)
            continue;
        wanted--;
        if (add_seat(builder, node, take_cpus(&row->taken[node], cpus), err) < 0)
            return -1;
    }
    while (row->full_upto < builder->mix->nodes &&
           count_free(row, row->full_upto, processors) == 0)
        row->full_upto++;
    return 0;
}

/* 1: it has a place, 0: there is none, -1 with err. */
static int draw_job(const hpcb_sim_gang_setting_t *setting, const kinds_t *kinds,
                    hpcb_sim_stream_t *chance, row_t *rows, builder_t *builder,
                    hpcb_error_t *err)
{
    const hpcb_sim_gang_app_t *app = &kinds->app[hpcb_sim_below(chance, kinds->apps)];
    uint32_t width = (uint32_t)kinds->width[hpcb_sim_below(chance, kinds->widths)];
    unsigned cpus = (unsigned)kinds->cpus[hpcb_sim_below(chance, kinds->sizes)];

    for (int64_t i = 0; i < kinds->deep; i++) {
        if (count_nodes(&rows[i], builder->mix->nodes, setting->processors, cpus,
                        width) < width)
            continue;
        return add_job(builder, app, width, err) < 0 ||
                       take_nodes(builder, &rows[i], setting->processors, cpus, width,
                                  err) < 0
                   ? -1
                   : 1;
    }
    return 0;
}

static int fill_rows(const hpcb_sim_gang_setting_t *setting, const kinds_t *kinds,
                     uint64_t seed, row_t *rows, builder_t *builder, hpcb_error_t *err)
{
    hpcb_sim_stream_t chance = hpcb_sim_stream(seed, 3);

    for (unsigned misses = 0; misses < MISSES_MAX;) {
        int placed = draw_job(setting, kinds, &chance, rows, builder, err);

        if (placed < 0)
            return -1;
        misses = placed ? 0 : misses + 1;
    }
    return builder->mix->n_jobs > 0
               ? 0
               : hpcb_error(err, "draw: no job fits on %u nodes", builder->mix->nodes);
}

static int place_drawn(const hpcb_sim_gang_setting_t *setting, json_object *object,
                       uint64_t seed, builder_t *builder, hpcb_error_t *err)
{
    row_t rows[HPCB_DEAL_NODE_SEATS] = {{NULL, 0}};
    uint32_t nodes = builder->mix->nodes;
    kinds_t kinds;
    uint64_t *taken;
    int rc;

    if (read_kinds(setting, object, &kinds, err) < 0)
        return -1;
    taken = calloc((size_t)nodes * (size_t)kinds.deep, sizeof(*taken));
    if (!taken)
        return out_of_memory(err);
    for (size_t i = 0; i < (size_t)kinds.deep; i++)
        rows[i].taken = &taken[i * nodes];
    rc = fill_rows(setting, &kinds, seed, rows, builder, err);
    free(taken);
    return rc;
}

/* ---- by node ---- */

static int by_node(const void *one, const void *other)
{
    const hpcb_sim_gang_seat_t *a = one, *b = other;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->job < b->job ? -1 : a->job > b->job;
}

static int sort_seats(hpcb_sim_gang_mix_t *mix, hpcb_error_t *err)
{
    uint32_t next = 0;

    mix->node_first = calloc((size_t)mix->n_nodes + 1, sizeof(mix->node_first[0]));
    mix->by_job = calloc(mix->n_seats, sizeof(mix->by_job[0]));
    if (!mix->node_first || !mix->by_job)
        return out_of_memory(err);
    qsort(mix->seat, mix->n_seats, sizeof(mix->seat[0]), by_node);
    for (uint32_t i = 0; i < mix->n_seats; i++) {
        mix->node_first[mix->seat[i].node + 1]++;
        mix->job[mix->seat[i].job].count++;
    }
    for (uint32_t i = 0; i < mix->n_nodes; i++)
        mix->node_first[i + 1] += mix->node_first[i];
    for (uint32_t i = 0; i < mix->n_jobs; i++) {
        mix->job[i].first = next;
        next += mix->job[i].count;
        mix->job[i].count = 0;
    }
    for (uint32_t i = 0; i < mix->n_seats; i++) {
        hpcb_sim_gang_job_t *job = &mix->job[mix->seat[i].job];

        mix->by_job[job->first + job->count++] = i;
    }
    return 0;
}

/* A report to the collector has no space for more. */
static int check_seats(const hpcb_sim_gang_mix_t *mix, hpcb_error_t *err)
{
    for (uint32_t i = 0; i < mix->n_nodes; i++)
        if (mix->node_first[i + 1] - mix->node_first[i] > HPCB_DEAL_NODE_SEATS)
            return hpcb_error(err, "mixes: %s: more than %d jobs on one node",
                              mix->name, HPCB_DEAL_NODE_SEATS);
    return 0;
}

static int place_object(const hpcb_sim_gang_setting_t *setting, json_object *object,
                        uint64_t seed, builder_t *builder, hpcb_error_t *err)
{
    static const char *const known[] = {"name", "jobs", "draw", NULL};
    hpcb_sim_gang_mix_t *mix = builder->mix;
    const char *name;

    if (hpcb_sim_known(object, "mixes", known, err) < 0 ||
        hpcb_sim_text(object, "mixes", "name", &name, err) < 0)
        return -1;
    snprintf(mix->name, sizeof(mix->name), "%s", name);
    if (hpcb_sim_has(object, "jobs") == hpcb_sim_has(object, "draw"))
        return hpcb_error(err, "mixes: %s: not one of jobs and draw", mix->name);
    if (mix->nodes > HPCB_SIM_GANG_NODES_MAX)
        return hpcb_error(err, "mixes: %s: more than %d nodes, each with its own jobs",
                          mix->name, HPCB_SIM_GANG_NODES_MAX);
    mix->n_nodes = mix->nodes;
    return hpcb_sim_has(object, "jobs")
               ? place_jobs(setting, object, builder, err)
               : place_drawn(setting, object, seed, builder, err);
}

int hpcb_sim_gang_place(const hpcb_sim_gang_setting_t *setting, json_object *object,
                        uint32_t nodes, uint64_t seed, hpcb_sim_gang_mix_t *mix,
                        hpcb_error_t *err)
{
    builder_t builder = {.mix = mix};
    int rc;

    *mix = (hpcb_sim_gang_mix_t){.nodes = nodes};
    if (json_object_is_type(object, json_type_object))
        rc = place_object(setting, object, seed, &builder, err);
    else if (json_object_is_type(object, json_type_array) &&
             json_object_array_length(object) == HPCB_SIM_GANG_APPS)
        rc = place_list(setting, object, &builder, err);
    else
        rc =
            hpcb_error(err, "mixes: not a list of lists of %d applications, or objects",
                       HPCB_SIM_GANG_APPS);
    return rc < 0 || sort_seats(mix, err) < 0 ? -1 : check_seats(mix, err);
}

void hpcb_sim_gang_mix_free(hpcb_sim_gang_mix_t *mix)
{
    free(mix->job);
    free(mix->seat);
    free(mix->node_first);
    free(mix->by_job);
}
