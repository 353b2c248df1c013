/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/guard.h"

#define S UINT64_C(1000000000)

static const hpcb_guard_conf_t conf = {.max_slowdown = 0.01,
                                       .look_ns = 10 * S,
                                       .return_ns = 60 * S,
                                       .longest_ns = 480 * S};
static const hpcb_guard_conf_t with_slices = {.max_slowdown = 0.01,
                                              .look_ns = 10 * S,
                                              .return_ns = 60 * S,
                                              .longest_ns = 480 * S,
                                              .slices = true};
static const hpcb_harm_estimate_t harmful = {0.03, 0.015, 0.045, 20};
static const hpcb_harm_estimate_t unclear = {0.012, 0.0, 0.024, 20};
static const hpcb_harm_estimate_t harmless = {0.001, -0.001, 0.003, 20};

/* The seconds from now on until the level is reached, at most 10,000. */
static uint64_t seconds_until(hpcb_guard_t *guard, hpcb_guard_level_t level,
                              const hpcb_harm_estimate_t *estimate, uint64_t *now)
{
    uint64_t began = *now;

    while (hpcb_guard_step(&conf, guard, estimate, *now) != level &&
           *now < began + 10000 * S)
        *now += S;
    return (*now - began) / S;
}

START_TEST(harm_stops_guests_step_by_step)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_HALF, &harmful, &now), 0);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_QUARTER, &harmful, &now), 10);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_STOP, &harmful, &now), 10);
}
END_TEST

/* The step that costs guests nothing comes with the first one that does, and is the
 * last one back. */
START_TEST(slices_come_with_half_and_stay_for_longer)
{
    static const hpcb_guard_level_t there[] = {HPCB_GUARD_HALF, HPCB_GUARD_QUARTER,
                                               HPCB_GUARD_STOP};
    static const hpcb_guard_level_t back[] = {HPCB_GUARD_QUARTER, HPCB_GUARD_HALF,
                                              HPCB_GUARD_SLICES, HPCB_GUARD_FREE};
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++, now += 10 * S)
        ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmful, now),
                         there[i]);
    for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
        now += 480 * S;
        ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmless, now),
                         back[i]);
    }
}
END_TEST

/* Guests have their time back after a look, once; slices stay as all levels do. */
START_TEST(if_slices_may_be_the_cure_half_is_given_back_at_once)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S, since;

    ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmful, now),
                     HPCB_GUARD_HALF);
    ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmless, now + 9 * S),
                     HPCB_GUARD_HALF);
    now += 10 * S;
    ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmless, now),
                     HPCB_GUARD_SLICES);
    ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmless, now + 119 * S),
                     HPCB_GUARD_SLICES);
    /* It was not these. */
    now += 119 * S;
    ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &harmful, now),
                     HPCB_GUARD_HALF);
    for (since = now; guard.level == HPCB_GUARD_HALF; now += S)
        hpcb_guard_step(&with_slices, &guard, &harmless, now);
    ck_assert_uint_gt(now - since, 200 * S);
}
END_TEST

START_TEST(slices_and_half_that_may_not_be_enough_stay)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S, end = now + 60 * S;

    hpcb_guard_step(&with_slices, &guard, &harmful, now);
    for (; now < end; now += S)
        ck_assert_int_eq(hpcb_guard_step(&with_slices, &guard, &unclear, now),
                         HPCB_GUARD_HALF);
}
END_TEST

START_TEST(nothing_without_evidence)
{
    hpcb_guard_t guard = {0};

    for (uint64_t now = 0; now < 10000 * S; now += S) {
        const hpcb_harm_estimate_t *estimate = now % (2 * S) ? &unclear : NULL;

        ck_assert_int_eq(hpcb_guard_step(&conf, &guard, estimate, now),
                         HPCB_GUARD_FREE);
    }
}
END_TEST

START_TEST(undecided_keeps_the_level)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    seconds_until(&guard, HPCB_GUARD_HALF, &harmful, &now);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_FREE, &unclear, &now), 10000);
    ck_assert_int_eq(guard.level, HPCB_GUARD_HALF);
}
END_TEST

START_TEST(returns_slowly)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    seconds_until(&guard, HPCB_GUARD_HALF, &harmful, &now);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_FREE, &harmless, &now), 120);
    /* What comes again keeps away for longer. */
    now += conf.look_ns;
    seconds_until(&guard, HPCB_GUARD_HALF, &harmful, &now);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_FREE, &harmless, &now), 240);
}
END_TEST

