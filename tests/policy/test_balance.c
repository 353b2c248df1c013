/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "tests/policy/balance_model.h"

static model_t model;
static hpcb_balance_conf_t conf;
static hpcb_balance_t balance;
static hpcb_balance_sample_t samples[HPCB_BALANCE_RANKS];

static void setup(void)
{
    memset(&model, 0, sizeof(model));
    memset(samples, 0, sizeof(samples));
    model.seed = 20260101;
}

static void works(unsigned n, const double *work)
{
    model.n = n;
    memcpy(model.work, work, n * sizeof(*work));
}

static void begin(hpcb_balance_kind_t kind)
{
    conf = hpcb_balance_conf(kind);
    conf.linear = model.kind != MODEL_SMT;
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, model.n, NULL, &balance),
                     0);
}

/* The mean length of n iterations, the policy acting after each. */
static double run(unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += model_iterate(&model, &balance, samples);
        hpcb_balance_step(&conf, &model.places, samples, &balance);
    }
    return sum / n;
}

static void see(const unsigned percent[])
{
    for (unsigned i = 0; i < balance.n; i++)
        samples[i] = (hpcb_balance_sample_t){.compute_ns = percent[i] * 1000000,
                                             .wait_ns = (100 - percent[i]) * 1000000};
}

static void check_places(const unsigned expected[])
{
    for (unsigned i = 0; i < balance.n; i++)
        ck_assert_msg(balance.rank[i].place == expected[i], "rank %u is on %u, not %u",
                      i, balance.rank[i].place, expected[i]);
}

static void check_priorities(const unsigned expected[])
{
    for (unsigned i = 0; i < balance.n; i++)
        ck_assert_msg(balance.rank[i].priority == expected[i], "rank %u has %u, not %u",
                      i, balance.rank[i].priority, expected[i]);
}

#define PLACES(...)     check_places((const unsigned[]){__VA_ARGS__})
#define PRIORITIES(...) check_priorities((const unsigned[]){__VA_ARGS__})
#define SEE(...)        see((const unsigned[]){__VA_ARGS__})
#define WORKS(n, ...)   works(n, (const double[]){__VA_ARGS__})

static unsigned step(void)
{
    return hpcb_balance_step(&conf, &model.places, samples, &balance);
}

/* ---- the thesis' examples ---- */

/* Section 5.2.2: four tasks on one chip of two cores of two threads. */
START_TEST(example_of_the_load_balancer)
{
    model_machine(&model, 1, 2, 2);
    model.kind = MODEL_SMT;
    model.n = 4;
    begin(HPCB_BALANCE_DLRB);
    PLACES(0, 2, 1, 3);
    SEE(15, 23, 50, 99);
    ck_assert_uint_eq(step(), HPCB_BALANCE_MOVED);
    /* t1 and t4 on the first core, t2 and t3 on the second. */
    ck_assert_uint_eq(balance.rank[0].place / 2, balance.rank[3].place / 2);
    ck_assert_uint_eq(balance.rank[1].place / 2, balance.rank[2].place / 2);
    ck_assert_uint_ne(balance.rank[0].place / 2, balance.rank[1].place / 2);
    PRIORITIES(4, 4, 4, 4);
}
END_TEST

/* Section 5.3.1: Metbench's master and four workers. */
START_TEST(example_of_metbench)
{
    model_machine(&model, 1, 2, 2);
    model.kind = MODEL_SMT;
    model.n = 5;
    begin(HPCB_BALANCE_DLRB);
    PLACES(0, 2, 1, 3, 0);
    SEE(1, 25, 99, 25, 99);
    ck_assert_uint_eq(step(), HPCB_BALANCE_MOVED);
    /* t4 on the first thread, t3 and t0 on the second, t2 and t1 on the other core,
     * each with a thread of its own: which one makes no difference, and t1 stays. */
    PLACES(1, 2, 3, 1, 0);
    SEE(1, 25, 99, 25, 99);
    ck_assert_uint_eq(step(), HPCB_BALANCE_REPRIORITIZED);
    PRIORITIES(4, 4, 6, 4, 6);
}
END_TEST

