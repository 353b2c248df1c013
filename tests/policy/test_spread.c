/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/spread.h"

#define G      (UINT64_C(1) << 30)
#define ANY    500000
#define ROUNDS 200000

/* Eight tasks that together would move twice what a node can. */
static const hpcb_spread_job_t heavy = {
    .tasks = 8, .packed = 8, .nodes_max = ANY, .demand = 40 * G, .capacity = 20 * G};

static void expect(const hpcb_spread_job_t *job, uint32_t tasks, uint32_t nodes)
{
    hpcb_spread_t spread = hpcb_spread_decide(job);

    ck_assert_int_eq(spread.verdict, HPCB_SPREAD_YES);
    ck_assert_uint_eq(spread.tasks, tasks);
    ck_assert_uint_eq(spread.nodes, nodes);
}

static void expect_not(const hpcb_spread_job_t *job, hpcb_spread_verdict_t why)
{
    ck_assert_int_eq(hpcb_spread_decide(job).verdict, why);
}

/* 5 G each, of 18 G: three, on three nodes, which have three, three and two. */
START_TEST(as_many_tasks_as_do_not_fill_a_node)
{
    expect(&heavy, 3, 3);
}
END_TEST

START_TEST(nodes_have_about_the_same)
{
    hpcb_spread_job_t job = heavy;

    job.tasks = 7;
    job.packed = 7;
    job.demand = 25 * G; /* five would fit */
    expect(&job, 4, 2);
}
END_TEST

START_TEST(the_papers_case_is_one_each)
{
    hpcb_spread_job_t job = {.tasks = 16,
                             .packed = 2,
                             .nodes_max = ANY,
                             .demand = 20 * G,
                             .capacity = 20 * G};

    expect(&job, 1, 16);
}
END_TEST

START_TEST(at_least_one_task_is_on_a_node)
{
    hpcb_spread_job_t job = heavy;

    job.demand = UINT64_C(1) << 60;
    expect(&job, 1, 8);
    job.capacity = 1;
    expect(&job, 1, 8);
}
END_TEST

START_TEST(no_more_nodes_than_the_job_may_have)
{
    hpcb_spread_job_t job = heavy;

    job.nodes_max = 2;
    expect(&job, 4, 2);
    job.nodes_max = 1;
    expect_not(&job, HPCB_SPREAD_NO_NODES);
    job.nodes_max = 0;
    expect_not(&job, HPCB_SPREAD_NO_NODES);
}
END_TEST

/* Two nodes of four are full, and there may be no third. */
START_TEST(exact_nodes_that_are_packed_evenly_stay)
{
    hpcb_spread_job_t job = heavy;

    job.packed = 4;
    job.nodes_max = 2;
    expect_not(&job, HPCB_SPREAD_NO_NODES);
}
END_TEST

START_TEST(a_node_that_is_not_filled_is_left_as_it_is)
{
    hpcb_spread_job_t job = heavy;

    job.demand = 18 * G;
    expect_not(&job, HPCB_SPREAD_FITS);
    job.demand++;
    expect(&job, 4, 2);
}
END_TEST

/* What a full node has moved is what it could. */
START_TEST(of_a_measured_demand_only_half_is_packed)
{
    hpcb_spread_job_t job = heavy;

    job.tasks = 24;
    job.demand = 20 * G;
    expect(&job, 6, 4); /* seven would fit, which is four nodes, too */
    job.measured = true;
    expect(&job, 4, 6);
    job.packed = 3;
    expect(&job, 1, 24);
}
END_TEST

START_TEST(what_is_not_known_changes_nothing)
{
    hpcb_spread_job_t job = heavy;

    job.demand = 0;
    expect_not(&job, HPCB_SPREAD_NO_DEMAND);
    job = heavy;
    job.capacity = 0;
    expect_not(&job, HPCB_SPREAD_NO_CAPACITY);
}
END_TEST

START_TEST(one_task_cannot_be_spread)
{
    hpcb_spread_job_t job = heavy;

    job.tasks = 1;
    expect_not(&job, HPCB_SPREAD_ONE);
    job = heavy;
    job.packed = 1;
    expect_not(&job, HPCB_SPREAD_ONE);
}
END_TEST

/* Not the same: who does not say how many tasks it has may have many. */
START_TEST(a_number_that_is_not_known_is_not_one)
{
    hpcb_spread_job_t job = heavy;

    job.tasks = 0;
    expect_not(&job, HPCB_SPREAD_NO_TASKS);
    job = heavy;
    job.packed = 0;
    expect_not(&job, HPCB_SPREAD_NO_TASKS);
}
END_TEST

static void expect_packed(const hpcb_spread_limits_t *room, uint32_t tasks)
{
    ck_assert_uint_eq(hpcb_spread_packed(room), tasks);
}

/* 32 cores of two threads. */
START_TEST(packed_is_what_slurm_would_put_on_a_node)
{
    static const hpcb_spread_limits_t node = {
        .cpus = 64, .threads = 2, .cpus_per_task = 1, .memory = 65536};
    hpcb_spread_limits_t room = node;

    expect_packed(&room, 64);
    room.cpus_per_task = 3;
    expect_packed(&room, 21);
    room.cpus_per_task = 0;
    room.threads = 0;
    expect_packed(&room, 64);
    room = node;
    room.threads_per_core = 1; /* --hint=nomultithread */
    expect_packed(&room, 32);
    room.cpus_per_task = 4;
    expect_packed(&room, 8);
    room.threads_per_core = 4;
    expect_packed(&room, 16);
    room = node;
    room.tasks_per_core = 1;
    expect_packed(&room, 32);
    room.cpus_per_task = 16;
    expect_packed(&room, 4);
    room = node;
    room.memory_per_cpu = 4096;
    expect_packed(&room, 16);
    room.cpus_per_task = 2;
    expect_packed(&room, 8);
    room.memory_per_cpu = 1 << 20;
    expect_packed(&room, 0);
    room.memory = 0;
    expect_packed(&room, 32);
    room = (hpcb_spread_limits_t){.cpus = 1, .threads = 2};
    expect_packed(&room, 0);
}
END_TEST

