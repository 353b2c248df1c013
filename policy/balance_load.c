/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <string.h>

#include "policy/balance_parts.h"

/*
 * DLRB's load balancer (section 5.2.2): distributes ranks among the packages, those of
 * a package among its cores, those of a core among its threads, each time so that
 * numbers and loads are as even as possible.  The heaviest rank is first, and each goes
 * to the domain with the least load per thread.  No domain gets more than its part of
 * the number, rounded up.  In a core of two threads a heavy rank so shares the core
 * with a light one.
 *
 * If domains are equal their ranks are interchangeable, and the heaviest ranks stay.
 */

#define LEVELS 3 /* packages, cores, threads */
#define NONE   UINT16_MAX

typedef struct {
    double load;
    unsigned first, end; /* places */
    unsigned n;          /* ranks so far */
    uint16_t label;      /* the domain that gets what is in this one */
    bool labelled;       /* some domain has been given to it */
    bool taken;          /* it has been given to some */
} domain_t;

/* Ranks to distribute, in the order of their choices. */
typedef struct {
    unsigned n;
    uint16_t rank[HPCB_BALANCE_RANKS];
} ranks_t;

typedef struct {
    const hpcb_balance_places_t *places;
    const hpcb_balance_t *balance; /* present places of ranks */
    const double *load;            /* of each rank; NULL: they are not known */
    uint16_t *to;                  /* the answer: a place for each rank */
} sharing_t;

static bool together(const hpcb_balance_place_t *a, const hpcb_balance_place_t *b,
                     unsigned level)
{
    return level < LEVELS - 1 && a->package == b->package &&
           (level == 0 || a->core == b->core);
}

static unsigned domain_end(const hpcb_balance_places_t *places, unsigned first,
                           unsigned end, unsigned level)
{
    unsigned at = first + 1;

    while (at < end && together(&places->place[first], &places->place[at], level))
        at++;
    return at;
}

static unsigned size_of(const domain_t *domain)
{
    return domain->end - domain->first;
}

static double load_of(const sharing_t *sharing, unsigned rank)
{
    return sharing->load ? sharing->load[rank] : 1;
}

/* Of the n domains the one that rank goes to, of `of` ranks on `size` places in all. */
static unsigned choose(const domain_t *domains, unsigned n, double load, unsigned of,
                       unsigned size)
{
    unsigned best = n;
    double least = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned room = (of * size_of(&domains[i]) + size - 1) / size;
        double after = (domains[i].load + load) / size_of(&domains[i]);

        if (domains[i].n < room && (best == n || after < least)) {
            best = i;
            least = after;
        }
    }
    return best;
}

static unsigned domain_at(const domain_t *domains, unsigned n, unsigned place)
{
    for (unsigned i = 0; i < n; i++)
        if (place >= domains[i].first && place < domains[i].end)
            return i;
    return n;
}

static void give(domain_t *domains, unsigned from, unsigned to)
{
    domains[from].label = (uint16_t)to;
    domains[from].labelled = true;
    domains[to].taken = true;
}

/* Choose the domain for the ranks of each one, by the ranks that are there already. */
static void label(const sharing_t *sharing, const ranks_t *ranks,
                  const uint16_t *chosen, domain_t *domains, unsigned n)
{
    for (unsigned i = 0; sharing->load && i < ranks->n; i++) {
        unsigned from = chosen[i];
        unsigned to =
            domain_at(domains, n, sharing->balance->rank[ranks->rank[i]].place);

        if (to < n && !domains[from].labelled && !domains[to].taken &&
            size_of(&domains[from]) == size_of(&domains[to]))
            give(domains, from, to);
    }
    for (unsigned from = 0; from < n; from++)
        for (unsigned to = 0; to < n && !domains[from].labelled; to++)
            if (!domains[to].taken && size_of(&domains[from]) == size_of(&domains[to]))
                give(domains, from, to);
}

static void share(const sharing_t *sharing, const ranks_t *ranks, unsigned first,
                  unsigned end, unsigned level);

/* The ranks that have chosen domain `from` go on to the next level. */
static void descend(const sharing_t *sharing, const ranks_t *ranks,
                    const uint16_t *chosen, const domain_t *domains, unsigned from,
                    unsigned level)
{
    const domain_t *to = &domains[domains[from].label];
    ranks_t part = {0};

    for (unsigned i = 0; i < ranks->n; i++)
        if (chosen[i] == from)
            part.rank[part.n++] = ranks->rank[i];
    share(sharing, &part, to->first, to->end, level);
}

static unsigned split(const hpcb_balance_places_t *places, unsigned first, unsigned end,
                      unsigned level, domain_t *domains)
{
    unsigned n = 0;

    while (first < end) {
        unsigned next = domain_end(places, first, end, level);

        domains[n++] = (domain_t){.first = first, .end = next, .label = NONE};
        first = next;
    }
    return n;
}

/* Recursion is as deep as there are levels. */
static void share(const sharing_t *sharing, const ranks_t *ranks, unsigned first,
                  unsigned end, unsigned level)
{
    domain_t domains[HPCB_BALANCE_CPUS];
    uint16_t chosen[HPCB_BALANCE_RANKS];
    unsigned n;

    if (level == LEVELS) {
        for (unsigned i = 0; i < ranks->n; i++)
            sharing->to[ranks->rank[i]] = (uint16_t)first;
        return;
    }
    if (first >= end)
        return;
    n = split(sharing->places, first, end, level, domains);
    for (unsigned i = 0; i < ranks->n; i++) {
        double load = load_of(sharing, ranks->rank[i]);

        chosen[i] = (uint16_t)choose(domains, n, load, ranks->n, end - first);
        domains[chosen[i]].load += load;
        domains[chosen[i]].n++;
    }
    label(sharing, ranks, chosen, domains, n);
    for (unsigned i = 0; i < n; i++)
        descend(sharing, ranks, chosen, domains, i, level + 1);
}

