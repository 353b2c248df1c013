/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "policy/memguard.h"

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes in ms at a rate per second. */
static uint64_t in_ms(uint64_t per_sec, uint64_t ms)
{
    if (ms && per_sec > UINT64_MAX / ms)
        return UINT64_MAX / 1000;
    return per_sec * ms / 1000;
}

void hpcb_memrate_add(hpcb_memrate_t *rate, uint64_t used, int64_t time_ms)
{
    uint64_t ms = time_ms > rate->time_ms ? (uint64_t)(time_ms - rate->time_ms) : 0;

    if (rate->time_ms && ms) {
        uint64_t grown = less(used, rate->used);
        uint64_t now = grown > UINT64_MAX / 1000 ? UINT64_MAX : grown * 1000 / ms;
        uint64_t halves = ms / HPCB_MEMRATE_HALF_MS, rest = ms % HPCB_MEMRATE_HALF_MS;
        uint64_t old = halves < 64 ? rate->per_sec >> halves : 0;

        /* Between two halvings a straight line. */
        old -= old / 2 / HPCB_MEMRATE_HALF_MS * rest;
        rate->per_sec = most(now, old);
    }
    rate->used = used;
    if (!rate->time_ms || ms)
        rate->time_ms = time_ms;
}

void hpcb_memfall_look(hpcb_memfall_t *fall, uint64_t available, int64_t time_ms)
{
    int64_t ms = time_ms - fall->time_ms;
    bool nothing = available == 0 && fall->available == 0;

    if (fall->time_ms && ms < HPCB_MEMFALL_LOOK_MS)
        return;
    if (!fall->time_ms)
        fall->per_sec = 0;
    else if (!nothing || time_ms - fall->left_ms >= HPCB_MEMFALL_KEEP_MS)
        fall->per_sec = less(fall->available, available) * 1000 / (uint64_t)ms;
    if (available > 0 || !fall->time_ms)
        fall->left_ms = time_ms;
    fall->available = available;
    fall->time_ms = time_ms;
}

/* Of all guests that are not ending. */
static uint64_t sum_used(const hpcb_memguest_t *guests, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (!guests[i].ending && !guests[i].end)
            sum = plus(sum, guests[i].used);
    return sum;
}

static uint64_t sum_ending(const hpcb_memguest_t *guests, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (guests[i].ending)
            sum = plus(sum, guests[i].used);
    return sum;
}

static uint64_t sum_growth(const hpcb_memguest_t *guests, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (!guests[i].ending)
            sum = plus(sum, guests[i].growth);
    return sum;
}

static uint64_t sum_reclaimable(const hpcb_memguest_t *guests, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (!guests[i].ending)
            sum = plus(sum, least(guests[i].reclaimable, guests[i].used));
    return sum;
}

/* Return how much guests use in excess if primaries grow for another ahead_ms: more
 * than the promise leaves, or more than the node really has. */
static uint64_t excess(const hpcb_memnode_t *node, uint64_t guests, uint64_t ending,
                       uint64_t ahead_ms)
{
    uint64_t soon = in_ms(node->growth, ahead_ms);
    uint64_t must_leave = plus(node->reserve, soon);
    uint64_t promised = plus(node->primaries, must_leave);
    uint64_t over = less(plus(promised, guests), node->real);
    uint64_t available = plus(node->available, ending);

    if (node->stalled >= HPCB_MEMGUARD_STALLED && available < 2 * node->reserve)
        must_leave = plus(must_leave, node->reserve / 2);
    return least(guests, most(over, less(must_leave, available)));
}

/* Memory that only the end of the guest frees. */
static uint64_t firm(const hpcb_memguest_t *guest)
{
    return less(guest->used, guest->reclaimable);
}

/* The youngest of those that are large enough, else the largest. */
static bool is_better(const hpcb_memguest_t *a, const hpcb_memguest_t *b, uint64_t need)
{
    bool a_is_enough = firm(a) >= need, b_is_enough = firm(b) >= need;

    if (a_is_enough != b_is_enough)
        return a_is_enough;
    if (a_is_enough && a->begin != b->begin)
        return a->begin > b->begin;
    return a_is_enough ? firm(a) < firm(b) : firm(a) > firm(b);
}

static hpcb_memguest_t *choose(hpcb_memguest_t *guests, size_t count, uint64_t need)
{
    hpcb_memguest_t *best = NULL;

    for (size_t i = 0; i < count; i++) {
        hpcb_memguest_t *guest = &guests[i];

        if (guest->ending || guest->end || firm(guest) == 0)
            continue;
        if (!best || is_better(guest, best, need))
            best = guest;
    }
    return best;
}

/* need: beyond all that can be reclaimed. */
static unsigned end_guests(hpcb_memguest_t *guests, size_t count, uint64_t need)
{
    unsigned ended = 0;

    while (need > 0) {
        hpcb_memguest_t *guest = choose(guests, count, need);

        if (!guest)
            break;
        guest->end = true;
        need = less(need, firm(guest));
        ended++;
    }
    return ended;
}

