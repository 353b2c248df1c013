/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The guests whose preemption can help a primary, and of these the ones that
 * must go. Slurm passes every guest of the cluster, and for a start removes
 * them one by one in their order until the job fits: all of them on the chosen
 * nodes would be requeued, including earlier ones in that order without
 * anything that the job needs.
 */
#include "select/shadow.h"

extern node_use_record_t *select_node_usage __attribute__((weak));

/* Beyond so many guests for one job none is spared: each costs a test. */
#define SPARE_MAX 32

/* Resources of guests that a primary may need. */
typedef struct {
	bitstr_t *memory;	/* nodes on which guests' memory is needed */
	bitstr_t *gres;		/* nodes on which GRES may be, NULL for none */
	struct xlist *found;
} want_t;

/* The most memory that the job may want on the node, in MiB. */
static uint64_t _most_memory(const job_record_t *job_ptr,
			     const node_record_t *node_ptr)
{
	uint64_t memory = job_ptr->details->pn_min_memory;

	if (memory & MEM_PER_CPU)
		return (memory & ~MEM_PER_CPU) * node_ptr->cpus;
	return memory ? memory : node_ptr->real_memory;
}

/* The least: with --mem-per-cpu that of one CPU. */
static uint64_t _least_memory(const job_record_t *job_ptr,
			      const node_record_t *node_ptr)
{
	uint64_t memory = job_ptr->details->pn_min_memory;

	if (memory & MEM_PER_CPU)
		return memory & ~MEM_PER_CPU;
	return memory ? memory :
			node_ptr->real_memory - node_ptr->mem_spec_limit;
}

/* Could the job lack memory there, and have it without the guests? */
static bool _is_memory_short(const job_record_t *job_ptr,
			     const hpcb_usage_t *usage, int node_inx)
{
	const node_record_t *node_ptr = node_record_table_ptr[node_inx];
	uint64_t guests = hpcb_memory_seen(usage, node_inx);
	uint64_t taken, all;

	if (!node_ptr || !guests)
		return false;
	all = node_ptr->real_memory;
	taken = select_node_usage[node_inx].alloc_memory +
		node_ptr->mem_spec_limit;
	return (taken + _most_memory(job_ptr, node_ptr) > all) &&
	       (taken + _least_memory(job_ptr, node_ptr) <= all + guests);
}

static bitstr_t *_short_of_memory(const job_record_t *job_ptr,
				  bitstr_t *candidates)
{
	bitstr_t *nodes = bit_copy(candidates);
	const hpcb_usage_t *usage = hpcb_jobs_usage();
	int i, first = bit_ffs(nodes);
	int last = (first == -1) ? -2 : bit_fls(nodes);

	if (!usage || !&select_node_usage || !select_node_usage)
		return nodes;
	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) && !_is_memory_short(job_ptr, usage, i))
			bit_clear(nodes, i);
	}
	return nodes;
}

static bool _has_what(const want_t *want, const job_record_t *guest)
{
	if (!guest->node_bitmap)
		return false;
	return bit_overlap_any(want->memory, guest->node_bitmap) ||
	       (want->gres && guest->gres_list_alloc &&
		bit_overlap_any(want->gres, guest->node_bitmap));
}

static int _find_component(void *x, void *key)
{
	return _has_what(key, x);
}

/* A heterogeneous job is listed by its leader, and goes as a whole. */
static int _add_guest(void *x, void *arg)
{
	job_record_t *guest = x;
	want_t *want = arg;

	if (_has_what(want, guest) ||
	    (guest->het_job_list &&
	     list_find_first(guest->het_job_list, _find_component, want)))
		list_append(want->found, guest);
	return 0;
}

extern struct xlist *hpcb_in_the_way(const job_record_t *job_ptr,
				     const bitstr_t *candidates,
				     struct xlist *preemptees)
{
	bitstr_t *nodes = (bitstr_t *) candidates;
	want_t want = { .memory = _short_of_memory(job_ptr, nodes) };