/* Section 5.2.3: threshold 20 %, double step beyond 40 %, range 4 to 6. */
START_TEST(steps_of_the_resource_balancer)
{
    static const struct {
        unsigned before[2], util[2], after[2];
    } rows[] = {
        {{4, 4}, {80, 99}, {4, 4}}, {{4, 4}, {79, 99}, {4, 4}},
        {{4, 4}, {78, 99}, {4, 5}}, {{4, 4}, {99, 60}, {5, 4}},
        {{4, 4}, {58, 99}, {4, 6}}, {{4, 5}, {58, 99}, {4, 6}},
        {{5, 5}, {58, 99}, {4, 6}}, {{5, 6}, {70, 99}, {4, 6}},
        {{4, 6}, {58, 99}, {4, 6}}, {{4, 6}, {99, 70}, {5, 6}},
        {{4, 6}, {99, 20}, {6, 6}}, {{6, 4}, {10, 99}, {6, 6}},
    };

    model_machine(&model, 1, 1, 2);
    model.kind = MODEL_SMT;
    model.n = 2;
    begin(HPCB_BALANCE_DLRB);
    balance.dlrb.stage = HPCB_BALANCE_NEUTRAL;
    for (unsigned i = 0; i < 2; i++)
        balance.rank[i].priority = (uint8_t)rows[_i].before[i];
    see(rows[_i].util);
    step();
    check_priorities(rows[_i].after);
}
END_TEST

/* Section 4.3.2; the numbers by hand. */
START_TEST(utilizations_of_uniform_and_adaptive)
{
    model_machine(&model, 1, 1, 1);
    model.n = 2;
    begin(HPCB_BALANCE_UNIFORM);
    SEE(20, 100);
    ck_assert_uint_eq(step(), HPCB_BALANCE_REPRIORITIZED);
    PRIORITIES(4, 5);
    SEE(80, 100);
    step();
    ck_assert_double_eq_tol(balance.rank[0].smooth, 0.5, 1e-9);
    PRIORITIES(4, 6);
    begin(HPCB_BALANCE_ADAPTIVE);
    SEE(20, 100);
    step();
    SEE(80, 100);
    ck_assert_uint_eq(step(), 0);
    ck_assert_double_eq_tol(balance.rank[0].smooth, 0.1 * 0.2 + 0.9 * 0.8, 1e-9);
    SEE(80, 100);
    step();
    ck_assert_double_eq_tol(balance.rank[0].smooth, 0.1 * 0.5 + 0.9 * 0.8, 1e-9);
    PRIORITIES(4, 5);
}
END_TEST

START_TEST(limits_of_uniform)
{
    model_machine(&model, 1, 1, 1);
    model.n = 3;
    begin(HPCB_BALANCE_UNIFORM);
    SEE(65, 85, 86); /* nobody is low */
    ck_assert_uint_eq(step(), 0);
    begin(HPCB_BALANCE_UNIFORM);
    SEE(64, 85, 85); /* nobody is high */
    ck_assert_uint_eq(step(), 0);
    begin(HPCB_BALANCE_UNIFORM);
    SEE(64, 75, 86);
    step();
    PRIORITIES(4, 4, 5);
}
END_TEST

/* Section 5.3.2: one iteration to see it, one without priorities, then the right ones.
 */
START_TEST(change_of_phase)
{
    model_machine(&model, 1, 2, 2);
    model.kind = MODEL_SMT;
    WORKS(4, 0.25, 0.25, 0.99, 0.99);
    begin(HPCB_BALANCE_DLRB);
    run(10);
    PRIORITIES(4, 4, 6, 6);
    ck_assert_uint_eq(balance.dlrb.phases, 0);
    WORKS(4, 0.99, 0.99, 0.25, 0.25);
    run(1);
    ck_assert_uint_eq(balance.dlrb.phases, 1);
    PRIORITIES(4, 4, 4, 4);
    run(1);
    PRIORITIES(6, 6, 4, 4);
    run(10);
    PRIORITIES(6, 6, 4, 4);
    ck_assert_uint_eq(balance.dlrb.phases, 1);
}
END_TEST

