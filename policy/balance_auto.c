/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"

/*
 * auto: begins with DLRB, with predicted priorities if shares are linear.
 *  - A program with short phases leaves no time for DLRB's measurements, which would
 *    migrate its ranks repeatedly: use adaptive instead.
 *  - If adaptive changes priorities nearly all the time it follows noise: use uniform,
 *    which is slow.
 *  - If nothing has changed for long: use DLRB again.
 *  - If the changes made iterations longer, or iterations are longer in the long run
 *    than without any, undo them and rest, each time twice as long, so that a job that
 *    cannot be balanced costs less and less.
 *  - If the changes have cost the time of `most_lost` iterations, rest as well,
 *    whatever they are.
 *  - If ranks spin while they wait there is little to gain and much to lose: stop
 *    sooner, and rest longer the more it has cost.
 */

#define RECENT        16U /* steps */
#define MANY_PHASES   3
#define MANY_CHANGES  12
#define CALM_FOR_LONG 32
#define JUDGED_AFTER  4 /* steps without a change */
#define LONGER        1.01
#define LONG_RUN      32 /* steps, until what it took to begin counts for little */
#define PAST          16 /* its weight in the mean */
#define FIRST_REST    64
#define FORGOTTEN     16 /* times the last rest, after which it is */
#define SPUN_STEPS    8  /* the weight of the past in how often ranks spin */
#define LONGEST_REST  4096

/* In iterations. */
typedef struct {
    double most_lost;
    double most_of_one; /* of a single one: it may be none of our doing */
    double rest;        /* at least, for each that was lost */
} patience_t;

static const patience_t with_sleepers = {2, 1, 0};
static const patience_t with_spinners = {1, 0.75, 200}; /* half a percent */

static const patience_t *patience(const hpcb_balance_auto_t *a)
{
    return a->spins > 0 ? &with_spinners : &with_sleepers;
}

static double iteration(const hpcb_balance_t *balance)
{
    double longest = 0;

    for (unsigned i = 0; i < balance->n; i++)
        if (balance->rank[i].known && balance->rank[i].elapsed > longest)
            longest = balance->rank[i].elapsed;
    return longest;
}

static unsigned recent(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits & ((1U << RECENT) - 1));
}

static void note_step(hpcb_balance_auto_t *a, bool phase, bool changed)
{
    a->phases = a->phases << 1 | phase;
    a->changes = a->changes << 1 | changed;
}

static void change_to(hpcb_balance_kind_t kind, hpcb_balance_t *balance)
{
    balance->automatic.kind = kind;
    balance->automatic.phases = 0;
    balance->automatic.changes = 0;
    balance->automatic.calm = 0;
    if (kind == HPCB_BALANCE_DLRB)
        balance->dlrb.stage = HPCB_BALANCE_BLIND;
}

static void choose(hpcb_balance_t *balance)
{
    const hpcb_balance_auto_t *a = &balance->automatic;

    if (a->kind == HPCB_BALANCE_DLRB) {
        if (recent(a->phases) >= MANY_PHASES)
            change_to(HPCB_BALANCE_ADAPTIVE, balance);
    } else if (a->calm >= CALM_FOR_LONG) {
        change_to(HPCB_BALANCE_DLRB, balance);
    } else if (a->kind == HPCB_BALANCE_ADAPTIVE && recent(a->changes) >= MANY_CHANGES) {
        change_to(HPCB_BALANCE_UNIFORM, balance);
    }
}

/* The job runs without priorities; whatever is tried next begins with that. */
static unsigned give_up(const hpcb_balance_conf_t *conf, hpcb_balance_t *balance)
{
    hpcb_balance_auto_t *a = &balance->automatic;
    double least = a->lost * patience(a)->rest;

    a->rest = a->rest == 0 ? FIRST_REST : a->rest * 2;
    if (a->rest < least)
        a->rest = (unsigned)least;
    if (a->rest > LONGEST_REST)
        a->rest = LONGEST_REST;
    a->resting = a->rest;
    a->before = a->mean = a->lost = 0;
    a->run = 0;
    change_to(HPCB_BALANCE_DLRB, balance);
    return hpcb_balance_neutral(conf, balance) ? HPCB_BALANCE_REPRIORITIZED : 0;
}

