/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/company.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "hpcb-company 1\n"

/* A pair that weighs less is forgotten: one experience lasts for four weeks, the worst
 * pair eight. */
#define WEIGHT_MIN (HPCB_COMPANY_ONE / 16)

/* Far in the future, and sums with it fit. */
#define TIME_MAX (INT64_MAX / 2)

uint32_t hpcb_company_weight(const hpcb_company_pair_t *pair, int64_t now)
{
    uint64_t age = now > pair->time ? (uint64_t)now - (uint64_t)pair->time : 0;
    uint64_t halves = age / HPCB_COMPANY_HALF, rest = age % HPCB_COMPANY_HALF;
    uint64_t weight = halves < 32 ? pair->weight >> halves : 0;

    /* In between on a straight line. */
    return (uint32_t)(weight - weight * rest / (2 * HPCB_COMPANY_HALF));
}

int64_t hpcb_company_apart_until(const hpcb_company_pair_t *pair)
{
    return pair->time + (int64_t)pair->weight * HPCB_COMPANY_HOUR / HPCB_COMPANY_ONE;
}

hpcb_company_verdict_t hpcb_company_judge(const hpcb_company_pair_t *pair, int64_t now)
{
    if (hpcb_company_weight(pair, now) < WEIGHT_MIN)
        return HPCB_COMPANY_FINE;
    return now < hpcb_company_apart_until(pair) ? HPCB_COMPANY_APART
                                                : HPCB_COMPANY_LAST;
}

/* ---- the table ---- */

static hpcb_company_pair_t *find(hpcb_company_t *company, uint64_t primary,
                                 uint64_t guest)
{
    for (size_t i = 0; i < company->count; i++)
        if (company->pairs[i].primary == primary && company->pairs[i].guest == guest)
            return &company->pairs[i];
    return NULL;
}

static void remove_at(hpcb_company_t *company, size_t i)
{
    company->pairs[i] = company->pairs[--company->count];
}

typedef bool is_like_fn(const hpcb_company_pair_t *a, const hpcb_company_pair_t *b);

static bool same_primary_user(const hpcb_company_pair_t *a,
                              const hpcb_company_pair_t *b)
{
    return a->primary_uid == b->primary_uid;
}

static bool same_guest_user(const hpcb_company_pair_t *a, const hpcb_company_pair_t *b)
{
    return a->guest_uid == b->guest_uid;
}

static bool same_users(const hpcb_company_pair_t *a, const hpcb_company_pair_t *b)
{
    return same_primary_user(a, b) && same_guest_user(a, b);
}

/* Remove the lightest pair of those users if there are most of them or more. */
static void limit(hpcb_company_t *company, is_like_fn *is_like,
                  const hpcb_company_pair_t *like, size_t most, int64_t now)
{
    size_t count = 0, lightest = 0;
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < company->count; i++) {
        uint32_t weight;

        if (!is_like(&company->pairs[i], like))
            continue;
        weight = hpcb_company_weight(&company->pairs[i], now);
        count++;
        if (weight < least) {
            least = weight;
            lightest = i;
        }
    }
    if (count > 0 && count >= most)
        remove_at(company, lightest);
}

static int by_number(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

    return (first > second) - (first < second);
}

/* The owner of most guests in a table that is not empty. */
static uint32_t who_has_most(const hpcb_company_t *company)
{
    uint32_t uids[HPCB_COMPANY_MAX] = {0};
    size_t first = 0, most = 0, where = 0;

    for (size_t i = 0; i < company->count; i++)
        uids[i] = company->pairs[i].guest_uid;
    qsort(uids, company->count, sizeof(uids[0]), by_number);
    for (size_t i = 0; i < company->count; i++) {
        if (uids[i] != uids[first])
            first = i;
        if (i - first + 1 > most) {
            most = i - first + 1;
            where = i;
        }
    }
    return uids[where];
}

static void make_place(hpcb_company_t *company, const hpcb_company_pair_t *pair)
{
    limit(company, same_users, pair, HPCB_COMPANY_BOTH_MAX, pair->time);
    limit(company, same_primary_user, pair, HPCB_COMPANY_USER_MAX, pair->time);
    limit(company, same_guest_user, pair, HPCB_COMPANY_USER_MAX, pair->time);
    if (company->count == HPCB_COMPANY_MAX)
        hpcb_company_expire(company, pair->time);
    if (company->count == HPCB_COMPANY_MAX) {
        const hpcb_company_pair_t greedy = {.guest_uid = who_has_most(company)};

        limit(company, same_guest_user, &greedy, 1, pair->time);
    }
}

