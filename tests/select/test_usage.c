/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "select/demand.h"
#include "select/usage.h"

#define G     UINT64_C(1000000000)
#define NODES 4
#define CPUS  8
#define TWIN  7

static hpcb_usage_t *usage;

static void setup(void)
{
    usage = hpcb_usage_new(NODES);
    ck_assert_ptr_nonnull(usage);
}

static void teardown(void)
{
    hpcb_usage_free(usage);
}

static void add(uint32_t id, bool guest, hpcb_demand_t demand, hpcb_place_on_t place)
{
    const hpcb_usage_job_t job = {.id = id,
                                  .guest = guest,
                                  .since = 1000 + (int64_t)id,
                                  .demand = demand,
                                  .n_places = 1,
                                  .places = &place};

    ck_assert_int_eq(hpcb_usage_add(usage, &job), 0);
}

static hpcb_demand_t needs(uint64_t mem)
{
    return (hpcb_demand_t){.use = {mem, 1}, .mem_known = mem > 0, .net_known = true};
}

static hpcb_fit_node_t look(size_t node, uint64_t program)
{
    const hpcb_bw_t capacity = {20 * G, 1 * G};
    const hpcb_usage_axes_t both = {.mem = true, .net = true};
    hpcb_fit_node_t description;

    hpcb_usage_node(usage, node, &capacity, both, CPUS, program, &description);
    return description;
}

static bool is_empty(size_t node)
{
    hpcb_fit_node_t at = look(node, TWIN);

    return at.used_by_primaries.mem == 0 && at.used_by_primaries.net == 0 &&
           at.used_by_guests.mem == 0 && at.used_by_guests.net == 0 &&
           !at.unknown_primary && !at.unknown_guest && !at.same_program &&
           at.cpus_by_primaries == 0 && at.cpus_by_guests == 0 &&
           at.processors_left == CPUS && hpcb_usage_guest_memory(usage, node) == 0 &&
           hpcb_usage_expected(usage, node) == 0;
}

START_TEST(what_is_added_is_taken_away)
{
    hpcb_fit_node_t at;

    add(1, false, needs(5 * G), (hpcb_place_on_t){0, 4, 100});
    add(2, false, needs(2 * G), (hpcb_place_on_t){0, 4, 100});
    add(3, true, needs(1 * G), (hpcb_place_on_t){0, 3, 50});
    at = look(0, 0);
    ck_assert_uint_eq(at.used_by_primaries.mem, 7 * G);
    ck_assert_uint_eq(at.used_by_guests.mem, 1 * G);
    ck_assert_uint_eq(at.processors_left, CPUS - 3);
    ck_assert_uint_eq(hpcb_usage_guest_memory(usage, 0), 50);
    ck_assert_uint_eq(hpcb_usage_guest_memory(usage, NODES), 0);
    ck_assert_uint_eq(hpcb_usage_guests(usage), 1);
    hpcb_usage_remove(usage, 1);
    ck_assert_uint_eq(look(0, 0).used_by_primaries.mem, 2 * G);
    hpcb_usage_remove(usage, 2);
    hpcb_usage_remove(usage, 3);
    hpcb_usage_remove(usage, 3);
    hpcb_usage_remove(usage, 4);
    ck_assert(is_empty(0));
    ck_assert_uint_eq(hpcb_usage_guests(usage), 0);
}
END_TEST

START_TEST(guests_of_a_core_do_not_run_at_once)
{
    hpcb_fit_node_t at;

    add(1, true, needs(2 * G), (hpcb_place_on_t){0, CPUS, 10});
    add(2, true, needs(4 * G), (hpcb_place_on_t){0, CPUS, 10});
    at = look(0, 0);
    ck_assert_uint_eq(at.used_by_guests.mem, 3 * G);
    ck_assert_uint_eq(at.cpus_by_guests, UINT64_C(1000000) * CPUS);
    ck_assert_uint_eq(at.processors_left, 0);
    hpcb_usage_remove(usage, 1);
    ck_assert_uint_eq(look(0, 0).used_by_guests.mem, 4 * G);
}
END_TEST

/* FORCE:4 in a gang partition: a quarter of them at a time. */
START_TEST(primaries_of_a_core_do_not_run_at_once)
{
    hpcb_fit_node_t at;

    for (uint32_t id = 1; id <= 4; id++)
        add(id, false, needs(8 * G), (hpcb_place_on_t){0, CPUS, 10});
    at = look(0, 0);
    ck_assert_uint_eq(at.used_by_primaries.mem, 8 * G);
    ck_assert_uint_eq(at.cpus_by_primaries, UINT64_C(1000000) * CPUS);
    ck_assert_uint_eq(at.processors_left, CPUS);
    hpcb_usage_remove(usage, 1);
    hpcb_usage_remove(usage, 2);
    hpcb_usage_remove(usage, 3);
    ck_assert_uint_eq(look(0, 0).used_by_primaries.mem, 8 * G);
    hpcb_usage_remove(usage, 4);
    ck_assert(is_empty(0));
}
END_TEST

