/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "tests/select/tables.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "select/compat.h"

extern void tables_die(const char *why)
{
	fprintf(stderr, "tables: %s\n", why);
	exit(1);
}

#define JOBS_MAX 100000
static job_record_t *jobs_by_id[JOBS_MAX];

#pragma GCC visibility push(default)
/* slurmctld's data and functions that the stock plugin refers to. */
struct xlist *job_list, *part_list;
bitstr_t *avail_node_bitmap, *cg_node_bitmap;
extern int gres_ctld_job_alloc(void);
extern int gres_ctld_job_dealloc(void);
extern int gres_ctld_job_build_details(void);
extern int gres_ctld_set_node_tres_cnt(void);
extern uint16_t slurm_job_preempt_mode(job_record_t *job_ptr);

extern int gres_ctld_job_alloc(void)
{
	return 0;
}

extern int gres_ctld_job_dealloc(void)
{
	return 0;
}

extern int gres_ctld_job_build_details(void)
{
	return 0;
}

extern int gres_ctld_set_node_tres_cnt(void)
{
	return 0;
}

extern uint16_t slurm_job_preempt_mode(job_record_t *job_ptr)
{
	(void) job_ptr;
	return PREEMPT_MODE_REQUEUE;
}

/* Not by job_list, which stock walks over, locked, when it asks. */
extern job_record_t *find_job_record(uint32_t job_id)
{
	return (job_id < JOBS_MAX) ? jobs_by_id[job_id] : NULL;
}

static int _runs_on(void *x, void *key)
{
	job_record_t *job_ptr = x;

	return IS_JOB_RUNNING(job_ptr) &&
	       bit_overlap_any(job_ptr->node_bitmap, key);
}

extern bool job_overlap_and_running(bitstr_t *node_map,
				    HPCB_LICENSES_PARAMETER
				    job_record_t *job_ptr)
{
	if (job_ptr->het_job_list)
		return list_find_first(job_ptr->het_job_list, _runs_on,
				       node_map) != NULL;
	return _runs_on(job_ptr, node_map);
}

extern int drain_nodes(char *nodes, char *reason, uint32_t reason_uid)
{
	(void) reason_uid;
	fprintf(stderr, "tables: %s drained: %s\n", nodes, reason);
	abort();
}
#pragma GCC visibility pop

extern part_record_t *tables_part(const char *name, uint16_t tier)
{
	part_record_t *part = xmalloc(sizeof(*part));

	part->name = xmalloc(32);
	snprintf(part->name, 32, "%s", name);
	part->max_share = SHARED_FORCE | 1;
	part->priority_tier = tier;
	part->max_cpus_per_node = INFINITE;
	part->max_nodes = INFINITE;
	part->preempt_mode = NO_VAL16;
	part->state_up = PARTITION_UP;
	part->node_bitmap = bit_alloc(node_record_count);
	bit_set_all(part->node_bitmap);
	list_append(part_list, part);
	return part;
}

extern void tables_make_nodes(int nodes, int cores)
{
	int i;

	slurm_conf_init(NULL);
	job_list = list_create(NULL);
	part_list = list_create(NULL);
	init_node_conf();
	build_all_nodeline_info(false, 0);
	rehash_node();
	if (node_record_count != nodes)
		tables_die("the nodes of SLURM_CONF are others");
	avail_node_bitmap = bit_alloc(nodes);
	bit_set_all(avail_node_bitmap);
	cg_node_bitmap = bit_alloc(nodes);
	for (i = 0; i < nodes; i++) {
		node_record_t *node = node_record_table_ptr[i];

		node->node_state = NODE_STATE_IDLE;
		node->cpus = node->cpus_efctv = cores;
		node->cores = node->tot_cores = cores;
		node->boards = node->tot_sockets = 1;
		node->threads = node->tpc = 1;
		node->sched_weight = 1 << 8 | 0xff;
	}
}

static struct multi_core_data *_any_cores(void)
{
	struct multi_core_data *mc = xmalloc(sizeof(*mc));