static uint32_t at_most(uint32_t weight)
{
    return weight < HPCB_COMPANY_WEIGHT_MAX ? weight : HPCB_COMPANY_WEIGHT_MAX;
}

/* Add a new experience to a known pair. */
static void add_to(hpcb_company_pair_t *pair, const hpcb_company_pair_t *experience)
{
    uint32_t before = hpcb_company_weight(pair, experience->time);
    uint32_t more = at_most(experience->weight);

    if (experience->time - pair->time >= HPCB_COMPANY_HOUR)
        pair->weight = at_most(before + more);
    else
        pair->weight = more > before ? more : before;
    pair->time = experience->time;
}

bool hpcb_company_add(hpcb_company_t *company, const hpcb_company_pair_t *experience)
{
    hpcb_company_pair_t *pair = find(company, experience->primary, experience->guest);

    if (!experience->primary || !experience->guest || !experience->weight ||
        experience->time < 0 || experience->time > TIME_MAX ||
        (pair && experience->time <= pair->time))
        return false;
    if (pair) {
        add_to(pair, experience);
        return true;
    }
    make_place(company, experience);
    pair = &company->pairs[company->count++];
    *pair = *experience;
    pair->weight = at_most(pair->weight);
    return true;
}

void hpcb_company_expire(hpcb_company_t *company, int64_t now)
{
    for (size_t i = company->count; i-- > 0;)
        if (hpcb_company_judge(&company->pairs[i], now) == HPCB_COMPANY_FINE)
            remove_at(company, i);
}

void hpcb_company_drop(hpcb_company_t *company, int64_t from, int64_t to)
{
    for (size_t i = company->count; i-- > 0;)
        if (company->pairs[i].time < from || company->pairs[i].time > to)
            remove_at(company, i);
}

size_t hpcb_company_of(const hpcb_company_t *company, uint64_t guest, int64_t now,
                       hpcb_company_bad_t bad[static HPCB_COMPANY_USER_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < company->count && count < HPCB_COMPANY_USER_MAX; i++) {
        const hpcb_company_pair_t *pair = &company->pairs[i];
        hpcb_company_verdict_t verdict =
            pair->guest == guest ? hpcb_company_judge(pair, now) : HPCB_COMPANY_FINE;

        if (verdict != HPCB_COMPANY_FINE)
            bad[count++] = (hpcb_company_bad_t){pair->primary, verdict};
    }
    return count;
}

/* ---- as text ---- */

size_t hpcb_company_print(const hpcb_company_t *company, char *text)
{
    size_t length = sizeof(VERSION) - 1;

    memcpy(text, VERSION, length + 1);
    for (size_t i = 0; i < company->count; i++) {
        const hpcb_company_pair_t *pair = &company->pairs[i];

        length += (size_t)snprintf(text + length, HPCB_COMPANY_LINE_MAX,
                                   "%016" PRIx64 " %016" PRIx64 " %" PRIu32 " %" PRIu32
                                   " %" PRId64 " %" PRIu32 "\n",
                                   pair->primary, pair->guest, pair->primary_uid,
                                   pair->guest_uid, pair->time, pair->weight);
    }
    return length;
}

/* The line's end, or NULL. */
static const char *parse_line(const char *text, hpcb_company_pair_t *pair)
{
    const char *end = strchr(text, '\n');
    char line[HPCB_COMPANY_LINE_MAX] = "";
    int length = 0;

    if (!end || end - text >= HPCB_COMPANY_LINE_MAX)
        return NULL;
    memcpy(line, text, (size_t)(end - text));
    if (sscanf(line,
               "%16" SCNx64 " %16" SCNx64 " %10" SCNu32 " %10" SCNu32 " %19" SCNd64
               " %10" SCNu32 "%n",
               &pair->primary, &pair->guest, &pair->primary_uid, &pair->guest_uid,
               &pair->time, &pair->weight, &length) != 6 ||
        line[length] != '\0')
        return NULL;
    return end + 1;
}

int hpcb_company_parse(hpcb_company_t *company, const char *text)
{
    hpcb_company_pair_t pair;

    company->count = 0;
    if (strncmp(text, VERSION, sizeof(VERSION) - 1) != 0)
        return -1;
    for (text += sizeof(VERSION) - 1; *text;) {
        text = parse_line(text, &pair);
        if (!text)
            return -1;
        hpcb_company_add(company, &pair);
    }
    return 0;
}