	if (job_ptr->gres_list_req || HPCB_IS_EXCLUSIVE(job_ptr->details))
		want.gres = nodes;
	if (want.gres || (bit_ffs(want.memory) != -1)) {
		want.found = list_create(NULL);
		list_for_each(preemptees, _add_guest, &want);
		if (!list_count(want.found))
			FREE_NULL_LIST(want.found);
	}
	FREE_NULL_BITMAP(want.memory);
	return want.found;
}

extern int hpcb_is_elsewhere(void *x, void *key)
{
	job_record_t *guest = x;

	return !guest->het_job_list &&
	       !bit_overlap_any(key, guest->node_bitmap);
}

/* Since 24.11 stock's forecast rewrites them. The caller frees the array. */
static uint64_t *_weights(void)
{
	uint64_t *weights = xcalloc(node_record_count, sizeof(*weights));
	int i;

	for (i = 0; i < node_record_count; i++)
		if (node_record_table_ptr[i])
			weights[i] = node_record_table_ptr[i]->sched_weight;
	return weights;
}

static void _restore_weights(const uint64_t *weights)
{
	int i;

	for (i = 0; i < node_record_count; i++)
		if (node_record_table_ptr[i])
			node_record_table_ptr[i]->sched_weight = weights[i];
}

/*
 * Would the job start now on (some of) these nodes, were these guests gone?
 * Stock answers that in one go for a forecast. nodes becomes those that it
 * would have.
 */
extern bool hpcb_fits_without(const hpcb_test_t *test, bitstr_t *nodes,
			      struct xlist *guests)
{
	uint64_t *weights = _weights();
	job_record_t *job_ptr = test->job_ptr;
	hpcb_before_t before = hpcb_before(job_ptr);
	hpcb_test_t probe = *test;
	hpcb_view_t *view;
	bool now;
	int rc;

	probe.mode = SELECT_MODE_WILL_RUN;
	probe.node_bitmap = nodes;
	probe.preemptees = guests;
	probe.preemptee_list = NULL;
	job_ptr->bit_flags |= TEST_NOW_ONLY;
	job_ptr->start_time = 0;
	view = hpcb_memory_view_without(guests);
	rc = hpcb_stock_test(&probe);
	hpcb_memory_unview(view);
	_restore_weights(weights);
	xfree(weights);
	/* Newer stock forecasts with preemptees in spite of TEST_NOW_ONLY. */
	now = (rc == SLURM_SUCCESS) && (job_ptr->start_time <= time(NULL));
	hpcb_as_before(job_ptr, &before);
	return now;
}

static int _find_job(void *x, void *key)
{
	return x == key;
}

static bool _fits_on_its_nodes(const hpcb_test_t *test, struct xlist *guests)
{
	bitstr_t *nodes = bit_copy(test->node_bitmap);
	bool fits = hpcb_fits_without(test, nodes, guests);

	FREE_NULL_BITMAP(nodes);
	return fits;
}

/* Take the guest off the list where the job fits with it staying. */
static bool _try_to_spare(const hpcb_test_t *test, struct xlist *list,
			  job_record_t *guest)
{
	list_remove_first(list, _find_job, guest);
	if (_fits_on_its_nodes(test, list))
		return true;
	list_append(list, guest);
	return false;
}

static int _collect(void *x, void *arg)
{
	job_record_t ***next = arg;

	*(*next)++ = x;
	return 0;
}

/*
 * Those that are being preempted already (in their grace time) are spared last,
 * else those that stock would remove last first: they have run for longest. The
 * last test is one that succeeds: it leaves the resources that the job would
 * have, as stock does.
 */
extern void hpcb_spare(const hpcb_test_t *test, struct xlist *list)
{
	job_record_t *guests[SPARE_MAX], **end = guests;
	int i, begun, count = list_count(list);
	bool fits = true;

	if ((count < 2) || (count > SPARE_MAX))
		return;
	list_for_each(list, _collect, &end);
	for (begun = 0; begun < 2; begun++) {
		for (i = count - 1; (i >= 0) && (list_count(list) > 1); i--) {
			if ((guests[i]->preempt_time != 0) == begun)
				fits = _try_to_spare(test, list, guests[i]);
		}
	}
	if (!fits)
		(void) _fits_on_its_nodes(test, list);
}
