/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One step whose ranks on this node are balanced.  It has no clock of its own and no
 * timer: hpcbd/balance/balance.c, or a test, calls it.
 *
 * What it may do is bounded by what it has been given: weights in groups of the step's
 * own tasks, and places among the CPUs that Slurm has bound these tasks to.
 */
#ifndef HPCB_HPCBD_BALANCE_UNIT_H
#define HPCB_HPCBD_BALANCE_UNIT_H

#include "hpcbd/balance/unit_data.h"

/* Read who its ranks are; what follows is for ticks.  env outlives it.  NULL with err
 * if there is no such step; err is empty if a rank is alone: nobody balances it. */
hpcbd_unit_t *hpcbd_unit_open(const hpcbd_balance_env_t *env, uint32_t job_id,
                              const char *step, hpcb_error_t *err);

/* Stop, and put ranks back to what they were before: a few at once, the rest in
 * ticks. */
void hpcbd_unit_end(hpcbd_unit_t *unit);

/* Ticks change nothing, until a look perhaps. */
bool hpcbd_unit_rests(const hpcbd_unit_t *unit);

/* End it at once, however long that takes.  NULL is fine. */
void hpcbd_unit_close(hpcbd_unit_t *unit);

/* The step is no more: whatever it has left goes, should its slurmstepd have been
 * killed. Before it is closed. */
void hpcbd_unit_forget(const hpcbd_unit_t *unit);

/* New processes of a few ranks in turn, and whether there are ranks at all; every few
 * seconds. */
void hpcbd_unit_look(hpcbd_unit_t *unit);

/* Do what is next to a few of the ranks: begin (the log says once what is done, or why
 * nothing is), listen to them, step the policy when all have ended an iteration, and do
 * what it says.  now_ns: of CLOCK_MONOTONIC. */
void hpcbd_unit_tick(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                     int64_t now_ns);

#endif