/* Return whether the node will be full before guests' memory can be freed. */
static bool is_too_late(const hpcb_memnode_t *node)
{
    bool is_fast = node->falls > HPCB_MEMGUARD_FREE_PER_SEC;

    return node->guests_first && node->spared_ms < HPCB_MEMGUARD_SPARE_MS &&
           node->available < in_ms(node->falls, is_fast ? HPCB_MEMGUARD_FULL_MS
                                                        : HPCB_MEMGUARD_FREE_AFTER_MS);
}

static void spare_all(hpcb_memguest_t *guests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        guests[i].end = false;
}

/* Half of the time until the headroom is gone. */
static unsigned next_sample(uint64_t headroom, uint64_t per_sec)
{
    uint64_t ms = HPCB_MEMGUARD_SAMPLE_MAX_MS;

    if (per_sec > 0 && headroom / per_sec < HPCB_MEMGUARD_SAMPLE_MAX_MS)
        ms = least(ms, headroom / (per_sec / 500 + 1));
    return (unsigned)most(ms, HPCB_MEMGUARD_SAMPLE_MIN_MS);
}

unsigned hpcb_memguard_look_ms(uint64_t headroom, unsigned cpus)
{
    uint64_t counted =
        least(most(cpus, 1), HPCB_MEMGUARD_NODE_PER_SEC / HPCB_MEMGUARD_CPU_PER_SEC);
    uint64_t per_sec = counted * HPCB_MEMGUARD_CPU_PER_SEC;
    uint64_t ms = headroom / 4 / (per_sec / 1000);

    return (unsigned)most(least(ms, HPCB_MEMGUARD_LOOK_MAX_MS),
                          HPCB_MEMGUARD_LOOK_MIN_MS);
}

static uint64_t room(const hpcb_memnode_t *node, uint64_t guests)
{
    uint64_t promised = plus(plus(node->primaries, guests), node->reserve);

    return least(less(node->real, promised), less(node->available, node->reserve));
}

/* Return what primaries leave, less memory that is charged to nobody. */
static uint64_t limit_of(const hpcb_memnode_t *node, uint64_t guests, uint64_t ending)
{
    uint64_t must_leave =
        plus(node->reserve, in_ms(node->growth, HPCB_MEMGUARD_END_MS));
    uint64_t available = plus(node->available, ending);

    return least(less(node->real, plus(node->primaries, must_leave)),
                 plus(guests, less(available, must_leave)));
}

void hpcb_memguard_decide(const hpcb_memnode_t *node, hpcb_memguest_t *guests,
                          size_t count, hpcb_memdecision_t *decision)
{
    uint64_t used, ending = sum_ending(guests, count), need, reclaimable;

    spare_all(guests, count);
    used = sum_used(guests, count);
    need = excess(node, used, ending, HPCB_MEMGUARD_END_MS);
    reclaimable = sum_reclaimable(guests, count);
    decision->reclaim =
        least(excess(node, used, ending, HPCB_MEMGUARD_AHEAD_MS), reclaimable);
    decision->ended = end_guests(guests, count, less(need, reclaimable));
    decision->spares = is_too_late(node);
    if (decision->spares) {
        spare_all(guests, count);
        decision->ended = 0;
    }
    /* Half of the reserve is used, or will be before a SIGTERM has any effect. */
    decision->at_once =
        decision->ended > 0 &&
        (excess(node, used, ending, 0) > node->reserve / 2 ||
         in_ms(node->growth, HPCB_MEMGUARD_AHEAD_MS) > node->reserve / 2 ||
         in_ms(node->falls, HPCB_MEMGUARD_END_MS) > node->reserve / 2);
    decision->limit = limit_of(node, sum_used(guests, count), ending);
    decision->headroom = room(node, sum_used(guests, count));
    decision->next_ms =
        need ? HPCB_MEMGUARD_SAMPLE_MIN_MS
             : next_sample(decision->headroom,
                           plus(node->growth, sum_growth(guests, count)));
}

static bool stays(const hpcb_memguest_t *guest)
{
    return !guest->ending && !guest->end;
}

/* Return what it may still take of the rest. */
static uint64_t wants(const hpcb_memguest_t *guest, uint64_t left)
{
    return least(less(guest->own, guest->used), left);
}

void hpcb_memguard_divide(uint64_t limit, hpcb_memguest_t *guests, size_t count)
{
    uint64_t left = less(limit, sum_used(guests, count)), wanted = 0;

    for (size_t i = 0; i < count; i++)
        if (stays(&guests[i]))
            wanted = plus(wanted, wants(&guests[i], left));
    for (size_t i = 0; i < count; i++) {
        hpcb_memguest_t *guest = &guests[i];
        uint64_t share = wants(guest, left);

        if (wanted > left)
            share = (uint64_t)((double)left * (double)share / (double)wanted);
        guest->limit =
            least(guest->own, plus(plus(guest->used, share), HPCB_MEMGUARD_SLACK));
    }
}
