/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary's test, as if there were no guests. Their cores are hidden, and
 * their memory on nodes that lend it (memory.c). Other memory and GRES cannot
 * be hidden, so the preempt plugin takes these back.
 */
#include "select/shadow.h"

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
	hpcb_view_t *view;
	int rc = SLURM_ERROR;

	nodes = bit_copy(test->node_bitmap);
	paid.preemptees = guests;
	if ((list_count(guests) < 2) ||
	    hpcb_fits_without(test, nodes, guests)) {
		if (list_count(guests) > GUESTS_MAX) {
			bit_copybits(test->node_bitmap, nodes);
			list_delete_all(guests, hpcb_is_elsewhere, nodes);
		}
		view = hpcb_memory_view_without(guests);
		rc = hpcb_stock_test(&paid);
		hpcb_memory_unview(view);
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

/* Predict its start. Guests without anything that it needs are ignored. */
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

extern int hpcb_test_primary(const hpcb_test_t *test)
{
	hpcb_hidden_t *hidden = hpcb_hide(true);
	hpcb_view_t *view =
		hpcb_memory_view_primary(test->mode == SELECT_MODE_WILL_RUN);
	int rc = hpcb_ask_spread(test, _test);

	hpcb_memory_unview(view);
	hpcb_show(hidden);
	return rc;
}
