/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bad company: pairs of programs, of a primary and of a guest, that the guard
 * (policy/guard.h) had to separate.  For some hours, placement keeps the guest off
 * nodes where that primary runs.  After that such a node is the last choice, and after
 * some weeks the pair is forgotten.
 *
 * Each time that a pair proves bad adds 1 to its weight, or a part of 1 if several
 * guests were there.  This counts once an hour at most, because a primary on a hundred
 * nodes is one experience.  The weight halves every week.
 *
 * The number of pairs per user is bounded, separately for the owner of the primary and
 * the owner of the guest.  A full table drops a pair of the user who owns the most
 * guests in it.
 *
 * Programs are numbers other than 0 (hpcb_fit_program, policy/fitness.h).  Times are
 * seconds of one clock.  The caller owns the table, of about 160 KiB.
 */
#ifndef HPCB_POLICY_COMPANY_H
#define HPCB_POLICY_COMPANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HPCB_COMPANY_MAX 4096

/* Maximum number of pairs of one user, as the owner of primaries and as the owner of
 * guests, and of two users together.  No user can push out entries of others. */
#define HPCB_COMPANY_USER_MAX 64
#define HPCB_COMPANY_BOTH_MAX 16

/* Weight of one experience with one guest, and the largest weight, in thousandths. */
#define HPCB_COMPANY_ONE        1000
#define HPCB_COMPANY_WEIGHT_MAX (16 * HPCB_COMPANY_ONE)

/* Experiences of a pair within this time (seconds) count once.  The guest is kept off
 * for this time multiplied by the weight at the last experience. */
#define HPCB_COMPANY_HOUR 3600

/* Half-life of a weight in seconds. */
#define HPCB_COMPANY_HALF (7 * 24 * 3600)

typedef struct {
    uint64_t primary, guest; /* programs */
    uint32_t primary_uid, guest_uid;
    int64_t time;    /* of the last experience */
    uint32_t weight; /* at that time, in thousandths */
} hpcb_company_pair_t;

/* All zero: empty. */
typedef struct {
    size_t count;
    hpcb_company_pair_t pairs[HPCB_COMPANY_MAX];
} hpcb_company_t;

typedef enum {
    HPCB_COMPANY_FINE,
    HPCB_COMPANY_LAST,  /* the guest gets such a node only if there is no other */
    HPCB_COMPANY_APART, /* the guest does not get such a node */
} hpcb_company_verdict_t;

/* Add an experience.  Return false if the table already has it (or a later one of the
 * same pair), or if a program or the weight is 0. */
bool hpcb_company_add(hpcb_company_t *company, const hpcb_company_pair_t *experience);

/* Drop pairs of which the weight has become 0; drop pairs with a time before `from` or
 * after `to`, which occur if the clock was set back. */
void hpcb_company_expire(hpcb_company_t *company, int64_t now);
void hpcb_company_drop(hpcb_company_t *company, int64_t from, int64_t to);

/* Return the present weight of the pair. */
uint32_t hpcb_company_weight(const hpcb_company_pair_t *pair, int64_t now);

hpcb_company_verdict_t hpcb_company_judge(const hpcb_company_pair_t *pair, int64_t now);

/* Return the time until which the guest is kept off. */
int64_t hpcb_company_apart_until(const hpcb_company_pair_t *pair);

/* Write the primaries that are bad company for the guest's program, each with a
 * verdict.  Return their number, at most HPCB_COMPANY_USER_MAX. */
typedef struct {
    uint64_t primary;
    hpcb_company_verdict_t verdict;
} hpcb_company_bad_t;

size_t hpcb_company_of(const hpcb_company_t *company, uint64_t guest, int64_t now,
                       hpcb_company_bad_t bad[static HPCB_COMPANY_USER_MAX]);

/*
 * Text form of a table: one line with the version, then one line per pair.  Nodes
 * report it, and the collector keeps it.
 */
#define HPCB_COMPANY_LINE_MAX 88 /* including the newline */
#define HPCB_COMPANY_TEXT_MAX ((HPCB_COMPANY_MAX + 1) * HPCB_COMPANY_LINE_MAX)

/* File name in StateDir of a node and in CollectorDir. */
#define HPCB_COMPANY_FILE "company"

/* Write the table and a NUL to text (HPCB_COMPANY_TEXT_MAX bytes).  Return the
 * length. */
size_t hpcb_company_print(const hpcb_company_t *company, char *text);

/* Read a table.  Return 0, or -1 with company undefined if text is no table of this
 * version.  Pairs beyond the bounds above are dropped. */
int hpcb_company_parse(hpcb_company_t *company, const char *text);

#endif
