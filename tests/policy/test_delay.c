/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The sum that policy/delay.c makes of the kernel's mean, for groups whose CPUs this
 * test knows one by one. */
#include <check.h>
#include <stdlib.h>
#include "policy/delay.h"

#define CPUS_MAX 16
#define SECOND   1000000.0 /* us */

typedef struct {
    double wanted, waited; /* parts of the time */
} cpu_t;

/* What psi.c makes of it in one second. */
static uint64_t sum_of(const cpu_t *cpu, unsigned n)
{
    double wanted = 0, weighed = 0, used = 0;

    for (unsigned i = 0; i < n; i++) {
        wanted += cpu[i].wanted;
        weighed += cpu[i].wanted * cpu[i].waited;
        used += cpu[i].wanted - cpu[i].waited;
    }
    return hpcb_delay_sum((uint64_t)(weighed / wanted * SECOND + 0.5),
                          (uint64_t)(used * SECOND + 0.5), (uint64_t)SECOND, n);
}

static double truth_of(const cpu_t *cpu, unsigned n)
{
    double waited = 0;

    for (unsigned i = 0; i < n; i++)
        waited += cpu[i].waited * SECOND;
    return waited;
}

START_TEST(one_cpu_is_the_kernels_figure)
{
    ck_assert_uint_eq(hpcb_delay_sum(50000, 950000, 1000000, 1), 50000);
    ck_assert_uint_eq(hpcb_delay_sum(50000, 100, 1000000, 1), 50000);
    ck_assert_uint_eq(hpcb_delay_sum(50000, 9000000, 1000000, 0), 50000);
}
END_TEST

/* 5 % on each of 16 CPUs is 0.8 s, not 0.05. */
START_TEST(cpus_that_are_wanted_all_the_time)
{
    cpu_t cpu[CPUS_MAX];

    for (unsigned i = 0; i < CPUS_MAX; i++)
        cpu[i] = (cpu_t){1, 0.05};
    ck_assert_double_eq_tol((double)sum_of(cpu, CPUS_MAX), 800000, 10);
    /* However unlike they are. */
    for (unsigned i = 0; i < CPUS_MAX; i++)
        cpu[i].waited = i == 3 ? 0.7 : 0.001 * i;
    ck_assert_double_eq_tol((double)sum_of(cpu, CPUS_MAX), truth_of(cpu, CPUS_MAX), 10);
}
END_TEST

/* Threads that sleep make no CPUs: one computes, three wait for work. */
START_TEST(helpers_that_sleep_count_for_nothing)
{
    const cpu_t cpu[4] = {{1, 0.05}, {0.0001, 0}, {0.0001, 0}, {0.0001, 0}};

    ck_assert_double_eq_tol((double)sum_of(cpu, 4), 50000, 100);
}
END_TEST

/* Whatever the CPUs are like, it is no more than the truth, and no less than the mean.
 */
START_TEST(it_is_a_lower_bound)
{
    uint64_t seed = 1;

    for (unsigned run = 0; run < 10000; run++) {
        cpu_t cpu[CPUS_MAX];
        unsigned n = 2 + run % (CPUS_MAX - 1);
        double sum;

        for (unsigned i = 0; i < n; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            cpu[i].wanted = 0.001 + 0.999 * (double)(seed >> 40) / 16777216.0;
            cpu[i].waited = cpu[i].wanted * (double)(seed >> 20 & 0xfffff) / 1048576.0;
        }
        sum = (double)sum_of(cpu, n);
        ck_assert_double_le(sum, truth_of(cpu, n) + 2 * CPUS_MAX);
        ck_assert_double_ge(sum, truth_of(cpu, n) / CPUS_MAX - 2);
    }
}
END_TEST

/* Two threads on each of two CPUs, which wait for one another all the time. */
START_TEST(who_waits_for_itself_is_bounded_by_its_cpus)
{
    ck_assert_uint_eq(hpcb_delay_sum(1000000, 2000000, 1000000, 2), 2000000);
    ck_assert_uint_eq(hpcb_delay_sum(999999, 2000000, 1000000, 2), 1999998);
    ck_assert_uint_eq(hpcb_delay_sum(1000001, 2000000, 1000000, 2), 2000002);
    ck_assert_uint_eq(hpcb_delay_sum(5, 7, 0, 2), 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("delay");
    TCase *tcase = tcase_create("delay");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, one_cpu_is_the_kernels_figure);
    tcase_add_test(tcase, cpus_that_are_wanted_all_the_time);
    tcase_add_test(tcase, helpers_that_sleep_count_for_nothing);
    tcase_add_test(tcase, it_is_a_lower_bound);
    tcase_add_test(tcase, who_waits_for_itself_is_bounded_by_its_cpus);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