START_TEST(a_job_counts_once)
{
    add(1, false, needs(5 * G), (hpcb_place_on_t){0, 4, 100});
    add(1, false, needs(5 * G), (hpcb_place_on_t){0, 4, 100});
    /* Requeued, the same job runs elsewhere. */
    add(1, true, needs(3 * G), (hpcb_place_on_t){2, 2, 10});
    ck_assert(is_empty(0));
    ck_assert_uint_eq(look(2, 0).used_by_guests.mem, 3 * G);
    ck_assert_uint_eq(hpcb_usage_guests(usage), 1);
}
END_TEST

static void expect(uint32_t id, size_t node, uint64_t expected)
{
    hpcb_usage_at_t at;

    ck_assert(hpcb_usage_find(usage, id, node, &at));
    hpcb_usage_expect(usage, node, &at, expected);
}

START_TEST(primaries_are_expected_to_use_what_they_hold_until_told)
{
    const hpcb_place_on_t places[] = {{0, 1, 100}, {2, 1, 200}, {3, 1, 300}};
    const hpcb_usage_job_t wide = {.id = 9, .n_places = 3, .places = places};
    hpcb_usage_at_t at;

    ck_assert_int_eq(hpcb_usage_add(usage, &wide), 0);
    add(1, false, needs(1), (hpcb_place_on_t){2, 4, 1000});
    add(2, true, needs(1), (hpcb_place_on_t){2, 4, 50});
    ck_assert_uint_eq(hpcb_usage_guests(usage), 1);
    ck_assert_uint_eq(hpcb_usage_expected(usage, 2), 1200);
    expect(9, 2, 20);
    expect(2, 2, 20);
    ck_assert_uint_eq(hpcb_usage_expected(usage, 2), 1020);
    expect(1, 2, 2000);
    ck_assert_uint_eq(hpcb_usage_expected(usage, 2), 2020);
    ck_assert(!hpcb_usage_find(usage, 9, 1, &at) && !hpcb_usage_find(usage, 8, 2, &at));
    ck_assert(hpcb_usage_find(usage, 1, 2, &at));
    ck_assert(at.memory == 1000 && *at.expected == 2000 && at.since == 1001);
    hpcb_usage_remove(usage, 9);
    ck_assert_uint_eq(hpcb_usage_expected(usage, 2), 2000);
    hpcb_usage_expect_all(usage);
    ck_assert_uint_eq(hpcb_usage_expected(usage, 2), 1000);
    hpcb_usage_remove(usage, 1);
    hpcb_usage_remove(usage, 2);
    for (size_t i = 0; i < NODES; i++)
        ck_assert(is_empty(i));
    ck_assert_uint_eq(hpcb_usage_guests(usage), 0);
}
END_TEST

START_TEST(jobs_without_figures_are_unknown_where_it_matters)
{
    const hpcb_bw_t capacity = {20 * G, 1 * G};
    const hpcb_usage_axes_t net = {.net = true};
    hpcb_fit_node_t at;

    add(1, false, needs(0), (hpcb_place_on_t){0, 1, 1});
    add(2, true, needs(0), (hpcb_place_on_t){1, 1, 1});
    ck_assert(look(0, 0).unknown_primary && !look(0, 0).unknown_guest);
    ck_assert(look(1, 0).unknown_guest && !look(1, 0).unknown_primary);
    hpcb_usage_node(usage, 0, &capacity, net, CPUS, 0, &at);
    ck_assert(!at.unknown_primary);
    hpcb_usage_remove(usage, 1);
    hpcb_usage_remove(usage, 2);
    ck_assert(is_empty(0) && is_empty(1));
}
END_TEST

