/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/gang.h"

#include <string.h>

#define FARTHEST (~(hpcb_fit_square_t)0)

/* IDs that shift together, and quanta between two shifts. */
#define SLOT_JOBS   16
#define SLOT_QUANTA 256

/* Number of first slots of groups, and quanta of the longest cycle that fits between
 * shifts. */
#define SLOTS (SLOT_QUANTA / 2)

/* A group makes less than one step in this many shifts, each group at its own speed. */
#define SPEEDS 64

/* IDs without a gap between them, and shifts for which there are gaps. */
#define SLOT_PART 4
#define PARTED    4

bool hpcb_gang_add(hpcb_gang_t *gang, hpcb_gang_job_t *job)
{
    if (gang->count == HPCB_GANG_JOBS_MAX)
        return false;
    gang->list[gang->count++] = job;
    return true;
}

void hpcb_gang_remove(hpcb_gang_t *gang, const hpcb_gang_job_t *job)
{
    size_t kept = 0;

    for (size_t i = 0; i < gang->count; i++)
        if (gang->list[i] != job)
            gang->list[kept++] = gang->list[i];
    gang->count = kept;
}

void hpcb_gang_sample(hpcb_gang_job_t *job, const hpcb_fit_sample_t *sample)
{
    memmove(&job->samples[1], &job->samples[0],
            (HPCB_GANG_WINDOW_MAX - 1) * sizeof(job->samples[0]));
    job->samples[0] = *sample;
    if (job->n_samples < HPCB_GANG_WINDOW_MAX)
        job->n_samples++;
}

hpcb_bw_t hpcb_gang_predict(const hpcb_gang_t *gang, const hpcb_gang_job_t *job)
{
    return hpcb_fit_predict(job->samples, job->n_samples < gang->window ? job->n_samples
                                                                        : gang->window);
}

static bool has_cpus(const hpcb_gang_job_t *job)
{
    return hpcb_cpus_from(&job->cpus, 0) < HPCB_CPUS_MAX;
}

static bool takes_part(const hpcb_gang_job_t *job)
{
    return !job->paused && has_cpus(job);
}

hpcb_bw_t hpcb_gang_capacity(const hpcb_gang_t *gang, const hpcb_bw_t *node)
{
    hpcb_bw_t capacity = *node;

    for (size_t i = 0; i < gang->count; i++) {
        const hpcb_gang_job_t *job = gang->list[i];

        if (!takes_part(job) || job->n_samples == 0)
            continue;
        capacity.mem = job->mem_known ? capacity.mem : 0;
        capacity.net = job->net_known ? capacity.net : 0;
    }
    return capacity;
}

bool hpcb_gang_contends(const hpcb_gang_t *gang)
{
    hpcb_cpus_t taken = {{0}};

    for (size_t i = 0; i < gang->count; i++) {
        if (gang->list[i]->paused || hpcb_cpus_meet(&gang->list[i]->cpus, &taken))
            return true;
        hpcb_cpus_join(&taken, &gang->list[i]->cpus);
    }
    return false;
}

/* ---- One node: algorithm 2 ---- */

typedef struct {
    const hpcb_gang_t *gang;
    hpcb_fit_app_t apps[HPCB_GANG_JOBS_MAX]; /* of the list */
    bool out[HPCB_GANG_JOBS_MAX];            /* selected, or it does not fit any more */
    bool narrow_only;                        /* jobs of several nodes wait */
    hpcb_fit_left_t left;
} selection_t;

/* All that take part, and the CPUs that these have together. */
typedef struct {
    hpcb_fit_square_t mem, net, wanted; /* wanted: CPUs, as often as jobs have them */
    unsigned processors;
} demand_t;

