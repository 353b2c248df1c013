/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/guard.h"

/* What is collected where no step follows is weighed with each comparison, because it
 * may say more by then.  After so many times look_ns it is forgotten. */
#define LOOKS_WITHOUT_STEP 3

static void step_to(hpcb_guard_t *guard, hpcb_guard_level_t level, uint64_t now_ns)
{
    guard->level = level;
    guard->since_ns = guard->from_ns = now_ns;
    guard->refused = false;
}

/* Where the kernel takes no slices their level does not exist. */
static hpcb_guard_level_t level_after(const hpcb_guard_conf_t *conf,
                                      hpcb_guard_level_t level, int step)
{
    level = (hpcb_guard_level_t)((int)level + step);
    if (level == HPCB_GUARD_SLICES && !conf->slices)
        level = (hpcb_guard_level_t)((int)level + step);
    return level;
}

/* A step that has to be taken again comes back more slowly. */
static void lengthen_pause(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard)
{
    uint64_t pause = guard->pause_ns == 0 ? conf->return_ns : guard->pause_ns;

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
    bool again = guard->level == HPCB_GUARD_QUARTER && guard->tried_again;
    hpcb_guard_level_t next =
        again ? HPCB_GUARD_REQUEUE : level_after(conf, guard->level, 1);

    if (conf->most != HPCB_GUARD_FREE && next > conf->most) {
        begin_anew(conf, guard, true, now_ns);
        return;
    }
    lengthen_pause(conf, guard);
    step_to(guard, next, now_ns);
}

static void give_back(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                      uint64_t now_ns)
{
    guard->tried_again |= guard->level == HPCB_GUARD_STOP;
    step_to(guard, level_after(conf, guard->level, -1), now_ns);
    if (guard->level == HPCB_GUARD_FREE)
        guard->tried_again = false;
}

static bool is_harmless(const hpcb_guard_conf_t *conf, const hpcb_guard_t *guard,
                        const hpcb_harm_estimate_t *estimate)
{
    return guard->level == HPCB_GUARD_FREE && estimate->high < conf->max_slowdown;
}

hpcb_guard_level_t hpcb_guard_step(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                                   const hpcb_harm_estimate_t *estimate,
                                   uint64_t now_ns)
{
    uint64_t quiet = now_ns - guard->since_ns;
    uint64_t pause = guard->pause_ns == 0 ? conf->return_ns : guard->pause_ns;
    /* While guests are stopped there is nothing to compare. */
    bool blind = guard->level == HPCB_GUARD_STOP;

    if (guard->level == HPCB_GUARD_REQUEUE ||
        (!blind && now_ns - guard->from_ns < conf->look_ns))
        return guard->level;
    if (!blind && estimate && estimate->low > conf->max_slowdown)
        restrict_further(conf, guard, now_ns);
    else if (guard->level > HPCB_GUARD_FREE && quiet >= pause &&
             (blind || (estimate && estimate->high < conf->max_slowdown)))
        give_back(conf, guard, now_ns);
    else if (estimate && (guard->refused || is_harmless(conf, guard, estimate)))
        begin_anew(conf, guard, false, now_ns); /* what was refused is mixed by now */
    return guard->level;
}

uint64_t hpcb_guards_from(const hpcb_guards_t *guards)
{
    return guards->near.from_ns > guards->far.from_ns ? guards->near.from_ns
                                                      : guards->far.from_ns;
}

static void collect_anew(hpcb_guard_t *guard, bool was_there, uint64_t now_ns)
{
    guard->from_ns = now_ns;
    guard->refused = false;
    guard->tried_again &= was_there;
}

void hpcb_guards_anew(hpcb_guards_t *guards, hpcb_guards_who_t before, uint64_t now_ns)
{
    collect_anew(&guards->near, before.near, now_ns);
    collect_anew(&guards->far, before.far, now_ns);
}

/* A step with either changes what comparisons are about. */
static void collect_together(hpcb_guards_t *guards)
{
    guards->near.from_ns = guards->far.from_ns = hpcb_guards_from(guards);
}

/* Nothing is left to be tried with those on the primary's cores. */
static bool is_spent(const hpcb_guard_t *near)
{
    return near->level == HPCB_GUARD_STOP || near->refused;
}

/* If a step with the others is called for while those on its cores are stopped, it is
 * not these alone: they are tried again soon. */
static void step_far(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                     const hpcb_harm_estimate_t *estimate, uint64_t now_ns)
{
    hpcb_guard_conf_t without_slices = *conf;
    hpcb_guard_level_t was = guards->far.level;

    without_slices.slices = false;
    if (hpcb_guard_step(&without_slices, &guards->far, estimate, now_ns) <= was ||
        guards->near.level != HPCB_GUARD_STOP)
        return;
    guards->near.since_ns = now_ns;
    guards->near.pause_ns = 0;
}

void hpcb_guards_step(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                      hpcb_guards_who_t who, const hpcb_harm_estimate_t *estimate,
                      uint64_t now_ns)
{
    hpcb_guard_level_t was = guards->near.level;
    bool harm = estimate && estimate->low > conf->max_slowdown;

    collect_together(guards);
    /* Which of both it was is open while both are restricted. */
    if (guards->far.level > HPCB_GUARD_FREE)
        guards->near.tried_again = false;
    hpcb_guard_step(conf, &guards->near, who.near || !harm ? estimate : NULL, now_ns);
    if (guards->near.level == was && who.far &&
        (!harm || !who.near || is_spent(&guards->near)))
        step_far(conf, guards, estimate, now_ns);
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