#define BOTH ((hpcb_guards_who_t){.near = true, .far = true})

/* So many steps of look_ns each. */
static void step_both(hpcb_guards_t *guards, hpcb_guards_who_t who,
                      const hpcb_harm_estimate_t *estimate, unsigned steps,
                      uint64_t *now)
{
    for (unsigned i = 0; i < steps; i++, *now += conf.look_ns) {
        uint64_t from = hpcb_guards_from(guards);
        hpcb_guards_t was;

        if (estimate)
            hpcb_guards_hear(guards, *now);
        was = *guards;
        hpcb_guards_step(&with_slices, guards, who, estimate, *now);
        /* Evidence of before a step is about something else. */
        if (guards->near.level != was.near.level || guards->far.level != was.far.level)
            ck_assert_uint_gt(hpcb_guards_from(guards), from);
        ck_assert(guards->near.level == was.near.level ||
                  guards->far.level == was.far.level);
        ck_assert_int_ne(guards->far.level, HPCB_GUARD_SLICES);
    }
}

START_TEST(those_on_its_cores_come_first)
{
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S;

    step_both(&guards, BOTH, &harmful, 3, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
    step_both(&guards, BOTH, &unclear, 3, &now);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
    step_both(&guards, BOTH, &harmful, 3, &now);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_STOP);
}
END_TEST

/* What others do does not depend on guests that are not there. */
START_TEST(without_any_there_the_others_come_first)
{
    const hpcb_guards_who_t others = {.far = true};
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S;

    step_both(&guards, others, &harmful, 3, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_STOP);
}
END_TEST

START_TEST(without_others_nothing_is_left)
{
    const hpcb_guards_who_t own = {.near = true};
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S;

    step_both(&guards, own, &harmful, 10, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
}
END_TEST

/* A page alone takes neither further than to a quarter, but both to there. */
START_TEST(the_bound_is_of_both)
{
    hpcb_guard_conf_t bound = conf;
    hpcb_guards_t guards = {0};

    bound.most = HPCB_GUARD_QUARTER;
    for (uint64_t now = 1000 * S; now < 5000 * S; now += S) {
        hpcb_guards_hear(&guards, now);
        hpcb_guards_step(&bound, &guards, BOTH, &harmful, now);
    }
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_QUARTER);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_QUARTER);
}
END_TEST

/* They were stopped, and it was not they: back after the first pause, however long it
 * has become, and not requeued for what comes while others are restricted. */
START_TEST(who_was_stopped_for_others_comes_back_soon)
{
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S, since;

    step_both(&guards, BOTH, &harmful, 4, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_HALF);
    since = now - conf.look_ns;
    while (guards.near.level == HPCB_GUARD_STOP && now < 100000 * S)
        step_both(&guards, BOTH, &unclear, 1, &now);
    ck_assert_uint_le(now - since, conf.return_ns + 2 * conf.look_ns);
    step_both(&guards, BOTH, &harmful, 2, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
}
END_TEST

START_TEST(both_come_back)
{
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S;

    step_both(&guards, BOTH, &harmful, 6, &now);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_STOP);
    step_both(&guards, BOTH, &harmless, 500, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
}
END_TEST

/* For so long, where comparisons are rare: what is known is as old as what is forgotten
 * without a step when it is enough for an estimate. */
static void step_late(const hpcb_guard_conf_t *policy, hpcb_guards_t *guards,
                      const hpcb_harm_estimate_t *estimate, uint64_t seconds)
{
    for (uint64_t now = 1000 * S; now < (1000 + seconds) * S; now += S) {
        bool known = now - hpcb_guards_from(guards) >= 4 * conf.look_ns;

        hpcb_guards_hear(guards, now);
        hpcb_guards_step(policy, guards, BOTH, known ? estimate : NULL, now);
    }
}

START_TEST(where_estimates_come_late_the_others_come_back)
{
    hpcb_guards_t guards = {.far = {.level = HPCB_GUARD_QUARTER}};

    step_late(&conf, &guards, &harmless, 1000);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
}
END_TEST

START_TEST(where_estimates_come_late_the_bound_is_of_both)
{
    hpcb_guard_conf_t bound = conf;
    hpcb_guards_t guards = {0};

    bound.most = HPCB_GUARD_QUARTER;
    step_late(&bound, &guards, &harmful, 1000);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_QUARTER);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_QUARTER);
}
END_TEST

