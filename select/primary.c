/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary's test: as if there were no guests. Their cores are hidden; their
 * memory and GRES cannot be, so the preempt plugin takes these back.
 */
#include "select/shadow.h"

extern part_res_record_t *select_part_record __attribute__((weak));

/* Stock copies all tables and tests the job again for every guest that it
 * removes; with more guests than this, nodes are chosen as if there were none. */
#define GUESTS_MAX 32

/*
 * A start that is paid for by guests: stock chooses nodes with few of them in
 * the way. With fewer than two there is nothing to ask beforehand; otherwise
 * not a thousand tests in each cycle for a job that waits for other primaries.
 */
static int _preempt(const hpcb_test_t *test, struct xlist *guests)
{
	hpcb_test_t paid = *test;
	bitstr_t *nodes;
	bool first = test->preemptee_list && !*test->preemptee_list;
	int rc = SLURM_ERROR;

	nodes = bit_copy(test->node_bitmap);
	paid.preemptees = guests;
	if ((list_count(guests) < 2) ||
	    hpcb_fits_without(test, nodes, guests)) {
		if (list_count(guests) > GUESTS_MAX) {
			bit_copybits(test->node_bitmap, nodes);
			list_delete_all(guests, hpcb_is_elsewhere, nodes);
		}
		rc = hpcb_stock_test(&paid);
	}
	FREE_NULL_BITMAP(nodes);
	if ((rc == SLURM_SUCCESS) && first && *test->preemptee_list) {
		hpcb_spare(test, *test->preemptee_list);
		hpcb_claim(test, *test->preemptee_list);
		hpcb_end_grace(test->job_ptr, *test->preemptee_list);
	}
	return rc;
}

static int _run_or_preempt(const hpcb_test_t *test)
{
	bitstr_t *candidates = bit_copy(test->node_bitmap);
	hpcb_before_t before = hpcb_before(test->job_ptr);
	hpcb_test_t plain = *test;
	struct xlist *guests;
	int rc;

	plain.preemptees = NULL;
	plain.preemptee_list = NULL;
	rc = hpcb_stock_test(&plain);
	if (rc != SLURM_SUCCESS) {
		hpcb_as_before(test->job_ptr, &before);
		guests = hpcb_in_the_way(test->job_ptr, candidates,
					 test->preemptees);
		if (guests) {
			bit_copybits(test->node_bitmap, candidates);
			rc = _preempt(test, guests);
		}
		FREE_NULL_LIST(guests);
	}
	FREE_NULL_BITMAP(candidates);
	if (rc == SLURM_SUCCESS)
		hpcb_clear_components(test);
	return rc;
}

/* When will it start? Guests that have nothing that it wants are no matter. */
static int _forecast(const hpcb_test_t *test)
{
	hpcb_test_t forecast = *test;
	int rc;

	forecast.preemptees = hpcb_in_the_way(test->job_ptr, test->node_bitmap,
					      test->preemptees);
	rc = hpcb_stock_test(&forecast);
	FREE_NULL_LIST(forecast.preemptees);
	return rc;
}

static int _test(const hpcb_test_t *test)
{
	int rc;

	if (!test->preemptees || (test->mode == SELECT_MODE_TEST_ONLY))
		rc = hpcb_stock_test(test);
	else if (test->mode == SELECT_MODE_RUN_NOW)
		rc = _run_or_preempt(test);
	else
		rc = _forecast(test);
	return rc;
}

/* Do jobs of other partitions of primaries run on the partition's nodes? */
static bool _meets_others(const part_record_t *part_ptr)
{
	part_res_record_t *other;

	if (!&select_part_record || !part_ptr->node_bitmap)
		return false;
	for (other = select_part_record; other; other = other->next) {
		if (other->row && (other->part_ptr != part_ptr) &&
		    other->part_ptr->node_bitmap &&
		    (other->part_ptr->priority_tier ==
		     part_ptr->priority_tier) &&
		    bit_overlap_any(other->part_ptr->node_bitmap,
				    part_ptr->node_bitmap))
			return true;
	}
	return false;
}

/*
 * With OverSubscribe=FORCE stock puts a job onto cores that jobs of other
 * partitions hold, also of the same tier, if its own partition holds none of
 * them ("step 4"). So that no two primaries share a core, the job is tested as
 * with OverSubscribe=NO, which is what it would have without guests. Who asks
 * for the partition meanwhile (scontrol show partition) is told NO, too.
 */
static int _test_unshared(const hpcb_test_t *test)
{
	job_record_t *job_ptr = test->job_ptr;
	part_record_t *part_ptr = job_ptr->part_ptr;
	uint16_t max_share = part_ptr->max_share;
	int rc;

	part_ptr->max_share = 1;
	rc = _test(test);
	part_ptr->max_share = max_share;
	/* Else guests could not use its nodes. */
	if (job_ptr->job_resrcs)
		job_ptr->job_resrcs->node_req = NODE_CR_AVAILABLE;
	return rc;
}

extern int hpcb_test_primary(const hpcb_test_t *test)
{
	const part_record_t *part_ptr = test->job_ptr->part_ptr;
	hpcb_hidden_t *hidden = hpcb_hide(true);
	int rc;

	if ((part_ptr->max_share == (SHARED_FORCE | 1)) &&
	    _meets_others(part_ptr))
		rc = _test_unshared(test);
	else
		rc = _test(test);
	hpcb_show(hidden);
	return rc;
}
