/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/nap.h"

#define US 1000ULL
#define MS 1000000ULL

static const hpcb_nap_conf_t usual = {.spin_ns = 10 * US, .nap_max_ns = 200 * US};

/* What one wait of length ns comes to: the CPU is free during naps, less their price.
 */
typedef struct {
    uint64_t napped, late, longest;
    unsigned naps;
} outcome_t;

#define PRICE_NS (14 * US) /* of a nap, and how late it ends */
#define TEST_NS  500

static const hpcb_nap_table_t table = {.late_ns = PRICE_NS};

/* A wait that ends with the first thing that comes. */
static void learn(hpcb_nap_site_t *site, uint64_t ns)
{
    hpcb_nap_learn(site, ns, ns);
}

/* Live through one wait as mpi/wait.c does, and learn from it. */
static outcome_t wait_for(hpcb_nap_site_t *site, const hpcb_nap_conf_t *conf,
                          uint64_t ns)
{
    outcome_t outcome = {0};
    uint64_t now = 0, nap = 0;

    while (now < ns) {
        hpcb_nap_wait_t wait = {.elapsed_ns = now, .quiet_ns = now};

        nap = hpcb_nap_next(conf, site, &table, &wait);
        if (nap > outcome.longest)
            outcome.longest = nap;
        outcome.naps += nap > 0;
        outcome.napped += nap;
        now += nap > 0 ? nap + PRICE_NS : TEST_NS;
    }
    outcome.late = nap > 0 ? now - ns : 0;
    learn(site, nap > 0 ? now - (nap + PRICE_NS) / 2 : now);
    return outcome;
}

/* A thousand waits of mean ns, scattered evenly by part of it (in percent). */
static outcome_t many_waits(const hpcb_nap_conf_t *conf, uint64_t ns, unsigned percent)
{
    hpcb_nap_site_t site = {0};
    outcome_t sum = {0};
    unsigned seed = 1;

    for (int i = 0; i < 1000; i++) {
        uint64_t scatter = ns * percent / 100;
        uint64_t length =
            ns - scatter + (scatter ? (uint64_t)rand_r(&seed) % (2 * scatter) : 0);
        outcome_t one = wait_for(&site, conf, length);

        sum.napped += one.napped;
        sum.late += one.late;
        sum.naps += one.naps;
        sum.longest = one.longest > sum.longest ? one.longest : sum.longest;
    }
    return sum;
}

START_TEST(test_spins_first)
{
    hpcb_nap_site_t site = {0};

    for (int i = 0; i < 20; i++)
        learn(&site, 5 * MS);
    for (uint64_t t = 0; t < usual.spin_ns; t += 100)
        ck_assert_uint_eq(hpcb_nap_next(&usual, &site, &table,
                                        &(hpcb_nap_wait_t){t, t, 0, false, false}),
                          0);
    ck_assert_uint_gt(
        hpcb_nap_next(&usual, &site, &table,
                      &(hpcb_nap_wait_t){11 * US, 11 * US, 0, false, false}),
        0);
}
END_TEST

START_TEST(test_spins_while_data_move)
{
    hpcb_nap_site_t site = {0};

    for (int i = 0; i < 20; i++)
        learn(&site, 5 * MS);
    ck_assert_uint_eq(hpcb_nap_next(&usual, &site, &table,
                                    &(hpcb_nap_wait_t){MS, 9 * US, 0, false, false}),
                      0);
    ck_assert_uint_gt(hpcb_nap_next(&usual, &site, &table,
                                    &(hpcb_nap_wait_t){MS, 11 * US, 0, false, false}),
                      0);
}
END_TEST

/* After data have moved for busy_ns, at_ns after its begin, a wait that usually lasts
 * 100 ms is quiet for so long until it naps. */
static uint64_t quiet_until(const hpcb_nap_table_t *own, hpcb_nap_wait_t wait)
{
    hpcb_nap_site_t site = {0};

    for (int i = 0; i < 20; i++)
        learn(&site, 100 * MS);
    while (hpcb_nap_next(&usual, &site, own, &wait) == 0) {
        wait.elapsed_ns += US;
        wait.quiet_ns += US;
    }
    return wait.quiet_ns;
}

static uint64_t quiet_until_nap(const hpcb_nap_table_t *own, uint64_t at_ns,
                                uint64_t busy_ns)
{
    return quiet_until(own, (hpcb_nap_wait_t){at_ns, 0, busy_ns, false, false});
}

