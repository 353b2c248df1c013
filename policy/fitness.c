/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MemBUS.  Bandwidths are clamped to 2^60 on the way in, so that a difference of two
 * has 62 bits, its square 124, and the sum of two squares fits 128: nothing overflows,
 * with any input.
 */
#include "policy/fitness.h"

#include <assert.h>

#define LIMIT ((int64_t)HPCB_FIT_BW_MAX)

#define CPU 1000000u /* one CPU, all of the time */

/* The capacity of a node, as a length on one axis of the placement's space. */
#define ONE 65536

/* Axes of the space: memory, network, CPUs. */
#define AXES 3

/* A longer distance, as with a fourth axis or a larger ONE, would spill into the class,
 * and more classes into what the caller keeps above the score. */
static_assert((uint64_t)AXES * ONE * ONE + (uint64_t)(ONE - 1) * (ONE - 1) <
                  UINT64_C(1) << (2 * HPCB_FIT_SCORE_SHIFT),
              "the longest distance fits below the class");
static_assert(HPCB_FIT_CLASSES <= 1 << (HPCB_FIT_SCORE_BITS - HPCB_FIT_SCORE_SHIFT),
              "the classes fit into the score");

#define FARTHEST (~(hpcb_fit_square_t)0)

__extension__ typedef __int128 wide_t;

static int64_t clamp(uint64_t bandwidth)
{
    return bandwidth < HPCB_FIT_BW_MAX ? (int64_t)bandwidth : LIMIT;
}

/* a - b, of which the first is at least -LIMIT; saturates there. */
static int64_t less(int64_t a, int64_t b)
{
    return a < b - LIMIT ? -LIMIT : a - b;
}

static uint64_t add_bandwidth(uint64_t a, uint64_t b)
{
    return (uint64_t)(clamp(a) + clamp(b));
}

static hpcb_fit_square_t square(int64_t a)
{
    hpcb_fit_square_t positive = (hpcb_fit_square_t)(a < 0 ? -a : a);

    return positive * positive;
}

static int64_t bounded(int64_t value)
{
    if (value > LIMIT)
        return LIMIT;
    return value < -LIMIT ? -LIMIT : value;
}

/* Round down for negative values, too, so that a deficit is not underestimated. */
static int64_t share(int64_t bandwidth, unsigned processors)
{
    int64_t divisor = processors;
    int64_t quotient = bandwidth / divisor;

    return bandwidth % divisor < 0 ? quotient - 1 : quotient;
}

/* ---- Placement ---- */

/* One axis, in bytes/s or millionths of a CPU. */
typedef struct {
    int64_t capacity; /* 0: unknown */
    int64_t primaries, guests, use;
    int64_t scale; /* if the capacity is unknown */
    bool use_known;
    bool refuses; /* saturation of this axis is refused */
} axis_t;

typedef enum { ROOM, FULL, SATURATED } room_t;

/* A guest can have no more than the node has.  A figure above that, from another node
 * or from a capacity that was measured too low, would keep it waiting for good. */
static int64_t at_most(uint64_t use, int64_t capacity)
{
    int64_t most = clamp(use);

    return capacity > 0 && most > capacity ? capacity : most;
}

static axis_t memory_axis(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest)
{
    return (axis_t){
        .capacity = clamp(node->capacity.mem),
        .primaries = clamp(node->used_by_primaries.mem),
        .guests = clamp(node->used_by_guests.mem),
        .use =
            guest->mem_known ? at_most(guest->use.mem, clamp(node->capacity.mem)) : 0,
        .scale = clamp(node->scale.mem),
        .use_known = guest->mem_known,
        .refuses = true,
    };
}

static axis_t network_axis(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest)
{
    return (axis_t){
        .capacity = clamp(node->capacity.net),
        .primaries = clamp(node->used_by_primaries.net),
        .guests = clamp(node->used_by_guests.net),
        .use =
            guest->net_known ? at_most(guest->use.net, clamp(node->capacity.net)) : 0,
        .scale = clamp(node->scale.net),
        .use_known = guest->net_known,
        .refuses = true,
    };
}

