/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <math.h>
#include <stddef.h>
#include "policy/progress.h"

/* A job that wants CPUs for less of the time says nothing of what it lacks. */
#define WANTED_MIN 0.05

/* A source has most of the comparisons: so many of those that some source has. */
#define COVERS(own, all) (4 * (own) >= 3 * (all))

const char *hpcb_progress_name(hpcb_progress_source_t source)
{
    static const char *const names[HPCB_PROGRESS_SOURCES] = {
        [HPCB_PROGRESS_RUN_DELAY] = "run_delay",
        [HPCB_PROGRESS_INSTRUCTIONS] = "instructions",
        [HPCB_PROGRESS_ITERATIONS] = "iterations",
    };

    return names[source];
}

/* A page is brought up to date every 5 ms or more seldom, which is much
 * of a stop of 200 ms.  So what is under way counts as a part, at the pace of late; and
 * what has ended since, while others were read, is taken away again. */
bool hpcb_progress_place(uint64_t iterations, uint64_t mean_ns, uint64_t ended_ns,
                         uint64_t now_ns, double *place)
{
    bool ahead = ended_ns > now_ns;
    uint64_t apart_ns = ahead ? ended_ns - now_ns : now_ns - ended_ns;
    double part;

    if (mean_ns == 0 || apart_ns > HPCB_PROGRESS_SILENT_NS)
        return false;
    part = (double)apart_ns / (double)mean_ns;
    *place = (double)iterations + (ahead ? -part : part);
    return true;
}

/* Time that its tasks wanted CPUs for, us; 0: next to none, or the readings are not of
 * one another. */
static double wanted_us(const hpcb_progress_at_t *from, const hpcb_progress_at_t *to)
{
    double passed = (double)to->time_us - (double)from->time_us;
    double ran = (double)to->cpu_us - (double)from->cpu_us;
    double waited = from->has_delay && to->has_delay
                        ? (double)to->delay_us - (double)from->delay_us
                        : 0;

    if (passed <= 0 || ran <= 0 || waited < 0 || ran + waited < WANTED_MIN * passed)
        return 0;
    return ran + waited;
}

static double delay_rate(const hpcb_progress_at_t *from, const hpcb_progress_at_t *to,
                         double wanted)
{
    if (!from->has_delay || !to->has_delay)
        return 0;
    return (double)(to->cpu_us - from->cpu_us) / wanted;
}

/* By the time that it wanted CPUs for: one that sleeps while guests run, and computes
 * while they are stopped, is not harmed by them. */
static double instructions_rate(const hpcb_progress_at_t *from,
                                const hpcb_progress_at_t *to, double wanted)
{
    if (!from->has_instructions || !to->has_instructions ||
        to->instructions <= from->instructions)
        return 0;
    return (double)(to->instructions - from->instructions) / wanted;
}

static double iterations_rate(const hpcb_progress_at_t *from,
                              const hpcb_progress_at_t *to)
{
    double done = to->iterations - from->iterations;

    if (!from->has_iterations || !to->has_iterations ||
        !(done >= HPCB_PROGRESS_ITERATIONS_MIN))
        return 0;
    return done / (double)(to->time_us - from->time_us);
}

bool hpcb_progress_is_between(unsigned reading)
{
    return (reading > HPCB_PROGRESS_BEFORE && reading < HPCB_PROGRESS_STOP) ||
           (reading > HPCB_PROGRESS_AGAIN && reading < HPCB_PROGRESS_AFTER);
}

double hpcb_progress_rate(hpcb_progress_source_t source, const hpcb_progress_at_t *from,
                          const hpcb_progress_at_t *to)
{
    double wanted = wanted_us(from, to);

    if (wanted <= 0)
        return 0;
    switch (source) {
    case HPCB_PROGRESS_RUN_DELAY:
        return delay_rate(from, to, wanted);
    case HPCB_PROGRESS_INSTRUCTIONS:
        return instructions_rate(from, to, wanted);
    case HPCB_PROGRESS_ITERATIONS:
        return iterations_rate(from, to);
    default:
        return 0;
    }
}

static double middle(const hpcb_progress_at_t *from, const hpcb_progress_at_t *to)
{
    return ((double)from->time_us + (double)to->time_us) / 2;
}

/* Return false if it has nothing to say. */
static bool compare(hpcb_harm_t *harm, hpcb_progress_source_t source,
                    const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    double before =
        hpcb_progress_rate(source, &at[HPCB_PROGRESS_BEFORE], &at[HPCB_PROGRESS_STOP]);
    double without =
        hpcb_progress_rate(source, &at[HPCB_PROGRESS_SETTLED], &at[HPCB_PROGRESS_GO]);
    double after =
        hpcb_progress_rate(source, &at[HPCB_PROGRESS_AGAIN], &at[HPCB_PROGRESS_AFTER]);
    double with = hpcb_harm_between(
        before, middle(&at[HPCB_PROGRESS_BEFORE], &at[HPCB_PROGRESS_STOP]), after,
        middle(&at[HPCB_PROGRESS_AGAIN], &at[HPCB_PROGRESS_AFTER]),
        middle(&at[HPCB_PROGRESS_SETTLED], &at[HPCB_PROGRESS_GO]));

    if (before <= 0 || after <= 0)
        return false;
    if (source == HPCB_PROGRESS_ITERATIONS && without > 0)
        without = fmax(fmin(without, with * HPCB_PROGRESS_CLAIM_MAX),
                       with / HPCB_PROGRESS_CLAIM_MAX);
    return hpcb_harm_add(harm, with, without);
}

