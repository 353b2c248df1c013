/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * policy/fitness against oracles that are written from the paper alone, in floating
 * point and without its shortcuts, over many generated cases; and the borders of the
 * rank classes, which are this project's.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "policy/fitness.h"

#define MB   UINT64_C(1000000)
#define GB   UINT64_C(1000000000)
#define APPS 8

/* The same sequence in every run. */
static uint64_t state = 88172645463325252u;

static uint64_t next(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* ---- Oracles ---- */

typedef struct {
    double mem[APPS], net[APPS]; /* per process, bytes/s */
    int processes[APPS];
    int count;
} workload_t;

/* Figure 3. */
static double figure_3(const workload_t *load, int i, double mem, double net,
                       double processors)
{
    double x = load->mem[i] - mem / processors;
    double y = load->net[i] - net / processors;

    return sqrt(x * x + y * y);
}

/* One step of algorithm 2: true where choosing i next is a best fit (of those that have
 * the same distance but for rounding, each is). */
static bool is_best(const workload_t *load, const bool *taken, int i, double mem,
                    double net, int processors)
{
    double mine = figure_3(load, i, mem, net, processors);

    for (int k = 0; k < load->count; k++)
        if (!taken[k] && load->processes[k] > 0 && load->processes[k] <= processors &&
            figure_3(load, k, mem, net, processors) < mine - 4)
            return false;
    return true;
}

/* Is there an order in which algorithm 2 selects exactly these?  Tries them all. */
static bool can_select(const workload_t *load, const bool *wanted, bool *taken,
                       double mem, double net, int processors)
{
    bool fits = false;

    for (int i = 0; i < load->count; i++) {
        bool found;

        if (taken[i] || load->processes[i] == 0 || load->processes[i] > processors)
            continue;
        fits = true;
        if (!wanted[i] || !is_best(load, taken, i, mem, net, processors))
            continue;
        taken[i] = true;
        found = can_select(load, wanted, taken, mem - load->mem[i] * load->processes[i],
                           net - load->net[i] * load->processes[i],
                           processors - load->processes[i]);
        taken[i] = false;
        if (found)
            return true;
    }
    return !fits && memcmp(wanted, taken, sizeof(*wanted) * (size_t)load->count) == 0;
}

static void make_workload(workload_t *load, hpcb_fit_app_t *apps)
{
    load->count = 1 + (int)next(APPS);
    for (int i = 0; i < load->count; i++) {
        uint64_t mem = next(5) * 150 * MB + next(MB), net = next(4) * 40 * MB;
        unsigned processes = i == 0 ? 1 + (unsigned)next(3) : (unsigned)next(4);

        load->mem[i] = (double)mem;
        load->net[i] = (double)net;
        load->processes[i] = (int)processes;
        apps[i] = (hpcb_fit_app_t){{mem * processes, net * processes}, processes};
    }
}

START_TEST(selects_as_algorithm_2_does)
{
    for (int round = 0; round < 20000; round++) {
        bool selected[APPS], taken[APPS] = {true};
        hpcb_bw_t capacity = {next(6) * 400 * MB, next(4) * 100 * MB};
        hpcb_fit_app_t apps[APPS];
        workload_t load;
        unsigned processors = 3 + (unsigned)next(6), left;

        make_workload(&load, apps);
        left =
            hpcb_fit_select(apps, (size_t)load.count, &capacity, processors, selected);
        ck_assert(selected[0]);
        for (int i = 0; i < load.count; i++)
            processors -= selected[i] ? apps[i].processors : 0;
        ck_assert_uint_eq(left, processors);
        for (int i = 0; i < load.count; i++)
            processors += selected[i] ? apps[i].processors : 0;
        ck_assert_msg(can_select(&load, selected, taken,
                                 (double)capacity.mem - (double)apps[0].use.mem,
                                 (double)capacity.net - (double)apps[0].use.net,
                                 (int)processors - load.processes[0]),
                      "round %d", round);
    }
}
END_TEST

START_TEST(pairs_the_paper_s_benchmarks)
{
    /* Figure 1, two of each, two processors: section 6 says that CG is paired with the
     * less demanding application. */
    const hpcb_bw_t bus = {900 * MB, 100 * MB};
    hpcb_fit_app_t apps[] = {
        {{674 * MB, 0}, 1}, {{674 * MB, 0}, 1}, {{162 * MB, 0}, 1}, {{162 * MB, 0}, 1}};
    bool selected[4];

    ck_assert_uint_eq(hpcb_fit_select(apps, 4, &bus, 2, selected), 0);
    ck_assert(selected[0] && !selected[1] && selected[2] && !selected[3]);
    /* EP first: now CG is nearest. */
    apps[0].use.mem = apps[1].use.mem = 162 * MB;
    apps[2].use.mem = apps[3].use.mem = 674 * MB;
    hpcb_fit_select(apps, 4, &bus, 2, selected);
    ck_assert(selected[0] && !selected[1] && selected[2] && !selected[3]);
    /* myribench, which needs the network, is not run twice at a time. */
    hpcb_fit_app_t net[] = {
        {{100 * MB, 90 * MB}, 1}, {{100 * MB, 90 * MB}, 1}, {{567 * MB, 0}, 1}};

    hpcb_fit_select(net, 3, &bus, 2, selected);
    ck_assert(selected[0] && !selected[1] && selected[2]);
}
END_TEST

START_TEST(the_first_always_runs)
{
    const hpcb_bw_t nothing = {0, 0};
    const hpcb_fit_app_t apps[] = {
        {{9, 9}, 0}, {{UINT64_MAX, UINT64_MAX}, 9}, {{0, 0}, 1}, {{0, 0}, 0}};
    bool selected[4];

    ck_assert_uint_eq(hpcb_fit_select(apps, 4, &nothing, 4, selected), 0);
    ck_assert(!selected[0] && selected[1] && !selected[2] && !selected[3]);
    ck_assert_uint_eq(hpcb_fit_select(apps, 4, &nothing, 0, selected), 0);
    ck_assert(selected[1]);
    ck_assert_uint_eq(hpcb_fit_select(apps, 0, &nothing, 4, selected), 4);
    ck_assert_uint_eq(hpcb_fit_select(apps, 1, &nothing, 4, selected), 4);
    ck_assert(!selected[0]);
}
END_TEST

START_TEST(distances_of_extremes)
{
    static const uint64_t uses[] = {0, 1, HPCB_FIT_BW_MAX, UINT64_MAX};
    static const int64_t lefts[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static const unsigned counts[] = {1, 7, UINT32_MAX};

    for (size_t u = 0; u < 4; u++)
        for (size_t l = 0; l < 5; l++)
            for (size_t c = 0; c < 3; c++) {
                hpcb_fit_app_t app = {{uses[u], uses[u]}, counts[c]};
                hpcb_fit_left_t left = {lefts[l], lefts[l], counts[2 - c]};
                long double most = 1152921504606846976.0L; /* 2^60 */
                long double use = fminl((long double)uses[u], most);
                long double rest = fmaxl(fminl((long double)lefts[l], most), -most);
                long double x = use / counts[c] - rest / counts[2 - c];
                long double distance =
                    sqrtl((long double)hpcb_fit_distance(&app, &left));

                ck_assert_msg(fabsl(distance - sqrtl(2) * fabsl(x)) <
                                  3 + fabsl(x) * 1e-9L,
                              "%zu %zu %zu", u, l, c);
            }
    ck_assert(hpcb_fit_distance(&(hpcb_fit_app_t){{1, 1}, 0},
                                &(hpcb_fit_left_t){1, 1, 1}) == ~(hpcb_fit_square_t)0);
    ck_assert(hpcb_fit_distance(&(hpcb_fit_app_t){{1, 1}, 1},
                                &(hpcb_fit_left_t){1, 1, 0}) == ~(hpcb_fit_square_t)0);
}
END_TEST

START_TEST(what_is_lacking_counts)
{
    /* Two fit equally well as long as BW_rem is cut off at 0; below, the one that needs
     * less is nearer. */
    const hpcb_fit_app_t small = {{1, 0}, 1}, large = {{2, 0}, 1};
    const hpcb_fit_left_t left = {-10, 0, 3};

    ck_assert(hpcb_fit_distance(&small, &left) == 25); /* -10 / 3 is -4 */
    ck_assert(hpcb_fit_distance(&large, &left) == 36);
}
END_TEST

START_TEST(predicts_from_the_window)
{
    const hpcb_fit_sample_t samples[] = {{100, 20}, {301, 40}};
    const hpcb_fit_sample_t extreme[] = {{UINT64_MAX, UINT64_MAX},
                                         {UINT64_MAX, UINT64_MAX}};
    hpcb_bw_t demand = hpcb_fit_predict(samples, 2);

    ck_assert_uint_eq(demand.mem, 230); /* (100 + 20 + 301 + 40) / 2 */
    ck_assert_uint_eq(demand.net, 30);
    demand = hpcb_fit_predict(samples, 1);
    ck_assert_uint_eq(demand.mem, 120);
    demand = hpcb_fit_predict(NULL, 0);
    ck_assert_uint_eq(demand.mem + demand.net, 0);
    demand = hpcb_fit_predict(extreme, 2);
    ck_assert_uint_eq(demand.mem, HPCB_FIT_BW_MAX);
    ck_assert_uint_eq(demand.net, HPCB_FIT_BW_MAX);
}
END_TEST

/* Line 11 and 15 of algorithm 1: sort once, then walk. */
static void elect(const hpcb_fit_app_t *apps, const uint32_t *votes, int count,
                  unsigned processors, bool *run)
{
    int order[APPS];

    for (int i = 0; i < count; i++) {
        int at = i;

        /* The first in the list keeps its place before all others. */
        for (; at > 1 && votes[order[at - 1]] < votes[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        run[i] = false;
    }
    for (int k = 0; k < count; k++) {
        unsigned needs = apps[order[k]].processors;

        if (needs == 0 || needs > processors)
            continue;
        run[order[k]] = true;
        processors -= needs;
    }
}

START_TEST(elects_by_votes)
{
    for (int round = 0; round < 20000; round++) {
        hpcb_fit_app_t apps[APPS] = {{{0, 0}, 0}};
        uint32_t votes[APPS];
        bool run[APPS], expected[APPS];
        int count = 1 + (int)next(APPS);
        unsigned processors = 3 + (unsigned)next(6);

        for (int i = 0; i < count; i++) {
            apps[i].processors = i == 0 ? 1 + (unsigned)next(3) : (unsigned)next(4);
            votes[i] = (uint32_t)next(4);
        }
        hpcb_fit_elect(apps, votes, (size_t)count, processors, run);
        elect(apps, votes, count, processors, expected);
        ck_assert_msg(memcmp(run, expected, (size_t)count) == 0, "round %d", round);
    }
}
END_TEST

START_TEST(votes_add_up)
{
    uint32_t votes[] = {0, 7, UINT32_MAX};
    const bool selected[] = {true, false, true};

    hpcb_fit_add_votes(votes, selected, 3);
    ck_assert_uint_eq(votes[0], 1);
    ck_assert_uint_eq(votes[1], 7);
    ck_assert_uint_eq(votes[2], UINT32_MAX);
}
END_TEST

/* ---- Placement ---- */

static hpcb_fit_guest_t guest(uint64_t mem, uint64_t net, unsigned processors)
{
    return (hpcb_fit_guest_t){.use = {mem, net},
                              .mem_known = true,
                              .net_known = true,
                              .processors = processors};
}

static hpcb_fit_node_t node(uint64_t mem, uint64_t net)
{
    return (hpcb_fit_node_t){.capacity = {20 * GB, GB},
                             .used_by_primaries = {mem, net},
                             .processors_left = 2};
}

START_TEST(guests_go_where_their_kind_is_missing)
{
    /* Primaries that use much, little, nothing. */
    const hpcb_fit_node_t high = node(16 * GB, 0), low = node(4 * GB, 0);
    const hpcb_fit_node_t none = node(0, 0);
    hpcb_fit_guest_t light = guest(GB, 0, 1), heavy = guest(16 * GB, 0, 1);

    light.net_known = heavy.net_known = false;
    ck_assert_uint_lt(hpcb_fit_score(&high, &light), hpcb_fit_score(&low, &light));
    ck_assert_uint_lt(hpcb_fit_score(&low, &light), hpcb_fit_score(&none, &light));
    ck_assert_int_eq(hpcb_fit_place(&high, &light), HPCB_FIT_EXCELLENT);
    ck_assert_int_eq(hpcb_fit_place(&high, &heavy), HPCB_FIT_REFUSED);
    ck_assert_uint_lt(hpcb_fit_score(&none, &heavy), hpcb_fit_score(&low, &heavy));
    ck_assert_int_ne(hpcb_fit_place(&low, &heavy), HPCB_FIT_REFUSED);
}
END_TEST

/* The paper's order of nodes for one guest, by figure 3 with each axis divided by its
 * capacity; a negative remainder does not pull the ideal below nothing. */
static double oracle_distance(const hpcb_fit_node_t *n, const hpcb_fit_guest_t *g)
{
    double left_mem = (double)n->capacity.mem - (double)n->used_by_primaries.mem -
                      (double)n->used_by_guests.mem;
    double left_net = (double)n->capacity.net - (double)n->used_by_primaries.net -
                      (double)n->used_by_guests.net;
    double mem = fmin((double)g->use.mem, (double)n->capacity.mem);
    double net = fmin((double)g->use.net, (double)n->capacity.net);
    double x = mem / g->processors - fmax(left_mem, 0) / n->processors_left;
    double y = net / g->processors - fmax(left_net, 0) / n->processors_left;

    x *= g->processors / (double)n->capacity.mem;
    y *= g->processors / (double)n->capacity.net;
    return sqrt(x * x + y * y);
}

static bool oracle_refuses(uint64_t capacity, uint64_t primaries, uint64_t guests,
                           uint64_t use)
{
    use = use < capacity ? use : capacity;
    return primaries + guests + use > capacity && (guests + use) * 32 > capacity + 31;
}

START_TEST(ranks_like_the_paper_s_distance)
{
    for (int round = 0; round < 50000; round++) {
        hpcb_fit_node_t n = {
            .capacity = {(1 + next(40)) * GB, (1 + next(10)) * 100 * MB},
            .used_by_primaries = {next(30) * GB, next(8) * 100 * MB},
            .used_by_guests = {next(8) * GB / 4, next(8) * 20 * MB},
            .processors_left = 4 + (unsigned)next(60)};
        hpcb_fit_guest_t g =
            guest(next(40) * GB / 4, next(20) * 10 * MB, 1 + (unsigned)next(4));
        uint32_t score = hpcb_fit_score(&n, &g);
        bool refused = oracle_refuses(n.capacity.mem, n.used_by_primaries.mem,
                                      n.used_by_guests.mem, g.use.mem) ||
                       oracle_refuses(n.capacity.net, n.used_by_primaries.net,
                                      n.used_by_guests.net, g.use.net);

        ck_assert_msg(refused == (score == HPCB_FIT_SCORE_REFUSED), "round %d", round);
        if (refused) {
            ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
            continue;
        }
        ck_assert_msg(fabs(oracle_distance(&n, &g) -
                           (score & ((1u << HPCB_FIT_SCORE_SHIFT) - 1)) / 65536.0) <
                          4 / 65536.0,
                      "round %d", round);
        ck_assert_int_eq(hpcb_fit_place(&n, &g), (int)(score >> HPCB_FIT_SCORE_SHIFT));
    }
}
END_TEST

START_TEST(saturation_is_refused_at_the_border)
{
    hpcb_fit_guest_t g = guest(4 * GB, 0, 1);
    hpcb_fit_node_t n = node(16 * GB, 0);

    ck_assert_int_ne(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    g.use.mem++;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    g.mem_known = false;
    ck_assert_int_ne(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    g = guest(0, GB, 1);
    n.used_by_primaries.net = 1;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    n.capacity.net = 0;
    ck_assert_int_ne(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    /* Unknown neighbours make a refusal no milder. */
    g = guest(5 * GB, 0, 1);
    n.unknown_primary = n.same_program = true;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
}
END_TEST

/* As an axis of its own, and beside one that is free. */
START_TEST(who_needs_more_than_a_node_has_runs_alone)
{
    hpcb_fit_guest_t g = guest(21 * GB, 2 * GB, 1);
    hpcb_fit_node_t n = node(0, 0);

    ck_assert_int_ne(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    n.used_by_guests.net = 1;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    n = node(1, 0);
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    n.capacity.mem = 22 * GB;
    ck_assert_int_ne(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
}
END_TEST

START_TEST(a_trifle_is_good_company)
{
    /* A primary that fills the bus alone. */
    hpcb_fit_node_t n = node(25 * GB, 0);
    hpcb_fit_guest_t g = guest(20 * GB / 32, 0, 1);

    g.net_known = false;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_EXCELLENT);
    g.use.mem++;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
    /* The limit is that of all guests together. */
    g.use.mem = GB / 10;
    n.used_by_guests.mem = 6 * GB / 10;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
}
END_TEST

START_TEST(the_unknown_is_between_good_and_bad)
{
    hpcb_fit_guest_t stranger = {.processors = 1}, known = guest(GB, 0, 1);
    hpcb_fit_node_t good = node(16 * GB, 0), dark = good, bare = good;
    hpcb_fit_node_t full = node(20 * GB, 0), bad = node(4 * GB, 0);
    hpcb_fit_guest_t greedy = guest(15 * GB, 0, 1);

    known.net_known = greedy.net_known = false;
    dark.unknown_primary = true;
    bare.capacity = (hpcb_bw_t){0, 0};
    ck_assert_int_eq(hpcb_fit_place(&good, &known), HPCB_FIT_EXCELLENT);
    ck_assert_int_eq(hpcb_fit_place(&dark, &known), HPCB_FIT_UNKNOWN);
    ck_assert_int_eq(hpcb_fit_place(&bare, &known), HPCB_FIT_UNKNOWN);
    ck_assert_int_eq(hpcb_fit_place(&good, &stranger), HPCB_FIT_UNKNOWN);
    ck_assert_int_eq(hpcb_fit_place(&bad, &greedy), HPCB_FIT_POOR);
    ck_assert_int_eq(hpcb_fit_place(&full, &stranger), HPCB_FIT_POOR);
    dark.unknown_primary = false;
    dark.unknown_guest = true;
    ck_assert_int_eq(hpcb_fit_place(&dark, &known), HPCB_FIT_UNKNOWN);
    ck_assert_uint_lt(hpcb_fit_score(&good, &known), hpcb_fit_score(&dark, &known));
    ck_assert_uint_lt(hpcb_fit_score(&dark, &known), hpcb_fit_score(&bad, &greedy));
    /* Alone on a node nobody is robbed. */
    bad.used_by_primaries.mem = 0;
    ck_assert_int_eq(hpcb_fit_place(&bad, &greedy), HPCB_FIT_FAIR);
}
END_TEST

/* Nobody has said what nodes can transfer. */
START_TEST(least_used_first_without_capacities)
{
    hpcb_fit_node_t much = node(14 * GB, 0), less = node(6 * GB, 0);
    hpcb_fit_node_t none = node(0, 0), dark = none;
    hpcb_fit_node_t *all[] = {&none, &less, &much, &dark};
    hpcb_fit_guest_t guests[] = {
        guest(12 * GB, 0, 1), guest(GB, 0, 1), {.processors = 1}};

    for (size_t i = 0; i < 4; i++) {
        all[i]->capacity = (hpcb_bw_t){0, 0};
        all[i]->scale = (hpcb_bw_t){14 * GB, 0};
    }
    for (size_t g = 0; g < 3; g++) {
        ck_assert_int_eq(hpcb_fit_place(&much, &guests[g]), HPCB_FIT_UNKNOWN);
        ck_assert_uint_lt(hpcb_fit_score(&none, &guests[g]),
                          hpcb_fit_score(&less, &guests[g]));
        ck_assert_uint_lt(hpcb_fit_score(&less, &guests[g]),
                          hpcb_fit_score(&much, &guests[g]));
    }
    /* Who is unknown may be the worst. */
    dark.unknown_primary = true;
    ck_assert_uint_lt(hpcb_fit_score(&less, &guests[0]),
                      hpcb_fit_score(&dark, &guests[0]));
    ck_assert_uint_eq(hpcb_fit_score(&dark, &guests[0]),
                      hpcb_fit_score(&much, &guests[0]));
}
END_TEST

static hpcb_fit_node_t with_cpus(uint64_t by_primaries, uint64_t by_guests)
{
    hpcb_fit_node_t n = node(0, 0);

    n.capacity = (hpcb_bw_t){0, 0};
    n.cpus = 4000000;
    n.cpus_by_primaries = by_primaries;
    n.cpus_by_guests = by_guests;
    n.processors_left = 4;
    return n;
}

static hpcb_fit_guest_t computes(uint64_t cpu)
{
    hpcb_fit_guest_t g = guest(0, 0, 1);

    g.cpu_known = true;
    g.cpu = cpu;
    return g;
}

START_TEST(who_computes_goes_where_others_wait)
{
    const hpcb_fit_node_t waits = with_cpus(400000, 0), half = with_cpus(2000000, 0);
    const hpcb_fit_node_t busy = with_cpus(4000000, 0), idle = with_cpus(0, 0);
    hpcb_fit_guest_t cruncher = computes(1000000), sleeper = computes(10000);

    ck_assert_uint_lt(hpcb_fit_score(&waits, &cruncher),
                      hpcb_fit_score(&half, &cruncher));
    ck_assert_uint_lt(hpcb_fit_score(&half, &cruncher),
                      hpcb_fit_score(&busy, &cruncher));
    ck_assert_int_eq(hpcb_fit_place(&busy, &cruncher), HPCB_FIT_POOR);
    ck_assert_int_eq(hpcb_fit_place(&waits, &cruncher), HPCB_FIT_EXCELLENT);
    /* Guests take from each other. */
    ck_assert_uint_gt(hpcb_fit_score(&(hpcb_fit_node_t){.cpus = 4000000,
                                                        .cpus_by_guests = 4000000,
                                                        .processors_left = 1},
                                     &cruncher),
                      hpcb_fit_score(&idle, &cruncher));
    /* What a guest leaves alone is no loss, and nobody is refused. */
    ck_assert_uint_eq(hpcb_fit_score(&idle, &sleeper),
                      hpcb_fit_score(&waits, &sleeper));
    ck_assert_int_eq(hpcb_fit_place(&busy, &sleeper), HPCB_FIT_EXCELLENT);
    sleeper.cpu = UINT64_MAX;
    ck_assert_int_eq(hpcb_fit_place(&busy, &sleeper), HPCB_FIT_POOR);
}
END_TEST

/* Of which nobody knows whether it computes: inside of their class the nodes differ. */
START_TEST(who_is_unknown_goes_where_others_wait)
{
    const hpcb_fit_node_t waits = with_cpus(400000, 0), half = with_cpus(2000000, 0);
    const hpcb_fit_node_t busy = with_cpus(4000000, 0), idle = with_cpus(0, 0);
    const hpcb_fit_guest_t guests[] = {
        {.processors = 1}, {.processors = 4}, {.processors = 0}, guest(0, 0, 9)};

    for (size_t i = 0; i < sizeof(guests) / sizeof(guests[0]); i++) {
        const hpcb_fit_guest_t *g = &guests[i];

        ck_assert_uint_le(hpcb_fit_score(&idle, g), hpcb_fit_score(&waits, g));
        ck_assert_uint_lt(hpcb_fit_score(&waits, g), hpcb_fit_score(&half, g));
        ck_assert_uint_lt(hpcb_fit_score(&half, g), hpcb_fit_score(&busy, g));
        ck_assert_int_eq(hpcb_fit_place(&idle, g), hpcb_fit_place(&busy, g));
    }
}
END_TEST

/* A program that transfers much and waits meanwhile: CPUs do not decide. */
START_TEST(transfers_decide_among_those_who_wait)
{
    hpcb_fit_node_t mover = with_cpus(1200000, 0), waits = with_cpus(0, 0);
    hpcb_fit_guest_t g = computes(200000);

    g.use.net = GB / 2;
    mover.used_by_primaries.net = GB;
    mover.scale = waits.scale = mover.used_by_primaries;
    ck_assert_uint_lt(hpcb_fit_score(&waits, &g), hpcb_fit_score(&mover, &g));
    ck_assert_int_eq(hpcb_fit_place(&mover, &g), HPCB_FIT_EXCELLENT);
}
END_TEST

/* What a probe says of nodes that look alike otherwise. */
START_TEST(who_needs_memory_avoids_saturated_nodes)
{
    hpcb_fit_node_t well = node(0, 0), busy = well, full = well, fuller = well;
    const hpcb_fit_guest_t guests[] = {guest(4 * GB, 0, 1), {.processors = 1}};
    const hpcb_fit_guest_t small = guest(GB / 100, 0, 1);

    busy.mem_lost = 300;
    full.mem_lost = 550;
    fuller.mem_lost = UINT32_MAX;
    full.mem_saturated = fuller.mem_saturated = true;
    for (size_t g = 0; g < 2; g++) {
        uint32_t score = hpcb_fit_score(&well, &guests[g]);

        ck_assert_uint_lt(score, hpcb_fit_score(&busy, &guests[g]));
        ck_assert_int_eq(hpcb_fit_place(&busy, &guests[g]),
                         hpcb_fit_place(&well, &guests[g]));
        ck_assert_uint_lt(hpcb_fit_score(&busy, &guests[g]),
                          hpcb_fit_score(&full, &guests[g]));
        ck_assert_uint_lt(hpcb_fit_score(&full, &guests[g]),
                          hpcb_fit_score(&fuller, &guests[g]));
        ck_assert_int_eq(hpcb_fit_place(&full, &guests[g]), HPCB_FIT_POOR);
        ck_assert_int_eq(hpcb_fit_place(&fuller, &guests[g]), HPCB_FIT_POOR);
    }
    ck_assert_uint_eq(hpcb_fit_score(&well, &small), hpcb_fit_score(&fuller, &small));
    /* Nobody knows what the node has: any demand counts. */
    well.capacity.mem = full.capacity.mem = 0;
    ck_assert_uint_lt(hpcb_fit_score(&well, &small), hpcb_fit_score(&full, &small));
}
END_TEST

START_TEST(twins_are_a_poor_pair)
{
    const hpcb_fit_guest_t g = guest(GB, 0, 1);
    hpcb_fit_node_t n = node(16 * GB, 0);

    n.same_program = true;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_TWIN);
    n.unknown_primary = true;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_TWIN);
    ck_assert_int_gt(HPCB_FIT_TWIN, HPCB_FIT_POOR);
}
END_TEST

/* Who has harmed a primary there comes last, or not at all, however well it fits. */
START_TEST(bad_company_is_avoided)
{
    const hpcb_fit_guest_t g = guest(GB, 0, 1);
    hpcb_fit_node_t n = node(16 * GB, 0);

    n.company = HPCB_COMPANY_LAST;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_COMPANY);
    n.same_program = true;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_COMPANY);
    ck_assert_int_gt(HPCB_FIT_COMPANY, HPCB_FIT_TWIN);
    n.company = HPCB_COMPANY_APART;
    ck_assert_int_eq(hpcb_fit_place(&n, &g), HPCB_FIT_REFUSED);
}
END_TEST

/* Whatever comes in: a class that exists, the same twice (and UBSan looks on). */
START_TEST(any_input_has_a_class)
{
    static const uint64_t values[] = {
        0, 1, 1000, HPCB_FIT_BW_MAX - 1, HPCB_FIT_BW_MAX, INT64_MAX, UINT64_MAX};
    static const unsigned processors[] = {0, 1, 64, UINT32_MAX};

    for (int round = 0; round < 200000; round++) {
        hpcb_fit_guest_t g =
            guest(values[next(7)], values[next(7)], processors[next(4)]);
        hpcb_fit_node_t n = {.capacity = {values[next(7)], values[next(7)]},
                             .used_by_primaries = {values[next(7)], values[next(7)]},
                             .used_by_guests = {values[next(7)], values[next(7)]},
                             .unknown_primary = next(4) == 0,
                             .cpus = values[next(7)],
                             .cpus_by_primaries = values[next(7)],
                             .cpus_by_guests = values[next(7)],
                             .scale = {values[next(7)], values[next(7)]},
                             .mem_saturated = next(8) == 0,
                             .mem_lost = (uint32_t)values[next(7)],
                             .same_program = next(8) == 0,
                             .processors_left = processors[next(4)]};
        uint32_t score;
        int klass;

        g.mem_known = next(4) > 0;
        g.net_known = next(4) > 0;
        g.cpu_known = next(4) > 0;
        g.cpu = values[next(7)];
        klass = hpcb_fit_place(&n, &g);
        score = hpcb_fit_score(&n, &g);
        ck_assert((klass >= 0 && klass < HPCB_FIT_CLASSES) ||
                  klass == HPCB_FIT_REFUSED);
        ck_assert(score < UINT32_C(1) << 20 || score == HPCB_FIT_SCORE_REFUSED);
        ck_assert_int_eq(klass, hpcb_fit_place(&n, &g));
    }
}
END_TEST

START_TEST(programs_have_numbers)
{
    ck_assert_uint_eq(hpcb_fit_program(1000, "CG"), hpcb_fit_program(1000, "CG"));
    ck_assert_uint_ne(hpcb_fit_program(1000, "CG"), hpcb_fit_program(1001, "CG"));
    ck_assert_uint_ne(hpcb_fit_program(1000, "CG"), hpcb_fit_program(1000, "EP"));
    /* No name collides with one of another user's. */
    ck_assert_uint_eq(hpcb_fit_program(1000, "CG") >> 32, 1000);
    ck_assert_uint_eq(hpcb_fit_program(1001, "EP") >> 32, 1001);
    ck_assert_uint_eq(hpcb_fit_program(1000, ""), 0);
    ck_assert_uint_eq(hpcb_fit_program(1000, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fitness");
    TCase *sharing = tcase_create("time sharing");
    TCase *placement = tcase_create("placement");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(sharing, 60);
    tcase_add_test(sharing, selects_as_algorithm_2_does);
    tcase_add_test(sharing, pairs_the_paper_s_benchmarks);
    tcase_add_test(sharing, the_first_always_runs);
    tcase_add_test(sharing, distances_of_extremes);
    tcase_add_test(sharing, what_is_lacking_counts);
    tcase_add_test(sharing, predicts_from_the_window);
    tcase_add_test(sharing, elects_by_votes);
    tcase_add_test(sharing, votes_add_up);
    tcase_set_timeout(placement, 60);
    tcase_add_test(placement, guests_go_where_their_kind_is_missing);
    tcase_add_test(placement, ranks_like_the_paper_s_distance);
    tcase_add_test(placement, saturation_is_refused_at_the_border);
    tcase_add_test(placement, who_needs_more_than_a_node_has_runs_alone);
    tcase_add_test(placement, a_trifle_is_good_company);
    tcase_add_test(placement, the_unknown_is_between_good_and_bad);
    tcase_add_test(placement, least_used_first_without_capacities);
    tcase_add_test(placement, who_computes_goes_where_others_wait);
    tcase_add_test(placement, who_is_unknown_goes_where_others_wait);
    tcase_add_test(placement, transfers_decide_among_those_who_wait);
    tcase_add_test(placement, who_needs_memory_avoids_saturated_nodes);
    tcase_add_test(placement, twins_are_a_poor_pair);
    tcase_add_test(placement, bad_company_is_avoided);
    tcase_add_test(placement, any_input_has_a_class);
    tcase_add_test(placement, programs_have_numbers);
    suite_add_tcase(suite, sharing);
    suite_add_tcase(suite, placement);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