/* Some of those on its cores stay, the others are not who they were. */
START_TEST(a_group_of_others_is_free)
{
    const hpcb_guards_who_t own = {.near = true};
    const hpcb_guard_t quarter = {.level = HPCB_GUARD_QUARTER,
                                  .pause_ns = 100 * S,
                                  .tried_again = true,
                                  .refused = true};
    hpcb_guards_t guards = {.near = quarter, .far = quarter};

    hpcb_guards_anew(&guards, own, 1000 * S);
    ck_assert_uint_eq(hpcb_guards_from(&guards), 1000 * S);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_QUARTER);
    ck_assert(guards.near.tried_again);
    ck_assert(!guards.near.refused);
    ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
    ck_assert(!guards.far.tried_again);
    ck_assert_uint_eq(guards.far.pause_ns, 0);
    hpcb_guards_anew(&guards, (hpcb_guards_who_t){.far = true}, 1001 * S);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
}
END_TEST

/* Without a comparison for so long, s, with guests at a quarter of the time. */
static uint64_t until_forgiven(hpcb_guards_t *guards, hpcb_guards_who_t who,
                               const hpcb_harm_estimate_t *stale)
{
    uint64_t now = 1000 * S;

    hpcb_guards_hear(guards, now);
    while (hpcb_guards_step(&conf, guards, who, stale, now),
           (guards->near.level != HPCB_GUARD_FREE ||
            guards->far.level != HPCB_GUARD_FREE) &&
               now < 100000 * S)
        now += S;
    return now / S - 1000;
}

/* It is suspended or idle, whatever was known of it before. */
START_TEST(who_cannot_be_compared_is_not_harmed)
{
    const hpcb_guard_t quarter = {.level = HPCB_GUARD_QUARTER,
                                  .since_ns = 990 * S,
                                  .from_ns = 990 * S,
                                  .pause_ns = 240 * S,
                                  .tried_again = true};
    hpcb_guards_t idle = {.near = quarter}, unsure = idle, both = idle, soon = idle;

    ck_assert_uint_eq(until_forgiven(&idle, BOTH, NULL), 240);
    ck_assert(!idle.near.tried_again);
    ck_assert_uint_eq(until_forgiven(&unsure, BOTH, &unclear), 240);
    both.far = quarter;
    ck_assert_uint_eq(until_forgiven(&both, BOTH, NULL), 240);
    /* A shorter pause than it takes to compare. */
    soon.near.pause_ns = 20 * S;
    ck_assert_uint_eq(until_forgiven(&soon, BOTH, NULL), 30);
}
END_TEST

START_TEST(who_is_compared_or_stopped_is_not_forgiven)
{
    hpcb_guards_t guards = {.near = {.level = HPCB_GUARD_HALF}};

    for (uint64_t now = 1000 * S; now < 5000 * S; now += S) {
        if (now % (50 * S) == 0)
            hpcb_guards_hear(&guards, now);
        hpcb_guards_step(&conf, &guards, BOTH, NULL, now);
    }
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_HALF);
    guards = (hpcb_guards_t){
        .near = {.level = HPCB_GUARD_STOP, .since_ns = 5000 * S, .pause_ns = 480 * S}};
    for (uint64_t now = 5000 * S; now < 5480 * S; now += S) {
        hpcb_guards_step(&conf, &guards, (hpcb_guards_who_t){.near = true}, NULL, now);
        ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
    }
    /* The pause begins with the first chance of a comparison. */
    ck_assert_uint_eq(guards.heard_ns, 5479 * S);
}
END_TEST

static void requeue_near(hpcb_guards_t *guards, bool any, uint64_t now)
{
    *guards = (hpcb_guards_t){.near = {.level = HPCB_GUARD_REQUEUE}};
    ck_assert(hpcb_guard_is_due(&guards->near));
    hpcb_guards_requeue(&conf, guards, &guards->near, any, now);
    ck_assert_uint_eq(hpcb_guards_from(guards), now);
}

START_TEST(if_nobody_goes_the_group_is_where_it_was)
{
    hpcb_guards_t guards;

    requeue_near(&guards, false, 1000 * S);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_QUARTER);
    ck_assert(!guards.near.tried_again);
    ck_assert_int_eq(guards.left.level, HPCB_GUARD_FREE);
}
END_TEST

#define ALL ((hpcb_guards_who_t){.near = true, .far = true, .left = true})