START_TEST(test_stays_awake_as_long_as_data_moved)
{
    ck_assert_uint_eq(quiet_until_nap(&table, 0, 0), usual.spin_ns);
    ck_assert_uint_eq(quiet_until_nap(&table, 0, 1), 50 * US);
    ck_assert_uint_eq(quiet_until_nap(&table, 0, 700 * US), 700 * US);
    /* Not for ever: a server that is done is a waiter like others. */
    ck_assert_uint_eq(quiet_until_nap(&table, 0, 900 * MS), 1 * MS);
}
END_TEST

/* Each pause of a transfer that a nap makes longer delays the next part. */
START_TEST(test_pauses_of_transfers_are_delayed_by_little)
{
    hpcb_nap_site_t site = {0};

    ck_assert_uint_eq(quiet_until_nap(&table, 200 * MS, 1), 640 * US);
    for (uint64_t quiet = US; quiet < 50 * MS; quiet += US)
        ck_assert_uint_le(
            hpcb_nap_next(&usual, &site, &table,
                          &(hpcb_nap_wait_t){200 * MS, quiet, 1, false, false}),
            quiet / 16);
}
END_TEST

START_TEST(test_late_services_make_patient)
{
    hpcb_nap_table_t own = {0};

    hpcb_nap_learn_service(&own, true);
    ck_assert_uint_eq(quiet_until_nap(&own, 0, 1), 100 * US);
    for (int i = 0; i < 100; i++)
        hpcb_nap_learn_service(&own, true);
    ck_assert_uint_eq(quiet_until_nap(&own, 0, 1), 1 * MS);
    /* Only where something has moved: a pass that took long may have other reasons. */
    ck_assert_uint_eq(quiet_until_nap(&own, 0, 0), usual.spin_ns);
    ck_assert_uint_eq(quiet_until(&own, (hpcb_nap_wait_t){0, 0, 1, true, false}),
                      50 * US);
    for (int i = 0; i < 1000; i++)
        hpcb_nap_learn_service(&own, false);
    ck_assert_uint_eq(quiet_until_nap(&own, 0, 1), 50 * US);
}
END_TEST

START_TEST(test_short_waits_never_sleep)
{
    ck_assert_uint_eq(many_waits(&usual, 2 * US, 50).naps, 0);
    ck_assert_uint_eq(many_waits(&usual, 20 * US, 90).naps, 0);
    ck_assert_uint_eq(many_waits(&usual, 60 * US, 30).naps, 0);
    ck_assert_uint_eq(many_waits(&usual, 120 * US, 5).naps, 0);
}
END_TEST

START_TEST(test_long_waits_sleep)
{
    uint64_t lengths[] = {MS, 2 * MS, 10 * MS, 100 * MS};
    unsigned scatters[] = {0, 2, 5};

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            outcome_t sum = many_waits(&usual, lengths[i], scatters[j]);

            ck_assert_msg(sum.napped > 800 * lengths[i],
                          "waits of %.0f us, scattered by %u %%: napped for %.0f us",
                          (double)lengths[i] / US, scatters[j],
                          (double)sum.napped / 1000 / US);
        }
}
END_TEST

START_TEST(test_regular_waits_end_awake)
{
    ck_assert_uint_lt(many_waits(&usual, MS, 2).late, 1000 * MS / 200);
    ck_assert_uint_lt(many_waits(&usual, 5 * MS, 2).late, 1000 * 5 * MS / 200);
}
END_TEST

/* How long before the expected end the first nap of a wait ends, beyond what naps are
 * late by, at a site with this mean deviation. */
static uint64_t awake_before_end(uint64_t deviation_ns)
{
    const hpcb_nap_conf_t conf = {.spin_ns = 0, .nap_max_ns = 100 * MS};
    const hpcb_nap_site_t site = {.first = {10 * MS, deviation_ns}, .waits = 100};

    return site.first.mean_ns - table.late_ns -
           hpcb_nap_next(&conf, &site, &table,
                         &(hpcb_nap_wait_t){0, 0, 0, false, false});
}

START_TEST(test_scattered_waits_are_awaited_for_longer)
{
    ck_assert_uint_eq(awake_before_end(0), 10 * MS / 64);
    ck_assert_uint_eq(awake_before_end(300 * US), 300 * US);
    ck_assert_uint_eq(awake_before_end(400 * US), 800 * US);
}
END_TEST

/* The message whose data others wait for is awaited awake; what follows it, if nothing
 * does for long, may last until the end. */
