/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whole runs of experiments on a primary, as hpcbd makes them (200 ms in ten seconds,
 * between times of comparison of 1.1 s, of which the second is up to 2 s later),
 * estimate and guard together, with the noise that run delay has on real nodes: what
 * takes the primary's CPU comes in ticks of 4 ms, guests' harm too; daemons take
 * shorter pieces at any time, and kernel threads whole ticks; the load of the node
 * drifts; and phases in which the primary hardly wants its CPU come and go.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy/guard.h"
#include "policy/harm.h"
#include "policy/progress.h"
#include "tests/policy/random.h"

#define S    UINT64_C(1000000000)
#define NS_S INT64_C(1000000000)

#define RUNS      50
#define INTERVALS 400 /* of 50 one too few would be chance */
#define PERIOD_S  10
#define TICK_MS   4.0
#define THREADS   0.004

typedef struct {
    uint64_t seed;
    double harm;    /* part of the primary's time without guests */
    double threads; /* part of the time that kernel threads take; with them no phases */
    double drift;   /* logarithm of how busy daemons are */
    double wants;   /* part of the time that the primary wants its CPU for */
    double trend;   /* how much slower it becomes in each second */
    int64_t now_ns;
} node_t;

static double some(node_t *node)
{
    return random_part(&node->seed);
}

/* How often something happens that does so at random, mean times on average. */
static unsigned how_often(node_t *node, double mean)
{
    double left = exp(-mean);
    unsigned times = 0;

    for (double p = some(node); p > left; p *= some(node))
        times++;
    return times;
}

/* Ten seconds pass: a slow walk of the daemons, a change of phase now and then. */
static void pass(node_t *node)
{
    node->drift = 0.9 * node->drift + 0.4 * (some(node) - 0.5);
    if (!node->threads && some(node) < 0.05)
        node->wants = 0.3 + 0.7 * some(node);
}

/* What it waits for in so many ms, in which it wants its CPU for wanted_ms. */
static double waited_ms(node_t *node, double ms, double wanted_ms, bool guests)
{
    unsigned daemons = how_often(node, 0.002 * ms * exp(node->drift));
    double waited = 0;

    for (unsigned i = 0; i < daemons; i++)
        waited += 1.5 * some(node);
    waited += TICK_MS * how_often(node, node->threads * ms / TICK_MS);
    if (guests)
        waited += TICK_MS *
                  how_often(node, node->harm / (1 + node->harm) * wanted_ms / TICK_MS);
    return fmin(waited, 0.95 * wanted_ms);
}

#define OFF_NS    (199 * NS_S / 1000)
#define SETTLE_NS (10 * NS_S / 1000)
#define PART_NS   (OFF_NS - SETTLE_NS)

static const hpcb_harm_plan_t plan = {.period_ns = PERIOD_S * NS_S,
                                      .off_ns = OFF_NS,
                                      .settle_ns = SETTLE_NS,
                                      .compare_ns = HPCB_PROGRESS_PARTS * PART_NS,
                                      .gap_ns = 2 * NS_S};

/* A trend begins anew with each minute: for ever it would leave nothing. */
static double trend_at(const node_t *node, double time_s)
{
    return 1 - node->trend * fmod(time_s, 60);
}

static void read_at(node_t *node, hpcb_progress_at_t *at, int64_t now_ns, bool guests)
{
    double ms = (double)(now_ns / 1000 - (int64_t)at->time_us) / 1000;
    double wanted_ms = ms * node->wants;
    double trend = trend_at(node, (double)at->time_us / 1e6 + ms / 2000);
    double ran_ms = trend * (wanted_ms - waited_ms(node, ms, wanted_ms, guests));

    at->time_us = (uint64_t)(now_ns / 1000);
    at->cpu_us += (uint64_t)(1000 * ran_ms);
    at->delay_us += (uint64_t)(1000 * (wanted_ms - ran_ms));
}

static void read_times(node_t *node, hpcb_progress_at_t *from, int64_t from_ns)
{
    for (int i = 1; i <= HPCB_PROGRESS_PARTS; i++) {
        from[i] = from[i - 1];
        read_at(node, &from[i], from_ns + i * PART_NS, true);
    }
}

