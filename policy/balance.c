/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance.h"

#include <string.h>

#include "policy/balance_parts.h"

#define NS_PER_S 1e9

/* A longer iteration (11 days) is taken for a mistake of who measured it. */
#define LONGEST_NS 1000000000000000U

static int compare(const hpcb_balance_place_t *a, const hpcb_balance_place_t *b)
{
    if (a->package != b->package)
        return a->package < b->package ? -1 : 1;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

bool hpcb_balance_places_ok(const hpcb_balance_places_t *places)
{
    if (places->n == 0 || places->n > HPCB_BALANCE_CPUS)
        return false;
    for (unsigned i = 1; i < places->n; i++)
        if (compare(&places->place[i - 1], &places->place[i]) >= 0)
            return false;
    return true;
}

static unsigned first_priority(const hpcb_balance_conf_t *conf, unsigned rank)
{
    if (conf->kind != HPCB_BALANCE_STATIC || conf->n_fixed == 0)
        return conf->priority_min;
    return conf->fixed[rank < conf->n_fixed ? rank : conf->n_fixed - 1];
}

int hpcb_balance_begin(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, unsigned n,
                       const uint16_t *at, hpcb_balance_t *balance)
{
    if (n == 0 || n > HPCB_BALANCE_RANKS || !hpcb_balance_places_ok(places))
        return -1;
    for (unsigned i = 0; at && i < n; i++)
        if (at[i] >= places->n)
            return -1;
    memset(balance, 0, sizeof(*balance));
    balance->n = n;
    for (unsigned i = 0; i < n; i++)
        balance->rank[i] = (hpcb_balance_rank_t){
            .place = at ? at[i] : 0,
            .priority = (uint8_t)first_priority(conf, i),
            .smooth = -1,
        };
    if (!at)
        hpcb_balance_distribute(places, balance);
    balance->automatic.kind = HPCB_BALANCE_DLRB;
    return 0;
}

bool hpcb_balance_same_core(const hpcb_balance_places_t *places, unsigned a, unsigned b)
{
    return places->place[a].core == places->place[b].core &&
           places->place[a].package == places->place[b].package;
}

/* rank into side, which is of group. */
static void join(const hpcb_balance_t *balance, unsigned rank,
                 hpcb_balance_group_t *group, hpcb_balance_side_t *side)
{
    const hpcb_balance_rank_t *r = &balance->rank[rank];

    if (side->n < HPCB_BALANCE_SIDES)
        side->rank[side->n++] = (uint16_t)rank;
    side->util += r->util;
    if (r->compute > side->compute)
        side->compute = r->compute;
    side->priority = r->priority;
    group->known = group->known && r->known;
}

static hpcb_balance_side_t *new_side(hpcb_balance_group_t *group)
{
    hpcb_balance_side_t *side;

    if (group->n == HPCB_BALANCE_SIDES)
        return &group->side[HPCB_BALANCE_SIDES - 1];
    side = &group->side[group->n++];
    side->n = 0;
    side->util = side->compute = 0;
    side->priority = 0;
    return side;
}

/* The ranks of the places first to end: a side each place that has some, or a side each
 * rank. */
static void fill(const hpcb_balance_t *balance, unsigned first, unsigned end,
                 hpcb_balance_group_t *group)
{
    bool threads = end - first > 1;

    for (unsigned place = first; place < end; place++) {
        hpcb_balance_side_t *side = NULL;

        for (unsigned rank = 0; rank < balance->n; rank++) {
            if (balance->rank[rank].place != place)
                continue;
            if (!side || !threads)
                side = new_side(group);
            join(balance, rank, group, side);
        }
    }
}

unsigned hpcb_balance_group(const hpcb_balance_places_t *places,
                            const hpcb_balance_t *balance, unsigned first,
                            hpcb_balance_group_t *group)
{
    unsigned end = first + 1;

    while (end < places->n && hpcb_balance_same_core(places, first, end))
        end++;
    group->first = first;
    group->n = 0;
    group->known = true;
    fill(balance, first, end, group);
    return end;
}

bool hpcb_balance_assign(const hpcb_balance_group_t *group, hpcb_balance_t *balance)
{
    bool changed = false;

    for (unsigned i = 0; i < group->n; i++) {
        const hpcb_balance_side_t *side = &group->side[i];

        for (unsigned j = 0; j < side->n; j++) {
            hpcb_balance_rank_t *rank = &balance->rank[side->rank[j]];

            changed = changed || rank->priority != side->priority;
            rank->priority = (uint8_t)side->priority;
        }
    }
    return changed;
}

bool hpcb_balance_neutral(const hpcb_balance_conf_t *conf, hpcb_balance_t *balance)
{
    bool changed = false;

    for (unsigned i = 0; i < balance->n; i++) {
        changed = changed || balance->rank[i].priority != conf->priority_min;
        balance->rank[i].priority = (uint8_t)conf->priority_min;
    }
    return changed;
}

unsigned hpcb_balance_groups(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance)
{
    hpcb_balance_group_t group;
    unsigned shared = 0;

    for (unsigned place = 0; place < places->n;) {
        place = hpcb_balance_group(places, balance, place, &group);
        shared += group.n > 1;
    }
    return shared;
}

static void take_sample(const hpcb_balance_sample_t *sample, hpcb_balance_rank_t *rank)
{
    double compute, total;

    rank->known = (sample->compute_ns > 0 || sample->wait_ns > 0) &&
                  sample->compute_ns < LONGEST_NS && sample->wait_ns < LONGEST_NS;
    if (!rank->known)
        return;
    compute = (double)sample->compute_ns / NS_PER_S;
    total = compute + (double)sample->wait_ns / NS_PER_S;
    rank->compute = compute;
    rank->elapsed = total;
    rank->util = compute / total;
    rank->total_compute += compute;
    rank->total += total;
}

unsigned hpcb_balance_step(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           const hpcb_balance_sample_t *samples,
                           hpcb_balance_t *balance)
{
    for (unsigned i = 0; i < balance->n; i++)
        take_sample(&samples[i], &balance->rank[i]);
    balance->steps++;
    switch (conf->kind) {
    case HPCB_BALANCE_UNIFORM:
    case HPCB_BALANCE_ADAPTIVE:
        return hpcb_balance_heuristic(conf, conf->kind, balance);
    case HPCB_BALANCE_DLRB:
        return hpcb_balance_dlrb(conf, places, false, balance);
    case HPCB_BALANCE_AUTO:
        return hpcb_balance_auto(conf, places, balance);
    default:
        return 0;
    }
}
