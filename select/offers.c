/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs that were offered more nodes than they need and did not start. slurmctld
 * compares limits of accounts and QOS with usage after the plugin has selected
 * nodes, and clears the reason before the next test
 * (acct_policy_job_runnable_pre_select, 22.05 to 26.05).
 *
 * The table has a fixed size: a job may replace another one.
 */
#include "select/shadow.h"

#define SLOTS 16384

/* slurmctld may test a job several times in one scheduling cycle. */
#define LOOK_SECONDS 2

typedef struct {
	uint32_t id;	/* 0: empty */
	time_t when;	/* the first offer */
} slot_t;

static slot_t slots[SLOTS];

extern void hpcb_offer(uint32_t job_id, time_t now)
{
	slot_t *slot = &slots[job_id % SLOTS];

	if (slot->id != job_id)
		*slot = (slot_t) { job_id, now };
}

extern bool hpcb_offer_was_vain(uint32_t job_id, time_t now)
{
	const slot_t *slot = &slots[job_id % SLOTS];

	return (slot->id == job_id) &&
	       ((now < slot->when) || (now - slot->when >= LOOK_SECONDS));
}

extern void hpcb_offer_forget(uint32_t job_id)
{
	slot_t *slot = &slots[job_id % SLOTS];

	if (slot->id == job_id)
		slot->id = 0;
}