/* Whoever was to be requeued and stays: of each hour it runs for a quarter of a look,
 * and whoever else is there does not answer for it. */
START_TEST(who_stays_is_stopped_for_the_longest_pause)
{
    hpcb_guards_t guards;
    unsigned runs = 0;

    requeue_near(&guards, true, 1000 * S);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
    for (uint64_t now = 1000 * S; now < 11000 * S; now += S) {
        bool stopped = guards.left.level == HPCB_GUARD_STOP;

        hpcb_guards_hear(&guards, now);
        hpcb_guards_step(&conf, &guards, ALL, stopped ? &harmless : &harmful, now);
        ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
        ck_assert_int_eq(guards.far.level, HPCB_GUARD_FREE);
        runs += guards.left.level == HPCB_GUARD_QUARTER;
        if (hpcb_guard_is_due(&guards.left))
            hpcb_guards_requeue(&conf, &guards, &guards.left, true, now);
    }
    ck_assert_uint_gt(runs, 0);
    ck_assert_uint_le(runs, 10000 * 10 / 480);
}
END_TEST

START_TEST(who_stays_and_does_no_harm_any_more_is_free)
{
    hpcb_guards_t guards;

    requeue_near(&guards, true, 1000 * S);
    for (uint64_t now = 1000 * S; now < 3000 * S; now += S) {
        hpcb_guards_hear(&guards, now);
        hpcb_guards_step(&conf, &guards, ALL, &harmless, now);
    }
    ck_assert_int_eq(guards.left.level, HPCB_GUARD_FREE);
}
END_TEST

/* While they are stopped it is the others. */
START_TEST(who_stays_does_not_hide_the_others)
{
    hpcb_guards_t guards;

    requeue_near(&guards, true, 1000 * S);
    for (uint64_t now = 1000 * S; now < 1040 * S; now += S) {
        hpcb_guards_hear(&guards, now);
        hpcb_guards_step(&conf, &guards, ALL, &harmful, now);
    }
    ck_assert_int_eq(guards.left.level, HPCB_GUARD_STOP);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
}
END_TEST

/* Nor for what is put down to one half of them. */
START_TEST(others_do_not_answer_while_those_that_stay_are_halved)
{
    hpcb_guards_t guards = {.left = {.level = HPCB_GUARD_REQUEUE}};

    hpcb_guard_halve(&guards.left, 1000 * S);
    hpcb_guards_hear(&guards, 1010 * S);
    hpcb_guards_step(&conf, &guards, ALL, &harmful, 1010 * S);
    ck_assert(hpcb_guard_is_due(&guards.left));
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_FREE);
}
END_TEST

/* Of so many guests, from 1000 on, one harms.  What is left when no more than
 * HPCB_GUARD_GO_MAX may be it; true: it is among them. */
static bool search(uint32_t guests, uint32_t guilty, unsigned *left, uint64_t *now)
{
    hpcb_guard_t guard = {.level = HPCB_GUARD_REQUEUE, .from_ns = *now};

    for (;; *now += S) {
        const hpcb_harm_estimate_t *found =
            hpcb_guard_level_of(&guard, guilty) == HPCB_GUARD_QUARTER ? &harmful
                                                                      : &harmless;

        ck_assert_int_eq(hpcb_guard_step(&conf, &guard, found, *now),
                         HPCB_GUARD_REQUEUE);
        if (!hpcb_guard_is_due(&guard))
            continue;
        *left = 0;
        for (uint32_t id = 1000; id < 1000 + guests; id++)
            *left += hpcb_guard_goes(&guard, id);
        if (*left <= HPCB_GUARD_GO_MAX)
            return hpcb_guard_goes(&guard, guilty);
        hpcb_guard_halve(&guard, *now);
        ck_assert(!hpcb_guard_is_due(&guard));
    }
}

START_TEST(of_many_guests_the_guilty_one_is_found)
{
    for (uint32_t guilty = 1000; guilty < 1064; guilty++) {
        uint64_t now = 5000 * S;
        unsigned left;

        ck_assert(search(64, guilty, &left, &now));
        ck_assert_uint_ge(left, 4);
        ck_assert_uint_le(now, (5000 + 3 * 10) * S);
    }
    for (uint32_t guilty = 1000; guilty < 2024; guilty += 31) {
        uint64_t now = 5000 * S;
        unsigned left;

        ck_assert(search(1024, guilty, &left, &now));
        ck_assert_uint_le(now, (5000 + 9 * 10) * S);
    }
}
END_TEST

