/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The oracle counts in 128 bits and by definition: phase = (now - epoch) mod period.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include "policy/window.h"

#define SECOND INT64_C(1000000000)
#define NOW    (1795000000 * SECOND) /* in 2026 */
#define HOUR   (3600 * SECOND)

static const hpcb_window_t tenth = {SECOND, 900000000, 0};

static hpcb_window_phase_t oracle(const hpcb_window_t *w, int64_t now)
{
    __int128 offset = ((__int128)now - w->epoch_ns) % w->period_ns;
    __int128 edge;

    if (offset < 0)
        offset += w->period_ns;
    edge = (__int128)now - offset +
           (offset < w->favoured_ns ? w->favoured_ns : w->period_ns);
    return (hpcb_window_phase_t){
        offset<w->favoured_ns, edge> INT64_MAX ? INT64_MAX : (int64_t)edge};
}

static uint64_t random_u64(void)
{
    return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

static hpcb_window_t random_window(void)
{
    hpcb_window_t w = {.epoch_ns = (int64_t)random_u64()};

    w.period_ns = HPCB_WINDOW_PERIOD_MIN_NS +
                  (int64_t)(random_u64() % (uint64_t)(HPCB_WINDOW_PERIOD_MAX_NS -
                                                      HPCB_WINDOW_PERIOD_MIN_NS + 1));
    w.favoured_ns = 1 + (int64_t)(random_u64() % (uint64_t)(w.period_ns - 1));
    return w;
}

static void check_at(const hpcb_window_t *w, int64_t now)
{
    hpcb_window_phase_t is = hpcb_window_phase(w, now), should = oracle(w, now);

    ck_assert_msg(is.favoured == should.favoured && is.edge_ns == should.edge_ns,
                  "period %lld favoured %lld epoch %lld now %lld",
                  (long long)w->period_ns, (long long)w->favoured_ns,
                  (long long)w->epoch_ns, (long long)now);
}

START_TEST(agrees_with_the_definition)
{
    static const int64_t special[] = {
        0, -1, 1, INT64_MAX, INT64_MIN, NOW, INT64_MAX - 1, INT64_MIN + 1};

    srandom(6);
    for (int i = 0; i < 100000; i++) {
        hpcb_window_t w = random_window();

        if (i % 3 == 0)
            w.epoch_ns = special[(i / 3) % 8];
        check_at(&w, special[i % 8]);
        check_at(&w, (int64_t)random_u64());
        check_at(&w, NOW + (int64_t)(random_u64() % HOUR));
    }
}
END_TEST

START_TEST(every_nanosecond_around_an_edge)
{
    for (int64_t d = -3; d <= 3; d++) {
        ck_assert_int_eq(hpcb_window_phase(&tenth, NOW + d).favoured, d >= 0);
        ck_assert_int_eq(hpcb_window_phase(&tenth, NOW + 900000000 + d).favoured,
                         d < 0);
    }
}
END_TEST

/* Who sleeps from edge to edge sees each edge once, favoured and regular in turns. */
START_TEST(edges_alternate)
{
    srandom(7);
    for (int i = 0; i < 1000; i++) {
        hpcb_window_t w = random_window();
        hpcb_window_phase_t phase = hpcb_window_phase(&w, NOW);

        for (int edge = 0; edge < 20; edge++) {
            hpcb_window_phase_t next = hpcb_window_phase(&w, phase.edge_ns);

            ck_assert(next.favoured != phase.favoured);
            ck_assert_int_eq(next.edge_ns - phase.edge_ns,
                             next.favoured ? w.favoured_ns
                                           : w.period_ns - w.favoured_ns);
            phase = next;
        }
    }
}
END_TEST

/* However the clock is set, leap second or an hour: the next edge is at most a part of
 * a period away, and nodes that read the same time agree, whatever they saw before. */
START_TEST(clock_steps_leave_no_trace)
{
    static const int64_t steps[] = {-HOUR, HOUR, -SECOND,        SECOND,
                                    -1,    1,    365 * 24 * HOUR};

    srandom(8);
    for (int i = 0; i < 10000; i++) {
        hpcb_window_t w = random_window();
        int64_t now = NOW + steps[i % 7];
        hpcb_window_phase_t phase = hpcb_window_phase(&w, now);
        int64_t part = phase.favoured ? w.favoured_ns : w.period_ns - w.favoured_ns;

        ck_assert_int_gt(phase.edge_ns, now);
        ck_assert_int_le(phase.edge_ns - now, part);
        ck_assert(hpcb_window_phase(&w, phase.edge_ns - 1).favoured == phase.favoured);
    }
    /* Periods that divide a second do not even notice a leap second. */
    ck_assert(hpcb_window_phase(&tenth, NOW + 5).favoured ==
              hpcb_window_phase(&tenth, NOW + 5 - SECOND).favoured);
}
END_TEST

START_TEST(a_later_epoch_shifts_the_phase)
{
    hpcb_window_t shifted = tenth;

    shifted.epoch_ns = 950000000;
    ck_assert(!hpcb_window_phase(&shifted, NOW + 900000000).favoured);
    ck_assert(hpcb_window_phase(&shifted, NOW + 950000000).favoured);
    ck_assert_int_eq(hpcb_window_phase(&shifted, NOW).edge_ns, NOW + 850000000);
}
END_TEST

static uint64_t count_edges(const hpcb_window_t *w, int64_t from, int64_t to)
{
    uint64_t edges = 0;

    for (int64_t at = oracle(w, from).edge_ns; at <= to; at = oracle(w, at).edge_ns)
        edges++;
    return edges;
}

START_TEST(edges_are_counted)
{
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW, NOW), 0);
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW, NOW - HOUR), 0);
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW, NOW + 899999999), 0);
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW, NOW + 900000000), 1);
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW - 1, NOW), 1);
    ck_assert_uint_eq(hpcb_window_edges(&tenth, NOW, NOW + HOUR), 7200);
    ck_assert_uint_gt(hpcb_window_edges(&tenth, INT64_MIN, INT64_MAX), 1u << 31);
    srandom(9);
    for (int i = 0; i < 10000; i++) {
        hpcb_window_t w = random_window();
        int64_t from = NOW - HOUR + (int64_t)(random_u64() % (uint64_t)HOUR);
        int64_t to = from + (int64_t)(random_u64() % (uint64_t)(20 * w.period_ns));

        ck_assert_uint_eq(hpcb_window_edges(&w, from, to), count_edges(&w, from, to));
    }
}
END_TEST

START_TEST(bad_windows_are_known)
{
    static const hpcb_window_t bad[] = {
        {0, 0, 0},
        {SECOND, 0, 0},
        {SECOND, SECOND, 0},
        {SECOND, -1, 0},
        {-SECOND, -2 * SECOND, 0},
        {HPCB_WINDOW_PERIOD_MIN_NS - 1, 1, 0},
        {HPCB_WINDOW_PERIOD_MAX_NS + 1, 1, 0},
    };

    ck_assert(hpcb_window_good(&tenth));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert(!hpcb_window_good(&bad[i]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("window");
    TCase *tc = tcase_create("phase");
    SRunner *runner;

    tcase_add_test(tc, agrees_with_the_definition);
    tcase_add_test(tc, every_nanosecond_around_an_edge);
    tcase_add_test(tc, edges_alternate);
    tcase_add_test(tc, clock_steps_leave_no_trace);
    tcase_add_test(tc, a_later_epoch_shifts_the_phase);
    tcase_add_test(tc, edges_are_counted);
    tcase_add_test(tc, bad_windows_are_known);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