/* Return whether the last change made iterations longer.  Checked once, because the
 * program may change later. */
static bool change_has_lost(hpcb_balance_auto_t *a)
{
    double before = a->before;

    if (before <= 0 || a->calm < JUDGED_AFTER)
        return false;
    a->before = 0;
    return a->since > LONGER * before * a->calm;
}

/* Return whether all changes together, including the cost of measuring, did. */
static bool loses_in_the_long_run(const hpcb_balance_auto_t *a)
{
    return a->lost > patience(a)->most_lost ||
           (a->run >= LONG_RUN && a->neutral > 0 && a->mean > LONGER * a->neutral);
}

/* Time lost, less what was won meanwhile. */
static void count_loss(hpcb_balance_auto_t *a, double time)
{
    double lost = a->neutral > 0 ? time / a->neutral - 1 : 0;
    double most = patience(a)->most_of_one;

    a->lost += lost < most ? lost : most;
    if (a->lost < 0)
        a->lost = 0;
}

static bool is_neutral(const hpcb_balance_conf_t *conf, const hpcb_balance_t *balance)
{
    for (unsigned i = 0; i < balance->n; i++)
        if (balance->rank[i].priority != conf->priority_min)
            return false;
    return balance->automatic.resting > 0 ||
           balance->dlrb.stage == HPCB_BALANCE_NEUTRAL;
}

static double mix(double mean, double value, unsigned weight)
{
    return mean > 0 ? mean + (value - mean) / weight : value;
}

/* An iteration took time with the priorities that are in force. */
static void clock_in(const hpcb_balance_conf_t *conf, double time,
                     hpcb_balance_t *balance)
{
    hpcb_balance_auto_t *a = &balance->automatic;

    if (is_neutral(conf, balance))
        a->neutral = mix(a->neutral, time, JUDGED_AFTER);
    if (a->resting > 0)
        return;
    count_loss(a, time);
    a->calm++;
    a->run++;
    a->since += time;
    a->mean = mix(a->mean, time, a->run < PAST ? a->run : PAST);
    /* Things have gone well for so long that the last rest is forgotten. */
    if (a->run > FORGOTTEN * a->rest)
        a->rest = 0;
}

static unsigned act(const hpcb_balance_conf_t *conf,
                    const hpcb_balance_places_t *places, hpcb_balance_t *balance)
{
    unsigned phases = balance->dlrb.phases, done;

    if (balance->automatic.kind == HPCB_BALANCE_DLRB)
        done = hpcb_balance_dlrb(conf, places, conf->linear, balance);
    else
        done = hpcb_balance_heuristic(conf, balance->automatic.kind, balance);
    note_step(&balance->automatic, balance->dlrb.phases != phases, done != 0);
    return done;
}

void hpcb_balance_usual(hpcb_balance_t *balance, double seconds)
{
    balance->automatic.neutral = seconds;
}

void hpcb_balance_spun(hpcb_balance_t *balance, bool spun)
{
    double *spins = &balance->automatic.spins;

    *spins += ((spun ? 1 : -1) - *spins) / SPUN_STEPS;
}

bool hpcb_balance_rests(const hpcb_balance_conf_t *conf, const hpcb_balance_t *balance)
{
    return conf->kind == HPCB_BALANCE_AUTO && balance->automatic.resting > 0;
}

unsigned hpcb_balance_auto(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, hpcb_balance_t *balance)
{
    hpcb_balance_auto_t *a = &balance->automatic;
    double time = iteration(balance);
    unsigned done;

    clock_in(conf, time, balance);
    if (a->resting > 0) {
        a->resting--;
        return 0;
    }
    if (change_has_lost(a) || loses_in_the_long_run(a))
        return give_up(conf, balance);
    done = act(conf, places, balance);
    if (done) {
        a->before = time;
        a->since = 0;
        a->calm = 0;
    }
    choose(balance);
    return done;
}