/* The primary is suspended meanwhile, or only its page goes on to claim harm. */
START_TEST(what_cannot_be_compared_ends_a_search)
{
    hpcb_guard_conf_t bound = conf;

    bound.most = HPCB_GUARD_QUARTER;
    for (int claimed = 0; claimed < 2; claimed++) {
        hpcb_guard_t guard = {.level = HPCB_GUARD_REQUEUE};
        uint64_t now = 1000 * S;

        hpcb_guard_halve(&guard, now);
        for (; guard.level == HPCB_GUARD_REQUEUE && now < 2000 * S; now += S) {
            hpcb_guard_step(&bound, &guard, claimed ? &harmful : NULL, now);
            ck_assert(!hpcb_guard_is_due(&guard));
        }
        ck_assert_uint_eq(now, 1001 * S + conf.return_ns);
        ck_assert_int_eq(guard.level, HPCB_GUARD_QUARTER);
        ck_assert_uint_eq(guard.halvings, 0);
    }
}
END_TEST

/* Who is stopped does not wait for evidence, which there is none of. */
START_TEST(who_is_stopped_comes_back_however_often_others_change)
{
    hpcb_guards_t guards = {0};
    uint64_t now = 1000 * S, since;

    step_both(&guards, BOTH, &harmful, 3, &now);
    ck_assert_int_eq(guards.near.level, HPCB_GUARD_STOP);
    for (since = now; guards.near.level == HPCB_GUARD_STOP; now += S) {
        hpcb_guards_anew(&guards, BOTH, now);
        hpcb_guards_step(&conf, &guards, BOTH, NULL, now);
        ck_assert_uint_le(now - since, conf.longest_ns);
    }
}
END_TEST

/* What is beyond the bound already comes back as usual, and not again. */
START_TEST(no_step_leads_beyond_the_bound)
{
    hpcb_guard_conf_t bound = conf;
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S, end = now + 5000 * S;

    bound.most = HPCB_GUARD_QUARTER;
    for (; now < end; now += S)
        ck_assert_int_le(hpcb_guard_step(&bound, &guard, &harmful, now),
                         HPCB_GUARD_QUARTER);
    ck_assert_int_eq(guard.level, HPCB_GUARD_QUARTER);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_STOP, &harmful, &now), 0);
    for (end = now + 5000 * S; now < end; now += S)
        hpcb_guard_step(&bound, &guard, &harmful, now);
    ck_assert_int_eq(guard.level, HPCB_GUARD_QUARTER);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_REQUEUE, &harmful, &now), 0);
}
END_TEST

/* At the bound, which refuses a step each second up to the time that is returned; with
 * the last one evidence is forgotten. */
static uint64_t at_the_bound(hpcb_guard_t *guard, hpcb_guard_conf_t *bound)
{
    uint64_t now = 1000 * S;

    *bound = conf;
    bound->most = HPCB_GUARD_QUARTER;
    seconds_until(guard, HPCB_GUARD_QUARTER, &harmful, &now);
    ck_assert_uint_eq(guard->from_ns, now);
    for (uint64_t end = now + 481 * S; now < end; now += S) {
        hpcb_guard_step(bound, guard, &harmful, now);
        ck_assert_uint_lt(now - guard->from_ns, 30 * S);
    }
    ck_assert_uint_eq(guard->since_ns, 1010 * S);
    ck_assert_uint_eq(guard->from_ns, now - S);
    return now;
}

/* Else what is known at the bound would soon rest on hours that are long over. */
START_TEST(evidence_at_the_bound_is_forgotten)
{
    hpcb_guard_conf_t bound;
    hpcb_guard_t guard = {0};
    uint64_t now = at_the_bound(&guard, &bound);

    /* A look takes as long as always, the pause since the step is over. */
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_HALF, &harmless, &now), 9);
    ck_assert_uint_eq(guard.from_ns, now);
    ck_assert_uint_eq(guard.since_ns, now);
}
END_TEST

