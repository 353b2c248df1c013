/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Two nodes that follow a deal, with the files and the collector's part between them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpcbd/collector/dealer.h"
#include "hpcbd/gang/deal.h"
#include "tests/common/scratch.h"

#define SECOND  INT64_C(1000000000)
#define QUANTUM (SECOND / 2)
#define MB      UINT64_C(1000000)
#define JOBS    4

static const hpcb_bw_t capacity = {1000 * MB, 100 * MB};

typedef struct {
    hpcb_conf_t conf;
    hpcbd_roster_t roster;
    hpcbd_member_t members[JOBS];
    hpcbd_deal_t deal;
    hpcb_file_stamp_t sent;
    bool cut; /* from the collector */
} node_t;

static node_t nodes[2];
static const char *node_name;
static hpcbd_dealer_t *dealer;
static int64_t wall_ns, monotonic_ns;

const char *__wrap_hpcb_node_name(char *buf, size_t size);
const char *__wrap_hpcb_node_name(char *buf, size_t size)
{
    snprintf(buf, size, "%s", node_name);
    return buf;
}

hpcbd_member_t *hpcbd_set_at(const hpcbd_set_t *set, size_t i)
{
    return (hpcbd_member_t *)set->gang.list[i];
}

/* Bandwidth that each job moves in its quanta, MB/s. */
static uint64_t moves[JOBS];

static void setup(void)
{
    wall_ns = 1700000000 * SECOND;
    monotonic_ns = 100 * SECOND;
    dealer = hpcbd_dealer_new(wall_ns);
    for (unsigned n = 0; n < 2; n++) {
        node_t *node = &nodes[n];
        hpcbd_set_t *set = &node->roster.sets[1];

        memset(node, 0, sizeof(*node));
        snprintf(node->conf.state_dir, PATH_MAX, "%s/n%u", scratch_dir(), n);
        ck_assert_int_eq(hpcb_file_mkdirs(node->conf.state_dir, 0755, NULL), 0);
        strcpy(node->conf.collector_hosts, "c");
        node->roster.conf = &node->conf;
        set->guests = true;
        set->gang.window = 2;
        set->quantum_ns = QUANTUM;
        for (uint32_t i = 0; i < JOBS; i++) {
            hpcbd_member_t *member = &node->members[i];

            member->policy.job_id = i + 1;
            member->policy.wide = true;
            member->nodes = 2;
            member->policy.mem_known = member->policy.net_known = true;
            hpcb_cpus_add(&member->policy.cpus, i % 2);
            hpcb_gang_add(&set->gang, &member->policy);
        }
    }
    for (unsigned i = 0; i < JOBS; i++)
        moves[i] = i < 2 ? 900 : 50;
}

static void teardown(void)
{
    hpcbd_dealer_free(dealer);
}

/* What hpcbd/gang/ask.c does, but for MUNGE. */
static void carry(node_t *node)
{
    char text[65536], path[PATH_MAX + 8], *answer, *whole;
    hpcb_rjson_t *message;

    snprintf(path, sizeof(path), "%s/gang", node->conf.state_dir);
    if (!hpcb_file_changed(path, &node->sent) || node->cut ||
        hpcb_file_read(path, text, sizeof(text), NULL) < 0)
        return;
    message = hpcb_rjson_parse(text);
    ck_assert_int_eq(hpcb_rjson_add_text(message, "nonce", "a"), 0);
    whole = hpcb_rjson_print(message, "", NULL);
    json_object_put(message);
    answer = hpcbd_dealer_take(dealer, whole, wall_ns, NULL);
    ck_assert_ptr_nonnull(answer);
    snprintf(path, sizeof(path), "%s/deal", node->conf.state_dir);
    ck_assert_int_eq(hpcb_file_swap(path, answer, strlen(answer), 0600, NULL), 0);
    free(answer);
    free(whole);
}

