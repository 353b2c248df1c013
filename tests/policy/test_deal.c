/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policy/deal.h"

#define MB UINT64_C(1000000)

static hpcb_deal_t *deal;

static void setup(void)
{
    deal = calloc(1, sizeof(*deal));
    ck_assert_ptr_nonnull(deal);
}

static void teardown(void)
{
    free(deal);
}

/* Jobs 1 to count, of which none has a slot. */
static void begin(size_t count)
{
    deal->n_nodes = deal->n_seats = 0;
    deal->n_jobs = count;
    for (uint32_t i = 0; i < count; i++)
        deal->jobs[i] = (hpcb_deal_slot_t){.job_id = i + 1};
}

/* A node of up to 64 CPUs on which job i + 1 has those of cpus[i]; 0: none.  mem, in
 * MB/s, is what each transfers; depth is that of the node. */
static void add_node(const uint64_t *cpus, const uint64_t *mem, uint64_t capacity)
{
    hpcb_deal_node_t *node = &deal->nodes[deal->n_nodes++];
    uint64_t has[HPCB_DEAL_NODE_SEATS] = {0}, all = 0;
    unsigned depth = 0;

    *node = (hpcb_deal_node_t){.capacity = {capacity * MB, 0},
                               .first = (uint32_t)deal->n_seats};
    for (uint32_t i = 0; i < deal->n_jobs; i++) {
        if (!cpus[i])
            continue;
        has[node->count++] = cpus[i];
        all |= cpus[i];
        deal->seats[deal->n_seats++] = (hpcb_deal_seat_t){
            .job = i,
            .use = {mem[i] * MB, 0},
            .mem_known = true,
            .net_known = true,
            .processors = (unsigned)__builtin_popcountll(cpus[i]),
        };
    }
    node->processors = (unsigned)__builtin_popcountll(all);
    for (unsigned cpu = 0; cpu < 64; cpu++) {
        unsigned jobs = 0;

        for (uint32_t i = 0; i < node->count; i++)
            jobs += has[i] >> cpu & 1;
        depth = jobs > depth ? jobs : depth;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        hpcb_deal_seat_t *seat = &deal->seats[node->first + i];

        seat->depth = depth;
        for (uint32_t k = 0; k < node->count; k++)
            if (k != i && has[i] & has[k])
                seat->meets |= UINT64_C(1) << k;
    }
}

/* Both own a quantum. */
static bool meet(const hpcb_deal_slot_t *one, const hpcb_deal_slot_t *other)
{
    unsigned cycle = one->cycle < other->cycle ? one->cycle : other->cycle;

    return cycle > 0 && (one->slot ^ other->slot) % cycle == 0;
}

static bool together(unsigned one, unsigned other)
{
    return meet(&deal->jobs[one - 1], &deal->jobs[other - 1]);
}

static void check_slots(void)
{
    for (size_t i = 0; i < deal->n_jobs; i++) {
        const hpcb_deal_slot_t *job = &deal->jobs[i];

        ck_assert(job->cycle == 0 || job->slot < job->cycle);
        ck_assert_uint_le(job->cycle, HPCB_DEAL_CYCLE_MAX);
        ck_assert_uint_eq(job->cycle & (job->cycle - 1), 0);
    }
    for (size_t n = 0; n < deal->n_nodes; n++)
        for (size_t i = 0; i < deal->nodes[n].count; i++)
            for (size_t k = 0; k < deal->nodes[n].count; k++) {
                const hpcb_deal_seat_t *seats = &deal->seats[deal->nodes[n].first];

                ck_assert(!(seats[i].meets >> k & 1) ||
                          !meet(&deal->jobs[seats[i].job], &deal->jobs[seats[k].job]));
            }
}

/* Section 6: two that need much and two that need little, on two nodes with two CPUs.
 */
static const uint64_t halves[] = {1, 2, 1, 2};

START_TEST(pairs_who_needs_much_with_who_needs_little)
{
    static const uint64_t mem[][4] = {
        {900, 900, 50, 50}, {900, 50, 50, 900}, {50, 900, 900, 50}, {50, 50, 900, 900}};

    for (size_t i = 0; i < 4; i++) {
        begin(4);
        add_node(halves, mem[i], 1000);
        add_node(halves, mem[i], 1000);
        hpcb_deal(deal);
        check_slots();
        for (unsigned k = 0; k < 4; k++) {
            ck_assert_uint_eq(deal->jobs[k].cycle, 2);
            for (unsigned m = 0; m < k; m++)
                ck_assert(!together(k + 1, m + 1) || mem[i][k] != mem[i][m]);
        }
    }
}
END_TEST