START_TEST(test_first_and_end_are_expected_in_turn)
{
    const hpcb_nap_conf_t conf = {.spin_ns = 0, .nap_max_ns = 100 * MS};
    const hpcb_nap_site_t site = {
        .first = {2 * MS, 0}, .end = {10 * MS, 0}, .waits = 100};
    hpcb_nap_wait_t wait = {0};

    ck_assert_uint_eq(hpcb_nap_next(&conf, &site, &table, &wait),
                      2 * MS - 2 * MS / 64 - table.late_ns);
    wait = (hpcb_nap_wait_t){2 * MS, 2 * MS, 0, false, false};
    ck_assert_uint_eq(hpcb_nap_next(&conf, &site, &table, &wait), 0);
    wait = (hpcb_nap_wait_t){5 * MS, 3 * MS, 1, false, true};
    ck_assert_uint_eq(hpcb_nap_next(&conf, &site, &table, &wait),
                      5 * MS - 10 * MS / 64 - table.late_ns);
}
END_TEST

/* The second nap of a wait of 10 ms whose end may come at any time. */
static uint64_t nap_in_the_middle(const hpcb_nap_table_t *own)
{
    const hpcb_nap_conf_t conf = {.spin_ns = 0, .nap_max_ns = 100 * MS};
    const hpcb_nap_site_t site = {.first = {10 * MS, 5 * MS}, .waits = 100};

    return hpcb_nap_next(&conf, &site, own,
                         &(hpcb_nap_wait_t){MS, MS, 0, false, false});
}

START_TEST(test_naps_that_messages_end_are_long)
{
    hpcb_nap_table_t own = {0};

    for (int i = 0; i < 15; i++)
        hpcb_nap_learn_end(&own, true);
    ck_assert_uint_eq(nap_in_the_middle(&own), 10 * MS / 16);
    hpcb_nap_learn_end(&own, true);
    ck_assert_uint_eq(nap_in_the_middle(&own), 10 * MS / 2);
    hpcb_nap_learn_end(&own, false);
    ck_assert_uint_eq(nap_in_the_middle(&own), 10 * MS / 16);
}
END_TEST

/* However long it has gone well, the second one that nobody noticed is enough; and one
 * of fifty does not count. */
START_TEST(test_trust_is_lost_at_once)
{
    hpcb_nap_table_t own = {0};

    for (int i = 0; i < 1000; i++)
        hpcb_nap_learn_end(&own, i % 50 != 49);
    ck_assert_uint_eq(nap_in_the_middle(&own), 10 * MS / 2);
    hpcb_nap_learn_end(&own, false);
    hpcb_nap_learn_end(&own, false);
    ck_assert_uint_eq(nap_in_the_middle(&own), 10 * MS / 16);
}
END_TEST

/* One wait in twenty is disturbed: the others must still end awake. */
START_TEST(test_outliers_do_not_count)
{
    hpcb_nap_site_t site = {0};
    uint64_t late = 0, napped = 0;

    for (int i = 0; i < 1000; i++) {
        outcome_t one = wait_for(&site, &usual, i % 20 == 7 ? 6 * MS : MS);

        late += i % 20 == 7 ? 0 : one.late;
        napped += i % 20 == 7 ? 0 : one.napped;
    }
    ck_assert_uint_lt(late, 950 * MS / 200);
    ck_assert_uint_gt(napped, 950 * MS * 75 / 100);
}
END_TEST

START_TEST(test_irregular_waits_are_late_by_little)
{
    outcome_t sum = many_waits(&usual, MS, 100);

    ck_assert_uint_lt(sum.late, 1000 * MS / 16);
    ck_assert_uint_gt(sum.napped, 1000 * MS * 7 / 10);
}
END_TEST

START_TEST(test_nap_max_bounds)
{
    const uint64_t limits[] = {1 * US, 50 * US, 200 * US, 5 * MS};

    for (int i = 0; i < 4; i++) {
        hpcb_nap_conf_t conf = {.spin_ns = 0, .nap_max_ns = limits[i]};

        ck_assert_uint_le(many_waits(&conf, 20 * MS, 1).longest, limits[i]);
        ck_assert_uint_le(many_waits(&conf, 20 * MS, 90).longest, limits[i]);
    }
}
END_TEST

START_TEST(test_never_with_nap_max_0)
{
    hpcb_nap_conf_t conf = {.spin_ns = 0, .nap_max_ns = 0};

    ck_assert_uint_eq(many_waits(&conf, 3 * MS, 10).naps, 0);
}
END_TEST

