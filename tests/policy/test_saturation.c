/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What is made of bursts, with rates that this test makes up. */
#include <check.h>
#include <stdlib.h>

#include "policy/saturation.h"

#define N   HPCB_SATURATION_BURSTS
#define NOW (HPCB_SATURATION_AGE_US * 10)

static const hpcb_saturation_idle_t idle = {.memory = 12000000000,
                                            .cache = 40000000000};
static hpcb_burst_t bursts[N];

/* n bursts from low to high thousandths of the idle rate. */
static void fill(size_t n, unsigned low, unsigned high)
{
    for (size_t i = 0; i < n; i++) {
        unsigned part = low + (unsigned)((high - low) * i / (n > 1 ? n - 1 : 1));

        bursts[i] = (hpcb_burst_t){.time_us = NOW - i,
                                   .memory = idle.memory / 1000 * part,
                                   .cache = idle.cache};
    }
}

static hpcb_saturation_t judged(size_t n)
{
    hpcb_saturation_t verdict;

    hpcb_saturation_judge(bursts, n, NOW, HPCB_SATURATION_AGE_US, &idle, &verdict);
    return verdict;
}

static const struct {
    unsigned low, high;
    hpcb_saturation_level_t level;
} nodes[] = {
    {980, 1100, HPCB_SATURATION_FREE},    {800, 800, HPCB_SATURATION_FREE},
    {600, 700, HPCB_SATURATION_BUSY},     {500, 799, HPCB_SATURATION_BUSY},
    {0, 0, HPCB_SATURATION_FULL},         {300, 499, HPCB_SATURATION_FULL},
    {450, 550, HPCB_SATURATION_UNKNOWN},  {750, 850, HPCB_SATURATION_UNKNOWN},
    {100, 1000, HPCB_SATURATION_UNKNOWN},
};

START_TEST(levels)
{
    hpcb_saturation_t verdict;

    fill(N, nodes[_i].low, nodes[_i].high);
    verdict = judged(N);
    ck_assert_int_eq(verdict.level, nodes[_i].level);
    ck_assert_int_eq(verdict.why, nodes[_i].level ? HPCB_SATURATION_KNOWN
                                                  : HPCB_SATURATION_UNDECIDED);
    ck_assert_uint_eq(verdict.bursts, N);
    ck_assert(verdict.low <= verdict.part && verdict.part <= verdict.high);
    ck_assert_uint_le(verdict.high, 1000);
}
END_TEST

/* Ranks of the tables of the sign test: for n = 8 the extremes, the 2nd of 9 to 11, the
 * 10th of 32. */
