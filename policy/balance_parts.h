/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between the parts of policy/balance. */
#ifndef HPCB_POLICY_BALANCE_PARTS_H
#define HPCB_POLICY_BALANCE_PARTS_H

#include "policy/balance.h"

/* Further members of a group are ignored. */
#define HPCB_BALANCE_SIDES 64

/* One hardware thread of a core with all its ranks, or one rank. */
typedef struct {
    uint16_t rank[HPCB_BALANCE_SIDES];
    unsigned n;
    double util;    /* sum over its ranks; may exceed 1 */
    double compute; /* seconds of the rank that took longest */
    unsigned priority;
} hpcb_balance_side_t;

typedef struct {
    unsigned first; /* index of its first place */
    unsigned n;
    bool known; /* samples of all its ranks are known */
    hpcb_balance_side_t side[HPCB_BALANCE_SIDES];
} hpcb_balance_group_t;

/* Get the group that begins at place first.  Return the place after its last one. */
unsigned hpcb_balance_group(const hpcb_balance_places_t *places,
                            const hpcb_balance_t *balance, unsigned first,
                            hpcb_balance_group_t *group);

/* Set the priorities of group for its ranks.  Return whether any changed. */
bool hpcb_balance_assign(const hpcb_balance_group_t *group, hpcb_balance_t *balance);

/* Set priority_min for all ranks.  Return whether any changed. */
bool hpcb_balance_neutral(const hpcb_balance_conf_t *conf, hpcb_balance_t *balance);

/* Distribute the ranks of balance over places by number. */
void hpcb_balance_distribute(const hpcb_balance_places_t *places,
                             hpcb_balance_t *balance);

/* Distribute them by load.  Return whether any rank moved. */
bool hpcb_balance_load(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, hpcb_balance_t *balance);

/* Return the time in seconds that the slowest side of group would take with these
 * priorities. */
double hpcb_balance_predict(const hpcb_balance_group_t *group,
                            const unsigned priority[]);

/* Return the part of the CPU that a side gets with these priorities. */
double hpcb_balance_part(const unsigned priority[], unsigned n, unsigned side);

/* Set the best priorities of conf's range in group by prediction.  group is unchanged
 * if no better ones are predicted. */
void hpcb_balance_best(const hpcb_balance_conf_t *conf, hpcb_balance_group_t *group);

/* Take one step of the resource balancer in each group.  Return whether any priority
 * changed. */
bool hpcb_balance_resource(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           hpcb_balance_t *balance);

/* Take one step of a policy.  Return the changes. */
unsigned hpcb_balance_heuristic(const hpcb_balance_conf_t *conf,
                                hpcb_balance_kind_t kind, hpcb_balance_t *balance);
unsigned hpcb_balance_dlrb(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, bool predict,
                           hpcb_balance_t *balance);
unsigned hpcb_balance_auto(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           hpcb_balance_t *balance);

#endif
