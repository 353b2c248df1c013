/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time that slurmstepds of a guest may take at full weight on this node.  A user
 * makes as many steps of a job as they like, so all of them share one account
 * (StateDir/jobs/<id>.credit, removed with the job's other files).
 */
#ifndef HPCB_SPANK_CREDIT_H
#define HPCB_SPANK_CREDIT_H

#include <stdint.h>
#include "common/error.h"

typedef struct hpcb_credit hpcb_credit_t;

/* The account of the job, made by the first one who asks.  NULL with errno and err. */
hpcb_credit_t *hpcb_spank_credit_open(const char *state_dir, uint32_t job_id,
                                      hpcb_error_t *err);

/* Charge used_us and return what is left, in microseconds; 0 or less: nothing.  Of
 * NULL nothing is left.  Waits for nobody, and any thread may call it. */
int64_t hpcb_spank_credit_charge(hpcb_credit_t *credit, int64_t used_us);

/* An account of this process alone, with nothing on it but what ends may take: where
 * the job's cannot be had.  NULL without memory. */
hpcb_credit_t *hpcb_spank_credit_private(void);

/* The same for time that is taken beyond the account while a step is ending: up to 2 s
 * of CPU time of all steps of the job, and then 1 % of a CPU. */
int64_t hpcb_spank_credit_charge_end(hpcb_credit_t *credit, int64_t used_us);

/* NULL is fine. */
void hpcb_spank_credit_close(hpcb_credit_t *credit);

#endif