/* One quantum of a node; who runs, as bits 1 << job_id. */
static unsigned step(unsigned n)
{
    node_t *node = &nodes[n];
    hpcbd_set_t *set = &node->roster.sets[1];
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned who = 0;

    node_name = n ? "n2" : "n1";
    set->number = wall_ns / QUANTUM;
    hpcbd_deal_follow(&node->deal, &node->roster, &capacity, monotonic_ns);
    carry(node);
    hpcbd_deal_apply(&node->deal, set);
    hpcb_gang_select(&set->gang, &capacity, (uint64_t)set->number, run);
    hpcb_gang_begin(&set->gang, run);
    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);
        uint64_t mem = moves[member->policy.job_id - 1] * MB;

        if (!member->policy.runs)
            continue;
        who |= 1U << member->policy.job_id;
        hpcb_gang_sample(&member->policy, &(hpcb_fit_sample_t){mem, 0});
    }
    return who;
}

/* So many quanta; in how many of them both elected the same, and two jobs that move
 * much together. */
typedef struct {
    unsigned alike, crowded;
} seen_t;

static seen_t run(unsigned quanta)
{
    seen_t seen = {0, 0};

    for (unsigned i = 0; i < quanta; i++) {
        unsigned here = step(0), there = step(1), much = 0;

        for (unsigned job = 1; job <= JOBS; job++)
            much += (here >> job & 1) && moves[job - 1] > 500;
        seen.alike += here == there;
        seen.crowded += much > 1;
        wall_ns += QUANTUM;
        monotonic_ns += QUANTUM;
    }
    return seen;
}

static void check_pairs(unsigned quanta)
{
    seen_t seen = run(quanta);

    ck_assert_uint_eq(seen.alike, quanta);
    ck_assert_uint_eq(seen.crowded, 0);
    for (unsigned n = 0; n < 2; n++)
        for (unsigned i = 0; i < JOBS; i++)
            ck_assert_uint_eq(nodes[n].members[i].policy.cycle, 2);
}

START_TEST(two_nodes_pair_their_jobs_by_a_deal)
{
    run(200);
    check_pairs(200);
}
END_TEST

/* One node does not hear of a change: for as long as they differ turns are lost, and
 * nobody starves; then they agree again. */
START_TEST(a_node_that_is_cut_off_loses_turns)
{
    uint64_t turns[JOBS];
    seen_t seen;

    run(200);
    check_pairs(10);
    /* What jobs do changes just after a deal. */
    nodes[1].cut = true;
    moves[1] = 50;
    moves[3] = 900;
    for (unsigned i = 0; i < JOBS; i++)
        turns[i] = nodes[1].members[i].policy.turns;
    seen = run(30);
    ck_assert_uint_eq(seen.alike, 30);
    run(170);
    /* Its last deal has ended; the first one's has not been repeated either, because
     * not all nodes of a job report it. */
    for (unsigned n = 0; n < 2; n++)
        for (unsigned i = 0; i < JOBS; i++) {
            ck_assert_uint_eq(nodes[n].members[i].policy.cycle, 0);
            ck_assert_uint_ge(nodes[1].members[i].policy.turns - turns[i], 200 / 4);
        }
    seen = run(20);
    ck_assert_uint_eq(seen.alike, 20);
    nodes[1].cut = false;
    run(200);
    check_pairs(100);
}
END_TEST

/* For a moment nodes have deals of other versions. */
START_TEST(versions_differ_for_a_moment)
{
    hpcbd_dealt_t *old;
    seen_t seen;

    run(200);
    check_pairs(10);
    old = malloc(sizeof(*old));
    *old = nodes[1].deal.dealt;
    for (size_t i = 0; i < old->n_jobs; i++)
        old->jobs[i].slot ^= 1;
    nodes[1].cut = true;
    nodes[1].deal.dealt = *old;
    seen = run(20);
    ck_assert_uint_le(seen.alike, 1);
    nodes[1].cut = false;
    run(24);
    check_pairs(20);
    free(old);
}
END_TEST

