/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmctld's running jobs, counted into select/usage. Starts and ends of jobs
 * are counted when slurmctld reports them; after anything rarer (suspension,
 * resizing, reconfiguration), and every few minutes in case of missed events,
 * all are counted again. The caller holds slurmctld's job write lock.
 */
#include "select/shadow.h"

#include <stdlib.h>
#include <time.h>

#include "select/demand.h"

#define RECOUNT_SECONDS 300

extern __typeof__(job_list) job_list __attribute__((weak));

static hpcb_usage_t *usage = NULL;
static time_t counted = 0;
static uint32_t recounts = 0;

/* The nodes and CPUs of a running job. The caller frees the result; NULL for
 * none. */
static hpcb_place_on_t *_places(const job_resources_t *job, size_t *count)
{
	hpcb_place_on_t *places;
	uint32_t n = 0;
	int i, first, last;

	*count = 0;
	if (!job || !job->node_bitmap || !job->nhosts || !job->cpus)
		return NULL;
	places = calloc(job->nhosts, sizeof(*places));
	first = bit_ffs(job->node_bitmap);
	last = (first == -1) ? -2 : bit_fls(job->node_bitmap);
	for (i = first; places && (i <= last) && (n < job->nhosts); i++) {
		if (!bit_test(job->node_bitmap, i))
			continue;
		/* No CPUs: the node was given back by a job that shrank. */
		if (job->cpus[n])
			places[(*count)++] = (hpcb_place_on_t) {
				.node = i,
				.processors = job->cpus[n],
				.memory = job->memory_allocated ?
					job->memory_allocated[n] : 0,
			};
		n++;
	}
	return places;
}

/* A suspended job keeps its memory, and nothing else. */
static void _count_memory_only(hpcb_usage_job_t *job, hpcb_place_on_t *places)
{
	size_t i;

	job->demand = (hpcb_demand_t) { .mem_known = true, .net_known = true };
	for (i = 0; i < job->n_places; i++)
		places[i].processors = 0;
}

/* Without memory the job is not counted: a guest may get worse company. */
static void _count(job_record_t *job_ptr)
{
	hpcb_usage_job_t job = {
		.id = job_ptr->job_id,
		.guest = hpcb_is_guest(job_ptr->part_ptr),
		.since = job_ptr->start_time,
		.demand = *hpcb_demand_of(job_ptr->job_id, job_ptr->user_id,
					   job_ptr->admin_comment),
	};
	hpcb_place_on_t *places = _places(job_ptr->job_resrcs, &job.n_places);

	hpcb_count_spread(job_ptr, &job.demand);
	if (places && IS_JOB_SUSPENDED(job_ptr))
		_count_memory_only(&job, places);
	job.places = places;
	if (places)
		hpcb_usage_add(usage, &job);
	free(places);
}

static int _count_running(void *x, void *arg)
{
	job_record_t *job_ptr = x;

	(void) arg;
	if ((IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr)) &&
	    job_ptr->part_ptr)
		_count(job_ptr);
	return 0;
}

static void _recount(void)
{
	hpcb_jobs_forget();
	if (!&job_list || !job_list)
		return;
	usage = hpcb_usage_new(node_record_count);
	if (usage)
		list_for_each(job_list, _count_running, NULL);
	counted = time(NULL);
	recounts++;
}

/* Not while guests' memory is hidden: it would be counted as none. */
extern hpcb_usage_t *hpcb_jobs_usage(void)
{
	if ((!usage || (time(NULL) - counted >= RECOUNT_SECONDS)) &&
	    !hpcb_memory_is_hidden())
		_recount();
	return usage;
}

extern uint32_t hpcb_jobs_recounts(void)
{
	return recounts;
}

extern void hpcb_jobs_begin(job_record_t *job_ptr)
{
	if (usage && job_ptr->part_ptr)
		_count(job_ptr);
}

extern void hpcb_jobs_end(job_record_t *job_ptr)
{
	if (usage)
		hpcb_usage_remove(usage, job_ptr->job_id);
}

extern void hpcb_jobs_forget(void)
{
	hpcb_usage_free(usage);
	usage = NULL;
}
