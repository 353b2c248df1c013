/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which source of progress is believed, with a primary that this test makes up: guests
 * take a part of its CPU time, which run delay sees, and a part of its speed, which
 * only instructions and iterations see; its pages say the truth, or what its user
 * wants.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "policy/progress.h"
#include "tests/policy/random.h"

#define MS    UINT64_C(1000)    /* us */
#define NS_MS UINT64_C(1000000) /* ns */

#define GAP    (900 * MS)
#define SETTLE (10 * MS)
#define PART   (190 * MS)
#define BURST  (6.0 * MS)
#define LIMIT  0.01

typedef struct {
    double delay;      /* part of the time that guests take of its CPU */
    double speed;      /* part of its speed that they take besides */
    double claim;      /* cost that its pages claim; NAN: the truth */
    double iterations; /* a second, without guests; 0: no pages */
    bool counters;     /* the node counts instructions */
    bool no_pressure;  /* the node has no run delay */
    bool whole;        /* it is not read between parts */
    double bursts;     /* part of the times in which it lacks its CPU for BURST */
    bool knows_guests; /* what they use is known: near as follows, others 1 CPU */
    double near;
    double wants;  /* part of the time that it wants its CPU for */
    double others; /* part of the time that daemons take of its CPU at any time */
    double error;  /* of each source's count by itself, part of it */
    uint64_t seed;
} job_t;

static const job_t plain = {.claim = NAN, .wants = 1, .seed = 1};

/* Evenly in -1..1. */
static double noise(job_t *job)
{
    return 2 * random_part(&job->seed) - 1;
}

static void pass(job_t *job, hpcb_progress_at_t *at, uint64_t us, bool guests)
{
    double wanted = (double)us * job->wants;
    bool burst = job->bursts > 0 && (noise(job) + 1) / 2 < job->bursts;
    double waits = (guests ? job->delay : 0) + job->others + 0.002 * (1 + noise(job)) +
                   (burst ? BURST / (double)us : 0);
    double counted = waits + job->error * noise(job);
    double fast = (1 - (guests ? job->speed : 0)) * (1 + 0.002 * noise(job));
    double claimed = 1 / (1 + (guests ? job->claim : 0));
    double honest = (1 - waits) * fast;

    at->time_us += us;
    at->cpu_us += (uint64_t)(wanted * (1 - counted));
    at->has_delay = !job->no_pressure;
    at->delay_us += at->has_delay ? (uint64_t)(wanted * counted) : 0;
    at->has_instructions = job->counters;
    at->instructions +=
        (uint64_t)(2000 * wanted * honest * (1 + job->error * noise(job)));
    at->has_iterations = job->iterations > 0;
    at->iterations += job->iterations * (double)us / 1e6 *
                      (isnan(job->claim) ? honest : claimed) *
                      (1 + job->error * noise(job));
    at->has_guests = job->knows_guests;
    at->near_us += guests ? (uint64_t)((double)us * job->near) : 0;
    at->guests_us += guests ? (uint64_t)((double)us * (job->near + 1)) : 0;
}

/* What passes before the reading. */
static uint64_t time_before(unsigned reading)
{
    switch (reading) {
    case HPCB_PROGRESS_SETTLED:
        return SETTLE;
    case HPCB_PROGRESS_AGAIN:
        return GAP;
    default:
        return PART;
    }
}

static void experiment(job_t *job, hpcb_progress_t *progress)
{
    hpcb_progress_at_t at[HPCB_PROGRESS_READINGS] = {{.time_us = 1000 * MS}};

    for (unsigned i = 1; i < HPCB_PROGRESS_READINGS; i++) {
        at[i] = at[i - 1];
        pass(job, &at[i], time_before(i), i != HPCB_PROGRESS_GO);
    }
    at[0].has_instructions = at[1].has_instructions;
    at[0].has_iterations = at[1].has_iterations;
    at[0].has_delay = at[1].has_delay;
    at[0].has_guests = at[1].has_guests;
    for (unsigned i = 0; job->whole && i < HPCB_PROGRESS_READINGS; i++)
        if (hpcb_progress_is_between(i))
            at[i] = (hpcb_progress_at_t){.time_us = 0};
    hpcb_progress_add(progress, at);
}

static void experiments(job_t *job, hpcb_progress_t *progress, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        experiment(job, progress);
}

/* After so many experiments. */
static hpcb_progress_verdict_t judged(job_t job, unsigned n)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;

    memset(&progress, 0, sizeof(progress));
    experiments(&job, &progress, n);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    return verdict;
}