/* From waits that are worth a nap to waits that are not, and back. */
START_TEST(test_site_relearns)
{
    hpcb_nap_site_t site = {0};
    outcome_t last = {0};

    for (int i = 0; i < 100; i++)
        wait_for(&site, &usual, 2 * MS);
    for (int i = 0; i < 30; i++)
        last = wait_for(&site, &usual, 30 * US);
    ck_assert_uint_eq(last.naps, 0);
    for (int i = 0; i < 30; i++)
        last = wait_for(&site, &usual, 2 * MS);
    ck_assert_uint_ge(last.napped, 2 * MS * 8 / 10);
}
END_TEST

/* An unknown site sleeps too when its first wait is long. */
START_TEST(test_first_wait)
{
    hpcb_nap_site_t site = {0};
    outcome_t first = wait_for(&site, &usual, 50 * MS);

    ck_assert_uint_gt(first.napped, 50 * MS * 8 / 10);
    ck_assert_uint_le(first.late, usual.nap_max_ns + PRICE_NS);
}
END_TEST

START_TEST(test_extreme_values)
{
    hpcb_nap_site_t site = {0};
    hpcb_nap_table_t *own = calloc(1, sizeof *own);
    hpcb_nap_wait_t wait = {UINT64_MAX, UINT64_MAX, UINT64_MAX, false, false};

    ck_assert_ptr_nonnull(own);
    for (int i = 0; i < 1000; i++) {
        learn(&site, UINT64_MAX);
        hpcb_nap_learn_late(own, i % 2 ? 0 : UINT64_MAX, UINT64_MAX);
    }
    own->late_ns = UINT64_MAX / 4;
    ck_assert_uint_le(hpcb_nap_next(&usual, &site, own, &wait), usual.nap_max_ns);
    for (int i = 0; i < 1000; i++)
        learn(&site, 0);
    ck_assert_uint_lt(site.end.mean_ns, 1000);
    free(own);
}
END_TEST

START_TEST(test_lateness)
{
    hpcb_nap_table_t *own = calloc(1, sizeof *own);

    ck_assert_ptr_nonnull(own);
    for (int i = 0; i < 100; i++)
        hpcb_nap_learn_late(own, 100 * US, 115 * US);
    ck_assert_uint_ge(own->late_ns, 14 * US);
    ck_assert_uint_le(own->late_ns, 16 * US);
    /* Preempted for a tick: not the timer's doing. */
    for (int i = 0; i < 100; i++)
        hpcb_nap_learn_late(own, 100 * US, 4 * MS);
    ck_assert_uint_le(own->late_ns, 16 * US);
    free(own);
}
END_TEST

START_TEST(test_table)
{
    hpcb_nap_table_t *own = calloc(1, sizeof *own);
    hpcb_nap_site_t *site;
    unsigned kept = 0;

    ck_assert_ptr_nonnull(own);
    for (uint64_t key = 0x400000; key < 0x400000 + 64 * 37; key += 37)
        learn(hpcb_nap_site(own, key), MS);
    for (uint64_t key = 0x400000; key < 0x400000 + 64 * 37; key += 37) {
        site = hpcb_nap_site(own, key);
        ck_assert_uint_eq(site->key, key);
        ck_assert_ptr_eq(hpcb_nap_site(own, key), site);
        kept += site->waits > 0;
    }
    /* Half full: most sites have a place of their own. */
    ck_assert_uint_gt(kept, 32);
    free(own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nap");
    TCase *tcase = tcase_create("nap");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, test_spins_first);
    tcase_add_test(tcase, test_spins_while_data_move);
    tcase_add_test(tcase, test_stays_awake_as_long_as_data_moved);
    tcase_add_test(tcase, test_pauses_of_transfers_are_delayed_by_little);
    tcase_add_test(tcase, test_late_services_make_patient);
    tcase_add_test(tcase, test_short_waits_never_sleep);
    tcase_add_test(tcase, test_long_waits_sleep);
    tcase_add_test(tcase, test_regular_waits_end_awake);
    tcase_add_test(tcase, test_scattered_waits_are_awaited_for_longer);
    tcase_add_test(tcase, test_first_and_end_are_expected_in_turn);
    tcase_add_test(tcase, test_naps_that_messages_end_are_long);
    tcase_add_test(tcase, test_trust_is_lost_at_once);
    tcase_add_test(tcase, test_outliers_do_not_count);
    tcase_add_test(tcase, test_irregular_waits_are_late_by_little);
    tcase_add_test(tcase, test_nap_max_bounds);
    tcase_add_test(tcase, test_never_with_nap_max_0);
    tcase_add_test(tcase, test_site_relearns);
    tcase_add_test(tcase, test_first_wait);
    tcase_add_test(tcase, test_extreme_values);
    tcase_add_test(tcase, test_lateness);
    tcase_add_test(tcase, test_table);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