static axis_t cpu_axis(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest)
{
    int64_t cpus = clamp(node->cpus);
    int64_t use = guest->cpu_known ? clamp(guest->cpu) : 0;

    return (axis_t){
        .capacity = cpus,
        .primaries = clamp(node->cpus_by_primaries),
        .guests = clamp(node->cpus_by_guests),
        /* It can have no more. */
        .use = use < cpus ? use : cpus,
        .use_known = guest->cpu_known,
    };
}

static bool counts(const axis_t *axis)
{
    return axis->capacity > 0 && axis->use_known;
}

/* Return the rest for this guest; 0 if the others use everything. */
static int64_t remaining(const axis_t *axis)
{
    int64_t left = axis->capacity - axis->primaries - axis->guests;

    return left > 0 ? left : 0;
}

static room_t room(const axis_t *axis)
{
    int64_t guests = axis->guests + axis->use;

    if (axis->capacity == 0)
        return ROOM;
    if (axis->refuses && axis->use_known && axis->primaries + guests > axis->capacity &&
        guests > axis->capacity / HPCB_FIT_TRIFLE)
        return SATURATED;
    return remaining(axis) > 0 ? ROOM : FULL;
}

/* Return by how much the guest exceeds (or, negative, falls short of) its share of the
 * rest, in ONEs of the capacity.  Because it is the share of all its processors, this
 * is the distance of figure 3 times p_i, which is the same for all compared nodes.
 * Between -ONE and ONE, because no guest needs more than the capacity. */
static int64_t deviation(const axis_t *axis, const hpcb_fit_node_t *node,
                         const hpcb_fit_guest_t *guest)
{
    hpcb_fit_square_t ideal = (hpcb_fit_square_t)remaining(axis);
    int64_t off;

    if (guest->processors > 0 && guest->processors < node->processors_left)
        ideal = ideal * guest->processors / node->processors_left;
    off = axis->use - (int64_t)ideal;
    /* CPU time that the guest does not use is no loss. */
    if (off < 0 && !axis->refuses)
        off = 0;
    return (int64_t)((wide_t)off * ONE / axis->capacity);
}

/* Rounded down; value is less than (AXES + 1) * ONE^2. */
static uint32_t square_root(uint64_t value)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << HPCB_FIT_SCORE_SHIFT; bit > 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return (uint32_t)root;
}

/*
 * The capacity is unknown: what is used there already, as a part of the most that is
 * used anywhere, times the guest's part.  A guest that transfers little goes anywhere;
 * one of which nothing is known counts as one that transfers much.  In ONEs.
 */
static int64_t crowding(const axis_t *axis, const hpcb_fit_node_t *node)
{
    int64_t used = axis->primaries + axis->guests;
    int64_t scale = axis->scale > used ? axis->scale : used;
    int64_t part;

    /* An unknown job may be the worst. */
    if (node->unknown_primary || node->unknown_guest)
        used = scale;
    part = (int64_t)((wide_t)used * ONE / (scale > 0 ? scale : 1));
    if (!axis->use_known || axis->use >= scale)
        return part;
    return (int64_t)((wide_t)part * axis->use / scale);
}

/* Combined result of the axes. */
typedef struct {
    uint64_t squares;
    uint64_t crowds; /* the same of axes whose capacity is unknown */
    bool known;      /* some axis counts */
    bool saturated;  /* some would be */
    bool full;       /* nothing is left on one that does not count, or of memory */
    bool greedy;     /* takes much more than its share while other jobs run there */
} sight_t;

static void judge_axis(sight_t *sight, const axis_t *axis, const hpcb_fit_node_t *node,
                       const hpcb_fit_guest_t *guest)
{
    room_t there = room(axis);
    int64_t off;

    if (there == SATURATED) {
        sight->saturated = true;
    } else if (counts(axis)) {
        off = deviation(axis, node, guest);
        sight->squares += (uint64_t)(off * off);
        sight->greedy |= off >= ONE / 4 && axis->primaries + axis->guests > 0;
        sight->known = true;
    } else if (axis->capacity == 0) {
        off = crowding(axis, node);
        sight->crowds += (uint64_t)(off * off);
    } else {
        sight->full |= axis->refuses && there == FULL;
    }
}

