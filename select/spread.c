/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * --bw-spread: a primary that would saturate the memory bandwidth of its nodes is
 * tested as with --ntasks-per-node (policy/spread), without preemption. If the
 * nodes are not free, the test is repeated with fewer of them, and at last as
 * without the option; a job that did not start on more nodes before (offers.c) is
 * tested as without the option at once. So a job waits for at most one scheduling
 * cycle because of the option.
 */
#include "select/shadow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "policy/spread.h"
#include "select/demand.h"

/* Our lines in SystemComment begin with it. */
#define OURS "hpc_balance: --bw-spread: "

#define GIB 1073741824.0

static bool _is_given(uint16_t number)
{
	return number && (number != NO_VAL16) && (number != INFINITE16);
}

/* Does the job set its own number of tasks per node? */
static bool _has_layout(const job_record_t *job_ptr)
{
	const __typeof__(*job_ptr->details) *details = job_ptr->details;
	const multi_core_data_t *cores = details->mc_ptr;
	const uint32_t dist = details->task_dist & SLURM_DIST_STATE_BASE;

	return _is_given(details->ntasks_per_node) ||
	       _is_given(details->ntasks_per_tres) || details->overcommit ||
	       (dist == SLURM_DIST_ARBITRARY) || (dist == SLURM_DIST_PLANE) ||
	       (cores && (_is_given(cores->ntasks_per_board) ||
			  _is_given(cores->ntasks_per_socket)));
}

static uint32_t _cpus_per_task(const job_record_t *job_ptr)
{
	return _is_given(job_ptr->details->cpus_per_task) ?
		job_ptr->details->cpus_per_task : 1;
}

/* CPUs of the node without specialized ones (of the node, or --core-spec). */
static uint32_t _usable_cpus(const job_record_t *job_ptr,
			     const node_record_t *node_ptr)
{
	const uint16_t spec = job_ptr->details->core_spec;
	uint32_t taken;

	if ((spec == NO_VAL16) || (spec == INFINITE16))
		return node_ptr->cpus_efctv ? node_ptr->cpus_efctv :
					      node_ptr->cpus;
	taken = (spec & CORE_SPEC_THREAD) ?
		(spec & ~CORE_SPEC_THREAD) : spec * MAX(node_ptr->tpc, 1);
	return (taken < node_ptr->cpus) ? node_ptr->cpus - taken : 0;
}

static uint32_t _packed_on(const job_record_t *job_ptr,
			   const node_record_t *node_ptr)
{
	const multi_core_data_t *cores = job_ptr->details->mc_ptr;
	const uint64_t memory = job_ptr->details->pn_min_memory;
	hpcb_spread_limits_t limits = {
		.cpus = _usable_cpus(job_ptr, node_ptr),
		.threads = node_ptr->tpc,
		.cpus_per_task = _cpus_per_task(job_ptr),
	};

	if (cores && _is_given(cores->threads_per_core))
		limits.threads_per_core = cores->threads_per_core;
	if (cores && _is_given(cores->ntasks_per_core))
		limits.tasks_per_core = cores->ntasks_per_core;
	if (HPCB_ALLOCATES_MEMORY && (memory & MEM_PER_CPU)) {
		limits.memory = node_ptr->real_memory - node_ptr->mem_spec_limit;
		limits.memory_per_cpu = memory & ~MEM_PER_CPU;
	}
	return hpcb_spread_packed(&limits);
}

/* Sets the tasks of the largest node, and the smallest known capacity. */
static void _look_at_nodes(const job_record_t *job_ptr, const bitstr_t *bitmap,
			   hpcb_spread_job_t *job)
{
	bitstr_t *nodes = (bitstr_t *) bitmap;
	int i, first = bit_ffs(nodes);
	int last = (first == -1) ? -2 : bit_fls(nodes);

	for (i = first; i <= last; i++) {
		const node_record_t *node_ptr = node_record_table_ptr[i];
		uint64_t capacity;

		if (!bit_test(nodes, i) || !node_ptr)
			continue;
		capacity = hpcb_capacity(i)->mem;
		job->packed = MAX(job->packed, _packed_on(job_ptr, node_ptr));
		if (capacity && (!job->capacity || (capacity < job->capacity)))
			job->capacity = capacity;
	}
}