/* ---- placement ---- */

/* Figure 5.1: two chips of two cores of two threads. */
START_TEST(two_packages)
{
    model_machine(&model, 2, 2, 2);
    model.kind = MODEL_SMT;
    model.n = 8;
    begin(HPCB_BALANCE_DLRB);
    PLACES(0, 4, 2, 6, 1, 5, 3, 7);
    SEE(99, 99, 99, 99, 10, 10, 10, 10);
    ck_assert_uint_eq(step() & HPCB_BALANCE_MOVED, 0); /* a heavy one in each core */
    begin(HPCB_BALANCE_DLRB);
    SEE(99, 10, 99, 10, 99, 10, 99, 10);
    ck_assert_uint_eq(step(), HPCB_BALANCE_MOVED);
    for (unsigned core = 0; core < 4; core++) {
        unsigned heavy = 0, n = 0;

        for (unsigned i = 0; i < 8; i++) {
            if (balance.rank[i].place / 2 == core) {
                heavy += i % 2 == 0;
                n++;
            }
        }
        ck_assert_uint_eq(heavy, 1);
        ck_assert_uint_eq(n, 2);
    }
}
END_TEST

START_TEST(only_those_move_that_must)
{
    model_machine(&model, 1, 4, 2);
    model.kind = MODEL_SMT;
    model.n = 8;
    begin(HPCB_BALANCE_DLRB);
    SEE(99, 50, 50, 10, 99, 50, 50, 10);
    ck_assert_uint_eq(step(), HPCB_BALANCE_MOVED);
    /* The middle cores are right as they are. */
    for (unsigned i = 0; i < 8; i++)
        if (i % 4 == 1 || i % 4 == 2)
            ck_assert_uint_eq(balance.rank[i].place / 2, i % 4);
}
END_TEST

START_TEST(unequal_domains)
{
    /* Core 0 with two threads of the job's, core 1 with one. */
    model.places.n = 3;
    model.places.place[1] = (hpcb_balance_place_t){.cpu = 1};
    model.places.place[2] = (hpcb_balance_place_t){.cpu = 2, .core = 1};
    model.n = 3;
    begin(HPCB_BALANCE_DLRB);
    PLACES(0, 1, 2);
    model.n = 6;
    begin(HPCB_BALANCE_DLRB);
    unsigned on[3] = {0};
    for (unsigned i = 0; i < 6; i++)
        on[balance.rank[i].place]++;
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(on[i], 2);
}
END_TEST

START_TEST(a_core_each_leaves_nothing_to_do)
{
    model_machine(&model, 1, 4, 1);
    WORKS(4, 0.2, 0.4, 0.6, 0.99);
    begin(HPCB_BALANCE_DLRB);
    ck_assert_uint_eq(hpcb_balance_groups(&model.places, &balance), 0);
    run(20);
    PLACES(0, 1, 2, 3);
    PRIORITIES(4, 4, 4, 4);
    model_machine(&model, 1, 2, 1);
    begin(HPCB_BALANCE_DLRB);
    ck_assert_uint_eq(hpcb_balance_groups(&model.places, &balance), 2);
}
END_TEST

START_TEST(starts_where_ranks_are)
{
    const uint16_t at[] = {1, 1, 0}, wrong[] = {0, 2, 0};

    model_machine(&model, 1, 2, 1);
    conf = hpcb_balance_conf(HPCB_BALANCE_DLRB);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 3, at, &balance), 0);
    PLACES(1, 1, 0);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 3, wrong, &balance), -1);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 0, NULL, &balance), -1);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, HPCB_BALANCE_RANKS + 1,
                                        NULL, &balance),
                     -1);
    PLACES(1, 1, 0);
}
END_TEST