static demand_t sum_up(selection_t *selection)
{
    const hpcb_gang_t *gang = selection->gang;
    hpcb_cpus_t all = {{0}};
    demand_t sum = {.wanted = 0};

    for (size_t i = 0; i < gang->count; i++) {
        const hpcb_gang_job_t *job = gang->list[i];
        hpcb_fit_app_t *app = &selection->apps[i];

        selection->out[i] = !takes_part(job);
        if (selection->out[i])
            continue;
        *app =
            (hpcb_fit_app_t){hpcb_gang_predict(gang, job), hpcb_cpus_count(&job->cpus)};
        sum.mem += app->use.mem;
        sum.net += app->use.net;
        sum.wanted += app->processors;
        hpcb_cpus_join(&all, &job->cpus);
    }
    sum.processors = hpcb_cpus_count(&all);
    return sum;
}

/* If the capacity of an axis is unknown, use the average of all jobs if they have the
 * same number of turns.  No selection can be nearer to it all the time. */
static uint64_t or_average(uint64_t capacity, hpcb_fit_square_t use,
                           const demand_t *sum)
{
    if (capacity > 0 || sum->wanted == 0)
        return capacity;
    return (uint64_t)(use * sum->processors / sum->wanted);
}

static void start_selection(selection_t *selection, const hpcb_bw_t *capacity)
{
    hpcb_bw_t whole;
    demand_t sum;

    sum = sum_up(selection);
    whole.mem = or_average(capacity->mem, sum.mem, &sum);
    whole.net = or_average(capacity->net, sum.net, &sum);
    selection->left = hpcb_fit_whole(&whole, sum.processors);
}

static void take(selection_t *selection, size_t chosen)
{
    const hpcb_gang_t *gang = selection->gang;
    const hpcb_cpus_t *cpus = &gang->list[chosen]->cpus;

    hpcb_fit_take(&selection->left, &selection->apps[chosen]);
    for (size_t i = 0; i < gang->count; i++)
        if (!selection->out[i] && hpcb_cpus_meet(&gang->list[i]->cpus, cpus))
            selection->out[i] = true;
}

static bool can_run(const selection_t *selection, size_t i)
{
    return !selection->out[i] &&
           !(selection->narrow_only && selection->gang->list[i]->wide);
}

/* The first in the list that can run; count: there is none. */
static size_t first(const selection_t *selection)
{
    size_t i = 0;

    while (i < selection->gang->count && !can_run(selection, i))
        i++;
    return i;
}

/* Lines 9 to 16; count if no job fits. */
static size_t best(const selection_t *selection)
{
    size_t found = first(selection);
    hpcb_fit_square_t nearest = FARTHEST;

    for (size_t i = found; i < selection->gang->count; i++) {
        hpcb_fit_square_t distance;

        if (!can_run(selection, i))
            continue;
        distance = hpcb_fit_distance(&selection->apps[i], &selection->left);
        if (distance < nearest) {
            nearest = distance;
            found = i;
        }
    }
    return found;
}