static hpcb_spread_job_t _describe(const job_record_t *job_ptr,
				   const hpcb_demand_t *demand,
				   const bitstr_t *nodes, uint32_t min_nodes)
{
	hpcb_spread_job_t job = {
		.tasks = job_ptr->details->num_tasks,
		.nodes_max = bit_set_count((bitstr_t *) nodes),
		.demand = demand->mem_known ? demand->use.mem : 0,
		.measured = demand->learned,
		.laid_out = _has_layout(job_ptr),
	};

	if (job.tasks == NO_VAL)
		job.tasks = 0;
	min_nodes = MAX(min_nodes, 1);
	_look_at_nodes(job_ptr, nodes, &job);
	job.packed = MIN(job.packed,
			 job.tasks / min_nodes + (job.tasks % min_nodes != 0));
	return job;
}

/* Test as with --ntasks-per-node and without preemption. A forecast counts only if
 * the job can start now. */
static int _ask_so(const hpcb_test_t *test, const hpcb_spread_t *spread,
		   hpcb_ask_t ask)
{
	job_record_t *job_ptr = test->job_ptr;
	__typeof__(*job_ptr->details) *details = job_ptr->details;
	const uint16_t per_node = details->ntasks_per_node;
	const uint32_t cpus = details->pn_min_cpus;
	const uint64_t flags = job_ptr->bit_flags;
	hpcb_test_t wider = *test;
	int rc;

	wider.preemptees = NULL;
	wider.preemptee_list = NULL;
	wider.min_nodes = MAX(test->min_nodes, spread->nodes);
	wider.req_nodes = MAX(test->req_nodes, spread->nodes);
	details->ntasks_per_node = spread->tasks;
	details->pn_min_cpus =
		MAX(cpus, spread->tasks * _cpus_per_task(job_ptr));
	if (test->mode == SELECT_MODE_WILL_RUN)
		job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = ask(&wider);
	if (!(flags & TEST_NOW_ONLY))
		job_ptr->bit_flags &= ~TEST_NOW_ONLY;
	details->ntasks_per_node = per_node;
	details->pn_min_cpus = cpus;
	return rc;
}

/* spread becomes what was had. */
static int _ask_spread(const hpcb_test_t *test, const hpcb_spread_job_t *job,
		       hpcb_spread_t *spread, hpcb_ask_t ask)
{
	bitstr_t *candidates = bit_copy(test->node_bitmap);
	hpcb_before_t before = hpcb_before(test->job_ptr);
	int rc;

	for (;;) {
		rc = _ask_so(test, spread, ask);
		if (rc == SLURM_SUCCESS)
			break;
		bit_copybits(test->node_bitmap, candidates);
		hpcb_as_before(test->job_ptr, &before);
		if (!hpcb_spread_less(job, spread)) {
			spread->verdict = HPCB_SPREAD_NO_NODES;
			break;
		}
	}
	FREE_NULL_BITMAP(candidates);
	/* Guests in the way of the others, for whom it is not asked here. */
	if ((rc == SLURM_SUCCESS) && (test->mode == SELECT_MODE_RUN_NOW))
		hpcb_clear_components(test);
	return rc;
}

static void _explain(const hpcb_spread_job_t *job, const hpcb_spread_t *spread,
		     char *text, size_t size)
{
	static const char *const why[] = {
		[HPCB_SPREAD_NO_DEMAND] =
			"the memory bandwidth of the job is not known",
		[HPCB_SPREAD_NO_CAPACITY] =
			"the memory bandwidth of the nodes is not known (MemBandwidth)",
		[HPCB_SPREAD_FITS] = "it does not saturate a node",
		[HPCB_SPREAD_NO_TASKS] =
			"the number of tasks is not known (--ntasks)",
		[HPCB_SPREAD_ONE] = "a node has one task anyway",
		[HPCB_SPREAD_NO_NODES] = "no more nodes were available",
		[HPCB_SPREAD_LAID_OUT] =
			"the job sets its own layout",
		[HPCB_SPREAD_VAIN] =
			"slurmctld rejected the start on more nodes, for example by a limit of account or QOS",
	};

	if (spread->verdict != HPCB_SPREAD_YES)
		snprintf(text, size, OURS "nothing changed: %s",
			 why[spread->verdict]);
	else
		snprintf(text, size,
			 OURS "at most %u of %u tasks a node, not %u, which would use %.1fG/s of a node's %.1fG/s of memory bandwidth",
			 spread->tasks, job->tasks, job->packed,
			 job->demand / GIB, job->capacity / GIB);
}