/* If nobody knows the capacity, or what the others use. */
START_TEST(pairs_them_without_a_capacity_too)
{
    static const uint64_t mem[] = {50, 900, 900, 50};

    begin(4);
    add_node(halves, mem, 0);
    add_node(halves, mem, 0);
    hpcb_deal(deal);
    ck_assert(together(1, 2) && together(3, 4) && !together(1, 4));
    begin(4);
    add_node(halves, mem, 0);
    for (size_t i = 0; i < 4; i++)
        deal->seats[i].mem_known = i == 1 || i == 3;
    hpcb_deal(deal);
    check_slots();
    ck_assert_uint_eq(deal->jobs[3].cycle, 2);
}
END_TEST

/* Jobs that use the network only: each axis counts. */
START_TEST(the_network_counts)
{
    static const uint64_t none[4];

    begin(4);
    add_node(halves, none, 1000);
    deal->nodes[0].capacity.net = 100 * MB;
    for (size_t i = 0; i < 4; i++)
        deal->seats[i].use.net = (i == 0 || i == 1 ? 90 : 5) * MB;
    hpcb_deal(deal);
    ck_assert(!together(1, 2) && together(1, 4) && together(2, 3));
}
END_TEST

/* The nodes' views are added: one on which a job needs all outweighs three on which
 * that job and its company idle a little differently. */
START_TEST(the_node_that_needs_most_counts)
{
    static const uint64_t idle[] = {110, 90, 90, 110}, busy[] = {900, 900, 50, 50};

    begin(4);
    for (unsigned i = 0; i < 3; i++)
        add_node(halves, idle, 1000);
    add_node(halves, busy, 1000);
    hpcb_deal(deal);
    ck_assert(!together(1, 2) && together(1, 4));
}
END_TEST

static void swap_back(unsigned job, unsigned slot)
{
    deal->jobs[job - 1].cycle = 2;
    deal->jobs[job - 1].slot = slot;
}

/* What was dealt stays unless a change pays. */
START_TEST(a_deal_stays_while_the_gain_is_small)
{
    static const uint64_t alike[] = {500, 520, 520, 500},
                          noise[] = {540, 530, 470, 460}, apart[] = {900, 900, 50, 50};
    hpcb_deal_slot_t before[4];

    begin(4);
    add_node(halves, alike, 1000);
    hpcb_deal(deal);
    memcpy(before, deal->jobs, sizeof(before));
    deal->n_nodes = deal->n_seats = 0;
    /* The pairs of now are the worst ones of then. */
    for (unsigned i = 1; i <= 4; i++)
        swap_back(i, i > 2);
    memcpy(before, deal->jobs, sizeof(before));
    add_node(halves, noise, 1000);
    hpcb_deal(deal);
    ck_assert_mem_eq(before, deal->jobs, sizeof(before));
    deal->n_nodes = deal->n_seats = 0;
    add_node(halves, apart, 1000);
    hpcb_deal(deal);
    ck_assert(!together(1, 2) && !together(3, 4) && together(1, 4));
    memcpy(before, deal->jobs, sizeof(before));
    deal->n_nodes = deal->n_seats = 0;
    add_node(halves, apart, 1000);
    hpcb_deal(deal);
    ck_assert_mem_eq(before, deal->jobs, sizeof(before));
}
END_TEST

/* One whose slot somebody else on its CPUs has gets another; the others keep theirs. */
START_TEST(who_comes_moves_nobody)
{
    static const uint64_t three[] = {1, 1, 1}, mem[] = {10, 20, 30};

    begin(3);
    swap_back(1, 1);
    swap_back(2, 0);
    add_node(three, mem, 1000);
    add_node(three, mem, 1000);
    hpcb_deal(deal);
    check_slots();
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(deal->jobs[i].cycle, 4);
    ck_assert_uint_eq(deal->jobs[0].slot, 1);
    ck_assert_uint_eq(deal->jobs[1].slot, 0);
}
END_TEST

/* Many that share CPUs in a chain find two slots if there are two, in any order; in a
 * ring of three they need a longer cycle, others do not. */
