/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "policy/memguard.h"

#define GIB    (UINT64_C(1) << 30)
#define MIB    (UINT64_C(1) << 20)
#define RANDOM 200000

static uint64_t state;

/* xorshift64*: the same sequences everywhere. */
static uint64_t next_random(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

static uint64_t below(uint64_t limit)
{
    return limit ? next_random() % limit : 0;
}

static hpcb_memnode_t quiet(void)
{
    return (hpcb_memnode_t){.real = 100 * GIB,
                            .reserve = 5 * GIB,
                            .available = 60 * GIB,
                            .primaries = 10 * GIB};
}

START_TEST(growth_counts_at_once_and_fades)
{
    hpcb_memrate_t rate = {0};

    hpcb_memrate_add(&rate, 5 * GIB, 1000);
    ck_assert_uint_eq(rate.per_sec, 0);
    hpcb_memrate_add(&rate, 6 * GIB, 2000);
    ck_assert_uint_eq(rate.per_sec, GIB);
    hpcb_memrate_add(&rate, 6 * GIB, 4000);
    ck_assert_uint_eq(rate.per_sec, GIB / 2);
    hpcb_memrate_add(&rate, 5 * GIB, 4000 + 100 * HPCB_MEMRATE_HALF_MS);
    ck_assert_uint_eq(rate.per_sec, 0);
    ck_assert_uint_eq(rate.used, 5 * GIB);
}
END_TEST

START_TEST(a_sample_that_is_not_later_changes_no_rate)
{
    hpcb_memrate_t rate = {.used = GIB, .time_ms = 1000, .per_sec = 7};

    hpcb_memrate_add(&rate, 2 * GIB, 1000);
    ck_assert_uint_eq(rate.per_sec, 7);
    hpcb_memrate_add(&rate, 3 * GIB, 500);
    ck_assert_uint_eq(rate.per_sec, 7);
    ck_assert_int_eq(rate.time_ms, 1000);
    ck_assert_uint_eq(rate.used, 3 * GIB);
}
END_TEST

START_TEST(with_room_nothing_happens)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB, .reclaimable = GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    ck_assert_uint_eq(decision.reclaim, 0);
    ck_assert_uint_eq(decision.limit, 85 * GIB);
    ck_assert_uint_eq(decision.headroom, 55 * GIB);
    ck_assert_uint_eq(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MAX_MS);
}
END_TEST

