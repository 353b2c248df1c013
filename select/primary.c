/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary's test: as if there were no guests. Their cores are hidden; their
 * memory and GRES cannot be, so the preempt plugin takes these back.
 */
#include "select/shadow.h"

/*
 * Would the job start now if all guests in its way were gone? Stock answers
 * that in one go for a forecast, while for a start it removes them one by one
 * and tests after each: with a thousand guests and a primary that waits for
 * another primary, a thousand tests in each cycle of the scheduler.
 */
static bool _preemption_helps(const hpcb_test_t *test,
			      const bitstr_t *candidates)
{
	job_record_t *job_ptr = test->job_ptr;
	hpcb_before_t before = hpcb_before(job_ptr);
	hpcb_test_t probe = *test;
	int rc;

	if (list_count(test->preemptees) < 2)
		return true;
	probe.mode = SELECT_MODE_WILL_RUN;
	probe.node_bitmap = bit_copy((bitstr_t *) candidates);
	probe.preemptee_list = NULL;
	job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = hpcb_stock_test(&probe);
	FREE_NULL_BITMAP(probe.node_bitmap);
	hpcb_as_before(job_ptr, &before);
	return rc == SLURM_SUCCESS;
}

static int _run_or_preempt(const hpcb_test_t *test)
{
	bitstr_t *candidates = bit_copy(test->node_bitmap);
	hpcb_before_t before = hpcb_before(test->job_ptr);
	hpcb_test_t plain = *test;
	int rc;

	plain.preemptees = NULL;
	plain.preemptee_list = NULL;
	rc = hpcb_stock_test(&plain);
	if (rc != SLURM_SUCCESS) {
		hpcb_as_before(test->job_ptr, &before);
		if (_preemption_helps(test, candidates)) {
			bit_copybits(test->node_bitmap, candidates);
			rc = hpcb_stock_test(test);
		}
	}
	FREE_NULL_BITMAP(candidates);
	return rc;
}

extern int hpcb_test_primary(const hpcb_test_t *test)
{
	hpcb_hidden_t *hidden = hpcb_hide(true);
	int rc;

	if ((test->mode == SELECT_MODE_RUN_NOW) && test->preemptees)
		rc = _run_or_preempt(test);
	else
		rc = hpcb_stock_test(test);
	hpcb_show(hidden);
	return rc;
}