/* Return whether the guest needs memory bandwidth, as far as is known. */
static bool needs_memory(const axis_t *memory)
{
    return !memory->use_known || memory->use > memory->capacity / HPCB_FIT_TRIFLE;
}

/* Less than ONE. */
static int64_t lost_memory(const hpcb_fit_node_t *node)
{
    uint32_t lost = node->mem_lost < 1000 ? node->mem_lost : 999;

    return (int64_t)lost * ONE / 1000;
}

static void judge_saturation(sight_t *sight, const axis_t *memory,
                             const hpcb_fit_node_t *node)
{
    int64_t lost = lost_memory(node);

    if (!needs_memory(memory))
        return;
    sight->full |= node->mem_saturated;
    sight->crowds += (uint64_t)(lost * lost);
}

/* Loss of a guest of unknown use, from 0 to ONE: it uses all of its CPUs as far as it
 * gets them. */
static int64_t lost_cpus(const axis_t *cpus, const hpcb_fit_node_t *node,
                         const hpcb_fit_guest_t *guest)
{
    axis_t all = *cpus;

    if (cpus->use_known || cpus->capacity == 0)
        return 0;
    all.use = clamp((uint64_t)guest->processors * CPU);
    if (guest->processors == 0 || all.use > all.capacity)
        all.use = all.capacity;
    return deviation(&all, node, guest);
}

static void judge_cpus(sight_t *sight, const axis_t *cpus, const hpcb_fit_node_t *node,
                       const hpcb_fit_guest_t *guest)
{
    int64_t lost = lost_cpus(cpus, node, guest);

    judge_axis(sight, cpus, node, guest);
    sight->crowds += (uint64_t)(lost * lost);
}

static int class_of(const sight_t *sight, uint32_t distance,
                    const hpcb_fit_node_t *node)
{
    if (node->company == HPCB_COMPANY_LAST)
        return HPCB_FIT_COMPANY;
    if (node->same_program)
        return HPCB_FIT_TWIN;
    if (sight->full || sight->greedy)
        return HPCB_FIT_POOR;
    if (!sight->known || node->unknown_primary || node->unknown_guest)
        return HPCB_FIT_UNKNOWN;
    if (distance >= ONE / 4)
        return HPCB_FIT_FAIR;
    return distance < ONE / 8 ? HPCB_FIT_EXCELLENT : HPCB_FIT_GOOD;
}

uint32_t hpcb_fit_score(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest)
{
    const axis_t memory = memory_axis(node, guest);
    const axis_t network = network_axis(node, guest);
    const axis_t cpus = cpu_axis(node, guest);
    sight_t sight = {0};
    uint32_t distance;
    int klass;

    judge_axis(&sight, &memory, node, guest);
    judge_axis(&sight, &network, node, guest);
    judge_cpus(&sight, &cpus, node, guest);
    judge_saturation(&sight, &memory, node);
    if (sight.saturated || node->company == HPCB_COMPANY_APART)
        return HPCB_FIT_SCORE_REFUSED;
    klass = class_of(&sight, square_root(sight.squares), node);
    /* Distances are meaningless if a job there is unknown. */
    if (klass == HPCB_FIT_UNKNOWN)
        sight.squares = 0;
    distance = square_root(sight.squares + sight.crowds);
    return ((uint32_t)klass << HPCB_FIT_SCORE_SHIFT) + distance;
}

int hpcb_fit_place(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest)
{
    uint32_t found = hpcb_fit_score(node, guest);

    return found == HPCB_FIT_SCORE_REFUSED ? HPCB_FIT_REFUSED
                                           : (int)(found >> HPCB_FIT_SCORE_SHIFT);
}

/* FNV-1a, 64 bits. */
static uint64_t mix(uint64_t state, unsigned char byte)
{
    return (state ^ byte) * UINT64_C(1099511628211);
}

uint64_t hpcb_fit_program(uint32_t uid, const char *name)
{
    uint64_t number = UINT64_C(14695981039346656037);
    uint32_t low;

    if (!name || !*name)
        return 0;
    while (*name)
        number = mix(number, (unsigned char)*name++);
    low = (uint32_t)(number ^ number >> 32);
    return (uint64_t)uid << 32 | (low ? low : 1);
}

