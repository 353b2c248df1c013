/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include "common/histogram.h"

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Against the sorted values: never below the true one, at most 1/16 above it. */
START_TEST(quantiles_are_close)
{
    enum { N = 20000 };
    static const double fractions[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999};
    static uint64_t values[N];
    static hpcb_histogram_t histogram;

    srand(6);
    for (int i = 0; i < N; i++) {
        values[i] = (uint64_t)rand() >> (rand() % 31);
        hpcb_histogram_add(&histogram, values[i]);
    }
    qsort(values, N, sizeof(values[0]), compare);
    for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
        uint64_t is = values[(size_t)(fractions[i] * N)];
        uint64_t said = hpcb_histogram_quantile(&histogram, fractions[i]);

        ck_assert_uint_ge(said, is);
        ck_assert_uint_le(said, is + is / 16);
    }
    ck_assert_uint_eq(histogram.count, N);
    ck_assert_uint_eq(histogram.min_ns, values[0]);
    ck_assert_uint_eq(histogram.max_ns, values[N - 1]);
    ck_assert_uint_eq(hpcb_histogram_quantile(&histogram, 1), values[N - 1]);
}
END_TEST

START_TEST(extremes_fit)
{
    static hpcb_histogram_t histogram;

    ck_assert_uint_eq(hpcb_histogram_quantile(&histogram, 0.5), 0);
    hpcb_histogram_add(&histogram, 0);
    ck_assert_uint_eq(hpcb_histogram_quantile(&histogram, 0.5), 0);
    hpcb_histogram_add(&histogram, UINT64_MAX);
    ck_assert_uint_eq(histogram.max_ns, UINT64_MAX);
    hpcb_histogram_add(&histogram, UINT64_C(1) << 40);
    ck_assert_uint_eq(histogram.count, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("histogram");
    TCase *tc = tcase_create("histogram");
    SRunner *runner;

    tcase_add_test(tc, quantiles_are_close);
    tcase_add_test(tc, extremes_fit);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