static void compare_once(node_t *node, hpcb_progress_t *progress)
{
    static const hpcb_harm_seed_t seed = {{{1, 2}}};
    hpcb_harm_stop_t stop = hpcb_harm_stop(&plan, &seed, node->now_ns);
    hpcb_progress_at_t at[HPCB_PROGRESS_READINGS] = {
        {.time_us = (uint64_t)stop.before_ns / 1000, .has_delay = true}};

    pass(node);
    read_times(node, &at[HPCB_PROGRESS_BEFORE], stop.before_ns);
    at[HPCB_PROGRESS_SETTLED] = at[HPCB_PROGRESS_STOP];
    read_at(node, &at[HPCB_PROGRESS_SETTLED], stop.settled_ns, true);
    at[HPCB_PROGRESS_GO] = at[HPCB_PROGRESS_SETTLED];
    read_at(node, &at[HPCB_PROGRESS_GO], stop.to_ns, false);
    at[HPCB_PROGRESS_AGAIN] = at[HPCB_PROGRESS_GO];
    read_at(node, &at[HPCB_PROGRESS_AGAIN], stop.again_ns, true);
    read_times(node, &at[HPCB_PROGRESS_AGAIN], stop.again_ns);
    node->now_ns += plan.period_ns;
    hpcb_progress_add(progress, at);
}

static hpcb_harm_estimate_t estimate_of(const hpcb_progress_t *progress)
{
    hpcb_progress_verdict_t verdict;

    ck_assert(hpcb_progress_judge(progress, &verdict));
    return verdict.found;
}

static node_t some_node(double harm, unsigned seed)
{
    return (node_t){.seed = seed * UINT64_C(0x100000001b3),
                    .harm = harm,
                    .wants = 1,
                    .now_ns = seed * 7 * plan.period_ns};
}

static const double harms[] = {0.0, 0.005, 0.01, 0.02, 0.05, 0.1};
static const int minutes[] = {10, 60};

START_TEST(the_interval_covers_the_truth)
{
    static hpcb_progress_t progress;
    double truth = harms[_i % 6], width = 0;
    int comparisons = minutes[_i / 6] * 60 / PERIOD_S, covered = 0;

    for (unsigned run = 1; run <= INTERVALS; run++) {
        node_t node = some_node(truth, run);
        hpcb_harm_estimate_t estimate;

        hpcb_progress_clear(&progress);
        for (int i = 0; i < comparisons; i++)
            compare_once(&node, &progress);
        estimate = estimate_of(&progress);
        covered += estimate.low <= truth && truth <= estimate.high;
        width += (estimate.high - estimate.low) / INTERVALS;
    }
    printf("harm %4.1f %%, %2d min: %d of %d intervals cover it, mean width %.2f %%\n",
           100 * truth, minutes[_i / 6], covered, INTERVALS, 100 * width);
    ck_assert_int_ge(covered, INTERVALS * 9 / 10);
}
END_TEST

/* It becomes slower by a fifth in each minute, and begins anew. */
START_TEST(a_trend_is_no_harm)
{
    static hpcb_progress_t progress;
    double truth = harms[_i], sum = 0;
    int covered = 0;

    for (unsigned run = 1; run <= INTERVALS; run++) {
        node_t node = some_node(truth, run);
        hpcb_harm_estimate_t estimate;

        node.trend = 0.2 / 60;
        hpcb_progress_clear(&progress);
        for (int i = 0; i < 60; i++)
            compare_once(&node, &progress);
        estimate = estimate_of(&progress);
        covered += estimate.low <= truth && truth <= estimate.high;
        sum += estimate.cost - truth;
    }
    printf("harm %4.1f %% with a trend: %d of %d intervals cover it, bias %.3f %%\n",
           100 * truth, covered, INTERVALS, 100 * sum / INTERVALS);
    ck_assert_int_ge(covered, INTERVALS * 9 / 10);
}
END_TEST

static const hpcb_guard_conf_t conf = {.max_slowdown = 0.01,
                                       .look_ns = 60 * S,
                                       .return_ns = 300 * S,
                                       .longest_ns = 3600 * S,
                                       .slices = true};

/* One comparison, and what the guard makes of all that it still counts. */
static hpcb_guard_level_t step_once(node_t *node, hpcb_progress_t *progress,
                                    hpcb_guard_t *guard, uint64_t now_ns)
{
    uint64_t from_ns = guard->from_ns;
    hpcb_progress_verdict_t verdict;
    hpcb_harm_estimate_t evidence = {0};
    hpcb_guard_level_t level;
    bool known;

    compare_once(node, progress);
    known = hpcb_progress_judge(progress, &verdict);
    if (known)
        evidence = hpcb_progress_evidence(&verdict);
    level = hpcb_guard_step(&conf, guard, known ? &evidence : NULL, now_ns);
    if (guard->from_ns != from_ns)
        hpcb_progress_clear(progress);
    return level;
}

/* The seconds until guests run in half of the time, after so many without harm; 0: they
 * did during these, or not in an hour. */
