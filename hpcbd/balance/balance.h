/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The balance engine, a part of the daemon (hpcbd/hpcbd.h): distributes a node's CPUs
 * among the ranks of each step that is to be balanced (hpcbd/balance/unit.h).  These
 * functions are for other parts.
 */
#ifndef HPCB_HPCBD_BALANCE_BALANCE_H
#define HPCB_HPCBD_BALANCE_BALANCE_H

#include <json-c/json.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_balance;

/* Note that the job's data in StateDir have changed. */
void hpcbd_balance_job(uint32_t job_id);
void hpcbd_balance_job_end(uint32_t job_id);

/* Return the status of the job's steps: an array, or NULL if there are none. */
json_object *hpcbd_balance_status(uint32_t job_id);

#endif