START_TEST(reclaim_comes_before_an_end)
{
    hpcb_memguest_t guests[] = {{.used = 40 * GIB, .reclaimable = 30 * GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.primaries = 60 * GIB;
    node.available = 20 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    ck_assert_uint_eq(decision.reclaim, 5 * GIB);
    ck_assert_uint_eq(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MIN_MS);
}
END_TEST

START_TEST(the_youngest_that_is_large_enough_ends)
{
    hpcb_memguest_t guests[] = {
        {.used = 20 * GIB, .begin = 1},
        {.used = 10 * GIB, .begin = 2},
        {.used = 1 * GIB, .begin = 3},
    };
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.primaries = 70 * GIB;
    hpcb_memguard_decide(&node, guests, 3, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(guests[1].end);
}
END_TEST

/* A primary that takes 10 GiB a second, and a guest that is in its way. */
static hpcb_memnode_t falling(uint64_t available)
{
    hpcb_memnode_t node = quiet();

    node.primaries = 60 * GIB;
    node.growth = node.falls = 10 * GIB;
    node.available = available;
    node.guests_first = true;
    return node;
}

START_TEST(nobody_ends_if_the_node_is_full_before_memory_comes_back)
{
    const uint64_t needed = 10 * GIB * HPCB_MEMGUARD_FULL_MS / 1000;
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = falling(needed - MIB);
    hpcb_memdecision_t decision;

    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(decision.spares);
    ck_assert_uint_eq(decision.ended, 0);
    ck_assert(!guests[0].end);
    ck_assert(!decision.at_once);
    ck_assert_uint_eq(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MIN_MS);
    node = falling(needed + MIB);
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(!decision.spares);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(decision.at_once);
}
END_TEST

START_TEST(what_falls_slower_than_memory_comes_back_is_late_at_the_very_end_only)
{
    const uint64_t needed = 2 * GIB * HPCB_MEMGUARD_FREE_AFTER_MS / 1000;
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = falling(needed + MIB);
    hpcb_memdecision_t decision;

    node.falls = 2 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    node.available = needed - MIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    /* Nothing goes any more. */
    node.falls = 0;
    node.available = 0;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
}
END_TEST

START_TEST(guests_are_spared_only_if_the_kernel_takes_them_first_and_for_a_second)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = falling(MIB);
    hpcb_memdecision_t decision;

    node.spared_ms = HPCB_MEMGUARD_SPARE_MS - 1;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(decision.spares && decision.ended == 0);
    node.spared_ms = HPCB_MEMGUARD_SPARE_MS;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(!decision.spares && decision.ended == 1);
    node = falling(MIB);
    node.guests_first = false;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(!decision.spares && decision.ended == 1);
}
END_TEST

START_TEST(a_fall_that_has_just_begun_leaves_no_time_for_sigterm)
{
    hpcb_memguest_t guests[] = {{.used = 40 * GIB}};
    hpcb_memnode_t node = falling(20 * GIB);
    hpcb_memdecision_t decision;

    node.primaries = 56 * GIB;
    node.growth = node.falls = 0;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(!decision.at_once);
    /* So short a fall is not followed for as long as growth is. */
    node.falls = 4 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert(!decision.at_once);
    node.falls = 6 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(decision.at_once);
}
END_TEST

START_TEST(a_fall_is_of_the_last_two_looks)
{
    hpcb_memfall_t fall = {0};

    hpcb_memfall_look(&fall, 10 * GIB, 1000);
    ck_assert_uint_eq(fall.per_sec, 0);
    hpcb_memfall_look(&fall, 5 * GIB, 1000 + HPCB_MEMFALL_LOOK_MS - 1);
    ck_assert_uint_eq(fall.per_sec, 0);
    hpcb_memfall_look(&fall, 9 * GIB, 1100);
    ck_assert_uint_eq(fall.per_sec, 10 * GIB);
    hpcb_memfall_look(&fall, 8 * GIB, 3100);
    ck_assert_uint_eq(fall.per_sec, GIB / 2);
    hpcb_memfall_look(&fall, 20 * GIB, 3200);
    ck_assert_uint_eq(fall.per_sec, 0);
}
END_TEST

/* MemAvailable is 0 as long as the kernel has less than it keeps for itself. */
START_TEST(at_nothing_the_rate_stays_for_a_second)
{
    hpcb_memfall_t fall = {0};

    hpcb_memfall_look(&fall, GIB, 1000);
    hpcb_memfall_look(&fall, 0, 1500);
    ck_assert_uint_eq(fall.per_sec, 2 * GIB);
    hpcb_memfall_look(&fall, 0, 1000 + HPCB_MEMFALL_KEEP_MS - 1);
    ck_assert_uint_eq(fall.per_sec, 2 * GIB);
    hpcb_memfall_look(&fall, 0, 1000 + HPCB_MEMFALL_KEEP_MS + HPCB_MEMFALL_LOOK_MS);
    ck_assert_uint_eq(fall.per_sec, 0);
}
END_TEST

START_TEST(the_largest_ends_first_if_none_is_large_enough)
{
    hpcb_memguest_t guests[] = {
        {.used = 20 * GIB, .begin = 1},
        {.used = 10 * GIB, .begin = 2},
        {.used = 1 * GIB, .begin = 3},
    };
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.primaries = 90 * GIB;
    node.available = 0;
    hpcb_memguard_decide(&node, guests, 3, &decision);
    ck_assert_uint_eq(decision.ended, 2);
    ck_assert(guests[0].end && guests[1].end && !guests[2].end);
    ck_assert(decision.at_once);
}
END_TEST

START_TEST(growth_ends_guests_before_memory_is_short)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.primaries = 63 * GIB;
    node.available = 7 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    node.growth = 5 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(decision.at_once);
}
END_TEST

START_TEST(memory_that_nobody_is_charged_for_counts)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.available = 4 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    ck_assert(!decision.at_once);
}
END_TEST

START_TEST(a_stall_ends_guests_near_the_reserve_only)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.stalled = HPCB_MEMGUARD_STALLED;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    node.available = 6 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 1);
    node.stalled = 0;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
}
END_TEST