START_TEST(who_knows_better_is_left_as_it_is)
{
    hpcb_spread_job_t job = heavy;

    job.vain = true;
    expect_not(&job, HPCB_SPREAD_VAIN);
    job.demand = G;
    expect_not(&job, HPCB_SPREAD_FITS);
    job.demand = 0;
    job.laid_out = true;
    expect_not(&job, HPCB_SPREAD_LAID_OUT);
}
END_TEST

START_TEST(where_nodes_lack_it_is_less)
{
    hpcb_spread_job_t job = heavy;
    hpcb_spread_t spread;

    job.demand = 200 * G;
    spread = hpcb_spread_decide(&job);
    ck_assert_uint_eq(spread.nodes, 8);
    ck_assert(hpcb_spread_less(&job, &spread));
    ck_assert_uint_eq(spread.tasks, 2);
    ck_assert_uint_eq(spread.nodes, 4);
    ck_assert(hpcb_spread_less(&job, &spread));
    ck_assert_uint_eq(spread.tasks, 4);
    ck_assert(!hpcb_spread_less(&job, &spread));
    ck_assert_uint_eq(spread.tasks, 4);
    spread.verdict = HPCB_SPREAD_FITS;
    ck_assert(!hpcb_spread_less(&job, &spread));
}
END_TEST

START_TEST(a_node_with_fewer_tasks_moves_less)
{
    ck_assert_uint_eq(hpcb_spread_demand(&heavy, 2), 10 * G);
    ck_assert_uint_eq(hpcb_spread_demand(&heavy, 8), 40 * G);
    ck_assert_uint_eq(hpcb_spread_demand(&heavy, 9), 40 * G);
}
END_TEST

static uint64_t any(uint64_t most)
{
    return ((uint64_t)rand() << 31 | (uint64_t)rand()) % most;
}

/* All tasks have a place, on no more nodes than there may be, and fewer on a node than
 * packed; with one less on each they would not fit on these nodes. */
START_TEST(any_job_keeps_its_bounds)
{
    srand(24);
    for (int i = 0; i < ROUNDS; i++) {
        hpcb_spread_job_t job = {.tasks = (uint32_t)any(300),
                                 .packed = (uint32_t)any(130),
                                 .nodes_max = (uint32_t)any(i % 2 ? 20 : ANY),
                                 .demand = any(i % 3 ? 100 * G : UINT64_MAX >> 2),
                                 .measured = i % 5 == 0,
                                 .capacity = any(i % 7 ? 60 * G : UINT64_MAX >> 2)};
        hpcb_spread_t spread = hpcb_spread_decide(&job);
        int more = 0;

        if (spread.verdict != HPCB_SPREAD_YES)
            continue;
        do {
            ck_assert_uint_ge(spread.tasks, 1);
            ck_assert_uint_lt(spread.tasks, job.packed);
            ck_assert_uint_le(spread.nodes, job.nodes_max);
            ck_assert_uint_le(spread.nodes, job.tasks);
            ck_assert_uint_ge((uint64_t)spread.tasks * spread.nodes, job.tasks);
            ck_assert_uint_lt((uint64_t)(spread.tasks - 1) * spread.nodes, job.tasks);
            ck_assert_int_lt(++more, 9);
        } while (hpcb_spread_less(&job, &spread));
    }
}
END_TEST

/* Thousands of jobs: scripts/valgrind leaves out what has this tag. */
static TCase *any_job(void)
{
    TCase *tcase = tcase_create("any job");

    tcase_set_tags(tcase, "long");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, any_job_keeps_its_bounds);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("spread");
    TCase *tcase = tcase_create("spread");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, as_many_tasks_as_do_not_fill_a_node);
    tcase_add_test(tcase, nodes_have_about_the_same);
    tcase_add_test(tcase, the_papers_case_is_one_each);
    tcase_add_test(tcase, at_least_one_task_is_on_a_node);
    tcase_add_test(tcase, no_more_nodes_than_the_job_may_have);
    tcase_add_test(tcase, exact_nodes_that_are_packed_evenly_stay);
    tcase_add_test(tcase, a_node_that_is_not_filled_is_left_as_it_is);
    tcase_add_test(tcase, of_a_measured_demand_only_half_is_packed);
    tcase_add_test(tcase, what_is_not_known_changes_nothing);
    tcase_add_test(tcase, one_task_cannot_be_spread);
    tcase_add_test(tcase, a_number_that_is_not_known_is_not_one);
    tcase_add_test(tcase, packed_is_what_slurm_would_put_on_a_node);
    tcase_add_test(tcase, who_knows_better_is_left_as_it_is);
    tcase_add_test(tcase, where_nodes_lack_it_is_less);
    tcase_add_test(tcase, a_node_with_fewer_tasks_moves_less);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, any_job());
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