/* A number by chance that is the same on all nodes (the last steps of splitmix64). */
static uint64_t rank_in(uint32_t id, uint64_t time)
{
    uint64_t x = (time + 1) * UINT64_C(0x9e3779b97f4a7c15) + id;

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Return the slot of the ID after so many shifts: one of SLOTS for the group, which
 * steps back now and then, plus the ID's place in the group.  During PARTED of 2 *
 * PARTED shifts there are gaps in the group, so that IDs that are 4 or 8 apart own
 * different slots, too. */
static uint64_t slot_after(uint32_t id, uint64_t moves)
{
    uint32_t group = id / SLOT_JOBS, place = id % SLOT_JOBS;
    uint64_t steps = moves * (rank_in(group, 1) % SPEEDS) / SPEEDS;
    uint64_t gaps = moves / PARTED % 2 * (place / SLOT_PART);

    return (rank_in(group, 0) - steps) % SLOTS + place + gaps;
}

/* Return which of a cycle's quanta the ID owns.  Jobs submitted one after the other
 * mostly own different ones, and keep them.  Groups of IDs shift against each other, so
 * that no two own the same quanta for long.  An ID shifts when it has just owned a
 * quantum; its next one follows after a cycle at most. */
static uint64_t slot_of(uint32_t id, uint64_t quantum)
{
    uint64_t moves = quantum / SLOT_QUANTA;
    uint64_t before = slot_after(id, moves - 1);

    return quantum % SLOT_QUANTA <= before ? before : slot_after(id, moves);
}

unsigned hpcb_gang_slot(uint32_t owner, uint64_t quantum, unsigned cycle)
{
    return (unsigned)(slot_of(owner, quantum) % cycle);
}

/* By which a job owns quanta: components of a heterogeneous job wait for each other. */
static uint32_t owner_of(const hpcb_gang_job_t *job)
{
    return job->of_job ? job->of_job : job->job_id;
}

/* One quantum of each cycle, or what was dealt; with cycle 1 all of them. */
static bool owns(const hpcb_gang_job_t *job, uint64_t quantum, unsigned cycle)
{
    if (job->cycle > 0 && cycle > 1)
        return job->wide && quantum % job->cycle == job->slot;
    return job->wide && (quantum - slot_of(owner_of(job), quantum)) % cycle == 0;
}

/* Return which of two owners that cannot both run is preferred: the one that all its
 * nodes know to be an owner, and in quanta without an owner the other one.  Otherwise
 * chance decides; between components of one job on the same CPU by their own IDs. */
static bool goes_before(const hpcb_gang_job_t *one, const hpcb_gang_job_t *other,
                        uint64_t quantum, unsigned cycle)
{
    if ((one->cycle > 0) != (other->cycle > 0))
        return (one->cycle > 0) == (cycle > 1);
    if (owner_of(one) == owner_of(other))
        return rank_in(one->job_id, quantum) > rank_in(other->job_id, quantum);
    return rank_in(owner_of(one), quantum) > rank_in(owner_of(other), quantum);
}

/* The next of several nodes that owns the quantum, one of each cycle; cycle 1: the next
 * of all.  count: there is none. */
static size_t next_owner(const selection_t *selection, uint64_t quantum, unsigned cycle)
{
    const hpcb_gang_t *gang = selection->gang;
    size_t found = gang->count;

    for (size_t i = 0; i < gang->count; i++)
        if (!selection->out[i] && owns(gang->list[i], quantum, cycle) &&
            (found == gang->count ||
             goes_before(gang->list[i], gang->list[found], quantum, cycle)))
            found = i;
    return found;
}

/* It has waited for two rounds of a CPU with that many jobs, or two cycles of a deal.
 */
static bool is_overdue(const hpcb_gang_job_t *job, unsigned depth)
{
    return job->waited + 1 >= 2 * (job->cycle > depth ? job->cycle : depth);
}

/* Return the longest waiting overdue job; count if there is none. */
static size_t next_overdue(const selection_t *selection, unsigned depth)
{
    const hpcb_gang_t *gang = selection->gang;
    size_t found = gang->count;

    for (size_t i = 0; i < gang->count; i++)
        if (!selection->out[i] && is_overdue(gang->list[i], depth) &&
            (found == gang->count || gang->list[i]->waited > gang->list[found]->waited))
            found = i;
    return found;
}

static void choose(selection_t *selection, size_t i, bool *selected)
{
    selected[i] = true;
    take(selection, i);
}

/* Algorithm 2: the first in the list, followed by the best fit each time. */
static void select_here(selection_t *selection, bool *selected)
{
    size_t count = selection->gang->count, i = first(selection);

    for (; i < count; i = best(selection))
        choose(selection, i, selected);
}

/* The most jobs that one CPU has. */
static unsigned depth_of(const selection_t *selection)
{
    const hpcb_gang_t *gang = selection->gang;
    uint16_t jobs[HPCB_CPUS_MAX] = {0};
    unsigned most = 0;

    for (size_t i = 0; i < gang->count; i++) {
        const hpcb_cpus_t *cpus = &gang->list[i]->cpus;

        if (!takes_part(gang->list[i]))
            continue;
        for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < HPCB_CPUS_MAX;
             cpu = hpcb_cpus_from(cpus, cpu + 1))
            if (++jobs[cpu] > most)
                most = jobs[cpu];
    }
    return most;
}