/* ---- Time sharing ---- */

hpcb_bw_t hpcb_fit_predict(const hpcb_fit_sample_t *samples, unsigned w)
{
    hpcb_fit_square_t mem = 0, net = 0;

    if (w == 0)
        return (hpcb_bw_t){0};
    for (unsigned k = 0; k < w; k++) {
        net += (uint64_t)clamp(samples[k].net);
        mem += add_bandwidth(samples[k].cpu, samples[k].net);
    }
    return (hpcb_bw_t){.mem = (uint64_t)clamp((uint64_t)(mem / w)),
                       .net = (uint64_t)(net / w)};
}

hpcb_fit_square_t hpcb_fit_distance(const hpcb_fit_app_t *app,
                                    const hpcb_fit_left_t *left)
{
    if (app->processors == 0 || left->processors == 0)
        return FARTHEST;
    return square(share(clamp(app->use.mem), app->processors) -
                  share(bounded(left->mem), left->processors)) +
           square(share(clamp(app->use.net), app->processors) -
                  share(bounded(left->net), left->processors));
}

hpcb_fit_left_t hpcb_fit_whole(const hpcb_bw_t *capacity, unsigned processors)
{
    return (hpcb_fit_left_t){
        .mem = clamp(capacity->mem),
        .net = clamp(capacity->net),
        .processors = processors,
    };
}

void hpcb_fit_take(hpcb_fit_left_t *left, const hpcb_fit_app_t *app)
{
    left->processors -=
        app->processors < left->processors ? app->processors : left->processors;
    left->mem = less(left->mem, clamp(app->use.mem));
    left->net = less(left->net, clamp(app->use.net));
}

static size_t first_here(const hpcb_fit_app_t *apps, size_t count)
{
    size_t i = 0;

    while (i < count && apps[i].processors == 0)
        i++;
    return i;
}

static bool can_join(const hpcb_fit_app_t *app, bool already, unsigned processors)
{
    return !already && app->processors > 0 && app->processors <= processors;
}

/* Lines 9 to 16 of algorithm 2; count if nothing fits. */
static size_t best_fit(const hpcb_fit_app_t *apps, size_t count, const bool *selected,
                       const hpcb_fit_left_t *left)
{
    hpcb_fit_square_t nearest = FARTHEST;
    size_t best = count;

    for (size_t i = 0; i < count; i++) {
        hpcb_fit_square_t distance;

        if (!can_join(&apps[i], selected[i], left->processors))
            continue;
        distance = hpcb_fit_distance(&apps[i], left);
        if (distance < nearest) {
            nearest = distance;
            best = i;
        }
    }
    return best;
}

unsigned hpcb_fit_select(const hpcb_fit_app_t *apps, size_t count,
                         const hpcb_bw_t *capacity, unsigned processors, bool *selected)
{
    hpcb_fit_left_t left = hpcb_fit_whole(capacity, processors);

    for (size_t i = 0; i < count; i++)
        selected[i] = false;
    for (size_t i = first_here(apps, count); i < count;
         i = best_fit(apps, count, selected, &left)) {
        selected[i] = true;
        hpcb_fit_take(&left, &apps[i]);
    }
    return left.processors;
}

void hpcb_fit_add_votes(uint32_t *votes, const bool *selected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (selected[i] && votes[i] < UINT32_MAX)
            votes[i]++;
}

/* Return count if nothing fits any more. */
static size_t most_votes(const hpcb_fit_app_t *apps, const uint32_t *votes,
                         size_t count, const bool *run, unsigned processors)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++)
        if (can_join(&apps[i], run[i], processors) &&
            (best == count || votes[i] > votes[best]))
            best = i;
    return best;
}

unsigned hpcb_fit_elect(const hpcb_fit_app_t *apps, const uint32_t *votes, size_t count,
                        unsigned processors, bool *run)
{
    for (size_t i = 0; i < count; i++)
        run[i] = false;
    for (size_t i = first_here(apps, count); i < count;
         i = most_votes(apps, votes, count, run, processors)) {
        run[i] = true;
        processors -= apps[i].processors < processors ? apps[i].processors : processors;
    }
    return processors;
}