/* Once: from then on it is of one kind, and decides when there is enough of it. */
START_TEST(mixed_evidence_is_forgotten_once)
{
    hpcb_guard_conf_t bound;
    hpcb_guard_t guard = {0};
    uint64_t now = at_the_bound(&guard, &bound), from = guard.from_ns, end;

    for (end = now + 30 * S; now < end; now += S)
        hpcb_guard_step(&bound, &guard, &unclear, now);
    ck_assert_uint_eq(guard.from_ns, from + 30 * S);
    for (end = now + 500 * S; now < end; now += S)
        hpcb_guard_step(&bound, &guard, &unclear, now);
    ck_assert_uint_eq(guard.from_ns, from + 30 * S);
    ck_assert_int_eq(guard.level, HPCB_GUARD_QUARTER);
}
END_TEST

START_TEST(stopped_guests_are_tried_again)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    seconds_until(&guard, HPCB_GUARD_STOP, &harmful, &now);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_QUARTER, NULL, &now), 480);
}
END_TEST

START_TEST(who_harms_whenever_it_returns_is_requeued)
{
    hpcb_guard_t guard = {0};
    uint64_t now = 1000 * S;

    ck_assert_uint_lt(seconds_until(&guard, HPCB_GUARD_REQUEUE, &harmful, &now), 10000);
    ck_assert_uint_eq(seconds_until(&guard, HPCB_GUARD_FREE, &harmless, &now), 10000);
    ck_assert_int_eq(guard.level, HPCB_GUARD_REQUEUE);
}
END_TEST

static const hpcb_crumbs_conf_t crumbs = {
    .min_share = 0.01, .patience_ns = 10 * S, .starved_ns = 600 * S};

START_TEST(crumbs_stop_a_guest)
{
    hpcb_crumbs_t guest = {0};

    for (uint64_t t = 5 * S; t < 15 * S; t += S)
        ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &guest, 0.003, true, t),
                         HPCB_CRUMBS_RUN);
    for (uint64_t t = 15 * S; t < 400 * S; t += S)
        ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &guest, 0.0, true, t),
                         HPCB_CRUMBS_STOP);
    /* The primary begins to wait. */
    ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &guest, 0.2, true, 400 * S),
                     HPCB_CRUMBS_RUN);
    ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &guest, 0.0, true, 409 * S),
                     HPCB_CRUMBS_RUN);
    ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &guest, 0.0, true, 410 * S),
                     HPCB_CRUMBS_STOP);
}
END_TEST

START_TEST(guests_that_sleep_or_work_run_on)
{
    hpcb_crumbs_t sleeper = {0}, worker = {0};

    for (uint64_t t = 0; t < 1000 * S; t += S) {
        ck_assert_int_eq(hpcb_crumbs_step(&crumbs, &sleeper, 0.0, false, t),
                         HPCB_CRUMBS_RUN);
        /* A burst every nine seconds. */
        ck_assert_int_eq(
            hpcb_crumbs_step(&crumbs, &worker, t % (9 * S) == 0 ? 0.5 : 0.0, true, t),
            HPCB_CRUMBS_RUN);
    }
}
END_TEST

START_TEST(starved_guests_are_requeued)
{
    hpcb_crumbs_t guest = {0};
    hpcb_crumbs_verdict_t verdict = HPCB_CRUMBS_RUN;
    uint64_t t = 0;

    while (verdict != HPCB_CRUMBS_REQUEUE && t < 10000 * S)
        verdict = hpcb_crumbs_step(&crumbs, &guest, 0.0, true, t += S);
    /* From its first step, with the seconds before it is stopped. */
    ck_assert_uint_eq(t, 601 * S);
}
END_TEST

/* Of each cycle the CPUs are idle for the first `idle` seconds, which the guest uses as
 * soon as it may run; else nothing is left.  When it is requeued, s; at most 10,000. */
static uint64_t seconds_next_to_alternating(uint64_t cycle, uint64_t idle)
{
    hpcb_crumbs_t guest = {0};
    hpcb_crumbs_verdict_t verdict = HPCB_CRUMBS_RUN;
    uint64_t t = 0;

    for (; verdict != HPCB_CRUMBS_REQUEUE && t < 10000; t++)
        verdict = hpcb_crumbs_step(&crumbs, &guest, t % cycle < idle ? 1.0 : 0.0, true,
                                   t * S);
    return t;
}

START_TEST(idle_moments_do_not_hide_that_a_guest_starves)
{
    /* Seen to be idle for a second, and busy again before the guest can use it. */
    ck_assert_uint_le(seconds_next_to_alternating(60, 1), 700);
    /* It gets 1 s in 300 s: a third of its minimum. */
    ck_assert_uint_le(seconds_next_to_alternating(300, 2), 1000);
}
END_TEST

