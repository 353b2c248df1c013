/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A step whose ranks on this node are balanced.  It has no clock and no timer;
 * hpcbd/balance/balance.c or a test calls it.
 *
 * Its effects are limited to weights in groups of the step's own tasks and to the CPUs
 * to which Slurm has bound these tasks.
 */
#ifndef HPCB_HPCBD_BALANCE_UNIT_H
#define HPCB_HPCBD_BALANCE_UNIT_H

#include "hpcbd/balance/unit_data.h"

/* Open a step and read its ranks; ticks do the rest.  env must outlive it.  Return NULL
 * with err if there is no such step; err is empty if it has only one rank, which is not
 * balanced. */
hpcbd_unit_t *hpcbd_unit_open(const hpcbd_balance_env_t *env, uint32_t job_id,
                              const char *step, hpcb_error_t *err);

/* End balancing and restore the ranks: a few at once, the rest in ticks. */
void hpcbd_unit_end(hpcbd_unit_t *unit);

/* Return whether ticks have no effect until the next scan. */
bool hpcbd_unit_rests(const hpcbd_unit_t *unit);

/* End it at once, however long that takes.  unit may be NULL. */
void hpcbd_unit_close(hpcbd_unit_t *unit);

/* Remove everything that is left of a step that has ended, in case its slurmstepd was
 * killed.  Call it before hpcbd_unit_close. */
void hpcbd_unit_forget(const hpcbd_unit_t *unit);

/* Scan a few ranks in turn for new processes, and check whether there are ranks at all;
 * every few seconds. */
void hpcbd_unit_look(hpcbd_unit_t *unit);

/* Continue with a few of the ranks: begin (the log says once what is done, or why
 * nothing is), read their samples, step the policy when all have completed an
 * iteration, and apply its result.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_unit_tick(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                     int64_t now_ns);

#endif