START_TEST(two_slots_are_found_where_two_are_enough)
{
    uint64_t mem[9], cpus[4][9] = {{0}};

    begin(9);
    for (unsigned i = 0; i < 9; i++) {
        mem[i] = i * 731 % 1000;
        for (unsigned node = 0; node < 4; node++)
            cpus[node][i] = 0;
    }
    /* Jobs i and i + 1 share a CPU of node i % 4. */
    for (unsigned i = 0; i < 8; i++) {
        cpus[i % 4][i] |= UINT64_C(1) << i;
        cpus[i % 4][i + 1] |= UINT64_C(1) << i;
    }
    for (unsigned node = 0; node < 4; node++)
        add_node(cpus[node], mem, 1000);
    hpcb_deal(deal);
    check_slots();
    for (unsigned i = 0; i < 9; i++) {
        ck_assert_uint_eq(deal->jobs[i].cycle, 2);
        ck_assert_uint_eq(deal->jobs[i].slot, (deal->jobs[0].slot + i) % 2);
    }
}
END_TEST

START_TEST(a_ring_of_three_gets_a_longer_cycle)
{
    static const uint64_t ring[] = {3, 6, 5, 24, 8, 16}, mem[] = {1, 2, 3, 4, 5, 6};

    begin(6);
    add_node(ring, mem, 1000);
    hpcb_deal(deal);
    check_slots();
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(deal->jobs[i].cycle, i < 3 ? 4 : 2);
}
END_TEST

/* A node that lies about its jobs costs others nothing. */
START_TEST(a_lie_costs_the_liars_jobs)
{
    static const uint64_t honest[] = {1, 2, 1, 2, 0, 0}, liar[] = {0, 0, 0, 1, 1, 1},
                          mem[] = {900, 900, 50, 50, 0, 0};
    static const uint64_t lies[] = {0, 0, 0, UINT64_MAX / MB, 0, UINT64_MAX / MB};

    begin(6);
    add_node(honest, mem, 1000);
    add_node(liar, lies, UINT64_MAX / MB);
    for (size_t i = 4; i < deal->n_seats; i++)
        deal->seats[i].depth = UINT32_MAX;
    hpcb_deal(deal);
    check_slots();
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(deal->jobs[i].cycle, i < 3 ? 2 : HPCB_DEAL_CYCLE_MAX);
    ck_assert(!together(1, 2));
}
END_TEST

START_TEST(without_a_seat_there_is_no_slot)
{
    begin(2);
    swap_back(1, 1);
    hpcb_deal(deal);
    ck_assert_uint_eq(deal->jobs[0].cycle, 0);
    deal->n_jobs = 0;
    hpcb_deal(deal);
}
END_TEST

/* ---- by chance ---- */

static uint32_t chance;

/* Knuth's generator, the same on every machine. */
static unsigned below(unsigned limit)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % limit;
}

#define NODES 12
#define JOBS  24
#define CPUS  8

static uint64_t some_cpus(void)
{
    unsigned first = below(CPUS), width = 1 + below(CPUS - first);

    return below(3) ? 0 : (UINT64_C(1) << (first + width)) - (UINT64_C(1) << first);
}

typedef struct {
    uint64_t cpus[NODES][JOBS], mem[NODES][JOBS], capacity[NODES];
} world_t;

static void make_world(world_t *world)
{
    for (unsigned n = 0; n < NODES; n++) {
        world->capacity[n] = below(4) ? 500 + below(1000) : 0;
        for (unsigned i = 0; i < JOBS; i++) {
            world->cpus[n][i] = some_cpus();
            world->mem[n][i] = below(1200);
        }
    }
}

static void add_world(const world_t *world, bool backwards)
{
    deal->n_nodes = deal->n_seats = 0;
    for (unsigned i = 0; i < NODES; i++) {
        unsigned n = backwards ? NODES - 1 - i : i;

        add_node(world->cpus[n], world->mem[n], world->capacity[n]);
    }
}

START_TEST(what_holds_for_every_deal)
{
    world_t world;
    hpcb_deal_slot_t before[JOBS];

    for (uint32_t seed = 1; seed <= 300; seed++) {
        unsigned without = 0;

        chance = seed;
        make_world(&world);
        begin(JOBS);
        add_world(&world, false);
        hpcb_deal(deal);
        check_slots();
        for (unsigned i = 0; i < JOBS; i++)
            without += deal->jobs[i].cycle == 0;
        ck_assert_msg(without <= 2, "%u of %d without a slot", without, JOBS);
        memcpy(before, deal->jobs, sizeof(before));
        begin(JOBS);
        add_world(&world, true);
        hpcb_deal(deal);
        ck_assert_mem_eq(before, deal->jobs, sizeof(before));
        /* The same again changes little, and then nothing. */
        for (unsigned i = 0; i < 4; i++) {
            add_world(&world, i % 2);
            memcpy(before, deal->jobs, sizeof(before));
            hpcb_deal(deal);
            check_slots();
        }
        ck_assert_mem_eq(before, deal->jobs, sizeof(before));
    }
}
END_TEST

