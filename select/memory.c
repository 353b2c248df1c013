/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * With GuestMemory=unused, guests' memory is kept out of select/cons_tres'
 * table of nodes (node_use_record_t.alloc_memory): whenever stock adds a job to
 * the table or takes it out, a guest's record of its resources says that it has
 * none. In between the record is as it should be: steps and credentials are
 * made from it.
 *
 * A test sees the table that it should for the length of one call:
 *   primary	where the node lends memory, as it is; elsewhere with guests'
 *		memory in it, so that a guest that is in the way is preempted
 *   guest	where the node lends memory, so much allocated that what is left
 *		is what it lends; elsewhere with guests' memory in it
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

extern node_use_record_t *select_node_usage __attribute__((weak));
extern __typeof__(job_list) job_list __attribute__((weak));

typedef struct {
	int node_inx;
	uint64_t memory;
} node_memory_t;

typedef struct {
	job_record_t *job_ptr;
	uint64_t *memory;
} job_memory_t;

struct hpcb_view {
	int n_nodes, nodes_room, n_jobs, jobs_room;
	node_memory_t *nodes;
	job_memory_t *jobs;
	const part_record_t *guests, *primaries;	/* seen last */
};

static int hidden = 0;

/* The memory of a job that has none: stock only reads it. */
#define NONE_HOSTS 1024
static uint64_t none[NONE_HOSTS];

extern bool hpcb_memory_is_hidden(void)
{
	return hidden > 0;
}

static bool _has_memory(const job_record_t *job_ptr)
{
	return job_ptr->job_resrcs && job_ptr->job_resrcs->memory_allocated &&
	       job_ptr->job_resrcs->node_bitmap;
}

static bool _is_kept_out(const job_record_t *job_ptr)
{
	return job_ptr && hpcb_lend_is_on() && _has_memory(job_ptr) &&
	       hpcb_is_guest(job_ptr->part_ptr);
}

/* Does the job hold nothing on nodes that do not lend? */
static bool _only_lenders(const job_resources_t *resources)
{
	bitstr_t *nodes = resources->node_bitmap;
	int i, first, last;

	if (hpcb_lends_everywhere())
		return true;
	first = bit_ffs(nodes);
	last = (first == -1) ? -2 : bit_fls(nodes);
	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) && !hpcb_lends(i))
			return false;
	}
	return true;
}

/* Return the job's memory on nodes that do not lend; the caller frees it. */
static uint64_t *_left(const job_resources_t *resources)
{
	uint64_t *left = xcalloc(resources->nhosts + 1, sizeof(*left));
	bitstr_t *nodes = resources->node_bitmap;
	int i, first = bit_ffs(nodes);
	int last = (first == -1) ? -2 : bit_fls(nodes);
	uint32_t n = 0;

	for (i = first; (i <= last) && (n < resources->nhosts); i++) {
		if (!bit_test(nodes, i))
			continue;
		if (!hpcb_lends(i))
			left[n] = resources->memory_allocated[n];
		n++;
	}
	return left;
}

/* everywhere: also on nodes that do not lend. */
static uint64_t *_hide(job_record_t *job_ptr, bool everywhere)
{
	job_resources_t *resources = job_ptr->job_resrcs;
	uint64_t *memory = resources->memory_allocated;

	if (!everywhere && !_only_lenders(resources))
		resources->memory_allocated = _left(resources);
	else if (resources->nhosts > NONE_HOSTS)
		resources->memory_allocated =
			xcalloc(resources->nhosts, sizeof(*memory));
	else
		resources->memory_allocated = none;
	hidden++;
	return memory;
}

extern uint64_t *hpcb_memory_hide(job_record_t *job_ptr)
{
	return _is_kept_out(job_ptr) ? _hide(job_ptr, true) : NULL;
}

extern void hpcb_memory_show(job_record_t *job_ptr, uint64_t *memory)
{
	if (!memory)
		return;
	if (job_ptr->job_resrcs->memory_allocated != none)
		xfree(job_ptr->job_resrcs->memory_allocated);
	job_ptr->job_resrcs->memory_allocated = memory;
	hidden--;
}

extern void hpcb_memory_balance(const job_record_t *job_ptr, int sign)
{
	const job_resources_t *resources;
	int i, first, last;
	uint32_t n = 0;

	if (!_is_kept_out(job_ptr) || !&select_node_usage || !select_node_usage)
		return;
	resources = job_ptr->job_resrcs;
	first = bit_ffs(resources->node_bitmap);
	last = (first == -1) ? -2 : bit_fls(resources->node_bitmap);
	for (i = first; (i <= last) && (n < resources->nhosts); i++) {
		uint64_t *alloc = &select_node_usage[i].alloc_memory;
		uint64_t memory;

		if (!bit_test(resources->node_bitmap, i))
			continue;
		memory = resources->cpus[n] ? resources->memory_allocated[n] : 0;
		*alloc = (sign > 0) ? *alloc + memory :
				      *alloc - MIN(*alloc, memory);
		n++;
	}
}

extern uint64_t hpcb_memory_seen(const hpcb_usage_t *usage, int node_inx)
{
	return hpcb_lends(node_inx) ? 0 :
		hpcb_usage_guest_memory(usage, node_inx);
}

static void _hide_guest(hpcb_view_t *view, job_record_t *job_ptr,
			bool everywhere)
{
	if (view->n_jobs == view->jobs_room) {
		view->jobs_room = MAX(64, 2 * view->jobs_room);
		xrecalloc(view->jobs, view->jobs_room, sizeof(*view->jobs));
	}
	view->jobs[view->n_jobs++] = (job_memory_t) {
		.job_ptr = job_ptr,
		.memory = _hide(job_ptr, everywhere),
	};
}