/* A comment by others stays. */
static void _tell(job_record_t *job_ptr, const char *text)
{
	char *comment = job_ptr->system_comment;

	hpcb_log(HPCB_LOG_INFO, "JobId=%u: %s", job_ptr->job_id,
		 text + strlen("hpc_balance: "));
	if (comment && *comment &&
	    (strncmp(comment, OURS, strlen(OURS)) != 0))
		return;
	xfree(job_ptr->system_comment);
	job_ptr->system_comment = xstrdup(text);
}

/*
 * Decision for the job that may start now: slurmctld still has to check limits,
 * and an array is one job until then.
 */
static struct {
	const job_record_t *job_ptr;	/* NULL: none */
	uint32_t id;
	hpcb_spread_job_t job;
	hpcb_spread_t spread;
} decided;

static void _decide(const hpcb_test_t *test, const hpcb_spread_job_t *job,
		    const hpcb_spread_t *spread, time_t now)
{
	decided.job_ptr = test->job_ptr;
	decided.id = test->job_ptr->job_id;
	decided.job = *job;
	decided.spread = *spread;
	/* It does not start if guests have to go for another component. */
	if ((spread->verdict == HPCB_SPREAD_YES) &&
	    !(test->preemptee_list && *test->preemptee_list))
		hpcb_offer(decided.id, now);
}

extern void hpcb_spread_begin(job_record_t *job_ptr)
{
	char text[256];

	hpcb_offer_forget(job_ptr->job_id);
	if ((job_ptr != decided.job_ptr) ||
	    ((job_ptr->job_id != decided.id) &&
	     (job_ptr->array_job_id != decided.id)))
		return;
	hpcb_offer_forget(decided.id);
	_explain(&decided.job, &decided.spread, text, sizeof(text));
	_tell(job_ptr, text);
	decided.job_ptr = NULL;
}

static int _spread(const hpcb_test_t *test, const hpcb_demand_t *demand,
		   hpcb_ask_t ask)
{
	const time_t now = time(NULL);
	hpcb_spread_job_t job;
	hpcb_spread_t spread;
	int rc = SLURM_ERROR;

	hpcb_capacity_refresh();
	job = _describe(test->job_ptr, demand, test->node_bitmap,
			test->min_nodes);
	job.nodes_max = MIN(job.nodes_max, test->max_nodes);
	job.vain = hpcb_offer_was_vain(test->job_ptr->job_id, now);
	spread = hpcb_spread_decide(&job);
	if (spread.verdict == HPCB_SPREAD_YES)
		rc = _ask_spread(test, &job, &spread, ask);
	if (rc != SLURM_SUCCESS)
		rc = ask(test);
	if ((rc == SLURM_SUCCESS) && (test->mode == SELECT_MODE_RUN_NOW))
		_decide(test, &job, &spread, now);
	return rc;
}

extern int hpcb_ask_spread(const hpcb_test_t *test, hpcb_ask_t ask)
{
	job_record_t *job_ptr = test->job_ptr;
	const hpcb_demand_t demand = *hpcb_demand_of(job_ptr->job_id,
						      job_ptr->user_id,
						      job_ptr->admin_comment);

	if (test->mode == SELECT_MODE_RUN_NOW)
		decided.job_ptr = NULL;
	/* "Could it ever run?": as without. */
	if (!demand.spread || (test->mode == SELECT_MODE_TEST_ONLY))
		return ask(test);
	return _spread(test, &demand, ask);
}

/* Of a job that runs: the most tasks that it has on a node. */
static uint32_t _tasks_on_node(const job_record_t *job_ptr,
			       const job_resources_t *job)
{
	uint32_t n, most = 0;

	if (HPCB_IS_EXCLUSIVE(job_ptr->details))
		return (job_ptr->details->num_tasks + job->nhosts - 1) /
		       job->nhosts;
	for (n = 0; n < job->nhosts; n++)
		most = MAX(most, job->cpus[n]);
	return most / _cpus_per_task(job_ptr);
}

extern void hpcb_count_spread(const job_record_t *job_ptr,
			      hpcb_demand_t *demand)
{
	const job_resources_t *job = job_ptr->job_resrcs;
	hpcb_spread_job_t packed;

	if (!demand->spread || !demand->mem_known || !job_ptr->details || !job ||
	    !job->node_bitmap || !job->nhosts || !job->cpus ||
	    _has_layout(job_ptr))
		return;
	packed = _describe(job_ptr, demand, job->node_bitmap,
			   job_ptr->details->min_nodes);
	demand->use.mem = hpcb_spread_demand(&packed,
					     _tasks_on_node(job_ptr, job));
}
