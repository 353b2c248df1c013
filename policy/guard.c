/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/guard.h"

/* Evidence without a step is evaluated again with each comparison, because it may be
 * clearer then.  It is dropped after so many times look_ns. */
#define LOOKS_WITHOUT_STEP 3

/* A primary that was not compared for so many times look_ns, and for the pause, cannot
 * be. */
#define LOOKS_UNHEARD 3

unsigned hpcb_guard_turns(hpcb_guard_level_t level)
{
    static const unsigned turns[] = {
        [HPCB_GUARD_FREE] = 1,    [HPCB_GUARD_SLICES] = 1, [HPCB_GUARD_HALF] = 2,
        [HPCB_GUARD_QUARTER] = 4, [HPCB_GUARD_STOP] = 0,   [HPCB_GUARD_REQUEUE] = 0,
    };

    return turns[level];
}

static void step_to(hpcb_guard_t *guard, hpcb_guard_level_t level, uint64_t now_ns)
{
    guard->level = level;
    guard->since_ns = guard->from_ns = now_ns;
    guard->refused = guard->first_half = guard->found = false;
    guard->halvings = guard->part = 0;
}

/* Slices come with the first half of the time: on their own they would delay the cure
 * of harm that they do not cure by one more period. */
static hpcb_guard_level_t level_above(const hpcb_guard_t *guard)
{
    if (guard->level == HPCB_GUARD_QUARTER && guard->tried_again)
        return HPCB_GUARD_REQUEUE;
    return guard->level < HPCB_GUARD_HALF ? HPCB_GUARD_HALF
                                          : (hpcb_guard_level_t)((int)guard->level + 1);
}

/* The level of slices does not exist if the kernel has none. */
static hpcb_guard_level_t level_below(const hpcb_guard_conf_t *conf,
                                      hpcb_guard_level_t level)
{
    return level == HPCB_GUARD_HALF && !conf->slices
               ? HPCB_GUARD_FREE
               : (hpcb_guard_level_t)((int)level - 1);
}

static uint64_t pause_of(const hpcb_guard_conf_t *conf, const hpcb_guard_t *guard)
{
    return guard->pause_ns == 0 ? conf->return_ns : guard->pause_ns;
}

/* A step that has to be taken again comes back more slowly. */
static void lengthen_pause(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard)
{
    uint64_t pause = pause_of(conf, guard);

    guard->pause_ns = pause > conf->longest_ns / 2 ? conf->longest_ns : 2 * pause;
}

/* Evidence that calls for a step which the bound refuses, or that guests which run
 * freely do no harm, would pile up for as long as that lasts, and weigh as much when it
 * is over. */
static void begin_anew(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard, bool refused,
                       uint64_t now_ns)
{
    guard->refused |= refused;
    if (now_ns - guard->from_ns < LOOKS_WITHOUT_STEP * conf->look_ns)
        return;
    guard->from_ns = now_ns;
    guard->refused = refused;
}

static void restrict_further(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                             uint64_t now_ns)
{
    hpcb_guard_level_t next = level_above(guard);
    bool first_half = conf->slices && guard->level == HPCB_GUARD_FREE;

    if (conf->most != HPCB_GUARD_FREE && next > conf->most) {
        begin_anew(conf, guard, true, now_ns);
        return;
    }
    lengthen_pause(conf, guard);
    step_to(guard, next, now_ns);
    guard->first_half = first_half;
}

static void give_back(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                      uint64_t now_ns)
{
    guard->tried_again |= guard->level == HPCB_GUARD_STOP;
    step_to(guard, level_below(conf, guard->level), now_ns);
    if (guard->level == HPCB_GUARD_FREE)
        guard->tried_again = false;
}

static bool is_harmless(const hpcb_guard_conf_t *conf, const hpcb_guard_t *guard,
                        const hpcb_harm_estimate_t *estimate)
{
    return guard->level == HPCB_GUARD_FREE && estimate->high < conf->max_slowdown;
}

/* The half that runs goes on harming, or it is the other one. */
static void compare_halves(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                           const hpcb_harm_estimate_t *estimate, uint64_t now_ns)
{
    uint64_t passed = now_ns - guard->from_ns;
    bool late = passed >= LOOKS_WITHOUT_STEP * conf->look_ns;
    bool harm = estimate && estimate->low > conf->max_slowdown;
    bool refused = conf->most != HPCB_GUARD_FREE && conf->most < HPCB_GUARD_REQUEUE;

    if (guard->halvings == 0 || guard->found || passed < conf->look_ns)
        return;
    if (harm && refused)
        estimate = NULL;
    if (harm && !refused) {
        guard->part ^= 1;
        guard->found = true;
    } else if (estimate && (late || estimate->high < conf->max_slowdown)) {
        guard->found = true;
    } else if (passed >= pause_of(conf, guard)) {
        step_to(guard, HPCB_GUARD_QUARTER, now_ns); /* it cannot be compared */
    }
}