/* As many jobs, nodes and seats as there can be, with any figures: some seconds. */
START_TEST(the_largest_deal_ends)
{
    begin(HPCB_DEAL_JOBS_MAX);
    chance = 1;
    while (deal->n_seats + HPCB_DEAL_NODE_SEATS <= HPCB_DEAL_SEATS_MAX) {
        uint32_t count = deal->n_nodes % 512 ? 8 : HPCB_DEAL_NODE_SEATS;
        hpcb_deal_node_t *node = &deal->nodes[deal->n_nodes++];

        *node = (hpcb_deal_node_t){.capacity = {UINT64_MAX, UINT64_MAX},
                                   .processors = HPCB_DEAL_NODE_SEATS,
                                   .first = (uint32_t)deal->n_seats,
                                   .count = count};
        for (uint32_t i = 0; i < node->count; i++) {
            uint32_t job = (uint32_t)(deal->n_nodes * 7 + i) % HPCB_DEAL_JOBS_MAX;

            deal->seats[deal->n_seats++] = (hpcb_deal_seat_t){
                .job = job,
                .use = {below(2) ? UINT64_MAX : below(1000) * MB, below(1000) * MB},
                .mem_known = below(2),
                .net_known = true,
                .processors = 1 + below(64),
                .depth = 1 + below(count),
                .meets = (UINT64_MAX >> (64 - count)) & ~(UINT64_C(1) << i),
            };
        }
    }
    hpcb_deal(deal);
    check_slots();
}
END_TEST

/* A node of which all jobs have the same CPU. */
static void add_shared(const uint32_t *jobs, uint32_t count)
{
    hpcb_deal_node_t *node = &deal->nodes[deal->n_nodes++];

    *node = (hpcb_deal_node_t){.capacity = {1000 * MB, 1000 * MB},
                               .processors = 1,
                               .first = (uint32_t)deal->n_seats,
                               .count = count};
    for (uint32_t i = 0; i < count; i++)
        deal->seats[deal->n_seats++] = (hpcb_deal_seat_t){
            .job = jobs[i],
            .use = {below(1000) * MB, below(1000) * MB},
            .mem_known = true,
            .net_known = true,
            .processors = 1,
            .depth = count,
            .meets = (UINT64_MAX >> (64 - count)) & ~(UINT64_C(1) << i),
        };
}

/* Job 0 is on all nodes but one, and each of many jobs could change places with it; on
 * that one there are so many that cycles are as long as they can be. */
START_TEST(one_wide_job_and_many_narrow_ones)
{
    enum { NARROW = HPCB_DEAL_JOBS_MAX - 1 - HPCB_DEAL_NODE_SEATS };
    uint32_t many[HPCB_DEAL_NODE_SEATS];

    begin(HPCB_DEAL_JOBS_MAX);
    chance = 1;
    for (uint32_t n = 0; n < HPCB_DEAL_NODES_MAX - 1; n++)
        add_shared((uint32_t[]){0, n + 1}, 1 + (n < NARROW));
    for (uint32_t i = 0; i < HPCB_DEAL_NODE_SEATS; i++)
        many[i] = 1 + NARROW + i;
    add_shared(many, HPCB_DEAL_NODE_SEATS);
    hpcb_deal(deal);
    check_slots();
    ck_assert_uint_eq(deal->jobs[0].cycle, 2);
}
END_TEST

/* Hundreds of deals: scripts/valgrind leaves out what has this tag. */
static TCase *worlds(void)
{
    TCase *tc = tcase_create("worlds");

    tcase_set_tags(tc, "long");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_holds_for_every_deal);
    return tc;
}

int main(void)
{
    Suite *suite = suite_create("deal");
    TCase *tc = tcase_create("deal");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pairs_who_needs_much_with_who_needs_little);
    tcase_add_test(tc, pairs_them_without_a_capacity_too);
    tcase_add_test(tc, the_network_counts);
    tcase_add_test(tc, the_node_that_needs_most_counts);
    tcase_add_test(tc, a_deal_stays_while_the_gain_is_small);
    tcase_add_test(tc, who_comes_moves_nobody);
    tcase_add_test(tc, two_slots_are_found_where_two_are_enough);
    tcase_add_test(tc, a_ring_of_three_gets_a_longer_cycle);
    tcase_add_test(tc, a_lie_costs_the_liars_jobs);
    tcase_add_test(tc, without_a_seat_there_is_no_slot);
    tcase_add_test(tc, the_largest_deal_ends);
    tcase_add_test(tc, one_wide_job_and_many_narrow_ones);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, worlds());
    tcase_set_timeout(tc, 60);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
