/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs that were offered more nodes than they need, and did not start on them:
 * slurmctld looks at the limits of accounts and QOS once more when the plugin has
 * chosen, and says no without a word to it. Before the next look it has already
 * forgotten that as the reason why the job waits (acct_policy_job_runnable_pre_select,
 * 22.05 to 26.05), so that only this tells.
 *
 * A fixed table, in which jobs displace each other; nothing can fail.
 */
#include "select/shadow.h"

#define SLOTS 16384

/* At one look slurmctld may ask several times. */
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