/* What counts of a deal: its time, its quantum, and who it is for. */
START_TEST(a_deal_counts_for_what_it_says)
{
    node_t *node = &nodes[0];
    hpcbd_set_t *set = &node->roster.sets[1];
    hpcbd_dealt_t *dealt = &node->deal.dealt;

    set->number = 1000;
    dealt->until = 501;
    dealt->n_jobs = 4;
    dealt->jobs[0] = (hpcbd_dealt_job_t){1, 500000, 900, 4, 1};
    dealt->jobs[1] = (hpcbd_dealt_job_t){1, 500000, 1001, 4, 3};
    dealt->jobs[2] = (hpcbd_dealt_job_t){2, 250000, 900, 4, 1};
    dealt->jobs[3] = (hpcbd_dealt_job_t){3, 500000, 900, 8, 5};
    node->members[2].policy.wide = false;
    hpcbd_deal_apply(&node->deal, set);
    ck_assert_uint_eq(node->members[0].policy.cycle, 4);
    ck_assert_uint_eq(node->members[0].policy.slot, 1);
    ck_assert_uint_eq(node->members[1].policy.cycle, 0);
    ck_assert_uint_eq(node->members[2].policy.cycle, 0);
    ck_assert_uint_eq(node->members[3].policy.cycle, 0);
    set->number = 1001;
    hpcbd_deal_apply(&node->deal, set);
    ck_assert_uint_eq(node->members[0].policy.slot, 3);
    set->number = 1002;
    hpcbd_deal_apply(&node->deal, set);
    ck_assert_uint_eq(node->members[0].policy.cycle, 0);
    set->number = 899;
    hpcbd_deal_apply(&node->deal, set);
    ck_assert_uint_eq(node->members[0].policy.cycle, 0);
}
END_TEST

/* What is no deal, or nobody's that can be trusted, deals nothing. */
START_TEST(a_bad_file_deals_nothing)
{
    char path[PATH_MAX + 8];
    seen_t seen;

    run(200);
    snprintf(path, sizeof(path), "%s/deal", nodes[0].conf.state_dir);
    nodes[0].cut = true;
    ck_assert_int_eq(hpcb_file_swap(path, "{}", 2, 0600, NULL), 0);
    seen = run(3);
    ck_assert_uint_le(seen.alike, 3);
    ck_assert_uint_eq(nodes[0].members[0].policy.cycle, 0);
    unlink(path);
    run(3);
    ck_assert_uint_eq(nodes[0].members[0].policy.cycle, 0);
}
END_TEST

START_TEST(a_report_says_what_counts)
{
    hpcbd_wide_t *turns = malloc(sizeof(*turns));
    node_t *node = &nodes[0];
    hpcbd_set_t *set = &node->roster.sets[1];

    node_name = "n1";
    node->members[0].nodes = 1;
    node->members[1].policy.paused = true;
    hpcb_gang_sample(&node->members[2].policy, &(hpcb_fit_sample_t){50 * MB, 7 * MB});
    node->members[2].policy.net_known = false;
    ck_assert(hpcbd_deal_fill(&node->roster, turns));
    ck_assert_uint_eq(turns->n_jobs, 2);
    ck_assert_str_eq(turns->node, "n1");
    ck_assert_uint_eq(turns->jobs[0].job_id, 3);
    ck_assert_uint_eq(turns->jobs[0].nodes, 2);
    ck_assert_uint_eq(turns->jobs[0].use.mem, 57 * MB);
    ck_assert_uint_eq(turns->jobs[0].quantum_us, 500000);
    ck_assert(turns->jobs[0].guest && turns->jobs[0].mem_known);
    ck_assert(!turns->jobs[0].net_known);
    /* The narrow one counts for the depth, the paused one does not. */
    ck_assert_uint_eq(turns->jobs[0].depth, 2);
    ck_assert_uint_eq(turns->jobs[1].depth, 1);
    /* It has not run yet. */
    ck_assert(!turns->jobs[1].mem_known && !turns->jobs[1].net_known);
    set->gang.window = 0;
    ck_assert(hpcbd_deal_fill(&node->roster, turns));
    ck_assert(!turns->jobs[0].mem_known);
    node->members[2].policy.of_job = 3;
    ck_assert(hpcbd_deal_fill(&node->roster, turns));
    ck_assert_uint_eq(turns->n_jobs, 1);
    for (unsigned i = 0; i < JOBS; i++)
        node->members[i].nodes = 0;
    ck_assert(!hpcbd_deal_fill(&node->roster, turns));
    free(turns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gang_deal");
    TCase *tcase = scratch_case("gang_deal");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, two_nodes_pair_their_jobs_by_a_deal);
    tcase_add_test(tcase, a_node_that_is_cut_off_loses_turns);
    tcase_add_test(tcase, versions_differ_for_a_moment);
    tcase_add_test(tcase, a_deal_counts_for_what_it_says);
    tcase_add_test(tcase, a_bad_file_deals_nothing);
    tcase_add_test(tcase, a_report_says_what_counts);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