START_TEST(places_are_checked)
{
    model_machine(&model, 2, 2, 2);
    ck_assert(hpcb_balance_places_ok(&model.places));
    model.places.place[3].cpu = model.places.place[2].cpu;
    ck_assert(!hpcb_balance_places_ok(&model.places));
    model_machine(&model, 2, 2, 2);
    model.places.place[1].package = 1;
    ck_assert(!hpcb_balance_places_ok(&model.places));
    model.places.n = 0;
    ck_assert(!hpcb_balance_places_ok(&model.places));
    model.places.n = HPCB_BALANCE_CPUS + 1;
    ck_assert(!hpcb_balance_places_ok(&model.places));
}
END_TEST

START_TEST(levers)
{
    /* Two ranks on the first thread of a core, one on the second, two on a thread of
     * the other core: these share its time, and no core with anybody. */
    const uint16_t at[] = {0, 0, 1, 2, 2};
    const unsigned priority[] = {4, 5, 6, 4, 6};
    const unsigned weight[] = {341, 1024, 1024, 146, 1024};
    const unsigned time[] = {250000, 500000, 1000000, 1000000, 1000000};
    const unsigned ppr[] = {2, 3, 4, 4, 4};
    const unsigned lag[] = {2, 1, 0, 2, 0};

    model_machine(&model, 1, 2, 2);
    conf = hpcb_balance_conf(HPCB_BALANCE_DLRB);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 5, at, &balance), 0);
    for (unsigned i = 0; i < 5; i++)
        balance.rank[i].priority = (uint8_t)priority[i];
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(hpcb_balance_weight(&model.places, &balance, i, 1024),
                          weight[i]);
        ck_assert_uint_eq(hpcb_balance_time(&model.places, &balance, i), time[i]);
        ck_assert_uint_eq(hpcb_balance_ppr(&model.places, &balance, i), ppr[i]);
        ck_assert_uint_eq(hpcb_balance_lag(&balance, i), lag[i]);
    }
}
END_TEST

/* ---- parameters ---- */

START_TEST(who_says_where_ranks_run)
{
    static const struct {
        hpcb_balance_kind_t kind;
        bool places;
    } rows[] = {
        {HPCB_BALANCE_NONE, false},    {HPCB_BALANCE_STATIC, false},
        {HPCB_BALANCE_UNIFORM, false}, {HPCB_BALANCE_ADAPTIVE, false},
        {HPCB_BALANCE_DLRB, true},     {HPCB_BALANCE_AUTO, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        conf = hpcb_balance_conf(rows[i].kind);
        ck_assert_int_eq(hpcb_balance_places_ranks(&conf), rows[i].places);
    }
}
END_TEST

START_TEST(parameters)
{
    const char *bad;

    ck_assert_int_eq(
        hpcb_balance_conf_parse("adaptive:global=30,high=90,min=3", &conf, &bad), 0);
    ck_assert_int_eq(conf.kind, HPCB_BALANCE_ADAPTIVE);
    ck_assert_uint_eq(conf.global, 30);
    ck_assert_uint_eq(conf.high_util, 90);
    ck_assert_uint_eq(conf.low_util, 65);
    ck_assert_uint_eq(conf.priority_min, 3);
    ck_assert_int_eq(hpcb_balance_conf_parse("static:4,6,1", &conf, &bad), 0);
    ck_assert_uint_eq(conf.n_fixed, 3);
    model_machine(&model, 1, 2, 1);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 4, NULL, &balance), 0);
    PRIORITIES(4, 6, 1, 1);
    SEE(1, 99, 99, 99);
    ck_assert_uint_eq(step(), 0);
}
END_TEST

