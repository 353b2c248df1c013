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

#include "common/conf.h"
#include "select/usage.h"

#define HEADS 16384u /* a power of two */

/* Jobs that a core may have: more is no configuration, but a mistake. */
#define SHARING_MAX 256

#define CPU 1000000u /* one CPU, all of the time */

/* Number of jobs without a figure for an axis. */
typedef struct {
    uint32_t mem, net;
} unknown_t;

typedef struct {
    hpcb_bw_t primaries, guests; /* sums */
    unknown_t unknown_primaries, unknown_guests;
    uint64_t primary_processors, guest_processors; /* of all of them together */
    uint64_t primary_cpus, guest_cpus; /* that they compute on, millionths */
} sum_t;

/* Separate from the other sums, because it is read for all nodes at once. */
typedef struct {
    uint64_t guests;   /* MiB that are allocated to them */
    uint64_t expected; /* MiB that primaries are expected to use */
} memory_t;

typedef struct {
    hpcb_place_on_t on;
    uint64_t expected; /* of a primary, MiB */
    uint64_t cpus;     /* that it computes on, millionths */
} place_t;

typedef struct job job_t;
struct job {
    job_t *next;
    uint32_t id;
    bool guest;
    int64_t since;
    hpcb_demand_t demand;
    size_t n_places;
    place_t places[];
};

typedef struct copies copies_t;
struct copies {
    copies_t *next;
    uint64_t program;
    uint32_t node, count;
    uint32_t primaries; /* of the count */
};

struct hpcb_usage {
    size_t n_nodes, n_guests;
    memory_t *memory;
    job_t *jobs[HEADS];
    copies_t *copies[HEADS];
    sum_t sums[];
};

