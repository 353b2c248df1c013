/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * With OverSubscribe=FORCE stock puts a job onto cores that jobs of other
 * partitions hold, also of the same tier, if its own partition holds none of
 * them ("step 4"). So that no two primaries share a core, a job is tested as
 * with OverSubscribe=NO, which is what it would have without guests.
 *
 * Stock takes that from the record of the job's partition. Others read this
 * record at the same time (the thread that saves slurmctld's state, `scontrol
 * show partition`): they hold a read lock on partitions, as whoever tests a job
 * does. So the record stays as it is, and a copy that says NO stands in its
 * place wherever stock gets at it through what the write locks on jobs and
 * nodes keep from others: the job, select/cons_tres' table, and for a forecast,
 * which takes jobs out of that table, the jobs.
 *
 * A job also keeps how its partition shared when the job began (node_req), over
 * restarts of slurmctld. Jobs that began under OverSubscribe=NO close their nodes
 * to all jobs of a partition that says FORCE now, guests and primaries, until
 * the last of them has ended.
 */
#include "select/shadow.h"

#include <string.h>

extern part_res_record_t *select_part_record __attribute__((weak));
extern struct xlist *job_list __attribute__((weak));

/* Stock remembers the last partition's defaults by the address of its record
 * (_set_gpu_defaults), so that each partition keeps its copy. */
typedef struct copy copy_t;

struct copy {
	copy_t *next;
	part_record_t part;
	char name[];
};

typedef struct {
	part_record_t *from, *to;
} swap_t;

static part_record_t *_copy(const part_record_t *part_ptr)
{
	static copy_t *copies;
	copy_t *copy = copies;

	while (copy && strcmp(copy->name, part_ptr->name))
		copy = copy->next;
	if (!copy) {
		copy = xmalloc(sizeof(*copy) + strlen(part_ptr->name) + 1);
		strcpy(copy->name, part_ptr->name);
		copy->next = copies;
		copies = copy;
	}
	copy->part = *part_ptr;
	copy->part.max_share = 1;
	return &copy->part;
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

static int _swap_of_job(void *x, void *arg)
{
	job_record_t *job_ptr = x;
	const swap_t *swap = arg;

	if (job_ptr->part_ptr == swap->from)
		job_ptr->part_ptr = swap->to;
	return 0;
}

static void _swap(const hpcb_test_t *test, part_record_t *from,
		  part_record_t *to)
{
	swap_t swap = { .from = from, .to = to };
	part_res_record_t *part;

	for (part = select_part_record; part; part = part->next)
		if (part->part_ptr == from)
			part->part_ptr = to;
	if ((test->mode == SELECT_MODE_WILL_RUN) && &job_list && job_list)
		list_for_each(job_list, _swap_of_job, &swap);
	test->job_ptr->part_ptr = to;
}

extern part_record_t *hpcb_unshare(const hpcb_test_t *test)
{
	part_record_t *part_ptr = test->job_ptr->part_ptr;

	if (hpcb_is_guest(part_ptr) ||
	    (part_ptr->max_share != (SHARED_FORCE | 1)) ||
	    !_meets_others(part_ptr))
		return NULL;
	_swap(test, part_ptr, _copy(part_ptr));
	return part_ptr;
}

extern void hpcb_share_again(const hpcb_test_t *test, part_record_t *part_ptr)
{
	if (!part_ptr)
		return;
	_swap(test, test->job_ptr->part_ptr, part_ptr);
	/* Else guests could not use its nodes. */
	if (test->job_ptr->job_resrcs)
		test->job_ptr->job_resrcs->node_req = NODE_CR_AVAILABLE;
}

static int _open_nodes(void *x, void *arg)
{
	job_record_t *job_ptr = x;

	(void) arg;
	if (job_ptr->part_ptr && job_ptr->job_resrcs &&
	    (job_ptr->part_ptr->max_share & SHARED_FORCE) &&
	    (job_ptr->job_resrcs->node_req == NODE_CR_ONE_ROW))
		job_ptr->job_resrcs->node_req = NODE_CR_AVAILABLE;
	return 0;
}

extern void hpcb_share_of_old(void)
{
	if (&job_list && job_list)
		list_for_each(job_list, _open_nodes, NULL);
}