START_TEST(bad_parameters)
{
    static const struct {
        const char *text;
        size_t at;
    } rows[] = {
        {"", 0},
        {"balance", 0},
        {"dlr", 0},
        {"dlrb:", 5},
        {"dlrb:busy", 5},
        {"dlrb:busy=", 5},
        {"dlrb:busy=0", 5},
        {"dlrb:busy=100", 5},
        {"dlrb:busy=95,", 13},
        {"dlrb:busy=95;low=3", 12},
        {"dlrb:threshold=20,max=7", 18},
        {"dlrb:max=-1", 5},
        {"dlrb:max=4294967300", 5},
        {"dlrb:min=5,max=4", 0},
        {"uniform:low=90", 0},
        {"static", 6},
        {"static:", 7},
        {"static:4,0", 9},
        {"static:4,7", 9},
        {"static:4 6", 8},
    };
    const char *bad = NULL;

    conf = hpcb_balance_conf(HPCB_BALANCE_NONE);
    ck_assert_int_eq(hpcb_balance_conf_parse(rows[_i].text, &conf, &bad), -1);
    ck_assert_int_eq(conf.kind, HPCB_BALANCE_NONE);
    ck_assert_msg(bad == rows[_i].text + rows[_i].at, "%s: at %td", rows[_i].text,
                  bad - rows[_i].text);
}
END_TEST

/* ---- closed loop ---- */

enum { METBENCH, WITH_MASTER, STENCIL, JOBS };

/* Metbench's loads are 1 to 4 (table 3.1), BT-MZ's as table 3.2 has them. */
static void job(int which)
{
    if (which == METBENCH)
        WORKS(4, 0.25, 0.99, 0.25, 0.99);
    else if (which == WITH_MASTER)
        WORKS(5, 0.001, 0.25, 0.99, 0.25, 0.99);
    else
        WORKS(4, 0.1763, 0.2891, 0.6647, 0.9972);
}

static const struct {
    model_kind_t kind;
    unsigned cores, threads;
} machines[] = {{MODEL_POLL, 2, 1}, {MODEL_SLEEP, 2, 1}, {MODEL_SMT, 2, 2}};

static double without(void)
{
    begin(HPCB_BALANCE_NONE);
    return run(1);
}

/* _i: machine * JOBS + job. */
START_TEST(as_good_as_the_best_static_one)
{
    double best, none, dlrb, automatic;

    model.kind = machines[_i / JOBS].kind;
    model_machine(&model, 1, machines[_i / JOBS].cores, machines[_i / JOBS].threads);
    job(_i % JOBS);
    best = model_best(&model);
    none = without();
    begin(HPCB_BALANCE_DLRB);
    run(5);
    dlrb = run(50);
    begin(HPCB_BALANCE_AUTO);
    run(5);
    automatic = run(50);
    ck_assert_msg(automatic < 1.03 * best, "auto %.3f, best %.3f", automatic, best);
    ck_assert_msg(automatic < 1.001 * none, "auto %.3f, none %.3f", automatic, none);
    ck_assert_msg(dlrb < 1.001 * none, "dlrb %.3f, none %.3f", dlrb, none);
    /* DLRB balances pairs: the master beside two workers is a third. */
    if (_i % JOBS != WITH_MASTER)
        ck_assert_msg(dlrb < 1.03 * best, "dlrb %.3f, best %.3f", dlrb, best);
}
END_TEST

/* Loads that change sides every k iterations. */
static double variable(unsigned k, unsigned rounds)
{
    double sum = 0;

    for (unsigned i = 0; i < rounds; i++) {
        if (i % 2)
            WORKS(4, 0.99, 0.25, 0.99, 0.25);
        else
            WORKS(4, 0.25, 0.99, 0.25, 0.99);
        sum += run(k);
    }
    return sum / rounds;
}

