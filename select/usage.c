/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Three tables: a sum per node; jobs by their id, so that what was added is what is
 * taken away; and how many jobs of a program are on a node, by both.  The tables of
 * jobs and programs are chains behind a fixed number of heads, enough for some ten
 * thousand.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "select/usage.h"

#define HEADS 16384u /* a power of two */

/* How many jobs have no figure for an axis. */
typedef struct {
    uint32_t mem, net;
} unknown_t;

typedef struct {
    hpcb_bw_t primaries, guests; /* sums */
    unknown_t unknown_primaries, unknown_guests;
    uint64_t guest_processors, guest_memory;
} sum_t;

typedef struct job job_t;
struct job {
    job_t *next;
    uint32_t id;
    bool guest;
    hpcb_demand_t demand;
    size_t n_places;
    hpcb_place_on_t places[];
};

typedef struct copies copies_t;
struct copies {
    copies_t *next;
    uint64_t program;
    uint32_t node, count;
};

struct hpcb_usage {
    size_t n_nodes, n_jobs;
    job_t *jobs[HEADS];
    copies_t *copies[HEADS];
    sum_t sums[];
};

hpcb_usage_t *hpcb_usage_new(size_t nodes)
{
    hpcb_usage_t *usage = calloc(1, sizeof(*usage) + nodes * sizeof(usage->sums[0]));

    if (usage)
        usage->n_nodes = nodes;
    return usage;
}

static void free_chains(hpcb_usage_t *usage, size_t head)
{
    job_t *job = usage->jobs[head];
    copies_t *copies = usage->copies[head];

    while (job) {
        job_t *next = job->next;

        free(job);
        job = next;
    }
    while (copies) {
        copies_t *next = copies->next;

        free(copies);
        copies = next;
    }
}

void hpcb_usage_free(hpcb_usage_t *usage)
{
    if (!usage)
        return;
    for (size_t i = 0; i < HEADS; i++)
        free_chains(usage, i);
    free(usage);
}