/* Thousands of jobs are in few partitions, whose names are compared once. */
static bool _is_guest(hpcb_view_t *view, const part_record_t *part_ptr)
{
	if (!part_ptr || (part_ptr == view->primaries))
		return false;
	if (part_ptr == view->guests)
		return true;
	if (hpcb_is_guest(part_ptr))
		view->guests = part_ptr;
	else
		view->primaries = part_ptr;
	return part_ptr == view->guests;
}

static bool _holds_memory(hpcb_view_t *view, const job_record_t *job_ptr)
{
	return (IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr)) &&
	       _is_guest(view, job_ptr->part_ptr) && _has_memory(job_ptr);
}

static int _hide_on_lenders(void *x, void *arg)
{
	if (_holds_memory(arg, x))
		_hide_guest(arg, x, false);
	return 0;
}

/* A heterogeneous job is listed by its leader. */
static int _hide_with_components(void *x, void *arg)
{
	const job_record_t *job_ptr = x;

	(void) _hide_on_lenders(x, arg);
	if (job_ptr->het_job_list)
		list_for_each(job_ptr->het_job_list, _hide_on_lenders, arg);
	return 0;
}

static int _hide_everywhere(void *x, void *arg)
{
	if (_holds_memory(arg, x))
		_hide_guest(arg, x, true);
	return 0;
}

static void _set(hpcb_view_t *view, int node_inx, uint64_t memory)
{
	uint64_t *alloc = &select_node_usage[node_inx].alloc_memory;

	if (*alloc == memory)
		return;
	if (view->n_nodes == view->nodes_room) {
		view->nodes_room = MAX(64, 2 * view->nodes_room);
		xrecalloc(view->nodes, view->nodes_room, sizeof(*view->nodes));
	}
	view->nodes[view->n_nodes++] = (node_memory_t) {
		.node_inx = node_inx,
		.memory = *alloc,
	};
	*alloc = memory;
}

/* Return the usage; NULL if guests' memory is not managed by us. */
static const hpcb_usage_t *_up_to_date(void)
{
	hpcb_usage_t *usage;

	if (!hpcb_lend_is_on() || !&select_node_usage || !select_node_usage)
		return NULL;
	usage = hpcb_jobs_usage();
	hpcb_lend_refresh(usage);
	return usage;
}

extern hpcb_view_t *hpcb_memory_view_primary(bool forecast)
{
	const hpcb_usage_t *usage = _up_to_date();
	hpcb_view_t *view;
	int i;

	if (!usage || !hpcb_usage_guests(usage))
		return NULL;
	view = xmalloc(sizeof(*view));
	for (i = 0; i < node_record_count; i++) {
		uint64_t guests = hpcb_usage_guest_memory(usage, i);

		if (guests && !hpcb_lends(i))
			_set(view, i,
			     select_node_usage[i].alloc_memory + guests);
	}
	if (forecast && hpcb_lends_somewhere() && &job_list && job_list)
		list_for_each(job_list, _hide_on_lenders, view);
	return view;
}

extern hpcb_view_t *hpcb_memory_view_without(struct xlist *guests)
{
	hpcb_view_t *view;

	if (!guests || !hpcb_lends_somewhere())
		return NULL;
	view = xmalloc(sizeof(*view));
	list_for_each(guests, _hide_with_components, view);
	return view;
}

/* The memory that stock has to find allocated for a guest. */
static uint64_t _for_guest(const hpcb_usage_t *usage, int node_inx)
{
	const node_record_t *node_ptr = node_record_table_ptr[node_inx];
	uint64_t all = node_ptr->real_memory - node_ptr->mem_spec_limit;

	if (hpcb_lends(node_inx))
		return all - MIN(all, hpcb_lent(usage, node_inx));
	return select_node_usage[node_inx].alloc_memory +
	       hpcb_usage_guest_memory(usage, node_inx);
}

extern hpcb_view_t *hpcb_memory_view_guest(const bitstr_t *candidates)
{
	const hpcb_usage_t *usage = _up_to_date();
	bitstr_t *nodes = (bitstr_t *) candidates;
	hpcb_view_t *view;
	int i, first, last;

	if (!usage)
		return NULL;
	view = xmalloc(sizeof(*view));
	first = bit_ffs(nodes);
	last = (first == -1) ? -2 : bit_fls(nodes);
	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) && node_record_table_ptr[i])
			_set(view, i, _for_guest(usage, i));
	}
	return view;
}

extern hpcb_view_t *hpcb_memory_view_none(void)
{
	hpcb_view_t *view;

	if (!hpcb_lend_is_on() || !&job_list || !job_list)
		return NULL;
	view = xmalloc(sizeof(*view));
	list_for_each(job_list, _hide_everywhere, view);
	return view;
}

extern void hpcb_memory_unview(hpcb_view_t *view)
{
	int i;

	if (!view)
		return;
	for (i = 0; i < view->n_nodes; i++)
		select_node_usage[view->nodes[i].node_inx].alloc_memory =
			view->nodes[i].memory;
	/* Backwards: a job may be there twice. */
	for (i = view->n_jobs - 1; i >= 0; i--)
		hpcb_memory_show(view->jobs[i].job_ptr, view->jobs[i].memory);
	xfree(view->nodes);
	xfree(view->jobs);
	xfree(view);
}