bool hpcb_guard_is_due(const hpcb_guard_t *group)
{
    return group->level == HPCB_GUARD_REQUEUE && (group->halvings == 0 || group->found);
}

/* Ids in a row are spread evenly (Knuth, multiplicative hashing). */
bool hpcb_guard_goes(const hpcb_guard_t *group, uint32_t job_id)
{
    uint32_t spread = job_id * UINT32_C(2654435769);

    return group->halvings == 0 || spread >> (32 - group->halvings) == group->part;
}

void hpcb_guard_halve(hpcb_guard_t *group, uint64_t now_ns)
{
    group->halvings++;
    group->part <<= 1;
    group->found = false;
    group->from_ns = now_ns;
}

hpcb_guard_level_t hpcb_guard_level_of(const hpcb_guard_t *group, uint32_t job_id)
{
    if (group->level != HPCB_GUARD_REQUEUE)
        return group->level;
    return hpcb_guard_goes(group, job_id) ? HPCB_GUARD_STOP : HPCB_GUARD_QUARTER;
}

hpcb_guard_level_t hpcb_guard_step(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                                   const hpcb_harm_estimate_t *estimate,
                                   uint64_t now_ns)
{
    uint64_t quiet = now_ns - guard->since_ns;
    uint64_t pause = guard->first_half ? 0 : pause_of(conf, guard);
    /* While guests are stopped there is nothing to compare. */
    bool blind = guard->level == HPCB_GUARD_STOP;

    if (guard->level == HPCB_GUARD_REQUEUE) {
        compare_halves(conf, guard, estimate, now_ns);
        return guard->level;
    }
    if (!blind && now_ns - guard->from_ns < conf->look_ns)
        return guard->level;
    if (!blind && estimate && estimate->low > conf->max_slowdown)
        restrict_further(conf, guard, now_ns);
    else if (guard->level > HPCB_GUARD_FREE && quiet >= pause &&
             (blind || (estimate && estimate->high < conf->max_slowdown)))
        give_back(conf, guard, now_ns);
    else if (estimate && (guard->refused || is_harmless(conf, guard, estimate)))
        begin_anew(conf, guard, false,
                   now_ns); /* evidence of the refusal is mixed by now */
    return guard->level;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t hpcb_guards_from(const hpcb_guards_t *guards)
{
    return later_of(guards->left.from_ns,
                    later_of(guards->near.from_ns, guards->far.from_ns));
}

void hpcb_guards_requeue(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                         hpcb_guard_t *group, bool any, uint64_t now_ns)
{
    group->tried_again = false;
    step_to(group, any ? HPCB_GUARD_FREE : HPCB_GUARD_QUARTER, now_ns);
    if (!any)
        return;
    group->pause_ns = 0;
    guards->left = (hpcb_guard_t){.pause_ns = conf->longest_ns, .tried_again = true};
    step_to(&guards->left, HPCB_GUARD_STOP, now_ns);
}

void hpcb_guards_hear(hpcb_guards_t *guards, uint64_t now_ns)
{
    guards->heard_ns = now_ns;
}

static void collect_anew(hpcb_guard_t *guard, bool same, uint64_t now_ns)
{
    if (!same)
        *guard = (hpcb_guard_t){.level = HPCB_GUARD_FREE};
    guard->from_ns = now_ns;
    guard->refused = false;
}

void hpcb_guards_anew(hpcb_guards_t *guards, hpcb_guards_who_t same, uint64_t now_ns)
{
    collect_anew(&guards->near, same.near, now_ns);
    collect_anew(&guards->far, same.far, now_ns);
    collect_anew(&guards->left, same.left, now_ns);
}

/* A step with one of them changes what comparisons are about. */
static void collect_together(hpcb_guards_t *guards)
{
    guards->near.from_ns = guards->far.from_ns = guards->left.from_ns =
        hpcb_guards_from(guards);
}

/* Nothing is left to be tried with them. */
static bool is_spent(const hpcb_guard_t *group, bool there)
{
    return !there || group->level == HPCB_GUARD_STOP || group->refused;
}

static hpcb_guard_conf_t without_slices(const hpcb_guard_conf_t *conf)
{
    hpcb_guard_conf_t same = *conf;

    same.slices = false;
    return same;
}

/* True: that was the step. */
static bool step_left(const hpcb_guard_conf_t *conf, hpcb_guard_t *left,
                      const hpcb_harm_estimate_t *estimate, uint64_t now_ns)
{
    hpcb_guard_conf_t policy = without_slices(conf);
    hpcb_guard_level_t was = left->level;

    return was != HPCB_GUARD_FREE &&
           hpcb_guard_step(&policy, left, estimate, now_ns) != was;
}

/* If a step with the others is called for while those on its cores are stopped, it is
 * not these alone: they are tried again soon. */
static void step_far(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                     const hpcb_harm_estimate_t *estimate, uint64_t now_ns)
{
    hpcb_guard_conf_t policy = without_slices(conf);
    hpcb_guard_level_t was = guards->far.level;

    if (hpcb_guard_step(&policy, &guards->far, estimate, now_ns) <= was ||
        guards->near.level != HPCB_GUARD_STOP)
        return;
    guards->near.since_ns = now_ns;
    guards->near.pause_ns = 0;
}

/* Harm is put down to the first group with which something is left to be tried. */
static void step_one(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                     hpcb_guards_who_t who, const hpcb_harm_estimate_t *estimate,
                     uint64_t now_ns)
{
    bool harm = estimate && estimate->low > conf->max_slowdown;
    hpcb_guard_level_t was = guards->near.level;

    if (step_left(conf, &guards->left, who.left || !harm ? estimate : NULL, now_ns) ||
        (harm && !is_spent(&guards->left, who.left)))
        return;
    hpcb_guard_step(conf, &guards->near, who.near || !harm ? estimate : NULL, now_ns);
    if (guards->near.level == was && who.far &&
        (!harm || is_spent(&guards->near, who.near)))
        step_far(conf, guards, estimate, now_ns);
}

/* Stopped guests return on their own. */
static void forgive(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                    uint64_t heard_ns, uint64_t now_ns)
{
    uint64_t pause = pause_of(conf, guard), least = LOOKS_UNHEARD * conf->look_ns;

    if (guard->level == HPCB_GUARD_FREE || guard->level >= HPCB_GUARD_STOP ||
        now_ns - heard_ns < (pause > least ? pause : least))
        return;
    guard->tried_again = false;
    step_to(guard, HPCB_GUARD_FREE, now_ns);
}

static bool runs(const hpcb_guard_t *group, bool there)
{
    return there && group->level < HPCB_GUARD_STOP;
}

/* That there is nothing to compare while all are stopped says nothing of the primary.
 */
static void forgive_all(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                        hpcb_guards_who_t who, uint64_t now_ns)
{
    if (!runs(&guards->near, who.near) && !runs(&guards->far, who.far) &&
        !runs(&guards->left, who.left))
        guards->heard_ns = now_ns;
    forgive(conf, &guards->near, guards->heard_ns, now_ns);
    forgive(conf, &guards->far, guards->heard_ns, now_ns);
    forgive(conf, &guards->left, guards->heard_ns, now_ns);
}

void hpcb_guards_step(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                      hpcb_guards_who_t who, const hpcb_harm_estimate_t *estimate,
                      uint64_t now_ns)
{
    forgive_all(conf, guards, who, now_ns);
    collect_together(guards);
    /* It is open which of them is the cause while several are restricted. */
    if (guards->far.level > HPCB_GUARD_FREE)
        guards->near.tried_again = false;
    step_one(conf, guards, who, estimate, now_ns);
    collect_together(guards);
}

/* Add what the guest lacked since the step before.  One that sleeps lacks nothing, and
 * what it could have used is no reserve for later. */
static void count_lack(const hpcb_crumbs_conf_t *conf, hpcb_crumbs_t *guest,
                       double share, bool wants, uint64_t now_ns)
{
    double used = guest->stopped ? 0 : share;

    if (guest->begun && (guest->stopped || wants))
        guest->lacks_ns += (conf->min_share - used) * (double)(now_ns - guest->seen_ns);
    if (guest->lacks_ns < 0)
        guest->lacks_ns = 0;
    guest->seen_ns = now_ns;
}

static hpcb_crumbs_verdict_t keep_stopped(const hpcb_crumbs_conf_t *conf,
                                          const hpcb_crumbs_t *guest)
{
    return guest->lacks_ns >= conf->min_share * (double)conf->starved_ns
               ? HPCB_CRUMBS_REQUEUE
               : HPCB_CRUMBS_STOP;
}

hpcb_crumbs_verdict_t hpcb_crumbs_step(const hpcb_crumbs_conf_t *conf,
                                       hpcb_crumbs_t *guest, double share, bool wants,
                                       uint64_t now_ns)
{
    bool enough = share >= conf->min_share;

    count_lack(conf, guest, share, wants, now_ns);
    if (guest->stopped && !enough)
        return keep_stopped(conf, guest);
    if (guest->stopped || !guest->begun || !wants || enough) {
        guest->begun = true;
        guest->stopped = false;
        guest->since_ns = now_ns;
        return HPCB_CRUMBS_RUN;
    }
    if (now_ns - guest->since_ns < conf->patience_ns)
        return HPCB_CRUMBS_RUN;
    guest->stopped = true;
    return keep_stopped(conf, guest);
}