START_TEST(the_best_source_that_there_is)
{
    job_t job = plain;
    hpcb_progress_verdict_t verdict;

    job.delay = 0.02;
    job.speed = 0.05;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_RUN_DELAY);
    ck_assert_double_eq_tol(verdict.found.cost, 0.02, 0.004);
    job.counters = true;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_INSTRUCTIONS);
    ck_assert_double_eq_tol(verdict.found.cost, 1 / (0.98 * 0.95) - 1, 0.006);
    ck_assert_double_gt(verdict.proven_low, 0.06);
    job.iterations = 1000;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_eq_tol(verdict.found.cost, 1 / (0.98 * 0.95) - 1, 0.006);
    ck_assert(!verdict.doubts);
    ck_assert_str_eq(hpcb_progress_name(verdict.source), "iterations");
}
END_TEST

/* A stop has ten of them, or they say nothing. */
START_TEST(iterations_that_are_too_long_are_not_compared)
{
    job_t job = plain;

    job.iterations = 45;
    ck_assert_int_eq(judged(job, 30).source, HPCB_PROGRESS_RUN_DELAY);
    job.iterations = 55;
    ck_assert_int_eq(judged(job, 30).source, HPCB_PROGRESS_ITERATIONS);
}
END_TEST

START_TEST(too_few_comparisons_say_nothing)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.iterations = 1000;
    experiments(&job, &progress, HPCB_HARM_COMPARISONS_MIN - 1);
    ck_assert(!hpcb_progress_judge(&progress, &verdict));
    experiment(&job, &progress);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    hpcb_progress_clear(&progress);
    ck_assert(!hpcb_progress_judge(&progress, &verdict));
}
END_TEST

/* Whose pages then say something does not count either. */
START_TEST(who_wants_no_cpu_says_nothing)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.iterations = 1000;
    job.wants = 0.04;
    experiments(&job, &progress, 100);
    ck_assert(!hpcb_progress_judge(&progress, &verdict));
    ck_assert_uint_eq(progress.harm[HPCB_PROGRESS_ITERATIONS].count, 0);
}
END_TEST

START_TEST(sleep_is_not_harm)
{
    hpcb_progress_at_t from = {.time_us = 1, .has_instructions = true};
    hpcb_progress_at_t busy = {.time_us = 1000001,
                               .cpu_us = 900000,
                               .has_delay = true,
                               .has_instructions = true,
                               .instructions = 1800000};
    hpcb_progress_at_t half = {.time_us = 1000001,
                               .cpu_us = 450000,
                               .has_delay = true,
                               .has_instructions = true,
                               .instructions = 900000};

    ck_assert_double_eq(hpcb_progress_rate(HPCB_PROGRESS_INSTRUCTIONS, &from, &busy),
                        hpcb_progress_rate(HPCB_PROGRESS_INSTRUCTIONS, &from, &half));
}
END_TEST

START_TEST(readings_that_are_not_of_one_another_have_no_rate)
{
    const hpcb_progress_at_t good = {.time_us = 2000000,
                                     .cpu_us = 1500000,
                                     .has_delay = true,
                                     .delay_us = 500000,
                                     .has_instructions = true,
                                     .instructions = 100,
                                     .has_iterations = true,
                                     .iterations = 100};
    const hpcb_progress_at_t zero = {.time_us = 1,
                                     .has_delay = true,
                                     .has_instructions = true,
                                     .has_iterations = true};
    hpcb_progress_at_t from;

    for (int i = 0; i < HPCB_PROGRESS_SOURCES; i++) {
        hpcb_progress_source_t source = (hpcb_progress_source_t)i;

        ck_assert_double_gt(hpcb_progress_rate(source, &zero, &good), 0);
        ck_assert_double_eq(hpcb_progress_rate(source, &good, &zero), 0);
        ck_assert_double_eq(hpcb_progress_rate(source, &good, &good), 0);
    }
    from = zero;
    from.has_delay = false;
    ck_assert_double_eq(hpcb_progress_rate(HPCB_PROGRESS_RUN_DELAY, &from, &good), 0);
    from = zero;
    from.has_instructions = false;
    ck_assert_double_eq(hpcb_progress_rate(HPCB_PROGRESS_INSTRUCTIONS, &from, &good),
                        0);
    from = zero;
    from.has_iterations = false;
    ck_assert_double_eq(hpcb_progress_rate(HPCB_PROGRESS_ITERATIONS, &from, &good), 0);
    from.has_iterations = true;
    from.iterations = NAN;
    ck_assert_double_eq(hpcb_progress_rate(HPCB_PROGRESS_ITERATIONS, &from, &good), 0);
}
END_TEST

