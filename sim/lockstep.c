/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The loop, for each operation: every detour that begins before the operation's end, in
 * the order of their begins, either delays its node, and with it possibly the end (if
 * the node has not finished), or finds the node waiting and is kept until the end is
 * known.  If it then lasts into the next operation it delays that one.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/heap.h"
#include "sim/lockstep.h"

#define STREAM_CLOCKS UINT64_C(0xc10c)
#define STREAM_LOST   UINT64_C(0x1057)
#define STREAM_TASKS  (UINT64_C(1) << 32)
#define MANY          (INT64_C(1) << 60)
#define TELL_EVERY    4096 /* operations */
#define SECOND        INT64_C(1000000000)

/* All that a detour touches, in one line of the cache.  finish_ns and in are those of
 * the node, in the slot of its first task. */
typedef struct {
    hpcb_sim_task_t task;
    int64_t to_ns;     /* the end of the task's detour */
    int64_t finish_ns; /* time at which the node completes its part of operation `in` */
    uint64_t in;       /* the last one that it delayed */
} slot_t;

_Static_assert(sizeof(slot_t) == 64, "a slot fills a line of the cache");

typedef struct {
    const hpcb_sim_job_t *job;
    /* A detour each, by its beginning; id: node * noises + noise. */
    hpcb_sim_heap_t heap;
    slot_t *slot;
    hpcb_sim_extra_t *extra; /* of each task, or NULL */
    hpcb_sim_event_t *aside;
    size_t n_aside;
    /* CPU time per second that a node does not use; NULL: not needed */
    int64_t *left_ns;
    hpcb_sim_stream_t chance;
    int64_t next_lost;   /* parts of operations before one whose message is lost */
    uint32_t alive_from; /* nodes below are dead */
    hpcb_sim_lockstep_t sum;
} run_t;

static void fetch(run_t *run, uint32_t id, hpcb_sim_event_t *event)
{
    const hpcb_sim_noise_t *noise = &run->job->noise[id % run->job->noises];
    hpcb_sim_detour_t detour = hpcb_sim_task_next(noise, &run->slot[id].task,
                                                  run->extra ? &run->extra[id] : NULL);

    run->slot[id].to_ns = detour.to_ns;
    *event = (hpcb_sim_event_t){.at_ns = detour.from_ns, .id = id};
}

static int begin_tasks(run_t *run, uint64_t seed)
{
    const hpcb_sim_job_t *job = run->job;
    hpcb_sim_stream_t clocks = hpcb_sim_stream(seed, STREAM_CLOCKS);

    for (uint32_t node = 0; node < job->nodes; node++) {
        int64_t clock_ns = hpcb_sim_draw(&job->clock_offset, &clocks);

        for (unsigned i = 0; i < job->noises; i++) {
            uint32_t id = node * job->noises + i;
            hpcb_sim_event_t event;

            hpcb_sim_task_begin(
                &job->noise[i], hpcb_sim_stream(seed, STREAM_TASKS + id), clock_ns,
                &run->slot[id].task, run->extra ? &run->extra[id] : NULL);
            fetch(run, id, &event);
            if (hpcb_sim_heap_push(&run->heap, event) < 0)
                return -1;
        }
    }
    return 0;
}

/* Return the number of successful parts before one is lost: geometric. */
static int64_t parts_until_lost(run_t *run)
{
    double lost = run->job->lost, parts;

    if (1 - lost >= 1) /* one in 2^53 and less: ln(1 - lost) is 0 */
        return MANY;
    if (lost >= 1)
        return 0;
    parts = hpcb_sim_ln(hpcb_sim_fraction(&run->chance)) / hpcb_sim_ln(1 - lost);
    return parts < (double)MANY ? (int64_t)parts : MANY;
}

static bool has_extra(const hpcb_sim_job_t *job)
{
    for (unsigned i = 0; i < job->noises; i++)
        if (hpcb_sim_noise_has_extra(&job->noise[i]))
            return true;
    return false;
}