START_TEST(metbenchvar)
{
    static const hpcb_balance_kind_t kinds[] = {HPCB_BALANCE_DLRB, HPCB_BALANCE_AUTO};
    double none, fixed;
    const char *bad;

    model.kind = machines[_i].kind;
    model_machine(&model, 1, machines[_i].cores, machines[_i].threads);
    WORKS(4, 0.25, 0.99, 0.25, 0.99);
    begin(HPCB_BALANCE_NONE);
    none = variable(15, 6);
    /* Each light one beside a heavy one, with the best priorities of the first part. */
    ck_assert_int_eq(hpcb_balance_conf_parse(model.kind == MODEL_SMT ? "static:4,6,4,6"
                                                                     : "static:4,5,4,5",
                                             &conf, &bad),
                     0);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, 4, NULL, &balance), 0);
    balance.rank[0].place = balance.rank[1].place = 0;
    balance.rank[2].place = balance.rank[3].place = (uint16_t)(model.places.n / 2);
    if (model.kind == MODEL_SMT)
        balance.rank[1].place = 1, balance.rank[3].place = 3;
    fixed = variable(15, 6);
    for (unsigned i = 0; i < 2; i++) {
        double time;

        begin(kinds[i]);
        time = variable(15, 6);
        /* Where waits are sleeps there is next to nothing to win or lose. */
        ck_assert_msg(time < (model.kind == MODEL_SLEEP ? 1.01 : 1) * fixed,
                      "%u: %.3f, static %.3f", kinds[i], time, fixed);
        ck_assert_msg(time < 1.01 * none, "%u: %.3f, none %.3f", kinds[i], time, none);
    }
}
END_TEST

/* With 3 % of noise no rank is moved and no priority changed, ever. */
START_TEST(a_balanced_job_is_left_alone)
{
    static const hpcb_balance_kind_t kinds[] = {HPCB_BALANCE_UNIFORM,
                                                HPCB_BALANCE_ADAPTIVE,
                                                HPCB_BALANCE_DLRB, HPCB_BALANCE_AUTO};

    model.kind = machines[_i / 4].kind;
    model_machine(&model, 1, machines[_i / 4].cores, machines[_i / 4].threads);
    model.noise = 0.03;
    WORKS(4, 1, 1, 1, 1);
    begin(kinds[_i % 4]);
    for (unsigned i = 0; i < 2000; i++) {
        model_iterate(&model, &balance, samples);
        ck_assert_uint_eq(step(), 0);
    }
}
END_TEST

/* Once converged, noise changes little: a change in one of 20 iterations at most. */
START_TEST(converges_and_stays)
{
    static const hpcb_balance_kind_t kinds[] = {HPCB_BALANCE_DLRB, HPCB_BALANCE_AUTO};
    unsigned changes = 0;

    model.kind = machines[_i / 2].kind;
    model_machine(&model, 1, machines[_i / 2].cores, machines[_i / 2].threads);
    model.noise = 0.02;
    WORKS(4, 0.25, 0.99, 0.25, 0.99);
    begin(kinds[_i % 2]);
    run(10);
    for (unsigned i = 0; i < 400; i++) {
        model_iterate(&model, &balance, samples);
        changes += step() != 0;
    }
    ck_assert_uint_le(changes, 20);
}
END_TEST

/* Where shares are not what they are taken for, auto undoes what makes it worse. */
START_TEST(auto_gives_up_what_loses)
{
    double none;

    model.kind = MODEL_SMT;
    model_machine(&model, 1, 2, 2);
    WORKS(4, 0.5, 0.5, 0.99, 0.99);
    none = without();
    begin(HPCB_BALANCE_AUTO);
    conf.linear = true; /* it is not */
    for (unsigned i = 0; i < 4; i++)
        balance.rank[i].place = (uint16_t)(i < 2 ? 2 * i : 2 * i - 3);
    run(20);
    ck_assert_double_lt(run(2000), 1.01 * none);
}
END_TEST

/* Where it is known what an iteration takes without anything, what makes them much
 * longer costs a few of them: here priorities are the wrong way round.  Where ranks
 * spin it costs less, and is tried again later. */