START_TEST(one_that_is_ending_is_not_asked_for_twice)
{
    hpcb_memguest_t guests[] = {
        {.used = 30 * GIB, .ending = true},
        {.used = 5 * GIB},
    };
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.primaries = 64 * GIB;
    node.available = 1 * GIB;
    hpcb_memguard_decide(&node, guests, 2, &decision);
    ck_assert_uint_eq(decision.ended, 0);
}
END_TEST

START_TEST(samples_are_closer_where_memory_goes_fast)
{
    hpcb_memguest_t guests[] = {{.used = 30 * GIB, .growth = 5 * GIB}};
    hpcb_memnode_t node = quiet();
    hpcb_memdecision_t decision;

    node.growth = 5 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_eq(decision.ended, 0);
    ck_assert_uint_ge(decision.next_ms, 2700);
    node.growth = 50 * GIB;
    hpcb_memguard_decide(&node, guests, 1, &decision);
    ck_assert_uint_le(decision.next_ms, 510);
    ck_assert_uint_ge(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MIN_MS);
}
END_TEST

START_TEST(available_memory_is_looked_at_as_often_as_a_quarter_of_it_can_go)
{
    const uint64_t gib = UINT64_C(1) << 30;

    /* 16 GiB a second, so 4 GiB in a quarter of a second. */
    ck_assert_uint_eq(hpcb_memguard_look_ms(16 * gib, 2), 250);
    ck_assert_uint_eq(hpcb_memguard_look_ms(16 * gib, 1), 500);
    ck_assert_uint_eq(hpcb_memguard_look_ms(16 * gib, 64), HPCB_MEMGUARD_LOOK_MIN_MS);
    /* More CPUs than memory can be cleared for. */
    ck_assert_uint_eq(hpcb_memguard_look_ms(512 * gib, 256), 250);
    ck_assert_uint_eq(hpcb_memguard_look_ms(512 * gib, 1U << 31), 250);
    ck_assert_uint_eq(hpcb_memguard_look_ms(0, 1), HPCB_MEMGUARD_LOOK_MIN_MS);
    ck_assert_uint_eq(hpcb_memguard_look_ms(UINT64_MAX, 0), HPCB_MEMGUARD_LOOK_MAX_MS);
}
END_TEST

START_TEST(what_is_left_is_divided_by_what_guests_could_take)
{
    hpcb_memguest_t guests[] = {
        {.used = 10 * GIB, .own = 20 * GIB},
        {.used = 10 * GIB, .own = 40 * GIB},
        {.used = 50 * GIB, .own = 60 * GIB, .ending = true},
    };

    hpcb_memguard_divide(24 * GIB, guests, 3);
    ck_assert_uint_eq(guests[0].limit, 12 * GIB + HPCB_MEMGUARD_SLACK);
    ck_assert_uint_eq(guests[1].limit, 12 * GIB + HPCB_MEMGUARD_SLACK);
    hpcb_memguard_divide(50 * GIB, guests, 3);
    ck_assert_uint_eq(guests[0].limit, 17 * GIB + 512 * MIB + HPCB_MEMGUARD_SLACK);
    ck_assert_uint_le(guests[1].limit, 32 * GIB + 512 * MIB + HPCB_MEMGUARD_SLACK);
}
END_TEST

START_TEST(with_room_for_all_guests_have_what_slurm_gave_them)
{
    hpcb_memguest_t guests[] = {
        {.used = 10 * GIB, .own = 20 * GIB},
        {.used = 10 * GIB, .own = HPCB_MEMGUARD_NO_LIMIT},
    };

    hpcb_memguard_divide(1000 * GIB, guests, 1);
    ck_assert_uint_eq(guests[0].limit, 20 * GIB);
    hpcb_memguard_divide(30 * GIB, guests, 2);
    ck_assert_uint_eq(guests[0].limit, 15 * GIB + HPCB_MEMGUARD_SLACK);
    ck_assert_uint_eq(guests[1].limit, 15 * GIB + HPCB_MEMGUARD_SLACK);
    hpcb_memguard_divide(0, guests, 2);
    ck_assert_uint_eq(guests[1].limit, 10 * GIB + HPCB_MEMGUARD_SLACK);
}
END_TEST

#define GUESTS 8