/* The first readings of both times with guests. */
static const int begins[] = {HPCB_PROGRESS_BEFORE, HPCB_PROGRESS_AGAIN};

#define TIMES (sizeof begins / sizeof begins[0])

/* Whose CPU time bounds what the source proves. */
static double guests_us(hpcb_progress_source_t source, const hpcb_progress_at_t *from,
                        const hpcb_progress_at_t *to)
{
    if (source == HPCB_PROGRESS_RUN_DELAY)
        return (double)to->near_us - (double)from->near_us;
    return (double)to->guests_us - (double)from->guests_us;
}

/* The most that guests can have cost, as a logarithm; NAN: not known. */
static double most_of(hpcb_progress_source_t source,
                      const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    double theirs = 0, own = 0;

    for (size_t i = 0; i < TIMES; i++) {
        const hpcb_progress_at_t *from = &at[begins[i]],
                                 *to = from + HPCB_PROGRESS_PARTS;

        if (!from->has_guests || !to->has_guests)
            return NAN;
        theirs += guests_us(source, from, to);
        own += (double)to->cpu_us - (double)from->cpu_us;
    }
    return log1p(fmax(theirs, 0) / own);
}

/* The logarithms of the rates in each part to that in the whole.  Return false if one
 * of them is not known. */
static bool rates_of_parts(hpcb_progress_source_t source,
                           const hpcb_progress_at_t *from,
                           double part[HPCB_PROGRESS_PARTS])
{
    double whole = hpcb_progress_rate(source, from, from + HPCB_PROGRESS_PARTS);

    for (int i = 0; i < HPCB_PROGRESS_PARTS; i++) {
        bool read = from[i].time_us > 0 && from[i + 1].time_us > 0;
        double rate = read ? hpcb_progress_rate(source, &from[i], &from[i + 1]) : 0;

        if (!(rate > 0 && whole > 0))
            return false;
        part[i] = log(rate / whole);
    }
    return true;
}

static void add_typical(hpcb_typical_t *typical, hpcb_progress_source_t source,
                        double cost,
                        const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    double part[HPCB_TYPICAL_PARTS];

    for (size_t i = 0; i < TIMES; i++)
        if (!rates_of_parts(source, &at[begins[i]], &part[i * HPCB_PROGRESS_PARTS]))
            return;
    hpcb_typical_add(typical, cost, part);
}

/* Comparisons beyond the count are never read. */
static void clear(hpcb_progress_t *progress, hpcb_progress_source_t source)
{
    progress->harm[source].count = 0;
    if (source < HPCB_PROGRESS_ITERATIONS)
        progress->typical[source].count = 0;
}

static void add(hpcb_progress_t *progress, hpcb_progress_source_t source,
                const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    hpcb_harm_t *harm = &progress->harm[source];
    size_t place = harm->count % HPCB_HARM_COMPARISONS;

    if (compare(harm, source, at)) {
        progress->misses[source] = 0;
        if (source >= HPCB_PROGRESS_ITERATIONS)
            return;
        progress->most[source][place] = most_of(source, at);
        add_typical(&progress->typical[source], source, harm->cost[place], at);
    } else if (++progress->misses[source] >= HPCB_PROGRESS_MISSES_MAX) {
        clear(progress, source);
    }
}

/* The wanted CPU time must be the same in all parts of an experiment for rates relative
 * to it. */
static bool has_delay(const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    bool all = true;

    for (int i = 0; i < HPCB_PROGRESS_READINGS; i++)
        all &= at[i].has_delay || at[i].time_us == 0;
    return all;
}

/* In all times that are compared. */
static bool wants_cpus(const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    for (size_t i = 0; i < TIMES; i++)
        if (wanted_us(&at[begins[i]], &at[begins[i] + HPCB_PROGRESS_PARTS]) <= 0)
            return false;
    return wanted_us(&at[HPCB_PROGRESS_SETTLED], &at[HPCB_PROGRESS_GO]) > 0;
}

void hpcb_progress_add(hpcb_progress_t *progress,
                       const hpcb_progress_at_t readings[HPCB_PROGRESS_READINGS])
{
    hpcb_progress_at_t at[HPCB_PROGRESS_READINGS];

    for (int i = 0; i < HPCB_PROGRESS_READINGS; i++) {
        at[i] = readings[i];
        at[i].has_delay = has_delay(readings);
    }
    if (!wants_cpus(at))
        return;
    for (int i = HPCB_PROGRESS_RUN_DELAY; i < HPCB_PROGRESS_SOURCES; i++)
        add(progress, (hpcb_progress_source_t)i, at);
}