START_TEST(who_is_unknown_computes_all_the_time)
{
    hpcb_demand_t waits = needs(1), wild = needs(1);

    waits.cpu_known = wild.cpu_known = true;
    waits.cpu = 250000;
    wild.cpu = UINT32_MAX;
    add(1, false, waits, (hpcb_place_on_t){0, 4, 1});
    add(2, false, needs(1), (hpcb_place_on_t){0, 2, 1});
    add(3, true, wild, (hpcb_place_on_t){0, 1, 1});
    ck_assert_uint_eq(look(0, 0).cpus, CPUS * 1000000);
    ck_assert_uint_eq(look(0, 0).cpus_by_primaries, 3000000);
    ck_assert_uint_eq(look(0, 0).cpus_by_guests, 1000000);
    ck_assert_uint_eq(hpcb_usage_known(usage, 0).mem, 3);
    ck_assert_uint_eq(hpcb_usage_known(usage, NODES).mem, 0);
    hpcb_usage_remove(usage, 1);
    hpcb_usage_remove(usage, 2);
    hpcb_usage_remove(usage, 3);
    ck_assert(is_empty(0));
}
END_TEST

static void compute(uint32_t id, size_t node, uint64_t cpus)
{
    hpcb_usage_at_t at;

    ck_assert(hpcb_usage_find(usage, id, node, &at));
    hpcb_usage_compute(usage, node, &at, cpus);
}

START_TEST(what_is_measured_counts_until_it_is_stale)
{
    hpcb_demand_t waits = needs(1);

    waits.cpu_known = true;
    waits.cpu = 250000;
    add(1, false, waits, (hpcb_place_on_t){0, 4, 1});
    add(2, false, needs(1), (hpcb_place_on_t){0, 2, 1});
    add(3, true, needs(1), (hpcb_place_on_t){0, 1, 1});
    compute(1, 0, 3500000);
    compute(2, 0, 100000);
    compute(3, 0, 100000);
    ck_assert_uint_eq(look(0, 0).cpus_by_primaries, 3600000);
    ck_assert_uint_eq(look(0, 0).cpus_by_guests, 1000000);
    compute(2, 0, 200000);
    hpcb_usage_remove(usage, 1);
    ck_assert_uint_eq(look(0, 0).cpus_by_primaries, 200000);
    add(1, false, waits, (hpcb_place_on_t){0, 4, 1});
    compute(1, 0, 0);
    hpcb_usage_compute_all(usage);
    ck_assert_uint_eq(look(0, 0).cpus_by_primaries, 3000000);
    for (uint32_t id = 1; id <= 3; id++)
        hpcb_usage_remove(usage, id);
    ck_assert(is_empty(0));
}
END_TEST

static void add_program(uint32_t id, uint64_t program, uint32_t node)
{
    hpcb_demand_t demand = needs(1);

    demand.program = program;
    add(id, false, demand, (hpcb_place_on_t){node, 1, 1});
}

START_TEST(copies_of_a_program_are_seen_on_their_node)
{
    add_program(1, TWIN, 1);
    add_program(2, TWIN, 1);
    add_program(3, TWIN + 1, 2);
    ck_assert(look(1, TWIN).same_program);
    ck_assert(!look(1, TWIN + 1).same_program && !look(2, TWIN).same_program);
    ck_assert(!look(1, 0).same_program);
    hpcb_usage_remove(usage, 1);
    ck_assert(look(1, TWIN).same_program);
    hpcb_usage_remove(usage, 2);
    ck_assert(is_empty(1));
}
END_TEST

START_TEST(primaries_of_a_program_are_no_guests)
{
    hpcb_demand_t demand = needs(1);

    demand.program = TWIN;
    add(1, true, demand, (hpcb_place_on_t){1, 1, 1});
    ck_assert(!hpcb_usage_has_primary(usage, 1, TWIN));
    add_program(2, TWIN, 1);
    ck_assert(hpcb_usage_has_primary(usage, 1, TWIN));
    ck_assert(!hpcb_usage_has_primary(usage, 2, TWIN));
    ck_assert(!hpcb_usage_has_primary(usage, 1, TWIN + 1));
    ck_assert(!hpcb_usage_has_primary(usage, 1, 0));
    hpcb_usage_remove(usage, 2);
    ck_assert(!hpcb_usage_has_primary(usage, 1, TWIN));
    ck_assert(look(1, TWIN).same_program);
    hpcb_usage_remove(usage, 1);
    ck_assert(is_empty(1));
}
END_TEST

START_TEST(nonsense_does_no_harm)
{
    const hpcb_place_on_t places[] = {
        {NODES, 1, 1}, {UINT32_MAX, 1, 1}, {3, UINT32_MAX, 1}};
    const hpcb_demand_t demand = {
        .use = {UINT64_MAX, UINT64_MAX}, .mem_known = true, .net_known = true};
    const hpcb_usage_job_t job = {
        .id = 1, .guest = true, .demand = demand, .n_places = 3, .places = places};
    hpcb_fit_node_t at;

    ck_assert_int_eq(hpcb_usage_add(usage, &job), 0);
    at = look(3, 0);
    ck_assert_uint_eq(at.processors_left, 0);
    ck_assert_uint_gt(at.used_by_guests.mem, 20 * G);
    at = look(NODES, 0);
    ck_assert_uint_eq(at.processors_left, 0);
    hpcb_usage_remove(usage, 1);
    ck_assert(is_empty(3));
    hpcb_usage_free(NULL);
}
END_TEST

