/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the parts of policy/balance call of each other; nobody else does. */
#ifndef HPCB_POLICY_BALANCE_PARTS_H
#define HPCB_POLICY_BALANCE_PARTS_H

#include "policy/balance.h"

/* A group's members beyond this are left alone. */
#define HPCB_BALANCE_SIDES 64

/* One hardware thread of a core with all its ranks, or one rank. */
typedef struct {
    uint16_t rank[HPCB_BALANCE_SIDES];
    unsigned n;
    double util;    /* sum over its ranks, 0..1 and more */
    double compute; /* seconds, of the rank that took longest */
    unsigned priority;
} hpcb_balance_side_t;

typedef struct {
    unsigned first; /* its first place */
    unsigned n;
    bool known; /* of all its ranks */
    hpcb_balance_side_t side[HPCB_BALANCE_SIDES];
} hpcb_balance_group_t;

/* The group that begins at place first; the place after its last one. */
unsigned hpcb_balance_group(const hpcb_balance_places_t *places,
                            const hpcb_balance_t *balance, unsigned first,
                            hpcb_balance_group_t *group);

/* Give the priorities in group to its ranks.  Whether there is a change. */
bool hpcb_balance_assign(const hpcb_balance_group_t *group, hpcb_balance_t *balance);

/* All ranks to priority_min.  Whether there is a change. */
bool hpcb_balance_neutral(const hpcb_balance_conf_t *conf, hpcb_balance_t *balance);

/* The ranks of balance onto places, by number alone. */
void hpcb_balance_distribute(const hpcb_balance_places_t *places,
                             hpcb_balance_t *balance);

/* The same by load; whether any has moved. */
bool hpcb_balance_load(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, hpcb_balance_t *balance);

/* Seconds that the slowest side of group would take if they had these priorities. */
double hpcb_balance_predict(const hpcb_balance_group_t *group,
                            const unsigned priority[]);

/* The part of its CPU that a side gets with these priorities. */
double hpcb_balance_part(const unsigned priority[], unsigned n, unsigned side);

/* The best priorities by prediction, of conf's range, into group.  It stays as it is
 * where nothing better is predicted. */
void hpcb_balance_best(const hpcb_balance_conf_t *conf, hpcb_balance_group_t *group);

/* One step of the resource balancer in each group.  Whether priorities have changed. */
bool hpcb_balance_resource(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           hpcb_balance_t *balance);

/* One step of each policy; what has changed. */
unsigned hpcb_balance_heuristic(const hpcb_balance_conf_t *conf,
                                hpcb_balance_kind_t kind, hpcb_balance_t *balance);
unsigned hpcb_balance_dlrb(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, bool predict,
                           hpcb_balance_t *balance);
unsigned hpcb_balance_auto(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           hpcb_balance_t *balance);

#endif