static size_t random_node(hpcb_memnode_t *node, hpcb_memguest_t *guests)
{
    size_t count = below(GUESTS + 1);

    uint64_t real = 1 + below(512 * GIB);

    *node = (hpcb_memnode_t){.real = real,
                             .reserve = below(real / 4 + 1),
                             .available = below(real + 1),
                             .primaries = below(real + GIB),
                             .growth = below(2) ? below(100 * GIB) : 0,
                             .falls = below(2) ? below(100 * GIB) : 0,
                             .guests_first = below(2),
                             .spared_ms = (unsigned)below(2000),
                             .stalled = (unsigned)below(1001)};
    for (size_t i = 0; i < count; i++)
        guests[i] = (hpcb_memguest_t){.used = below(node->real),
                                      .reclaimable = below(2) ? below(GIB) : 0,
                                      .growth = below(GIB),
                                      .begin = (int64_t)below(100),
                                      .ending = below(8) == 0,
                                      .end = below(2)};
    return count;
}

/* What guests hold above what is left, without growth. */
static uint64_t lack(const hpcb_memnode_t *node, const hpcb_memguest_t *guests,
                     size_t count, const hpcb_memguest_t *without)
{
    uint64_t left = 0, gone = 0, over, short_of;

    for (size_t i = 0; i < count; i++) {
        bool stays = !guests[i].ending && (!guests[i].end || &guests[i] == without);

        left += stays ? guests[i].used : 0;
        gone += stays ? 0 : guests[i].used;
    }
    over = left + node->primaries + node->reserve;
    over = over > node->real ? over - node->real : 0;
    short_of = node->reserve > node->available + gone
                   ? node->reserve - node->available - gone
                   : 0;
    return over > short_of ? over : short_of;
}

/* After the ends that were decided on, reclaim gives what is still short, or no guest
 * has anything else to give.  No guest ends for nothing. */
START_TEST(properties_of_random_nodes)
{
    hpcb_memguest_t guests[GUESTS];
    hpcb_memdecision_t decision;
    hpcb_memnode_t node;

    state = 88172645463325252;
    for (int run = 0; run < RANDOM; run++) {
        size_t count = random_node(&node, guests), left = 0;
        uint64_t reclaimable = 0;
        unsigned ended = 0;

        hpcb_memguard_decide(&node, guests, count, &decision);
        for (size_t i = 0; i < count; i++) {
            ended += guests[i].end;
            ck_assert(!guests[i].end || !guests[i].ending);
            left += !guests[i].ending && !guests[i].end &&
                    guests[i].used > guests[i].reclaimable;
            if (!guests[i].ending && !guests[i].end)
                reclaimable += guests[i].reclaimable < guests[i].used
                                   ? guests[i].reclaimable
                                   : guests[i].used;
        }
        ck_assert_uint_eq(ended, decision.ended);
        if (decision.spares) {
            ck_assert_uint_eq(ended, 0);
            ck_assert(node.guests_first);
            continue;
        }
        ck_assert(left == 0 || lack(&node, guests, count, NULL) <= reclaimable);
        ck_assert_uint_le(decision.limit, node.real);
        ck_assert_uint_ge(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MIN_MS);
        ck_assert_uint_le(decision.next_ms, HPCB_MEMGUARD_SAMPLE_MAX_MS);
        if (node.growth || node.stalled >= HPCB_MEMGUARD_STALLED)
            continue;
        for (size_t i = 0; i < count; i++)
            ck_assert(!guests[i].end || ended > 1 ||
                      lack(&node, guests, count, &guests[i]) > 0);
    }
}
END_TEST

START_TEST(random_limits_never_add_up_to_more)
{
    hpcb_memguest_t guests[GUESTS];
    hpcb_memnode_t node;

    state = 88172645463325252;
    for (int run = 0; run < RANDOM; run++) {
        size_t count = random_node(&node, guests);
        uint64_t limit = below(node.real), used = 0, sum = 0;

        for (size_t i = 0; i < count; i++)
            guests[i].own =
                below(4) ? guests[i].used + below(GIB) : HPCB_MEMGUARD_NO_LIMIT;
        hpcb_memguard_divide(limit, guests, count);
        for (size_t i = 0; i < count; i++) {
            if (guests[i].ending || guests[i].end)
                continue;
            ck_assert_uint_ge(guests[i].limit, guests[i].used);
            ck_assert_uint_le(guests[i].limit, guests[i].own);
            used += guests[i].used;
            sum += guests[i].limit;
        }
        ck_assert_uint_le(sum, (used > limit ? used : limit) +
                                   count * (HPCB_MEMGUARD_SLACK + 4096));
    }
}
END_TEST