void hpcb_progress_clear(hpcb_progress_t *progress)
{
    for (int i = HPCB_PROGRESS_RUN_DELAY; i < HPCB_PROGRESS_SOURCES; i++) {
        clear(progress, (hpcb_progress_source_t)i);
        progress->misses[i] = 0;
    }
}

static size_t rests_on(const hpcb_harm_t *harm)
{
    return harm->count < HPCB_HARM_COMPARISONS ? harm->count : HPCB_HARM_COMPARISONS;
}

/* The most that guests can have cost in the mean, as a logarithm; INFINITY: it is known
 * of no comparison. */
static double mean_most(const double *most, size_t count)
{
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        if (isnan(most[i]))
            continue;
        sum += most[i];
        known++;
    }
    return known ? sum / (double)known : INFINITY;
}

static double most_ever(const hpcb_progress_t *progress, hpcb_progress_source_t source)
{
    return expm1(mean_most(progress->most[source], rests_on(&progress->harm[source])));
}

/* It is the mean that is bounded, not each comparison: to cut what scatters on one side
 * only would make all of it too small. */
static bool estimate(const hpcb_progress_t *progress, hpcb_progress_source_t source,
                     hpcb_harm_estimate_t *out)
{
    const hpcb_harm_t *harm = &progress->harm[source];
    double most;

    if (!hpcb_harm_estimate(harm, out))
        return false;
    if (source >= HPCB_PROGRESS_ITERATIONS)
        return true;
    most = most_ever(progress, source);
    out->cost = fmin(out->cost, most);
    out->low = fmin(out->low, most);
    out->high = fmin(out->high, most);
    return true;
}

/* Of the source that has most of them. */
static size_t comparisons(const hpcb_progress_t *progress)
{
    size_t most = 0;

    for (int i = 0; i < HPCB_PROGRESS_SOURCES; i++) {
        size_t own = rests_on(&progress->harm[i]);

        most = own > most ? own : most;
    }
    return most;
}

/* Let it count if it is not below what is proven as a whole.  What is proven is a floor
 * for all three of its figures, and no more than that: the larger one of two that
 * scatter would be too large in the mean. */
static void hear(const hpcb_progress_t *progress, hpcb_progress_source_t source,
                 hpcb_progress_verdict_t *verdict)
{
    size_t own = rests_on(&progress->harm[source]);
    hpcb_harm_estimate_t *found = &verdict->found, claim;

    if (!COVERS(own, comparisons(progress)) || !estimate(progress, source, &claim))
        return;
    if (claim.high < found->low) {
        verdict->doubts = true;
        verdict->doubted = source;
        verdict->claim = claim;
        return;
    }
    *found = (hpcb_harm_estimate_t){
        .cost = fmax(claim.cost, found->low),
        .low = fmax(claim.low, found->low),
        .high = fmax(claim.high, found->low),
        .comparisons = claim.comparisons,
    };
    verdict->source = source;
}

/* Return what typical stops prove, -1: nothing.  A value beyond the interval of the
 * mean is ignored. */
static double typical_least(const hpcb_progress_t *progress, double high)
{
    double least = -1;

    for (int i = HPCB_PROGRESS_RUN_DELAY; i < HPCB_PROGRESS_ITERATIONS; i++) {
        hpcb_progress_source_t source = (hpcb_progress_source_t)i;
        double own;

        if (!COVERS(rests_on(&progress->harm[i]), comparisons(progress)) ||
            !hpcb_typical_least(&progress->typical[i], &own))
            continue;
        own = fmin(own, most_ever(progress, source));
        if (own <= high)
            least = fmax(least, own);
    }
    return least;
}

bool hpcb_progress_judge(const hpcb_progress_t *progress, hpcb_progress_verdict_t *out)
{
    hpcb_progress_verdict_t verdict = {.found = {.cost = -1, .low = -1, .high = -1}};
    double typical;

    hear(progress, HPCB_PROGRESS_RUN_DELAY, &verdict);
    hear(progress, HPCB_PROGRESS_INSTRUCTIONS, &verdict);
    verdict.proven_low = verdict.found.comparisons > 0 ? verdict.found.low : 0;
    hear(progress, HPCB_PROGRESS_ITERATIONS, &verdict);
    if (verdict.found.comparisons == 0)
        return false;
    typical = typical_least(progress, verdict.found.high);
    verdict.proven_low = fmax(verdict.proven_low, typical);
    verdict.least = fmax(verdict.found.low, typical);
    *out = verdict;
    return true;
}

hpcb_harm_estimate_t hpcb_progress_evidence(const hpcb_progress_verdict_t *verdict)
{
    hpcb_harm_estimate_t evidence = verdict->found;

    evidence.low = verdict->least;
    return evidence;
}

hpcb_guard_level_t hpcb_progress_most(const hpcb_progress_verdict_t *verdict,
                                      double max_slowdown)
{
    return verdict->proven_low > max_slowdown ? HPCB_GUARD_REQUEUE : HPCB_GUARD_QUARTER;
}