static int begin_run(run_t *run, uint64_t seed)
{
    const hpcb_sim_job_t *job = run->job;
    size_t tasks = (size_t)job->nodes * job->noises;

    run->slot = aligned_alloc(sizeof(slot_t), (tasks + 1) * sizeof(slot_t));
    run->aside = calloc(tasks + 1, sizeof(*run->aside));
    if (!run->slot || !run->aside)
        return -1;
    memset(run->slot, 0, (tasks + 1) * sizeof(slot_t));
    if (has_extra(job)) {
        run->extra = calloc(tasks, sizeof(*run->extra));
        if (!run->extra)
            return -1;
    }
    if (job->sleeps) {
        run->left_ns = calloc((size_t)(job->limit_ns / SECOND) + 1, sizeof(int64_t));
        if (!run->left_ns)
            return -1;
    }
    run->chance = hpcb_sim_stream(seed, STREAM_LOST);
    run->sum.shortest_ns = INT64_MAX;
    run->next_lost = parts_until_lost(run);
    return begin_tasks(run, seed);
}

static void end(run_t *run)
{
    hpcb_sim_heap_free(&run->heap);
    free(run->slot);
    free(run->extra);
    free(run->aside);
    free(run->left_ns);
}

/* Nodes wait between from and to, or are interrupted there. */
static void leave(run_t *run, int64_t from, int64_t to)
{
    if (to > run->job->limit_ns)
        to = run->job->limit_ns;
    while (run->left_ns && from < to) {
        int64_t end = (from / SECOND + 1) * SECOND;

        end = end < to ? end : to;
        run->left_ns[from / SECOND] += end - from;
        from = end;
    }
}

/* The guard, where the guest has what the nodes wait. */
static bool is_stopped(run_t *run, hpcb_sim_event_t event)
{
    const hpcb_sim_noise_t *noise = &run->job->noise[event.id % run->job->noises];

    return noise->guard && noise->shares_waits &&
           hpcb_sim_task_is_stopped(noise->guard, &run->extra[event.id], event.at_ns,
                                    run->left_ns);
}

/* The first detour, which begins before the operation's end as it is known so far;
 * from: when the operation began.  The end as it is known now. */
static int64_t meet(run_t *run, uint64_t number, int64_t from, int64_t until)
{
    hpcb_sim_event_t event = *hpcb_sim_heap_first(&run->heap);
    uint32_t node = event.id / run->job->noises;
    slot_t *slot = &run->slot[node * run->job->noises];
    int64_t finish = slot->in == number ? slot->finish_ns : from + run->job->work_ns;
    int64_t to = run->slot[event.id].to_ns;

    if (is_stopped(run, event)) {
        hpcb_sim_heap_pop(&run->heap);
        return until;
    }
    run->sum.detours++;
    if (event.at_ns >= finish || node < run->alive_from) {
        run->aside[run->n_aside++] = event;
        hpcb_sim_heap_pop(&run->heap);
        return until;
    }
    finish += to - (event.at_ns > from ? event.at_ns : from);
    slot->in = number;
    slot->finish_ns = finish;
    fetch(run, event.id, &event);
    hpcb_sim_heap_replace(&run->heap, event);
    return finish > until ? finish : until;
}

/* Back with those that nodes met while they waited, or with what follows them. */
static int return_aside(run_t *run, int64_t now)
{
    for (size_t i = 0; i < run->n_aside; i++) {
        hpcb_sim_event_t event = run->aside[i];

        while (run->slot[event.id].to_ns <= now)
            fetch(run, event.id, &event);
        if (hpcb_sim_heap_push(&run->heap, event) < 0)
            return -1;
    }
    run->n_aside = 0;
    return 0;
}

/* Return the number of operations from now on without a delay, up to most. */
static int64_t quiet(const run_t *run, int64_t now, int64_t most)
{
    const hpcb_sim_job_t *job = run->job;
    const hpcb_sim_event_t *first = hpcb_sim_heap_first(&run->heap);
    int64_t until = first ? first->at_ns : INT64_MAX, n;

    if (job->limit_ns < until)
        until = job->limit_ns;
    if (run->alive_from < job->dead && job->dead_ns < until)
        until = job->dead_ns;
    n = until > now ? (until - now) / job->work_ns : 0;
    if (n > run->next_lost / job->nodes)
        n = run->next_lost / job->nodes;
    return n < most ? n : most;
}

