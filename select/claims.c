/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Nodes that are being cleared of guests for a primary. Guests precede
 * primaries in slurmctld's queue (their partition has a higher tier): resources
 * that the first guest frees would go to the next waiting one, and Slurm lets
 * the primary preempt again only after KillWait and MessageTimeout. So no guest
 * starts on such a node until the primary has, or until then.
 *
 * Called with slurmctld's job write lock held.
 */
#include "select/shadow.h"

#include <time.h>

/* More primaries at a time that preempt: for these, guests may come first. */
#define CLAIMS_MAX 256

typedef struct {
	uint32_t job_id;	/* 0: free */
	time_t until;
	bitstr_t *nodes;
} claim_t;

static claim_t claims[CLAIMS_MAX];
static int n_claims = 0;	/* none is in use from here on */

static void _drop(claim_t *claim)
{
	FREE_NULL_BITMAP(claim->nodes);
	claim->job_id = 0;
	while (n_claims && !claims[n_claims - 1].job_id)
		n_claims--;
}

static claim_t *_find(uint32_t job_id)
{
	int i;

	for (i = 0; i < n_claims; i++) {
		if (claims[i].job_id == job_id)
			return &claims[i];
	}
	return NULL;
}

static int _grace(void *x, void *arg)
{
	const job_record_t *guest = x;
	uint32_t *grace = arg;

	if (guest->part_ptr && (guest->part_ptr->grace_time != NO_VAL) &&
	    (guest->part_ptr->grace_time != INFINITE))
		*grace = MAX(*grace, guest->part_ptr->grace_time);
	return 0;
}

/* As long as Slurm takes the preemption for one that is under way. */
extern void hpcb_claim(const hpcb_test_t *test, struct xlist *guests)
{
	uint32_t job_id = test->job_ptr->job_id, grace = 0;
	claim_t *claim = _find(job_id);
	time_t now = time(NULL);

	if (claim && (claim->until > now))
		return;
	if (!claim)
		claim = _find(0);
	if (!claim && (n_claims < CLAIMS_MAX))
		claim = &claims[n_claims++];
	if (!claim)
		return;
	list_for_each(guests, _grace, &grace);
	FREE_NULL_BITMAP(claim->nodes);
	claim->nodes = bit_copy(test->node_bitmap);
	claim->job_id = job_id;
	claim->until = now + slurm_conf.kill_wait + slurm_conf.msg_timeout +
		       grace;
}

static int _is_untold(void *x, void *key)
{
	const job_record_t *guest = x;

	(void) key;
	return !guest->preempt_time;
}

static int _is_overdue(void *x, void *key)
{
	const job_record_t *guest = x;
	const time_t *now = key;

	return guest->end_time <= *now;
}

/*
 * slurmctld requeues a guest whose grace time is over at its next check of all
 * jobs' limits (PERIODIC_TIMEOUT, 30 s), or when a primary preempts it once
 * more, which the same primary does not before KillWait and MessageTimeout. If
 * no other guest has to be told, request it at once.
 */
extern void hpcb_end_grace(job_record_t *job_ptr, struct xlist *guests)
{
	time_t now = time(NULL);

	if (!list_find_first(guests, _is_untold, NULL) &&
	    list_find_first(guests, _is_overdue, &now))
		job_ptr->details->preempt_start_time = 0;
}

extern void hpcb_unclaim(uint32_t job_id)
{
	claim_t *claim = _find(job_id);

	if (claim)
		_drop(claim);
}

extern void hpcb_keep_off_claims(bitstr_t *nodes)
{
	time_t now = time(NULL);
	int i;

	for (i = n_claims - 1; i >= 0; i--) {
		if (!claims[i].job_id)
			continue;
		if (claims[i].until <= now)
			_drop(&claims[i]);
		else
			bit_and_not(nodes, claims[i].nodes);
	}
}

extern void hpcb_claims_forget(void)
{
	int i;

	for (i = n_claims - 1; i >= 0; i--)
		_drop(&claims[i]);
}
