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
 * The table has a fixed size: of those whose ids are a multiple of SETS apart, the
 * PLACES that were offered nodes last are known.
 */
#include "select/shadow.h"

#define SETS	4096
#define PLACES	8

/* slurmctld may test a job several times in one scheduling cycle. */
#define LOOK_SECONDS 2

typedef struct {
	uint32_t id;	/* 0: empty */
	time_t when;	/* the first offer */
	uint64_t used;	/* the last one, as a number */
} slot_t;

static slot_t sets[SETS][PLACES];
static uint64_t offers;

/* NULL: it is not known. */
static slot_t *_find(uint32_t job_id)
{
	slot_t *set = sets[job_id % SETS];
	int i;

	for (i = 0; i < PLACES; i++)
		if (set[i].id == job_id)
			return &set[i];
	return NULL;
}

/* An empty one, or the one of the job that has not been offered any for longest. */
static slot_t *_make_room(uint32_t job_id)
{
	slot_t *set = sets[job_id % SETS], *oldest = set;
	int i;

	for (i = 0; i < PLACES; i++) {
		if (!set[i].id)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

extern void hpcb_offer(uint32_t job_id, time_t now)
{
	slot_t *slot = _find(job_id);

	if (!slot) {
		slot = _make_room(job_id);
		*slot = (slot_t) { .id = job_id, .when = now };
	}
	slot->used = ++offers;
}

extern bool hpcb_offer_was_vain(uint32_t job_id, time_t now)
{
	const slot_t *slot = _find(job_id);

	return slot &&
	       ((now < slot->when) || (now - slot->when >= LOOK_SECONDS));
}

extern void hpcb_offer_forget(uint32_t job_id)
{
	slot_t *slot = _find(job_id);

	if (slot)
		*slot = (slot_t) { 0 };
}