START_TEST(what_is_under_way_counts_as_a_part)
{
    double place;

    ck_assert(hpcb_progress_place(7, 4 * NS_MS, 100 * NS_MS, 106 * NS_MS, &place));
    ck_assert_double_eq_tol(place, 8.5, 1e-9);
    ck_assert(hpcb_progress_place(7, 4 * NS_MS, 100 * NS_MS, 200 * NS_MS, &place));
    ck_assert(!hpcb_progress_place(7, 4 * NS_MS, 100 * NS_MS, 201 * NS_MS, &place));
    ck_assert(!hpcb_progress_place(7, 0, 100 * NS_MS, 106 * NS_MS, &place));
}
END_TEST

/* Its rank has gone on since the clock was read. */
START_TEST(a_page_that_is_ahead_counts_back)
{
    double place;

    ck_assert(hpcb_progress_place(7, 4 * NS_MS, 106 * NS_MS, 100 * NS_MS, &place));
    ck_assert_double_eq_tol(place, 5.5, 1e-9);
    ck_assert(hpcb_progress_place(7, 4 * NS_MS, 200 * NS_MS, 100 * NS_MS, &place));
    ck_assert(!hpcb_progress_place(7, 4 * NS_MS, 201 * NS_MS, 100 * NS_MS, &place));
    ck_assert(!hpcb_progress_place(7, 4 * NS_MS, UINT64_MAX, 100 * NS_MS, &place));
    ck_assert(!hpcb_progress_place(7, 4 * NS_MS, 0, UINT64_MAX, &place));
}
END_TEST

/* Pages that have guests cost nothing, or help: what run delay proves stands. */
START_TEST(no_page_hides_what_is_proven)
{
    static const double claims[] = {0, -0.3, 1e9 - 1, -0.9999};
    hpcb_progress_verdict_t alone, verdict;
    job_t job = plain;

    job.delay = 0.05;
    alone = judged(job, 30);
    job.iterations = 1000;
    job.claim = claims[_i];
    verdict = judged(job, 30);
    ck_assert_double_ge(verdict.found.low, alone.found.low);
    ck_assert_double_ge(verdict.found.cost, verdict.found.low);
    ck_assert_double_ge(verdict.found.high, verdict.found.cost);
    ck_assert_double_eq(verdict.proven_low, alone.proven_low);
    ck_assert(verdict.doubts == (claims[_i] <= 0));
    if (verdict.doubts) {
        ck_assert_int_eq(verdict.source, HPCB_PROGRESS_RUN_DELAY);
        ck_assert_int_eq(verdict.doubted, HPCB_PROGRESS_ITERATIONS);
        ck_assert_double_lt(verdict.claim.high, alone.found.low);
    }
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
}
END_TEST

/* Nor by claims so wide that they contradict nothing. */
START_TEST(no_page_hides_it_by_noise)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.delay = 0.05;
    job.iterations = 1000;
    for (unsigned i = 0; i < 30; i++) {
        job.claim = i % 2 ? 1 : -0.5;
        experiment(&job, &progress);
    }
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert(!verdict.doubts);
    ck_assert_double_gt(verdict.found.low, 0.04);
    ck_assert_double_ge(verdict.found.cost, verdict.found.low);
    ck_assert_double_ge(verdict.found.high, verdict.found.cost);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
}
END_TEST

/* Nor what instructions prove. */
START_TEST(instructions_are_a_floor_too)
{
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.speed = 0.05;
    job.counters = true;
    job.iterations = 1000;
    job.claim = 0;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_INSTRUCTIONS);
    ck_assert(verdict.doubts);
    ck_assert_int_eq(verdict.doubted, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_gt(verdict.found.low, 0.04);
}
END_TEST

/* A fifth of all times meets something that takes the CPU for long. */
START_TEST(rare_disturbances_do_not_hide_harm_from_the_guard)
{
    unsigned seen = 0, typical = 0;

    for (unsigned run = 1; run <= 50; run++) {
        job_t job = plain;
        hpcb_progress_verdict_t verdict;

        job.seed = run * 1000003;
        job.delay = 0.02;
        job.bursts = 0.2;
        verdict = judged(job, 12);
        ck_assert_double_ge(verdict.least, verdict.found.low);
        ck_assert_double_le(verdict.least, verdict.found.high);
        ck_assert_double_eq(verdict.proven_low, verdict.least);
        seen += verdict.found.low > LIMIT;
        typical += verdict.least > LIMIT;
        job.whole = true;
        verdict = judged(job, 12);
        ck_assert_double_eq(verdict.least, verdict.found.low);
    }
    ck_assert_uint_lt(seen, 40);
    ck_assert_uint_ge(typical, 43);
}
END_TEST