START_TEST(auto_gives_up_soon_what_loses_much)
{
    const bool spin = _i;
    double none, sum = 0;
    const unsigned n = 40;

    model.kind = MODEL_SMT;
    model_machine(&model, 1, 2, 2);
    WORKS(4, 0.5, 0.5, 0.5, 0.5);
    none = without();
    begin(HPCB_BALANCE_AUTO);
    hpcb_balance_usual(&balance, none);
    for (unsigned i = 0; i < n; i++) {
        bool rests = hpcb_balance_rests(&conf, &balance);

        for (unsigned rank = 0; rank < 4 && !rests; rank++)
            balance.rank[rank].priority = rank / 2 ? 6 : 4;
        hpcb_balance_spun(&balance, spin);
        sum += run(1);
    }
    ck_assert(hpcb_balance_rests(&conf, &balance));
    ck_assert((balance.automatic.resting > 150) == spin);
    ck_assert_double_gt(sum, none * n);
    ck_assert_double_lt(sum, none * (n + (spin ? 3 : 5)));
}
END_TEST

/* What the first iterations take, in which ranks are placed and measured, is no reason
 * to give up what is better than nothing afterwards. */
START_TEST(auto_does_not_give_up_for_how_it_begins)
{
    model.kind = MODEL_POLL;
    model_machine(&model, 1, 2, 1);
    WORKS(4, 0.18, 0.29, 0.67, 1);
    begin(HPCB_BALANCE_AUTO);
    hpcb_balance_usual(&balance, 1.35);
    for (unsigned i = 0; i < 40; i++) {
        run(1);
        ck_assert_uint_eq(balance.automatic.resting, 0);
    }
    ck_assert_double_lt(run(20), 1.35);
}
END_TEST

START_TEST(auto_turns_to_adaptive_and_back)
{
    unsigned adaptive = 0;

    model.kind = MODEL_POLL;
    model_machine(&model, 1, 2, 1);
    WORKS(4, 0.25, 0.99, 0.25, 0.99);
    begin(HPCB_BALANCE_AUTO);
    run(5);
    ck_assert_int_eq(balance.automatic.kind, HPCB_BALANCE_DLRB);
    for (unsigned i = 0; i < 12; i++) {
        variable(5, 2);
        adaptive += balance.automatic.kind == HPCB_BALANCE_ADAPTIVE;
    }
    ck_assert_uint_gt(adaptive, 0);
    WORKS(4, 0.25, 0.99, 0.25, 0.99);
    run(300);
    ck_assert_int_eq(balance.automatic.kind, HPCB_BALANCE_DLRB);
    ck_assert_double_lt(run(20), 1.03 * model_best(&model));
}
END_TEST

/* Loads that change sides as fast as they are found out: less and less is lost. */
START_TEST(auto_rests_where_it_is_always_late)
{
    double none;

    model.kind = MODEL_SMT;
    model_machine(&model, 1, 2, 2);
    WORKS(4, 0.25, 0.99, 0.25, 0.99);
    begin(HPCB_BALANCE_AUTO);
    run(1);
    conf.kind = HPCB_BALANCE_NONE;
    none = variable(2, 20);
    conf.kind = HPCB_BALANCE_AUTO;
    ck_assert_double_lt(variable(2, 200), 1.2 * none);
    variable(2, 2000);
    ck_assert_double_lt(variable(2, 1000), 1.02 * none);
}
END_TEST

/* ---- whatever comes ---- */

static uint32_t seed;

static uint32_t any(void)
{
    seed = seed * 1664525U + 1013904223U;
    return seed >> 4;
}

static uint64_t any_time(void)
{
    static const uint64_t special[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 1000000000};

    return any() % 3 == 0 ? special[any() % 5] : (uint64_t)any() << any() % 36;
}

static void any_machine(void)
{
    unsigned packages = 1 + any() % 4, cores = 1 + any() % 32, threads = 1 + any() % 8;

    model_machine(&model, packages, cores, threads);
    model.n = 1 + any() % HPCB_BALANCE_RANKS;
    conf = hpcb_balance_conf((hpcb_balance_kind_t)(any() % 6));
    conf.linear = any() % 2;
    conf.priority_min = 1 + any() % 6;
    conf.priority_max = conf.priority_min + any() % (7 - conf.priority_min);
    ck_assert_int_eq(hpcb_balance_begin(&conf, &model.places, model.n, NULL, &balance),
                     0);
}