hpcb_usage_t *hpcb_usage_new(size_t nodes)
{
    hpcb_usage_t *usage = calloc(1, sizeof(*usage) + nodes * sizeof(usage->sums[0]));

    if (!usage)
        return NULL;
    usage->n_nodes = nodes;
    usage->memory = calloc(nodes + 1, sizeof(usage->memory[0]));
    if (usage->memory)
        return usage;
    free(usage);
    return NULL;
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
    free(usage->memory);
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

static void count_copy(hpcb_usage_t *usage, const job_t *job, uint32_t node)
{
    uint64_t program = job->demand.program;
    copies_t **link = find_copies(usage, program, node);

    if (!*link)
        *link = calloc(1, sizeof(**link));
    /* Without memory a twin is taken for a stranger: a worse place at most. */
    if (!*link)
        return;
    (*link)->program = program;
    (*link)->node = node;
    (*link)->count++;
    (*link)->primaries += !job->guest;
}

static void uncount_copy(hpcb_usage_t *usage, const job_t *job, uint32_t node)
{
    copies_t **link = find_copies(usage, job->demand.program, node);
    copies_t *copies = *link;

    if (!copies)
        return;
    /* It may have come when there was no memory to count it. */
    copies->primaries -= !job->guest && copies->primaries > 0;
    if (--copies->count > 0)
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

/* A job of unknown use is assumed to use all of its CPUs. */
static uint64_t cpus_of(const hpcb_demand_t *demand, const hpcb_place_on_t *on)
{
    bool known = demand->cpu_known && demand->cpu < CPU;

    return (uint64_t)on->processors * (known ? demand->cpu : CPU);
}

static void add_to_sum(hpcb_usage_t *usage, const job_t *job, const place_t *place)
{
    sum_t *sum = &usage->sums[place->on.node];
    memory_t *memory = &usage->memory[place->on.node];

    if (!job->guest) {
        count_demand(&sum->primaries, &sum->unknown_primaries, &job->demand);
        sum->primary_processors += place->on.processors;
        sum->primary_cpus += place->cpus;
        memory->expected += place->expected;
        return;
    }
    count_demand(&sum->guests, &sum->unknown_guests, &job->demand);
    sum->guest_processors += place->on.processors;
    sum->guest_cpus += place->cpus;
    memory->guests += place->on.memory;
}

static void take_from_sum(hpcb_usage_t *usage, const job_t *job, const place_t *place)
{
    sum_t *sum = &usage->sums[place->on.node];
    memory_t *memory = &usage->memory[place->on.node];

    if (!job->guest) {
        uncount_demand(&sum->primaries, &sum->unknown_primaries, &job->demand);
        sum->primary_processors -= place->on.processors;
        sum->primary_cpus -= place->cpus;
        memory->expected -= place->expected;
        return;
    }
    uncount_demand(&sum->guests, &sum->unknown_guests, &job->demand);
    sum->guest_processors -= place->on.processors;
    sum->guest_cpus -= place->cpus;
    memory->guests -= place->on.memory;
}

void hpcb_usage_remove(hpcb_usage_t *usage, uint32_t id)
{
    job_t **link = find_job(usage, id);
    job_t *job = *link;

    if (!job)
        return;
    for (size_t i = 0; i < job->n_places; i++) {
        take_from_sum(usage, job, &job->places[i]);
        if (job->demand.program)
            uncount_copy(usage, job, job->places[i].on.node);
    }
    *link = job->next;
    usage->n_guests -= job->guest;
    free(job);
}

static job_t *copy_job(const hpcb_usage_t *usage, const hpcb_usage_job_t *job)
{
    job_t *copy = malloc(sizeof(*copy) + job->n_places * sizeof(copy->places[0]));

    if (!copy)
        return NULL;
    copy->next = NULL;
    copy->id = job->id;
    copy->guest = job->guest;
    copy->since = job->since;
    copy->demand = job->demand;
    copy->n_places = 0;
    for (size_t i = 0; i < job->n_places; i++)
        if (job->places[i].node < usage->n_nodes)
            copy->places[copy->n_places++] =
                (place_t){.on = job->places[i],
                          .expected = job->places[i].memory,
                          .cpus = cpus_of(&job->demand, &job->places[i])};
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
    usage->n_guests += job->guest;
    for (size_t i = 0; i < copy->n_places; i++) {
        add_to_sum(usage, copy, &copy->places[i]);
        if (copy->demand.program)
            count_copy(usage, copy, copy->places[i].on.node);
    }
    return 0;
}

static bool is_unknown(const unknown_t *unknown, hpcb_usage_axes_t matters)
{
    return (unknown->mem > 0 && matters.mem) || (unknown->net > 0 && matters.net);
}

hpcb_bw_t hpcb_usage_known(const hpcb_usage_t *usage, size_t node)
{
    const sum_t *sum;

    if (node >= usage->n_nodes)
        return (hpcb_bw_t){0, 0};
    sum = &usage->sums[node];
    return (hpcb_bw_t){.mem = sum->primaries.mem + sum->guests.mem,
                       .net = sum->primaries.net + sum->guests.net};
}

/* Jobs that share cores (GuestOversubscribe, GangPartitions) take turns: as many run at
 * a time as there are CPUs.  shared: the CPUs of all of them together. */
static uint64_t at_a_time(uint64_t use, uint64_t shared, unsigned processors)
{
    /* More of them than any configuration allows says nothing. */
    if (shared <= processors || shared > (uint64_t)SHARING_MAX * processors)
        return use;
    return use / shared * processors;
}

static hpcb_bw_t used_at_a_time(const hpcb_bw_t *use, uint64_t shared,
                                unsigned processors)
{
    return (hpcb_bw_t){.mem = at_a_time(use->mem, shared, processors),
                       .net = at_a_time(use->net, shared, processors)};
}

static const copies_t *copies_on(const hpcb_usage_t *usage, size_t node,
                                 uint64_t program)
{
    const copies_t *copies = usage->copies[copies_head(program, (uint32_t)node)];

    while (copies && (copies->program != program || copies->node != node))
        copies = copies->next;
    return copies;
}

bool hpcb_usage_has_primary(const hpcb_usage_t *usage, size_t node, uint64_t program)
{
    const copies_t *copies = program ? copies_on(usage, node, program) : NULL;

    return copies && copies->primaries > 0;
}

void hpcb_usage_node(const hpcb_usage_t *usage, size_t node, const hpcb_bw_t *capacity,
                     hpcb_usage_axes_t matters, unsigned processors, uint64_t program,
                     hpcb_fit_node_t *description)
{
    const sum_t *sum;

    *description = (hpcb_fit_node_t){.capacity = *capacity};
    if (node >= usage->n_nodes)
        return;
    sum = &usage->sums[node];
    description->used_by_primaries =
        used_at_a_time(&sum->primaries, sum->primary_processors, processors);
    description->used_by_guests =
        used_at_a_time(&sum->guests, sum->guest_processors, processors);
    description->unknown_primary = is_unknown(&sum->unknown_primaries, matters);
    description->unknown_guest = is_unknown(&sum->unknown_guests, matters);
    description->same_program = program && copies_on(usage, node, program);
    description->cpus = (uint64_t)processors * CPU;
    /* Measurements of them include their turns. */
    description->cpus_by_primaries =
        sum->primary_cpus < description->cpus ? sum->primary_cpus : description->cpus;
    description->cpus_by_guests =
        at_a_time(sum->guest_cpus, sum->guest_processors, processors);
    description->processors_left = sum->guest_processors < processors
                                       ? processors - (unsigned)sum->guest_processors
                                       : 0;
}

size_t hpcb_usage_guests(const hpcb_usage_t *usage)
{
    return usage->n_guests;
}

uint64_t hpcb_usage_guest_memory(const hpcb_usage_t *usage, size_t node)
{
    return node < usage->n_nodes ? usage->memory[node].guests : 0;
}

uint64_t hpcb_usage_expected(const hpcb_usage_t *usage, size_t node)
{
    return node < usage->n_nodes ? usage->memory[node].expected : 0;
}

/* The job's place on the node, or NULL. */
static place_t *find_place(job_t *job, size_t node)
{
    size_t low = 0, high = job->n_places;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (job->places[middle].on.node == node)
            return &job->places[middle];
        if (job->places[middle].on.node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool hpcb_usage_find(hpcb_usage_t *usage, uint32_t id, size_t node, hpcb_usage_at_t *at)
{
    job_t *job = *find_job(usage, id);
    place_t *place = job ? find_place(job, node) : NULL;

    if (!place)
        return false;
    *at = (hpcb_usage_at_t){.guest = job->guest,
                            .since = job->since,
                            .memory = place->on.memory,
                            .peak = job->demand.peak,
                            .expected = &place->expected,
                            .processors = place->on.processors,
                            .cpus = &place->cpus};
    return true;
}

void hpcb_usage_expect(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                       uint64_t expected)
{
    if (at->guest)
        return;
    usage->memory[node].expected += expected - *at->expected;
    *at->expected = expected;
}

static void expect_as_allocated(hpcb_usage_t *usage, job_t *job)
{
    for (size_t i = 0; i < job->n_places; i++) {
        place_t *place = &job->places[i];

        usage->memory[place->on.node].expected += place->on.memory - place->expected;
        place->expected = place->on.memory;
    }
}

static void compute_as_demanded(hpcb_usage_t *usage, job_t *job)
{
    for (size_t i = 0; i < job->n_places; i++) {
        place_t *place = &job->places[i];
        uint64_t cpus = cpus_of(&job->demand, &place->on);

        usage->sums[place->on.node].primary_cpus += cpus - place->cpus;
        place->cpus = cpus;
    }
}

static void each_primary(hpcb_usage_t *usage, void (*visit)(hpcb_usage_t *, job_t *))
{
    for (size_t i = 0; i < HEADS; i++)
        for (job_t *job = usage->jobs[i]; job; job = job->next)
            if (!job->guest)
                visit(usage, job);
}

void hpcb_usage_expect_all(hpcb_usage_t *usage)
{
    each_primary(usage, expect_as_allocated);
}

void hpcb_usage_compute(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                        uint64_t cpus)
{
    uint64_t most = (uint64_t)at->processors * CPU;

    if (at->guest)
        return;
    if (cpus > most)
        cpus = most;
    usage->sums[node].primary_cpus += cpus - *at->cpus;
    *at->cpus = cpus;
}

void hpcb_usage_compute_all(hpcb_usage_t *usage)
{
    each_primary(usage, compute_as_demanded);
}