	mc->boards_per_node = NO_VAL16;
	mc->sockets_per_board = NO_VAL16;
	mc->sockets_per_node = NO_VAL16;
	mc->cores_per_socket = NO_VAL16;
	mc->threads_per_core = NO_VAL16;
	mc->ntasks_per_board = INFINITE16;
	mc->ntasks_per_socket = INFINITE16;
	mc->ntasks_per_core = INFINITE16;
	return mc;
}

extern job_record_t *tables_job(uint32_t id, part_record_t *part,
				const char *comment)
{
	job_record_t *job = xmalloc(sizeof(*job));
	size_t length = strlen(comment) + 1;

	job->details = xmalloc(sizeof(*job->details));
	job->magic = JOB_MAGIC;
	job->details->magic = DETAILS_MAGIC;
	job->job_id = id;
	job->job_state = JOB_PENDING;
	job->part_ptr = part;
	job->priority = 50;
	job->best_switch = true;
	job->admin_comment = xmalloc(length);
	memcpy(job->admin_comment, comment, length);
	job->details->core_spec = NO_VAL16;
	job->details->share_res = NO_VAL8;
	job->details->cpus_per_task = 1;
	job->details->task_dist = SLURM_DIST_BLOCK;
	job->details->pn_min_cpus = 1;
	job->details->min_nodes = 1;
	job->details->min_cpus = job->details->num_tasks = 1;
	job->details->max_cpus = NO_VAL;
	job->details->pn_min_memory = 1;
	job->details->ntasks_per_tres = NO_VAL16;
	job->details->mc_ptr = _any_cores();
	if (id < JOBS_MAX)
		jobs_by_id[id] = job;
	return job;
}

extern void tables_run(job_record_t *job, int node_inx, int core,
		       uint64_t memory)
{
	job_resources_t *resources = create_job_resources();

	resources->node_bitmap = bit_alloc(node_record_count);
	bit_set(resources->node_bitmap, node_inx);
	job->node_bitmap = bit_copy(resources->node_bitmap);
	resources->nhosts = 1;
	resources->ncpus = 1;
	resources->node_req = NODE_CR_AVAILABLE;
	resources->cpus = xcalloc(1, sizeof(uint16_t));
	resources->cpus[0] = 1;
	resources->cpus_used = xcalloc(1, sizeof(uint16_t));
	resources->memory_allocated = xcalloc(1, sizeof(uint64_t));
	resources->memory_allocated[0] = memory;
	resources->memory_used = xcalloc(1, sizeof(uint64_t));
	if (build_job_resources(resources) != SLURM_SUCCESS)
		tables_die("build_job_resources");
	bit_set(resources->core_bitmap, core);
	job->job_resrcs = resources;
	job->job_state = JOB_RUNNING;
	job->end_time = time(NULL) + 100000 + job->job_id;
	list_append(job_list, job);
}

extern void *tables_function(void *plugin, const char *name)
{
	void *function = dlsym(plugin, name);

	if (!function)
		tables_die(dlerror());
	return function;
}

extern void tables_recount(void *plugin)
{
	int (*reconfigure)(void) =
		tables_function(plugin, "select_p_reconfigure");

	if (reconfigure())
		tables_die("select_p_reconfigure");
}

extern void *tables_load(const char *path)
{
	void *plugin = dlopen(path, RTLD_LAZY);

	if (!plugin)
		tables_die(dlerror());
	tables_recount(plugin);
	return plugin;
}

extern int tables_ask(tables_test_t test, job_record_t *job, bitstr_t *nodes,
		      uint16_t mode, struct xlist *preemptees,
		      struct xlist **gone)
{
	uint32_t most = bit_set_count(nodes);

#if HPCB_EXC_BY_NODE
	return test(job, nodes, job->details->min_nodes, most,
		    job->details->min_nodes, mode, preemptees, gone, NULL,
		    NULL);
#else
	return test(job, nodes, job->details->min_nodes, most,
		    job->details->min_nodes, mode, preemptees, gone, NULL);
#endif
}