/* It waits for itself in typical stops, too. */
START_TEST(typical_stops_prove_no_more_than_guests_used)
{
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.delay = 0.05;
    job.bursts = 0.2;
    job.knows_guests = true;
    job.near = 0.003;
    verdict = judged(job, 12);
    ck_assert_double_le(verdict.least, 0.0032);
}
END_TEST

START_TEST(other_evidence_has_other_typical_stops)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.delay = 0.05;
    experiments(&job, &progress, 12);
    hpcb_progress_clear(&progress);
    job.delay = 0;
    experiments(&job, &progress, 12);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_double_lt(verdict.least, 0.005);
}
END_TEST

/* Pages that have guests cost much: they are heard, within bounds. */
START_TEST(a_page_alone_restricts_to_a_quarter)
{
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.iterations = 1000;
    job.claim = 0.2;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_gt(verdict.found.low, LIMIT);
    ck_assert_double_lt(verdict.proven_low, LIMIT);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_QUARTER);
    job.claim = 20;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_gt(verdict.found.low, 0.9);
    ck_assert_double_le(verdict.found.high, HPCB_PROGRESS_CLAIM_MAX - 1 + 1e-9);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_QUARTER);
    /* What hardware agrees to is proven. */
    job.claim = 0.3;
    job.counters = true;
    job.speed = 0.2;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
}
END_TEST

/* It has a busy loop in the idle class beside each of its ranks while guests run, and
 * while they are stopped it has not: a rank waits for the whole time in the figures,
 * and loses nothing.  Guests next to it get nothing, too. */
START_TEST(who_waits_for_itself_proves_nothing_of_guests)
{
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.delay = 0.5;
    verdict = judged(job, 30);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
    job.knows_guests = true;
    job.near = 0.003;
    verdict = judged(job, 30);
    ck_assert_double_lt(verdict.found.high, LIMIT);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_QUARTER);
    /* What its pages claim of it is a claim. */
    job.iterations = 1000;
    job.claim = 1;
    verdict = judged(job, 30);
    ck_assert_double_gt(verdict.found.low, LIMIT);
    ck_assert_double_lt(verdict.proven_low, LIMIT);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_QUARTER);
}
END_TEST

/* Instructions are bounded by all guests, which share caches and memory with it. */
START_TEST(instructions_prove_no_more_than_all_guests_used)
{
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.counters = job.knows_guests = true;
    job.speed = 0.75;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_INSTRUCTIONS);
    ck_assert_double_eq_tol(verdict.found.cost, 1, 0.01);
    ck_assert_double_eq(verdict.found.high, verdict.found.low);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
}
END_TEST

/* What guests really took is found as before, though it scatters around what they can
 * have taken. */
START_TEST(the_bound_lets_true_harm_pass)
{
    double sum = 0;

    for (unsigned run = 1; run <= 50; run++) {
        job_t job = plain;
        hpcb_progress_verdict_t verdict;

        job.seed = run * 1000003;
        job.delay = 0.05;
        job.others = 0.02;
        job.error = 0.01;
        job.knows_guests = true;
        job.near = 0.05;
        verdict = judged(job, 60);
        sum += verdict.found.cost;
        ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_REQUEUE);
    }
    ck_assert_double_eq_tol(sum / 50, 0.978 / 0.928 - 1, 0.001);
}
END_TEST

/* Comparisons in which it is not known count without it; in a mean of those others do
 * not disappear. */
START_TEST(guests_may_be_unknown_for_a_while)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.delay = 0.5;
    job.near = 0.003;
    experiments(&job, &progress, 20);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_double_gt(verdict.found.low, 0.5);
    job.knows_guests = true;
    experiments(&job, &progress, 20);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_double_lt(verdict.found.high, LIMIT);
}
END_TEST