/* By number: as they are.  By load: the heaviest first, of equals the last. */
static void order(const sharing_t *sharing, ranks_t *ranks)
{
    ranks->n = sharing->balance->n;
    for (unsigned i = 0; i < ranks->n; i++) {
        unsigned at = sharing->load ? i : 0;

        if (!sharing->load) {
            ranks->rank[i] = (uint16_t)i;
            continue;
        }
        while (at > 0 && sharing->load[ranks->rank[at - 1]] <= sharing->load[i]) {
            ranks->rank[at] = ranks->rank[at - 1];
            at--;
        }
        ranks->rank[at] = (uint16_t)i;
    }
}

static void share_all(const sharing_t *sharing)
{
    ranks_t ranks;

    order(sharing, &ranks);
    share(sharing, &ranks, 0, sharing->places->n, 0);
}

void hpcb_balance_distribute(const hpcb_balance_places_t *places,
                             hpcb_balance_t *balance)
{
    uint16_t to[HPCB_BALANCE_RANKS] = {0};
    sharing_t sharing = {.places = places, .balance = balance, .to = to};

    share_all(&sharing);
    for (unsigned i = 0; i < balance->n; i++)
        balance->rank[i].place = to[i];
}

/* Get the CPU time that a group's ranks would need on a CPU of their own, if it follows
 * from what they got; otherwise what they used. */
static void group_loads(const hpcb_balance_conf_t *conf, const hpcb_balance_t *balance,
                        const hpcb_balance_group_t *group, double load[])
{
    unsigned priority[HPCB_BALANCE_SIDES];

    for (unsigned i = 0; i < group->n; i++)
        priority[i] = group->side[i].priority;
    for (unsigned i = 0; i < group->n; i++) {
        const hpcb_balance_side_t *side = &group->side[i];

        for (unsigned j = 0; j < side->n; j++) {
            const hpcb_balance_rank_t *rank = &balance->rank[side->rank[j]];

            load[side->rank[j]] =
                conf->linear
                    ? rank->compute * hpcb_balance_part(priority, group->n, i) / side->n
                    : rank->util;
        }
    }
}

/* The heaviest has 100; one that is not known has the mean of the others. */
static void normalize(const hpcb_balance_t *balance, double load[])
{
    double most = 0, sum = 0;
    unsigned known = 0;

    for (unsigned i = 0; i < balance->n; i++) {
        if (!balance->rank[i].known)
            continue;
        known++;
        sum += load[i];
        most = load[i] > most ? load[i] : most;
    }
    for (unsigned i = 0; i < balance->n; i++) {
        if (!balance->rank[i].known)
            load[i] = known > 0 ? sum / known : 0;
        load[i] = most > 0 ? 100 * load[i] / most : 0;
    }
}

/* By how much cores differ in load, each taken as if it had as many threads as the
 * largest. */
static double spread(const hpcb_balance_places_t *places, const hpcb_balance_t *balance,
                     const uint16_t *at, const double load[])
{
    double on[HPCB_BALANCE_CPUS] = {0}, most = 0, least = -1;
    unsigned widest = 1, end;

    for (unsigned i = 0; i < balance->n; i++)
        on[at[i]] += load[i];
    for (unsigned first = 0; first < places->n; first = end) {
        double sum = 0;

        end = domain_end(places, first, places->n, 1);
        for (unsigned i = first; i < end; i++)
            sum += on[i];
        sum /= end - first;
        widest = end - first > widest ? end - first : widest;
        most = sum > most ? sum : most;
        least = least < 0 || sum < least ? sum : least;
    }
    return (most - least) * widest;
}

static double fullest(const hpcb_balance_places_t *places,
                      const hpcb_balance_t *balance, const uint16_t *at,
                      const double load[])
{
    double on[HPCB_BALANCE_CPUS] = {0}, most = 0;

    for (unsigned i = 0; i < balance->n; i++)
        on[at[i]] += load[i];
    for (unsigned i = 0; i < places->n; i++)
        most = on[i] > most ? on[i] : most;
    return most;
}

static double gain(const hpcb_balance_places_t *places, const hpcb_balance_t *balance,
                   const uint16_t *to, const double load[])
{
    uint16_t at[HPCB_BALANCE_RANKS] = {0};
    double closer, emptier;

    for (unsigned i = 0; i < balance->n; i++)
        at[i] = balance->rank[i].place;
    closer = spread(places, balance, at, load) - spread(places, balance, to, load);
    emptier = fullest(places, balance, at, load) - fullest(places, balance, to, load);
    return closer > emptier ? closer : emptier;
}

bool hpcb_balance_load(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, hpcb_balance_t *balance)
{
    double load[HPCB_BALANCE_RANKS] = {0};
    uint16_t to[HPCB_BALANCE_RANKS] = {0};
    sharing_t sharing = {.places = places, .balance = balance, .load = load, .to = to};
    hpcb_balance_group_t group;
    bool moved = false;

    for (unsigned place = 0; place < places->n;) {
        place = hpcb_balance_group(places, balance, place, &group);
        group_loads(conf, balance, &group, load);
    }
    normalize(balance, load);
    share_all(&sharing);
    if (gain(places, balance, to, load) < conf->move_gain)
        return false;
    for (unsigned i = 0; i < balance->n; i++) {
        moved = moved || balance->rank[i].place != to[i];
        balance->rank[i].place = to[i];
    }
    return moved;
}