static unsigned seconds_until_step(double truth, double threads, unsigned run,
                                   unsigned calm)
{
    static hpcb_progress_t progress;
    node_t node = some_node(0, run);
    hpcb_guard_t guard = {0};

    node.threads = threads;
    hpcb_progress_clear(&progress);
    for (unsigned second = PERIOD_S; second <= calm + 3600; second += PERIOD_S) {
        node.harm = second > calm ? truth : 0;
        if (step_once(&node, &progress, &guard, second * S) >= HPCB_GUARD_HALF)
            return second > calm ? second - calm : 0;
    }
    return 0;
}

START_TEST(no_harm_raises_no_alarm)
{
    for (unsigned run = 1; run <= RUNS; run++)
        ck_assert_uint_eq(seconds_until_step(0.0, _i ? THREADS : 0, run, 0), 0);
}
END_TEST

static int compare(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* A harm of twice the limit lies near the edge of what two minutes can tell. */
START_TEST(harm_is_acted_upon)
{
    static const double found[] = {0.02, 0.05, 0.1};
    static const unsigned least_in_time[] = {RUNS - 3, RUNS, RUNS,
                                             RUNS - 8, RUNS, RUNS};
    double truth = found[_i % 3], threads = _i / 3 ? THREADS : 0;
    unsigned seconds[RUNS], in_time = 0;

    for (unsigned run = 0; run < RUNS; run++) {
        seconds[run] = seconds_until_step(truth, threads, run + 1, 0);
        ck_assert_uint_gt(seconds[run], 0);
        in_time += seconds[run] <= 120;
    }
    qsort(seconds, RUNS, sizeof(*seconds), compare);
    printf("harm %4.1f %%, kernel threads %.1f %%: %u of %d runs within 120 s, half "
           "within %u s, all within %u s\n",
           100 * truth, 100 * threads, in_time, RUNS, seconds[RUNS / 2],
           seconds[RUNS - 1]);
    ck_assert_uint_ge(in_time, least_in_time[_i]);
}
END_TEST

/* What was measured before does not hide it. */
START_TEST(harm_that_begins_late_is_acted_upon)
{
    static const double found[] = {0.02, 0.05, 0.1};
    static const unsigned at_last[] = {900, 300, 240};
    unsigned seconds[RUNS];

    for (unsigned run = 0; run < RUNS; run++)
        seconds[run] =
            seconds_until_step(found[_i], 0, run + 1, 2 * 3600 + run % 18 * PERIOD_S);
    qsort(seconds, RUNS, sizeof(*seconds), compare);
    printf("harm %4.1f %% after two hours without: half within %u s, all within %u s\n",
           100 * found[_i], seconds[RUNS / 2], seconds[RUNS - 1]);
    ck_assert_uint_gt(seconds[0], 0);
    ck_assert_uint_le(seconds[RUNS - 1], at_last[_i]);
}
END_TEST

/* Ten hours of a harm that slices cure: guests lose next to nothing by it. */
START_TEST(what_slices_cure_hardly_restricts_guests)
{
    static hpcb_progress_t progress;
    unsigned half = 0, further = 0, slices = 0;

    for (unsigned run = 1; run <= RUNS / 5; run++) {
        node_t node = some_node(0, run);
        hpcb_guard_t guard = {0};

        hpcb_progress_clear(&progress);
        for (unsigned second = PERIOD_S; second <= 36000; second += PERIOD_S) {
            node.harm = guard.level >= HPCB_GUARD_SLICES ? 0 : 0.05;
            step_once(&node, &progress, &guard, second * S);
            half += guard.level == HPCB_GUARD_HALF;
            slices += guard.level >= HPCB_GUARD_SLICES;
            further += guard.level > HPCB_GUARD_HALF;
        }
    }
    printf("harm of 5 %% that slices cure: slices in %.1f %% of the time, half in %.1f "
           "%%\n",
           100.0 * slices / (RUNS / 5 * 3600), 100.0 * half / (RUNS / 5 * 3600));
    ck_assert_uint_eq(further, 0);
    ck_assert_uint_le(half, RUNS / 5 * 3600 / 25);
    ck_assert_uint_ge(slices, RUNS / 5 * 3600 * 9 / 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("experiments");
    TCase *tcase = tcase_create("experiments");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_set_tags(tcase, "long"); /* valgrind sees the same in test_harm, test_guard */
    tcase_add_loop_test(tcase, the_interval_covers_the_truth, 0, 12);
    tcase_add_loop_test(tcase, a_trend_is_no_harm, 0, 6);
    tcase_add_loop_test(tcase, no_harm_raises_no_alarm, 0, 2);
    tcase_add_loop_test(tcase, harm_is_acted_upon, 0, 6);
    tcase_add_loop_test(tcase, harm_that_begins_late_is_acted_upon, 0, 3);
    tcase_add_test(tcase, what_slices_cure_hardly_restricts_guests);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