/* No zero that nobody has measured. */
START_TEST(without_pressure_others_are_heard)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    job.no_pressure = true;
    job.delay = 0.05;
    experiments(&job, &progress, 30);
    ck_assert(!hpcb_progress_judge(&progress, &verdict));
    job.iterations = 1000;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_eq_tol(verdict.found.cost, 0.05 / 0.95, 0.004);
    ck_assert_double_eq(verdict.proven_low, 0);
    ck_assert_int_eq(hpcb_progress_most(&verdict, LIMIT), HPCB_GUARD_QUARTER);
    job.counters = true;
    job.speed = 0.05;
    verdict = judged(job, 30);
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_gt(verdict.proven_low, 0.04);
    job.iterations = 0;
    ck_assert_int_eq(judged(job, 30).source, HPCB_PROGRESS_INSTRUCTIONS);
}
END_TEST

/* A program that iterates later, or not any more. */
START_TEST(a_source_comes_and_goes)
{
    static hpcb_progress_t progress;
    hpcb_progress_verdict_t verdict;
    job_t job = plain;

    experiments(&job, &progress, 20);
    job.iterations = 1000;
    experiments(&job, &progress, 20);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_RUN_DELAY);
    experiments(&job, &progress, 100);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    job.iterations = 0;
    experiments(&job, &progress, HPCB_PROGRESS_MISSES_MAX - 1);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    experiment(&job, &progress);
    ck_assert(hpcb_progress_judge(&progress, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_RUN_DELAY);
}
END_TEST

/* Of 200 jobs whose sources say the truth, each with an error of its own: the largest
 * of two or three would be too large in the mean. */
START_TEST(what_honest_sources_find_is_the_truth)
{
    double truth = 0.978 / 0.928 - 1, sum = 0;
    unsigned covered = 0;

    for (unsigned run = 1; run <= 200; run++) {
        job_t job = plain;
        hpcb_progress_verdict_t verdict;

        job.seed = run * 1000003;
        job.error = job.others = 0.02;
        job.delay = 0.05;
        job.counters = _i > 0;
        job.iterations = _i == 1 ? 0 : 1000;
        verdict = judged(job, 60);
        sum += verdict.found.cost;
        covered += verdict.found.low <= truth && truth <= verdict.found.high;
    }
    ck_assert_double_eq_tol(sum / 200, truth, 0.0006);
    ck_assert_uint_ge(covered, 180);
}
END_TEST

/* Of 50 jobs without harm whose three sources say the truth, none is restricted, and
 * none is called a liar. */
START_TEST(honest_sources_raise_no_alarm)
{
    for (unsigned run = 1; run <= 50; run++) {
        job_t job = plain;
        hpcb_progress_verdict_t verdict;

        job.seed = run * 1000003;
        job.counters = run % 2;
        job.iterations = 1000;
        verdict = judged(job, 60);
        ck_assert_double_lt(verdict.found.low, LIMIT);
        ck_assert(!verdict.doubts);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *tcase = tcase_create("progress");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, the_best_source_that_there_is);
    tcase_add_test(tcase, iterations_that_are_too_long_are_not_compared);
    tcase_add_test(tcase, too_few_comparisons_say_nothing);
    tcase_add_test(tcase, who_wants_no_cpu_says_nothing);
    tcase_add_test(tcase, sleep_is_not_harm);
    tcase_add_test(tcase, readings_that_are_not_of_one_another_have_no_rate);
    tcase_add_test(tcase, what_is_under_way_counts_as_a_part);
    tcase_add_test(tcase, a_page_that_is_ahead_counts_back);
    tcase_add_loop_test(tcase, no_page_hides_what_is_proven, 0, 4);
    tcase_add_test(tcase, no_page_hides_it_by_noise);
    tcase_add_test(tcase, instructions_are_a_floor_too);
    tcase_add_test(tcase, rare_disturbances_do_not_hide_harm_from_the_guard);
    tcase_add_test(tcase, typical_stops_prove_no_more_than_guests_used);
    tcase_add_test(tcase, other_evidence_has_other_typical_stops);
    tcase_add_test(tcase, a_page_alone_restricts_to_a_quarter);
    tcase_add_test(tcase, who_waits_for_itself_proves_nothing_of_guests);
    tcase_add_test(tcase, instructions_prove_no_more_than_all_guests_used);
    tcase_add_test(tcase, the_bound_lets_true_harm_pass);
    tcase_add_test(tcase, guests_may_be_unknown_for_a_while);
    tcase_add_test(tcase, without_pressure_others_are_heard);
    tcase_add_test(tcase, a_source_comes_and_goes);
    tcase_add_loop_test(tcase, what_honest_sources_find_is_the_truth, 0, 3);
    tcase_add_test(tcase, honest_sources_raise_no_alarm);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