/* Many jobs come and go in another order: nothing is left. */
START_TEST(many_jobs_leave_nothing)
{
    enum { JOBS = 40000, STEP = 7919 };

    for (uint32_t i = 1; i <= JOBS; i++) {
        hpcb_demand_t demand = needs(i % 5 ? i : 0);

        demand.program = i % 13;
        add(i, i % 3 == 0, demand, (hpcb_place_on_t){i % NODES, i % 4, i});
    }
    ck_assert_uint_eq(hpcb_usage_guests(usage), JOBS / 3);
    for (uint32_t i = 0; i < JOBS; i++)
        hpcb_usage_remove(usage, 1 + (uint32_t)((uint64_t)i * STEP % JOBS));
    ck_assert_uint_eq(hpcb_usage_guests(usage), 0);
    for (size_t i = 0; i < NODES; i++)
        ck_assert(is_empty(i));
}
END_TEST

/* ---- tags ---- */

static const struct {
    const char *comment;
    uint64_t mem, net;
} tags[] = {
    {NULL, 0, 0},
    {"", 0, 0},
    {"a comment of an administrator's", 0, 0},
    {"{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"bw\":{\"mem\":12,\"net\":3}}}", 12, 3},
    {"{\"comment\":\"x\",\"hpcb\":{\"bw\":{\"mem\":12}}}", 12, 0},
    {"{\"hpcb\":{\"bw\":{\"mem\":-12,\"net\":\"3\"}}}", 0, 0},
    {"{\"hpcb\":{\"bw\":{\"mem\":1e300,\"net\":0}}}", 0, 0},
    {"{\"hpcb\":{\"bw\":[12,3]}}", 0, 0},
    {"{\"hpcb\":[{\"bw\":{\"mem\":12}}]}", 0, 0},
    {"{\"hpcb\":{\"bw\":{\"mem\":12", 0, 0},
    {"{\"hpcb\":{\"bw\":{\"mem\":12}}} x", 0, 0},
    {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, 0},
};

static void check_demand(const hpcb_demand_t *demand, size_t i)
{
    ck_assert_msg(demand->mem_known == (tags[i].mem > 0) &&
                      demand->net_known == (tags[i].net > 0),
                  "tag %zu", i);
    ck_assert_msg(!demand->mem_known || demand->use.mem == tags[i].mem, "tag %zu", i);
    ck_assert_msg(!demand->net_known || demand->use.net == tags[i].net, "tag %zu", i);
}

START_TEST(a_tag_gives_figures_or_nothing)
{
    hpcb_demand_t demand = *hpcb_demand_of(100, 1000, tags[_i].comment);

    check_demand(&demand, (size_t)_i);
}
END_TEST

START_TEST(a_changed_tag_is_read_again)
{
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        check_demand(hpcb_demand_of(5, 1000, tags[i].comment), i);
        check_demand(hpcb_demand_of(5, 1000, tags[i].comment), i);
        /* Jobs that share a slot displace each other. */
        check_demand(hpcb_demand_of(5 + 16384, 1000, tags[3].comment), 3);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage");
    TCase *tcase = tcase_create("usage");
    TCase *tag = tcase_create("tag");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_is_added_is_taken_away);
    tcase_add_test(tcase, guests_of_a_core_do_not_run_at_once);
    tcase_add_test(tcase, primaries_of_a_core_do_not_run_at_once);
    tcase_add_test(tcase, a_job_counts_once);
    tcase_add_test(tcase, primaries_are_expected_to_use_what_they_hold_until_told);
    tcase_add_test(tcase, jobs_without_figures_are_unknown_where_it_matters);
    tcase_add_test(tcase, who_is_unknown_computes_all_the_time);
    tcase_add_test(tcase, what_is_measured_counts_until_it_is_stale);
    tcase_add_test(tcase, copies_of_a_program_are_seen_on_their_node);
    tcase_add_test(tcase, primaries_of_a_program_are_no_guests);
    tcase_add_test(tcase, nonsense_does_no_harm);
    tcase_add_test(tcase, many_jobs_leave_nothing);
    tcase_add_loop_test(tag, a_tag_gives_figures_or_nothing, 0,
                        sizeof(tags) / sizeof(tags[0]));
    tcase_add_test(tag, a_changed_tag_is_read_again);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, tag);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