START_TEST(guests_with_their_share_in_the_mean_stay)
{
    /* 5 s in 300 s: more than 1 %. */
    ck_assert_uint_eq(seconds_next_to_alternating(300, 6), 10000);
}
END_TEST

START_TEST(past_plenty_is_no_reserve)
{
    hpcb_crumbs_t guest = {0};
    hpcb_crumbs_verdict_t verdict = HPCB_CRUMBS_RUN;
    uint64_t t = 0;

    while (t < 1000 * S)
        hpcb_crumbs_step(&crumbs, &guest, 1.0, true, t += S);
    while (verdict != HPCB_CRUMBS_REQUEUE && t < 10000 * S)
        verdict = hpcb_crumbs_step(&crumbs, &guest, 0.0, true, t += S);
    ck_assert_uint_eq(t, 1600 * S);
}
END_TEST

START_TEST(sleep_is_no_lack)
{
    hpcb_crumbs_t guest = {0};

    hpcb_crumbs_step(&crumbs, &guest, 0.0, true, 0);
    for (uint64_t t = S; t < 2000 * S; t += S)
        hpcb_crumbs_step(&crumbs, &guest, 0.0, false, t);
    for (uint64_t t = 2000 * S; t < 2599 * S; t += S)
        ck_assert_int_ne(hpcb_crumbs_step(&crumbs, &guest, 0.0, true, t),
                         HPCB_CRUMBS_REQUEUE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard");
    TCase *tcase = tcase_create("guard");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, those_on_its_cores_come_first);
    tcase_add_test(tcase, without_any_there_the_others_come_first);
    tcase_add_test(tcase, without_others_nothing_is_left);
    tcase_add_test(tcase, the_bound_is_of_both);
    tcase_add_test(tcase, a_group_of_others_is_free);
    tcase_add_test(tcase, who_cannot_be_compared_is_not_harmed);
    tcase_add_test(tcase, who_is_compared_or_stopped_is_not_forgiven);
    tcase_add_test(tcase, if_nobody_goes_the_group_is_where_it_was);
    tcase_add_test(tcase, who_stays_is_stopped_for_the_longest_pause);
    tcase_add_test(tcase, who_stays_and_does_no_harm_any_more_is_free);
    tcase_add_test(tcase, who_stays_does_not_hide_the_others);
    tcase_add_test(tcase, others_do_not_answer_while_those_that_stay_are_halved);
    tcase_add_test(tcase, of_many_guests_the_guilty_one_is_found);
    tcase_add_test(tcase, what_cannot_be_compared_ends_a_search);
    tcase_add_test(tcase, who_is_stopped_comes_back_however_often_others_change);
    tcase_add_test(tcase, where_estimates_come_late_the_others_come_back);
    tcase_add_test(tcase, where_estimates_come_late_the_bound_is_of_both);
    tcase_add_test(tcase, who_was_stopped_for_others_comes_back_soon);
    tcase_add_test(tcase, both_come_back);
    tcase_add_test(tcase, harm_stops_guests_step_by_step);
    tcase_add_test(tcase, slices_come_with_half_and_stay_for_longer);
    tcase_add_test(tcase, if_slices_may_be_the_cure_half_is_given_back_at_once);
    tcase_add_test(tcase, slices_and_half_that_may_not_be_enough_stay);
    tcase_add_test(tcase, no_step_leads_beyond_the_bound);
    tcase_add_test(tcase, evidence_at_the_bound_is_forgotten);
    tcase_add_test(tcase, mixed_evidence_is_forgotten_once);
    tcase_add_test(tcase, nothing_without_evidence);
    tcase_add_test(tcase, undecided_keeps_the_level);
    tcase_add_test(tcase, returns_slowly);
    tcase_add_test(tcase, stopped_guests_are_tried_again);
    tcase_add_test(tcase, who_harms_whenever_it_returns_is_requeued);
    tcase_add_test(tcase, crumbs_stop_a_guest);
    tcase_add_test(tcase, guests_that_sleep_or_work_run_on);
    tcase_add_test(tcase, starved_guests_are_requeued);
    tcase_add_test(tcase, idle_moments_do_not_hide_that_a_guest_starves);
    tcase_add_test(tcase, guests_with_their_share_in_the_mean_stay);
    tcase_add_test(tcase, past_plenty_is_no_reserve);
    tcase_add_test(tcase, sleep_is_no_lack);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