START_TEST(any_input_keeps_to_the_range)
{
    seed = (uint32_t)_i * 7919;
    any_machine();
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned rank = 0; rank < model.n; rank++)
            samples[rank] = (hpcb_balance_sample_t){any_time(), any_time()};
        ck_assert_uint_eq(step() & ~(HPCB_BALANCE_MOVED | HPCB_BALANCE_REPRIORITIZED),
                          0);
        for (unsigned rank = 0; rank < model.n; rank++) {
            ck_assert_uint_lt(balance.rank[rank].place, model.places.n);
            ck_assert_uint_ge(balance.rank[rank].priority, conf.priority_min);
            ck_assert_uint_le(balance.rank[rank].priority, conf.priority_max);
        }
    }
}
END_TEST

START_TEST(ranks_that_are_not_known)
{
    model_machine(&model, 1, 2, 1);
    model.n = 4;
    begin(HPCB_BALANCE_DLRB);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(step(), 0);
    /* The pair of one that is not known is left alone. */
    SEE(20, 100, 20, 100);
    samples[0] = (hpcb_balance_sample_t){0};
    for (unsigned i = 0; i < 10; i++)
        step();
    for (unsigned i = 1; i < 4; i++)
        if (balance.rank[i].place == balance.rank[0].place)
            ck_assert_uint_eq(balance.rank[i].priority, 4);
}
END_TEST

static TCase *thesis(void)
{
    TCase *tcase = tcase_create("thesis");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, example_of_the_load_balancer);
    tcase_add_test(tcase, example_of_metbench);
    tcase_add_loop_test(tcase, steps_of_the_resource_balancer, 0, 12);
    tcase_add_test(tcase, who_says_where_ranks_run);
    tcase_add_test(tcase, utilizations_of_uniform_and_adaptive);
    tcase_add_test(tcase, limits_of_uniform);
    tcase_add_test(tcase, change_of_phase);
    return tcase;
}

static TCase *parts(void)
{
    TCase *tcase = tcase_create("parts");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, two_packages);
    tcase_add_test(tcase, only_those_move_that_must);
    tcase_add_test(tcase, unequal_domains);
    tcase_add_test(tcase, a_core_each_leaves_nothing_to_do);
    tcase_add_test(tcase, starts_where_ranks_are);
    tcase_add_test(tcase, places_are_checked);
    tcase_add_test(tcase, levers);
    tcase_add_test(tcase, parameters);
    tcase_add_loop_test(tcase, bad_parameters, 0, 20);
    tcase_add_loop_test(tcase, any_input_keeps_to_the_range, 0, 40);
    tcase_add_test(tcase, ranks_that_are_not_known);
    return tcase;
}

static TCase *closed_loop(void)
{
    TCase *tcase = tcase_create("closed loop");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, as_good_as_the_best_static_one, 0, 3 * JOBS);
    tcase_add_loop_test(tcase, metbenchvar, 0, 3);
    tcase_add_loop_test(tcase, a_balanced_job_is_left_alone, 0, 12);
    tcase_add_loop_test(tcase, converges_and_stays, 0, 6);
    tcase_add_test(tcase, auto_gives_up_what_loses);
    tcase_add_loop_test(tcase, auto_gives_up_soon_what_loses_much, 0, 2);
    tcase_add_test(tcase, auto_does_not_give_up_for_how_it_begins);
    tcase_add_test(tcase, auto_turns_to_adaptive_and_back);
    tcase_add_test(tcase, auto_rests_where_it_is_always_late);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("balance");
    SRunner *runner;
    int failed;

    suite_add_tcase(suite, thesis());
    suite_add_tcase(suite, parts());
    suite_add_tcase(suite, closed_loop());
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