START_TEST(the_interval_is_that_of_the_sign_test)
{
    static const struct {
        size_t n, rank;
    } rows[] = {{8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {25, 8}, {32, 10}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hpcb_saturation_t verdict;

        for (size_t k = 0; k < rows[i].n; k++)
            bursts[k] = (hpcb_burst_t){.time_us = NOW,
                                       .memory = idle.memory / 1000 * (k + 1),
                                       .cache = idle.cache};
        verdict = judged(rows[i].n);
        ck_assert_uint_eq(verdict.low, rows[i].rank);
        ck_assert_uint_eq(verdict.high, rows[i].n + 1 - rows[i].rank);
    }
}
END_TEST

/* A few wild bursts do not decide. */
START_TEST(outliers_decide_nothing)
{
    fill(N, 950, 1000);
    for (size_t i = 0; i < N / 5; i++)
        bursts[i * 5].memory = idle.memory / 20;
    ck_assert_int_eq(judged(N).level, HPCB_SATURATION_FREE);
}
END_TEST

START_TEST(what_is_old_or_few_says_nothing)
{
    hpcb_saturation_t verdict;

    fill(N, 100, 100);
    for (size_t i = HPCB_SATURATION_LEAST - 1; i < N; i++)
        bursts[i].time_us = NOW - HPCB_SATURATION_AGE_US - 1;
    verdict = judged(N);
    ck_assert_int_eq(verdict.level, HPCB_SATURATION_UNKNOWN);
    ck_assert_int_eq(verdict.why, HPCB_SATURATION_FEW);
    ck_assert_uint_eq(verdict.bursts, HPCB_SATURATION_LEAST - 1);
    ck_assert_uint_eq(verdict.part, 0);
    bursts[N - 1].time_us = NOW;
    ck_assert_int_eq(judged(N).level, HPCB_SATURATION_FULL);
    /* The clock never goes back; if it did, nothing would be known. */
    for (size_t i = 0; i < N; i++)
        bursts[i].time_us = NOW + 1;
    ck_assert_int_eq(judged(N).level, HPCB_SATURATION_UNKNOWN);
    ck_assert_int_eq(judged(0).why, HPCB_SATURATION_FEW);
}
END_TEST

/* Memory is slow because the CPU is: nothing is said of memory. */
START_TEST(a_slow_cpu_is_no_slow_memory)
{
    hpcb_saturation_t verdict;

    fill(N, 300, 300);
    for (size_t i = 0; i < N; i++)
        bursts[i].cache = idle.cache / 2;
    verdict = judged(N);
    ck_assert_int_eq(verdict.level, HPCB_SATURATION_UNKNOWN);
    ck_assert_int_eq(verdict.why, HPCB_SATURATION_DISTURBED);
    ck_assert_uint_eq(verdict.dropped, N);
    for (size_t i = 0; i < HPCB_SATURATION_LEAST; i++)
        bursts[i].cache = idle.cache;
    ck_assert_int_eq(judged(N).level, HPCB_SATURATION_FULL);
}
END_TEST

START_TEST(the_idle_node_must_agree_with_itself)
{
    hpcb_saturation_idle_t found = {1, 1};

    fill(N, 900, 1000);
    ck_assert_int_eq(hpcb_saturation_idle(bursts, HPCB_SATURATION_LEAST - 1, &found),
                     -1);
    ck_assert_int_eq(hpcb_saturation_idle(bursts, N, &found), 0);
    ck_assert_uint_gt(found.memory, idle.memory / 1000 * 940);
    ck_assert_uint_lt(found.memory, idle.memory / 1000 * 960);
    ck_assert_uint_eq(found.cache, idle.cache);
    fill(N, 400, 1000);
    found = (hpcb_saturation_idle_t){1, 1};
    ck_assert_int_eq(hpcb_saturation_idle(bursts, N, &found), -1);
    ck_assert_uint_eq(found.memory, 1);
    fill(N, 0, 0);
    ck_assert_int_eq(hpcb_saturation_idle(bursts, N, &found), -1);
}
END_TEST

START_TEST(an_unknown_idle_node_gives_no_verdict)
{
    const hpcb_saturation_idle_t none = {0, 0};
    hpcb_saturation_t verdict;

    fill(N, 300, 300);
    hpcb_saturation_judge(bursts, N, NOW, HPCB_SATURATION_AGE_US, &none, &verdict);
    ck_assert_int_eq(verdict.level, HPCB_SATURATION_UNKNOWN);
}
END_TEST

START_TEST(largest_figures)
{
    const hpcb_saturation_idle_t most = {UINT64_MAX, UINT64_MAX};
    hpcb_saturation_t verdict;

    for (size_t i = 0; i < N; i++)
        bursts[i] = (hpcb_burst_t){NOW, UINT64_MAX, UINT64_MAX};
    hpcb_saturation_judge(bursts, N, NOW, HPCB_SATURATION_AGE_US, &most, &verdict);
    ck_assert_int_eq(verdict.level, HPCB_SATURATION_FREE);
    ck_assert_uint_eq(verdict.part, 1000);
}
END_TEST

static void bound(hpcb_saturation_pace_t pace, uint64_t ppm)
{
    for (uint64_t cpu_us = 0; cpu_us < 100000; cpu_us += 37) {
        uint64_t pause = hpcb_saturation_pause_us(cpu_us, pace);

        ck_assert_uint_ge(pause, HPCB_SATURATION_PAUSE_US);
        ck_assert_uint_le(cpu_us * 1000000, ppm * pause);
    }
}

START_TEST(pauses_bound_the_duty)
{
    bound(HPCB_SATURATION_FAST, HPCB_SATURATION_DUTY_PPM);
    bound(HPCB_SATURATION_SLOW, HPCB_SATURATION_SLOW_PPM);
    ck_assert_uint_lt(hpcb_saturation_pause_us(2000, HPCB_SATURATION_FAST), 1200000);
}
END_TEST

/* With 1 ms of CPU time for each burst and what comes with it, on up to 8 NUMA nodes
 * without guests, and on one with them. */
START_TEST(a_verdict_has_enough_bursts)
{
    for (size_t numa_nodes = 1; numa_nodes <= 8; numa_nodes++) {
        uint64_t age = hpcb_saturation_age_us(HPCB_SATURATION_SLOW, numa_nodes);
        uint64_t pause = hpcb_saturation_pause_us(1000, HPCB_SATURATION_SLOW);

        ck_assert_uint_ge(age / pause / numa_nodes, HPCB_SATURATION_LEAST);
    }
    ck_assert_uint_eq(hpcb_saturation_age_us(HPCB_SATURATION_FAST, 8),
                      HPCB_SATURATION_AGE_US);
    ck_assert_uint_gt(hpcb_saturation_age_us(HPCB_SATURATION_SLOW, 0), 0);
    ck_assert_uint_ge(hpcb_saturation_pause_us(0, HPCB_SATURATION_SLOW),
                      HPCB_SATURATION_SLOW_PAUSE_US);
}
END_TEST

/* Generated, not measured: a machine whose controllers move total GB/s, of which one
 * CPU asks for up to one GB/s, and CPUs that stream share evenly. */
static const struct {
    const char *what;
    double total, one;
    unsigned cpus;
} machines[] = {
    {"a socket that 14 of its 16 CPUs saturate", 80, 12, 16},
    {"a large socket", 300, 11, 64},
    {"two CPUs of a virtual machine, which ask for less than there is", 60, 25, 2},
};

/* Thousandths of what the idle node gives that a CPU more gets beside the others. */
static unsigned part_beside(double total, double one, unsigned streaming)
{
    double share = total / (streaming + 1);

    return (unsigned)(1000 * (share < one ? share : one) / one);
}

static hpcb_saturation_level_t truth(unsigned part)
{
    if (part >= HPCB_SATURATION_FREE_PART)
        return HPCB_SATURATION_FREE;
    return part < HPCB_SATURATION_FULL_PART ? HPCB_SATURATION_FULL
                                            : HPCB_SATURATION_BUSY;
}

/* Uniform within 6 % of it, and one burst in eight disturbed by something else. */
static void measure(unsigned part, uint32_t *seed)
{
    for (size_t i = 0; i < N; i++) {
        unsigned noise;

        *seed = *seed * 1664525 + 1013904223;
        noise = 940 + (*seed >> 16) % 121;
        if (i % 8 == 7)
            noise /= 3;
        bursts[i] = (hpcb_burst_t){.time_us = NOW,
                                   .memory = idle.memory / 1000 * part / 1000 * noise,
                                   .cache = idle.cache};
    }
}

/* As more and more of its CPUs stream, the last one free for bursts: the verdict is the
 * right one, or unknown near a limit. */
START_TEST(machines_fill_up)
{
    hpcb_saturation_level_t last = HPCB_SATURATION_UNKNOWN;
    uint32_t seed = 1;

    for (unsigned streaming = 0; streaming < machines[_i].cpus; streaming++) {
        unsigned part = part_beside(machines[_i].total, machines[_i].one, streaming);
        unsigned above = part * 106 / 100, below = part * 94 / 100;

        measure(part, &seed);
        last = judged(N).level;
        ck_assert_msg(
            last == truth(above) || last == truth(below) ||
                (last == HPCB_SATURATION_UNKNOWN && truth(above) != truth(below)),
            "%s: %s beside %u CPUs at %u", machines[_i].what,
            hpcb_saturation_name(last), streaming, part);
    }
    /* Who asks for less than there is can saturate nothing. */
    ck_assert_int_eq(last, machines[_i].cpus > 2 ? HPCB_SATURATION_FULL
                                                 : HPCB_SATURATION_FREE);
}
END_TEST

START_TEST(the_worse_part_counts)
{
    const hpcb_saturation_t free_ = {.level = HPCB_SATURATION_FREE, .part = 900};
    const hpcb_saturation_t freer = {.level = HPCB_SATURATION_FREE, .part = 990};
    const hpcb_saturation_t unknown = {.level = HPCB_SATURATION_UNKNOWN};
    const hpcb_saturation_t full = {.level = HPCB_SATURATION_FULL, .part = 400};

    ck_assert_uint_eq(hpcb_saturation_worse(&free_, &freer).part, 900);
    ck_assert_uint_eq(hpcb_saturation_worse(&freer, &free_).part, 900);
    ck_assert_int_eq(hpcb_saturation_worse(&free_, &unknown).level,
                     HPCB_SATURATION_UNKNOWN);
    ck_assert_int_eq(hpcb_saturation_worse(&unknown, &full).level,
                     HPCB_SATURATION_FULL);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(hpcb_saturation_name(HPCB_SATURATION_UNKNOWN), "unknown");
    ck_assert_str_eq(hpcb_saturation_name(HPCB_SATURATION_FULL), "saturated");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("saturation");
    TCase *tcase = tcase_create("saturation");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, levels, 0, sizeof(nodes) / sizeof(nodes[0]));
    tcase_add_test(tcase, the_interval_is_that_of_the_sign_test);
    tcase_add_test(tcase, outliers_decide_nothing);
    tcase_add_test(tcase, what_is_old_or_few_says_nothing);
    tcase_add_test(tcase, a_slow_cpu_is_no_slow_memory);
    tcase_add_test(tcase, the_idle_node_must_agree_with_itself);
    tcase_add_test(tcase, an_unknown_idle_node_gives_no_verdict);
    tcase_add_test(tcase, largest_figures);
    tcase_add_test(tcase, pauses_bound_the_duty);
    tcase_add_test(tcase, a_verdict_has_enough_bursts);
    tcase_add_loop_test(tcase, machines_fill_up, 0,
                        sizeof(machines) / sizeof(machines[0]));
    tcase_add_test(tcase, the_worse_part_counts);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
