/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time that slurmstepds of a guest may use at full weight on this node.  A user may
 * start any number of steps of a job, so all of them share one account
 * (StateDir/jobs/<id>.credit, removed with the job's other files).
 */
#ifndef HPCB_SPANK_CREDIT_H
#define HPCB_SPANK_CREDIT_H

#include <stdint.h>
#include "common/error.h"

typedef struct hpcb_credit hpcb_credit_t;

/* Open the account of the job; the first call creates it.  Return NULL with errno and
 * err on failure. */
hpcb_credit_t *hpcb_spank_credit_open(const char *state_dir, uint32_t job_id,
                                      hpcb_error_t *err);

/* Charge used_us and return the rest in microseconds; 0 or less: none.  NULL has no
 * rest.  Never blocks; thread-safe. */
int64_t hpcb_spank_credit_charge(hpcb_credit_t *credit, int64_t used_us);

/* Create an account for this process alone, with only the time for ending steps: for
 * use if the job's account is not available.  Return NULL if memory is short. */
hpcb_credit_t *hpcb_spank_credit_private(void);

/* Charge time that is used beyond the account while a step ends: up to 2 s of CPU time
 * of all steps of the job, and then 1 % of a CPU. */
int64_t hpcb_spank_credit_charge_end(hpcb_credit_t *credit, int64_t used_us);

/* credit may be NULL. */
void hpcb_spank_credit_close(hpcb_credit_t *credit);

#endif
