/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One step whose ranks on this node are balanced.  It has no clock of its own and no
 * timer: hpcbd/balance.c, or a test, calls it.
 *
 * What it may do is bounded by what it has been given: weights in groups of the step's
 * own tasks, and places among the CPUs that Slurm has bound these tasks to.
 */
#ifndef HPCB_HPCBD_BALANCE_UNIT_H
#define HPCB_HPCBD_BALANCE_UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"
#include "common/conf.h"
#include "common/ranks.h"
#include "hpcbd/balance_rank.h"
#include "policy/balance.h"

typedef struct {
    const hpcb_node_t *node;
    const hpcb_conf_t *conf;
    const char *state_dir; /* of undo logs */
} hpcbd_balance_env_t;

typedef struct {
    uint32_t job_id;
    char step[HPCB_STEP_MAX];
    char policy[HPCB_BALANCE_TEXT_MAX];
    char page[PATH_MAX]; /* as in common/ranks.h */
    unsigned n;
    unsigned n_cpus;  /* that they share */
    bool acting;      /* something is done to it */
    bool weighs;      /* ranks share CPUs: weights are among it */
    bool free;        /* ranks are not bound: they share all CPUs, and count as one */
    bool speaking;    /* its ranks say when iterations end */
    unsigned turn;    /* whose look is next */
    bool lost;        /* somebody has undone it: to be opened anew */
    bool found;       /* the file of its ranks is still there */
    hpcb_error_t why; /* why not, or not all; "" */
    unsigned changes, last_change;
    int64_t stepped_ns;
    hpcb_undo_t *undo;
    hpcb_balance_conf_t conf;
    hpcb_balance_places_t places;
    hpcb_balance_t balance;
    hpcbd_rank_t rank[HPCB_RANKS_MAX];
} hpcbd_unit_t;

/* Read who its ranks are, and begin.  The log says once what is done, or why nothing
 * is.  NULL with err where there is no such step; errno EAGAIN: its tasks have not
 * begun yet. */
hpcbd_unit_t *hpcbd_unit_open(const hpcbd_balance_env_t *env, uint32_t job_id,
                              const char *step, hpcb_error_t *err);

/* Ranks are as they were before.  NULL is fine. */
void hpcbd_unit_close(hpcbd_unit_t *unit);

/* The step is no more: whatever it has left goes, should its slurmstepd have been
 * killed. Before it is closed. */
void hpcbd_unit_forget(const hpcbd_unit_t *unit);

/* New processes of a few ranks in turn, and whether there are ranks at all; every few
 * seconds. */
void hpcbd_unit_look(hpcbd_unit_t *unit);

/* Listen to the ranks, and step the policy when all have ended an iteration.  now_ns:
 * of CLOCK_MONOTONIC. */
void hpcbd_unit_tick(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                     int64_t now_ns);

/* What a rank weighs now. */
uint32_t hpcbd_unit_weight(const hpcbd_unit_t *unit, unsigned rank);

#endif
