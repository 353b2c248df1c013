/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Heterogeneous primaries. Backfill starts one component after the other if all
 * are expected to start now, and counts guests in the way as gone. If a later
 * component has to wait for these, it stops the earlier ones and delays the
 * whole job for the lifetime of a credential (two minutes by default; 22.05 to
 * 26.05). So the first component requests the others' guests, too, and nothing
 * starts before these are gone.
 *
 * The nodes of the others are estimated here: for a component whose nodes
 * depend on features or a reservation nothing is requested.
 */
#include "select/shadow.h"

extern __typeof__(avail_node_bitmap) avail_node_bitmap __attribute__((weak));
extern __typeof__(cg_node_bitmap) cg_node_bitmap __attribute__((weak));

typedef struct {
	const hpcb_test_t *first;
	bitstr_t *taken;	/* nodes of the components before */
	struct xlist *guests;	/* guests that must go for them, NULL for none yet */
} parts_t;

static bool _is_asked_for(const job_record_t *job_ptr)
{
	return IS_JOB_PENDING(job_ptr) && job_ptr->details &&
	       !job_ptr->details->features && !job_ptr->resv_name &&
	       job_ptr->part_ptr && job_ptr->part_ptr->node_bitmap &&
	       !hpcb_is_guest(job_ptr->part_ptr);
}

/* The caller frees it. */
static bitstr_t *_candidates(const job_record_t *job_ptr,
			     const bitstr_t *taken)
{
	bitstr_t *nodes = bit_copy(job_ptr->part_ptr->node_bitmap);

	bit_and(nodes, avail_node_bitmap);
	bit_and_not(nodes, cg_node_bitmap);
	bit_and_not(nodes, (bitstr_t *) taken);
	if (job_ptr->details->exc_node_bitmap)
		bit_and_not(nodes, job_ptr->details->exc_node_bitmap);
	return nodes;
}

/* No reservation excludes anything. Since 23.11 stock does not accept NULL. */
static hpcb_exc_t *_no_exclusion(void)
{
#if HPCB_EXC_BY_NODE
	static hpcb_exc_t nothing;

	return &nothing;
#else
	return NULL;
#endif
}

/* As slurmctld would ask; test's node_bitmap is the caller's. */
static hpcb_test_t _test_of(const hpcb_test_t *first, job_record_t *job_ptr,
			    bitstr_t *nodes)
{
	const __typeof__(*job_ptr->details) *details = job_ptr->details;
	hpcb_test_t test = *first;

	test.job_ptr = job_ptr;
	test.node_bitmap = nodes;
	test.min_nodes = MAX(details->min_nodes, job_ptr->part_ptr->min_nodes);
	test.max_nodes = MIN(job_ptr->part_ptr->max_nodes, node_record_count);
	if (details->max_nodes)
		test.max_nodes = MIN(test.max_nodes, details->max_nodes);
	test.req_nodes = details->max_nodes ? test.max_nodes : test.min_nodes;
	test.exc = _no_exclusion();
	return test;
}

static int _find_job(void *x, void *key)
{
	return x == key;
}

/* slurmctld kills a guest that is preempted twice. */
static int _add_once(void *x, void *arg)
{
	parts_t *parts = arg;

	if (!parts->guests)
		parts->guests = list_create(NULL);
	if (!list_find_first(parts->guests, _find_job, x))
		list_append(parts->guests, x);
	return 0;
}

/*
 * Add those that are in the component's way, on nodes where it could start now
 * without them: nodes becomes those.
 */
static void _clear(const hpcb_test_t *test, bitstr_t *nodes, parts_t *parts)
{
	struct xlist *guests = hpcb_in_the_way(test->job_ptr, nodes,
					       parts->first->preemptees);
	hpcb_test_t there = *test;

	if (guests && hpcb_fits_without(test, nodes, guests)) {
		there.node_bitmap = nodes;
		list_delete_all(guests, hpcb_is_elsewhere, nodes);
		hpcb_spare(&there, guests);
		hpcb_claim(&there, guests);
		list_for_each(guests, _add_once, parts);
	}
	FREE_NULL_LIST(guests);
}

static int _clear_component(void *x, void *arg)
{
	job_record_t *job_ptr = x;
	parts_t *parts = arg;
	bitstr_t *candidates, *nodes;
	hpcb_test_t test;

	if ((job_ptr == parts->first->job_ptr) || !_is_asked_for(job_ptr))
		return 0;
	candidates = _candidates(job_ptr, parts->taken);
	nodes = bit_copy(candidates);
	test = _test_of(parts->first, job_ptr, candidates);
	if (!hpcb_fits_without(&test, nodes, NULL)) {
		bit_copybits(nodes, candidates);
		_clear(&test, nodes, parts);
	}
	bit_or(parts->taken, nodes);
	free_job_resources(&job_ptr->job_resrcs);
	FREE_NULL_BITMAP(nodes);
	FREE_NULL_BITMAP(candidates);
	return 0;
}

extern void hpcb_clear_components(const hpcb_test_t *test)
{
	struct xlist *components = test->job_ptr->het_job_list;
	parts_t parts = { .first = test };

	if (!components || !test->preemptees || !test->preemptee_list ||
	    !&avail_node_bitmap || !&cg_node_bitmap)
		return;
	parts.guests = *test->preemptee_list;
	parts.taken = bit_copy(test->node_bitmap);
	list_for_each(components, _clear_component, &parts);
	FREE_NULL_BITMAP(parts.taken);
	*test->preemptee_list = parts.guests;
	if (parts.guests)
		hpcb_end_grace(test->job_ptr, parts.guests);
}
