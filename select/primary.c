/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary's test: as if there were no guests. Their cores are hidden; their
 * memory and GRES cannot be, so the preempt plugin takes these back.
 */
#include "select/shadow.h"

extern node_use_record_t *select_node_usage __attribute__((weak));

/* The most memory that the job may want on the node, in MiB. */
static uint64_t _most_memory(const job_record_t *job_ptr,
			     const node_record_t *node_ptr)
{
	uint64_t memory = job_ptr->details->pn_min_memory;

	if (memory & MEM_PER_CPU)
		return (memory & ~MEM_PER_CPU) * node_ptr->cpus;
	return memory ? memory : node_ptr->real_memory;
}

static bool _guests_hold_memory(const job_record_t *job_ptr,
				const hpcb_usage_t *usage, int node_inx)
{
	const node_record_t *node_ptr = node_record_table_ptr[node_inx];
	uint64_t taken = select_node_usage[node_inx].alloc_memory;

	if (!node_ptr || !hpcb_usage_guest_memory(usage, node_inx))
		return false;
	return taken + node_ptr->mem_spec_limit +
	       _most_memory(job_ptr, node_ptr) > node_ptr->real_memory;
}

/*
 * May guests be in the way at all? Where they have neither memory that the job
 * needs nor could have GRES, a job that does not start waits for primaries.
 */
static bool _guests_matter(const hpcb_test_t *test, const bitstr_t *candidates)
{
	const job_record_t *job_ptr = test->job_ptr;
	const hpcb_usage_t *usage = hpcb_jobs_usage();
	bitstr_t *nodes = (bitstr_t *) candidates;
	int i, first, last;

	if (!usage || !&select_node_usage || !select_node_usage ||
	    job_ptr->gres_list_req || HPCB_IS_EXCLUSIVE(job_ptr->details))
		return true;
	first = bit_ffs(nodes);
	last = (first == -1) ? -2 : bit_fls(nodes);
	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) &&
		    _guests_hold_memory(job_ptr, usage, i))
			return true;
	}
	return false;
}

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
		if (_guests_matter(test, candidates) &&
		    _preemption_helps(test, candidates)) {
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
