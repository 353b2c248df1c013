/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Time of select_p_job_test() in a select plugin, without a slurmctld: this
 * program makes the tables that slurmctld would have (nodes, two partitions,
 * running primaries and guests) and asks the plugin as slurmctld does.
 *
 *	select_time PLUGIN NODES CORES PRIMARIES GUESTS CLASS TASKS ROUNDS
 *
 * PRIMARIES and GUESTS of one core each run, spread over the nodes. The job
 * that is tested is of CLASS (primary, guest) and wants TASKS cores. Prints
 * microseconds of each round, one a line. SLURM_CONF and HPC_BALANCE_CONF are
 * those of the caller (bench/select makes them).
 */
#include "select/compat.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG "{\"hpcb\":{\"v\":1,\"class\":\"%s\",\"bw\":{\"mem\":%d,\"net\":1000}}}"
#define MB 1000000

#pragma GCC visibility push(default)
/* slurmctld's data and functions that the stock plugin refers to. */
struct xlist *job_list, *part_list;
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
#pragma GCC visibility pop

typedef int (*simple_t)(void);
typedef int (*test_t)(job_record_t *job_ptr, bitstr_t *node_bitmap,
		      uint32_t min_nodes, uint32_t max_nodes,
		      uint32_t req_nodes, uint16_t mode,
		      struct xlist *preemptees, struct xlist **preemptee_list,
		      hpcb_exc_t *exc HPCB_WILL_RUN_PARAMETER);

static part_record_t *primaries, *guests;

static void _die(const char *why)
{
	fprintf(stderr, "select_time: %s\n", why);
	exit(1);
}

static void *_function(void *plugin, const char *name)
{
	void *function = dlsym(plugin, name);

	if (!function)
		_die(dlerror());
	return function;
}

static part_record_t *_part(const char *name, uint16_t tier)
{
	part_record_t *part = xmalloc(sizeof(*part));

	part->name = xmalloc(32);
	snprintf(part->name, 32, "%s", name);
	part->max_share = SHARED_FORCE | 1;
	part->priority_tier = tier;
	part->max_cpus_per_node = INFINITE;
	part->preempt_mode = NO_VAL16;
	part->state_up = PARTITION_UP;
	part->node_bitmap = bit_alloc(node_record_count);
	bit_set_all(part->node_bitmap);
	list_append(part_list, part);
	return part;
}

static void _make_nodes(int nodes, int cores)
{
	int i;

	init_node_conf();
	build_all_nodeline_info(false, 0);
	rehash_node();
	if (node_record_count != nodes)
		_die("the nodes of SLURM_CONF are others");
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

static job_record_t *_job(uint32_t id, part_record_t *part, int mem)
{
	job_record_t *job = xmalloc(sizeof(*job));

	job->details = xmalloc(sizeof(*job->details));
	job->magic = JOB_MAGIC;
	job->details->magic = DETAILS_MAGIC;
	job->job_id = id;
	job->part_ptr = part;
	job->priority = 50;
	job->best_switch = true;
	job->admin_comment = xmalloc(128);
	snprintf(job->admin_comment, 128, TAG,
		 part == guests ? "guest" : "primary", mem);
	job->details->core_spec = NO_VAL16;
	job->details->share_res = NO_VAL8;
	job->details->cpus_per_task = 1;
	job->details->task_dist = SLURM_DIST_BLOCK;
	job->details->pn_min_cpus = 1;
	job->details->min_nodes = 1;
	job->details->max_cpus = NO_VAL;
	job->details->pn_min_memory = 1;
	job->details->ntasks_per_tres = NO_VAL16;
	job->details->mc_ptr = xmalloc(sizeof(*job->details->mc_ptr));
	job->details->mc_ptr->boards_per_node = NO_VAL16;
	job->details->mc_ptr->sockets_per_board = NO_VAL16;
	job->details->mc_ptr->sockets_per_node = NO_VAL16;
	job->details->mc_ptr->cores_per_socket = NO_VAL16;
	job->details->mc_ptr->threads_per_core = NO_VAL16;
	job->details->mc_ptr->ntasks_per_board = INFINITE16;
	job->details->mc_ptr->ntasks_per_socket = INFINITE16;
	job->details->mc_ptr->ntasks_per_core = INFINITE16;
	return job;
}

static void _run_on(job_record_t *job, int node_inx, int core)
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
	resources->memory_allocated[0] = 1;
	resources->memory_used = xcalloc(1, sizeof(uint64_t));
	if (build_job_resources(resources) != SLURM_SUCCESS)
		_die("build_job_resources");
	bit_set(resources->core_bitmap, core);
	job->job_resrcs = resources;
	job->job_state = JOB_RUNNING;
	job->end_time = time(NULL) + 100000 + job->job_id;
	job->details->min_cpus = 1;
	list_append(job_list, job);
}

static void _make_jobs(part_record_t *part, int nodes, int cores, int jobs)
{
	static uint32_t id = 0;
	int i;

	for (i = 0; i < jobs; i++) {
		if (i / nodes >= cores)
			_die("too many jobs for these cores");
		_run_on(_job(++id, part, (i % 7) * MB), i % nodes, i / nodes);
	}
}

static double _now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* By this name callgrind knows what to count. */
static __attribute__((noinline)) double ask(test_t test, job_record_t *job, int tasks, int *rc)
{
	bitstr_t *nodes = bit_copy(job->part_ptr->node_bitmap);
	struct xlist *preemptees = NULL;
	double start;

	start = _now();
#if HPCB_EXC_BY_NODE
	*rc = test(job, nodes, 1, tasks, 1, SELECT_MODE_RUN_NOW, NULL,
		   &preemptees, NULL, NULL);
#else
	*rc = test(job, nodes, 1, tasks, 1, SELECT_MODE_RUN_NOW, NULL,
		   &preemptees, NULL);
#endif
	start = _now() - start;
	if (*rc == SLURM_SUCCESS)
		free_job_resources(&job->job_resrcs);
	FREE_NULL_BITMAP(nodes);
	return start;
}

int main(int argc, char **argv)
{
	int nodes, cores, tasks, rounds, i, rc = 0;
	job_record_t *job;
	void *plugin;

	if (argc != 9)
		_die("usage: select_time PLUGIN NODES CORES PRIMARIES GUESTS CLASS TASKS ROUNDS");
	nodes = atoi(argv[2]);
	cores = atoi(argv[3]);
	tasks = atoi(argv[7]);
	rounds = atoi(argv[8]);
	slurm_conf_init(NULL);
	job_list = list_create(NULL);
	part_list = list_create(NULL);
	_make_nodes(nodes, cores);
	primaries = _part("primary", 10);
	guests = _part("guest", 20);
	_make_jobs(primaries, nodes, cores, atoi(argv[4]));
	_make_jobs(guests, nodes, cores, atoi(argv[5]));
	plugin = dlopen(argv[1], RTLD_LAZY);
	if (!plugin)
		_die(dlerror());
	if (((simple_t) _function(plugin, "select_p_reconfigure"))())
		_die("select_p_reconfigure");
	job = _job(1000000, strcmp(argv[6], "guest") ? primaries : guests,
		   3 * MB);
	job->job_state = JOB_PENDING;
	job->details->min_cpus = job->details->num_tasks = tasks;
	for (i = 0; i < rounds; i++) {
		double us = ask((test_t) _function(plugin,
						      "select_p_job_test"),
				   job, tasks, &rc);

		printf("%.2f\n", us);
	}
	fprintf(stderr, "rc %d\n", rc);
	return 0;
}