/* Return whether two jobs of several nodes that share a CPU own the same one of those
 * turns. */
static bool is_owned_twice(const selection_t *selection, uint64_t quantum,
                           unsigned cycle)
{
    const hpcb_gang_t *gang = selection->gang;

    for (size_t i = 0; i < gang->count; i++)
        for (size_t k = 0; k < i; k++) {
            const hpcb_gang_job_t *one = gang->list[i], *other = gang->list[k];

            if (one->wide && other->wide && one->cycle == 0 && other->cycle == 0 &&
                takes_part(one) && takes_part(other) &&
                (slot_of(owner_of(one), quantum) - slot_of(owner_of(other), quantum)) %
                        cycle ==
                    0 &&
                hpcb_cpus_meet(&one->cpus, &other->cpus))
                return true;
        }
    return false;
}

/* After so many quanta each job of several nodes has owned one: a power of two, so that
 * nodes with other numbers of jobs have turns of the job in common, and no more than
 * the quanta after which a job is overdue. */
static unsigned cycle_of(const selection_t *selection, uint64_t quantum, unsigned depth)
{
    unsigned cycle = 1;

    while (cycle < depth)
        cycle *= 2;
    if (2 * cycle <= 2 * depth && is_owned_twice(selection, quantum, cycle))
        cycle *= 2;
    return cycle;
}

/* Each job of several nodes owns the same quantum of a cycle on all its nodes.  Other
 * quanta belong to the jobs of one node first. */
static void select_wide(selection_t *selection, uint64_t quantum, bool *selected)
{
    const hpcb_gang_t *gang = selection->gang;
    unsigned depth = depth_of(selection), cycle = cycle_of(selection, quantum, depth);
    size_t count = gang->count, i = next_overdue(selection, depth);

    if (i < count)
        choose(selection, i, selected);
    while ((i = next_owner(selection, quantum, cycle)) < count)
        choose(selection, i, selected);
    selection->narrow_only = true;
    select_here(selection, selected);
    selection->narrow_only = false;
    while ((i = next_owner(selection, quantum, 1)) < count)
        choose(selection, i, selected);
}

void hpcb_gang_select(const hpcb_gang_t *gang, const hpcb_bw_t *capacity,
                      uint64_t quantum, bool *selected)
{
    selection_t selection = {.gang = gang};

    for (size_t i = 0; i < gang->count; i++)
        selected[i] = false;
    start_selection(&selection, capacity);
    if (next_owner(&selection, quantum, 1) < gang->count)
        select_wide(&selection, quantum, selected);
    select_here(&selection, selected);
}

void hpcb_gang_begin(hpcb_gang_t *gang, const bool *run)
{
    hpcb_gang_job_t *list[HPCB_GANG_JOBS_MAX] = {NULL};
    size_t n = 0;

    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < gang->count; i++)
            if (run[i] == (pass == 1))
                list[n++] = gang->list[i];
    for (size_t i = 0; i < gang->count; i++) {
        hpcb_gang_job_t *job = gang->list[i];

        job->runs = run[i];
        job->turns += run[i];
        if (run[i] || !takes_part(job))
            job->waited = 0;
        else if (job->waited < UINT32_MAX)
            job->waited++;
    }
    for (size_t i = 0; i < n; i++)
        gang->list[i] = list[i];
}

void hpcb_gang_rest(hpcb_gang_t *gang)
{
    for (size_t i = 0; i < gang->count; i++) {
        gang->list[i]->runs = !gang->list[i]->paused;
        gang->list[i]->waited = 0;
    }
}