/* A primary grows at a steady rate from nothing to all that it was promised; guests
 * fill all that is lent and are gone 300 ms after they have been killed.  It is never
 * short.
 */
START_TEST(a_steady_growth_never_meets_the_end_of_memory)
{
    for (uint64_t rate = MIB; rate <= 8 * GIB; rate *= 2) {
        hpcb_memguest_t guests[GUESTS] = {{0}};
        hpcb_memnode_t node = {.real = 100 * GIB, .reserve = 5 * GIB};
        hpcb_memrate_t growth = {0};
        int64_t now = 1000, killed[GUESTS] = {0};

        for (size_t i = 0; i < GUESTS; i++)
            guests[i] =
                (hpcb_memguest_t){.used = 95 * GIB / GUESTS - MIB, .begin = (int64_t)i};
        while (node.primaries < 95 * GIB) {
            hpcb_memdecision_t decision;
            uint64_t held = 0;

            for (size_t i = 0; i < GUESTS; i++) {
                if (guests[i].ending && now - killed[i] >= 300)
                    guests[i].used = 0;
                held += guests[i].used;
            }
            ck_assert_msg(node.primaries + held <= node.real,
                          "at %lu MiB/s memory ends", (unsigned long)(rate / MIB));
            node.available = node.real - node.primaries - held;
            hpcb_memrate_add(&growth, node.primaries, now);
            node.growth = growth.per_sec;
            hpcb_memguard_decide(&node, guests, GUESTS, &decision);
            for (size_t i = 0; i < GUESTS; i++) {
                if (!guests[i].end)
                    continue;
                guests[i].ending = true;
                killed[i] = now;
            }
            /* The daemon looks at once if half of the headroom goes. */
            if (rate * decision.next_ms / 1000 > decision.headroom / 2 + MIB)
                decision.next_ms = HPCB_MEMGUARD_SAMPLE_MIN_MS;
            now += decision.next_ms;
            node.primaries += rate * decision.next_ms / 1000;
        }
    }
}
END_TEST

/* Thousands of nodes: scripts/valgrind leaves out what has this tag. */
static TCase *worlds(void)
{
    TCase *tcase = tcase_create("worlds");

    tcase_set_tags(tcase, "long");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, properties_of_random_nodes);
    tcase_add_test(tcase, random_limits_never_add_up_to_more);
    tcase_add_test(tcase, a_steady_growth_never_meets_the_end_of_memory);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("memguard");
    TCase *tcase = tcase_create("memguard");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, growth_counts_at_once_and_fades);
    tcase_add_test(tcase, a_sample_that_is_not_later_changes_no_rate);
    tcase_add_test(tcase, with_room_nothing_happens);
    tcase_add_test(tcase, reclaim_comes_before_an_end);
    tcase_add_test(tcase, the_youngest_that_is_large_enough_ends);
    tcase_add_test(tcase, nobody_ends_if_the_node_is_full_before_memory_comes_back);
    tcase_add_test(
        tcase, what_falls_slower_than_memory_comes_back_is_late_at_the_very_end_only);
    tcase_add_test(
        tcase, guests_are_spared_only_if_the_kernel_takes_them_first_and_for_a_second);
    tcase_add_test(tcase, a_fall_is_of_the_last_two_looks);
    tcase_add_test(tcase, at_nothing_the_rate_stays_for_a_second);
    tcase_add_test(tcase, a_fall_that_has_just_begun_leaves_no_time_for_sigterm);
    tcase_add_test(tcase, the_largest_ends_first_if_none_is_large_enough);
    tcase_add_test(tcase, growth_ends_guests_before_memory_is_short);
    tcase_add_test(tcase, memory_that_nobody_is_charged_for_counts);
    tcase_add_test(tcase, a_stall_ends_guests_near_the_reserve_only);
    tcase_add_test(tcase, one_that_is_ending_is_not_asked_for_twice);
    tcase_add_test(tcase, samples_are_closer_where_memory_goes_fast);
    tcase_add_test(tcase,
                   available_memory_is_looked_at_as_often_as_a_quarter_of_it_can_go);
    tcase_add_test(tcase, what_is_left_is_divided_by_what_guests_could_take);
    tcase_add_test(tcase, with_room_for_all_guests_have_what_slurm_gave_them);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, worlds());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