/* One operation that begins at now; its end, or -1. */
static int64_t operate(run_t *run, uint64_t number, int64_t now)
{
    const hpcb_sim_job_t *job = run->job;
    int64_t until = now + job->work_ns;
    const hpcb_sim_event_t *first;

    while ((first = hpcb_sim_heap_first(&run->heap)) && first->at_ns < until)
        until = meet(run, number, now, until);
    if (run->next_lost < job->nodes && until < now + job->work_ns + job->resend_ns)
        until = now + job->work_ns + job->resend_ns;
    while (run->next_lost < job->nodes)
        run->next_lost += 1 + parts_until_lost(run);
    run->next_lost -= job->nodes;
    if (run->alive_from < job->dead && until >= job->dead_ns) {
        run->alive_from = job->dead;
        until += job->detect_ns;
    }
    leave(run, now + job->work_ns, until);
    return return_aside(run, until) < 0 ? -1 : until;
}

static void note(run_t *run, int64_t n, int64_t each)
{
    if (n == 0)
        return;
    run->sum.operations += n;
    if (each < run->sum.shortest_ns)
        run->sum.shortest_ns = each;
    if (each > run->sum.longest_ns)
        run->sum.longest_ns = each;
}

static int run_all(run_t *run, hpcb_sim_progress_t *progress)
{
    const hpcb_sim_job_t *job = run->job;
    uint64_t number = 0;
    int64_t now = 0;

    while (run->sum.operations < job->operations && now < job->limit_ns) {
        int64_t skip = quiet(run, now, job->operations - run->sum.operations), next;

        note(run, skip, job->work_ns);
        now += skip * job->work_ns;
        run->next_lost -= skip * job->nodes;
        if (run->sum.operations == job->operations || now >= job->limit_ns)
            break;
        next = operate(run, ++number, now);
        if (next < 0)
            return -1;
        note(run, 1, next - now);
        now = next;
        if (number % TELL_EVERY == 0)
            hpcb_sim_progress_part(progress, (double)now / (double)job->limit_ns,
                                   (double)run->sum.operations /
                                       (double)job->operations);
    }
    run->sum.elapsed_ns = now;
    return 0;
}

int hpcb_sim_lockstep(const hpcb_sim_job_t *job, uint64_t seed,
                      hpcb_sim_progress_t *progress, hpcb_sim_lockstep_t *result,
                      hpcb_error_t *err)
{
    run_t run = {.job = job};
    int rc = begin_run(&run, seed) < 0 ? -1 : run_all(&run, progress);

    if (rc < 0)
        hpcb_error(err, "%u nodes: %s", job->nodes, strerror(errno));
    else
        *result = run.sum;
    end(&run);
    return rc;
}

/* Of [0, limit), the part that is not the job's on one node. */
static double taken(const hpcb_sim_job_t *job, uint64_t seed, uint32_t node,
                    int64_t clock_ns)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < job->noises; i++) {
        uint32_t id = node * job->noises + i;
        hpcb_sim_task_t task;
        hpcb_sim_extra_t extra = {0};
        hpcb_sim_detour_t detour;

        hpcb_sim_task_begin(&job->noise[i], hpcb_sim_stream(seed, STREAM_TASKS + id),
                            clock_ns, &task, &extra);
        while ((detour = hpcb_sim_task_next(&job->noise[i], &task, &extra)).from_ns <
               job->limit_ns)
            sum += (detour.to_ns < job->limit_ns ? detour.to_ns : job->limit_ns) -
                   detour.from_ns;
    }
    return (double)sum / (double)job->limit_ns;
}

hpcb_sim_apart_t hpcb_sim_apart(const hpcb_sim_job_t *job, uint64_t seed,
                                hpcb_sim_progress_t *progress)
{
    hpcb_sim_stream_t clocks = hpcb_sim_stream(seed, STREAM_CLOCKS);
    hpcb_sim_apart_t sum = {0};

    for (uint32_t node = 0; node < job->nodes; node++) {
        double share =
            1 - taken(job, seed, node, hpcb_sim_draw(&job->clock_offset, &clocks));

        share = share > 1e-9 ? share : 1e-9;
        sum.share += share;
        sum.slowdown += 1 / share;
        hpcb_sim_progress_part(progress, (double)node / job->nodes, 0);
    }
    sum.share /= job->nodes;
    sum.slowdown /= job->nodes;
    return sum;
}
