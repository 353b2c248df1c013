/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bad company: pairs of programs, of a primary and of a guest, of which the guard
 * (policy/guard.h) had to send the guest away.  Placement keeps the guest off nodes
 * where that primary runs: strictly at first, as the last choice later, and after some
 * weeks it has forgotten.
 *
 * Each time that a pair proves bad adds 1 to its weight (a part of it, if several
 * guests were there), at most once an hour: a primary of a hundred nodes is one
 * experience.  The weight halves every week.
 *
 * A user has a bounded number of pairs as the owner of primaries and as the owner of
 * guests.  A full table drops a pair of the user who owns the most guests in it.
 *
 * Programs are numbers (hpcb_fit_program, policy/fitness.h) that are never 0; times are
 * seconds of one clock.  A table is some 160 KiB; it belongs to the caller.
 */
#ifndef HPCB_POLICY_COMPANY_H
#define HPCB_POLICY_COMPANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HPCB_COMPANY_MAX 4096

/* Pairs of one user as the owner of primaries, and as many as that of guests; and of
 * two users: nobody pushes out what others know of somebody's guests. */
#define HPCB_COMPANY_USER_MAX 64
#define HPCB_COMPANY_BOTH_MAX 16

/* The weight of one experience with one guest, and the largest one. */
#define HPCB_COMPANY_ONE        1000
#define HPCB_COMPANY_WEIGHT_MAX (16 * HPCB_COMPANY_ONE)

/* Experiences of a pair within so long are one.  For so long, times the weight at the
 * last one, the guest is kept off. */
#define HPCB_COMPANY_HOUR 3600

/* In which a weight halves. */
#define HPCB_COMPANY_HALF (7 * 24 * 3600)

typedef struct {
    uint64_t primary, guest; /* programs */
    uint32_t primary_uid, guest_uid;
    int64_t time;    /* of the last experience */
    uint32_t weight; /* at that time */
} hpcb_company_pair_t;

/* All zero: nobody. */
typedef struct {
    size_t count;
    hpcb_company_pair_t pairs[HPCB_COMPANY_MAX];
} hpcb_company_t;

typedef enum {
    HPCB_COMPANY_FINE,
    HPCB_COMPANY_LAST,  /* the guest gets such a node if there is no other */
    HPCB_COMPANY_APART, /* it does not get it */
} hpcb_company_verdict_t;

/* Take an experience in.  Return false if the table has it (or a later one of that
 * pair) already, or it is none: a program is 0, a weight is 0. */
bool hpcb_company_add(hpcb_company_t *company, const hpcb_company_pair_t *experience);

/* Drop the pairs that weigh nothing any more; and those whose time is before `from`, or
 * after `to`: the clock has been set back since. */
void hpcb_company_expire(hpcb_company_t *company, int64_t now);
void hpcb_company_drop(hpcb_company_t *company, int64_t from, int64_t to);

/* What the pair weighs by now. */
uint32_t hpcb_company_weight(const hpcb_company_pair_t *pair, int64_t now);

hpcb_company_verdict_t hpcb_company_judge(const hpcb_company_pair_t *pair, int64_t now);

/* Until when the guest is kept off. */
int64_t hpcb_company_apart_until(const hpcb_company_pair_t *pair);

/* The primaries that are bad company for the guest's program, with what to do, into up
 * to HPCB_COMPANY_USER_MAX places; returns how many. */
typedef struct {
    uint64_t primary;
    hpcb_company_verdict_t verdict;
} hpcb_company_bad_t;

size_t hpcb_company_of(const hpcb_company_t *company, uint64_t guest, int64_t now,
                       hpcb_company_bad_t bad[static HPCB_COMPANY_USER_MAX]);

/*
 * A table as text: a first line with the version, then a line a pair.  This is what
 * nodes report, and what the collector keeps.
 */
#define HPCB_COMPANY_LINE_MAX 88 /* with the newline */
#define HPCB_COMPANY_TEXT_MAX ((HPCB_COMPANY_MAX + 1) * HPCB_COMPANY_LINE_MAX)

/* Below StateDir of a node and below CollectorDir. */
#define HPCB_COMPANY_FILE "company"

/* Write it with a NUL to text, HPCB_COMPANY_TEXT_MAX bytes; returns its length. */
size_t hpcb_company_print(const hpcb_company_t *company, char *text);

/* Read it.  0, or -1 with company undefined: it is none, or of another version.  Pairs
 * beyond the bounds above are left out. */
int hpcb_company_parse(hpcb_company_t *company, const char *text);

#endif
