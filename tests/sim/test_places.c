/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Room for primaries, against a look at every node. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "sim/places.h"
#include "sim/random.h"

#define NODES  97
#define CPUS   12
#define MEMORY 1009 /* a prime: no part of it is whole */
#define ROUNDS 20000

static hpcb_sim_places_t places;
static hpcb_sim_stream_t chance;

static void begin(void)
{
    ck_assert_int_eq(hpcb_sim_places_begin(&places, NODES, CPUS, MEMORY), 0);
    chance = hpcb_sim_stream(7, 1);
}

static void end(void)
{
    hpcb_sim_places_free(&places);
}

static uint32_t below(uint32_t most)
{
    return (uint32_t)hpcb_sim_below(&chance, most);
}

/* Many of them are nearly the same: what decides is within one cell. */
static int64_t some_memory(void)
{
    int64_t memory = (int64_t)below(5) * 250 + below(16) - 5;

    return memory < MEMORY ? memory : MEMORY;
}

static uint32_t give(uint32_t node, int64_t each)
{
    uint32_t cpus = 0;

    while (cpus < places.cpus_of[node] && each * (cpus + 1) <= places.memory_of[node])
        cpus++;
    return cpus;
}

static uint32_t give_all(int64_t each, uint32_t *best)
{
    uint32_t sum = 0;

    *best = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t gives = give(i, each);

        sum += gives;
        *best = gives > *best ? gives : *best;
    }
    return sum;
}

START_TEST(an_empty_cluster_has_room_for_all)
{
    ck_assert(hpcb_sim_places_fit(&places, NODES * CPUS, MEMORY / CPUS));
    ck_assert(!hpcb_sim_places_fit(&places, NODES * CPUS + 1, 0));
    ck_assert(!hpcb_sim_places_fit(&places, 1, MEMORY + 1));
    ck_assert(hpcb_sim_places_fit(&places, NODES, MEMORY));
    ck_assert(!hpcb_sim_places_fit(&places, NODES + 1, MEMORY));
}
END_TEST

START_TEST(answers_are_those_of_a_look_at_every_node)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t each = below(2) ? below(MEMORY / 4) : some_memory();
        uint32_t cpus = 1 + below(NODES * CPUS), most = 1 + below(CPUS), best;
        uint32_t sum, found;

        each = each < 0 ? 0 : each;
        hpcb_sim_places_set(&places, below(NODES), below(2) ? CPUS : below(CPUS + 1),
                            some_memory());
        sum = give_all(each, &best);
        ck_assert_int_eq(hpcb_sim_places_fit(&places, cpus, each), sum >= cpus);
        found = hpcb_sim_places_find(&places, most, each);
        if (best == 0) {
            ck_assert_uint_eq(found, HPCB_SIM_NONE);
            continue;
        }
        ck_assert_uint_lt(found, NODES);
        ck_assert_uint_gt(give(found, each), 0);
        ck_assert_int_eq(give(found, each) >= most, best >= most);
    }
}
END_TEST

START_TEST(the_only_node_is_found_among_many)
{
    /* 12 CPUs of 84 KiB need 1008; all are of one cell. */
    for (uint32_t i = 0; i < NODES; i++)
        hpcb_sim_places_set(&places, i, CPUS, i == 0 ? 1008 : 1000);
    ck_assert_uint_eq(hpcb_sim_places_find(&places, CPUS, 84), 0);
    ck_assert(hpcb_sim_places_fit(&places, CPUS, 84));
    hpcb_sim_places_set(&places, 0, CPUS, 1007);
    ck_assert_uint_eq(
        hpcb_sim_places_gives(&places, hpcb_sim_places_find(&places, CPUS, 84), 84),
        CPUS - 1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("places");
    Suite *suite = suite_create("sim/places");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, an_empty_cluster_has_room_for_all);
    tcase_add_test(tcase, answers_are_those_of_a_look_at_every_node);
    tcase_add_test(tcase, the_only_node_is_found_among_many);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