/* The link that points to the job, or to NULL at the end of its chain. */
static job_t **find_job(hpcb_usage_t *usage, uint32_t id)
{
    job_t **link = &usage->jobs[id % HEADS];

    while (*link && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

static size_t copies_head(uint64_t program, uint32_t node)
{
    uint64_t mixed = (program ^ node) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32) % HEADS;
}

static copies_t **find_copies(hpcb_usage_t *usage, uint64_t program, uint32_t node)
{
    copies_t **link = &usage->copies[copies_head(program, node)];

    while (*link && ((*link)->program != program || (*link)->node != node))
        link = &(*link)->next;
    return link;
}

static void count_copy(hpcb_usage_t *usage, uint64_t program, uint32_t node)
{
    copies_t **link = find_copies(usage, program, node);

    if (!*link)
        *link = calloc(1, sizeof(**link));
    /* Without memory a twin is taken for a stranger: a worse place at most. */
    if (!*link)
        return;
    (*link)->program = program;
    (*link)->node = node;
    (*link)->count++;
}

static void uncount_copy(hpcb_usage_t *usage, uint64_t program, uint32_t node)
{
    copies_t **link = find_copies(usage, program, node);
    copies_t *copies = *link;

    if (!copies || --copies->count > 0)
        return;
    *link = copies->next;
    free(copies);
}

/* Sums of bandwidths beyond HPCB_FIT_BW_MAX mean the same as that, so that none wraps;
 * clipped demands are what is taken away, too. */
static uint64_t clipped(uint64_t bandwidth)
{
    return bandwidth < HPCB_FIT_BW_MAX >> 16 ? bandwidth : HPCB_FIT_BW_MAX >> 16;
}

static void count_demand(hpcb_bw_t *used, unknown_t *unknown,
                         const hpcb_demand_t *demand)
{
    if (demand->mem_known)
        used->mem += clipped(demand->use.mem);
    else
        unknown->mem++;
    if (demand->net_known)
        used->net += clipped(demand->use.net);
    else
        unknown->net++;
}

static void uncount_demand(hpcb_bw_t *used, unknown_t *unknown,
                           const hpcb_demand_t *demand)
{
    if (demand->mem_known)
        used->mem -= clipped(demand->use.mem);
    else
        unknown->mem--;
    if (demand->net_known)
        used->net -= clipped(demand->use.net);
    else
        unknown->net--;
}

static void add_to_sum(sum_t *sum, const job_t *job, const hpcb_place_on_t *place)
{
    if (!job->guest) {
        count_demand(&sum->primaries, &sum->unknown_primaries, &job->demand);
        return;
    }
    count_demand(&sum->guests, &sum->unknown_guests, &job->demand);
    sum->guest_processors += place->processors;
    sum->guest_memory += place->memory;
}

static void take_from_sum(sum_t *sum, const job_t *job, const hpcb_place_on_t *place)
{
    if (!job->guest) {
        uncount_demand(&sum->primaries, &sum->unknown_primaries, &job->demand);
        return;
    }
    uncount_demand(&sum->guests, &sum->unknown_guests, &job->demand);
    sum->guest_processors -= place->processors;
    sum->guest_memory -= place->memory;
}

void hpcb_usage_remove(hpcb_usage_t *usage, uint32_t id)
{
    job_t **link = find_job(usage, id);
    job_t *job = *link;

    if (!job)
        return;
    for (size_t i = 0; i < job->n_places; i++) {
        take_from_sum(&usage->sums[job->places[i].node], job, &job->places[i]);
        if (job->demand.program)
            uncount_copy(usage, job->demand.program, job->places[i].node);
    }
    *link = job->next;
    free(job);
    usage->n_jobs--;
}

static job_t *copy_job(const hpcb_usage_t *usage, const hpcb_usage_job_t *job)
{
    job_t *copy = malloc(sizeof(*copy) + job->n_places * sizeof(copy->places[0]));

    if (!copy)
        return NULL;
    copy->next = NULL;
    copy->id = job->id;
    copy->guest = job->guest;
    copy->demand = job->demand;
    copy->n_places = 0;
    for (size_t i = 0; i < job->n_places; i++)
        if (job->places[i].node < usage->n_nodes)
            copy->places[copy->n_places++] = job->places[i];
    return copy;
}

int hpcb_usage_add(hpcb_usage_t *usage, const hpcb_usage_job_t *job)
{
    job_t *copy;

    hpcb_usage_remove(usage, job->id);
    copy = copy_job(usage, job);
    if (!copy)
        return -1;
    copy->next = usage->jobs[job->id % HEADS];
    usage->jobs[job->id % HEADS] = copy;
    usage->n_jobs++;
    for (size_t i = 0; i < copy->n_places; i++) {
        add_to_sum(&usage->sums[copy->places[i].node], copy, &copy->places[i]);
        if (copy->demand.program)
            count_copy(usage, copy->demand.program, copy->places[i].node);
    }
    return 0;
}

size_t hpcb_usage_count(const hpcb_usage_t *usage)
{
    return usage->n_jobs;
}

/* Somebody whose demand is not known matters where the node's capacity is. */
static bool is_unknown(const unknown_t *unknown, const hpcb_bw_t *capacity)
{
    return (unknown->mem > 0 && capacity->mem > 0) ||
           (unknown->net > 0 && capacity->net > 0);
}

void hpcb_usage_node(const hpcb_usage_t *usage, size_t node, const hpcb_bw_t *capacity,
                     unsigned processors, uint64_t program,
                     hpcb_fit_node_t *description)
{
    const sum_t *sum;
    const copies_t *copies = NULL;

    *description = (hpcb_fit_node_t){.capacity = *capacity};
    if (node >= usage->n_nodes)
        return;
    sum = &usage->sums[node];
    if (program)
        copies = usage->copies[copies_head(program, (uint32_t)node)];
    while (copies && (copies->program != program || copies->node != node))
        copies = copies->next;
    description->used_by_primaries = sum->primaries;
    description->used_by_guests = sum->guests;
    description->unknown_primary = is_unknown(&sum->unknown_primaries, capacity);
    description->unknown_guest = is_unknown(&sum->unknown_guests, capacity);
    description->same_program = copies != NULL;
    description->processors_left = sum->guest_processors < processors
                                       ? processors - (unsigned)sum->guest_processors
                                       : 0;
}

uint64_t hpcb_usage_guest_memory(const hpcb_usage_t *usage, size_t node)
{
    return node < usage->n_nodes ? usage->sums[node].guest_memory : 0;
}
