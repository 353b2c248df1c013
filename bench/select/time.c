/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Time of select_p_job_test() in a select plugin, without a slurmctld: this
 * program makes the tables that slurmctld would have (nodes, two partitions,
 * running primaries and guests) and asks the plugin as slurmctld does.
 *
 *	select_time PLUGIN NODES CORES PRIMARIES GUESTS
 *
 * PRIMARIES and GUESTS of one core each run, spread over the nodes. Reads the
 * name of a test a line, and answers each with a line: its microseconds.
 *
 *	primary		a primary of 4 cores starts
 *	guest		a guest of 4 cores starts
 *	blocked		a primary wants more cores than primaries have left
 *	forecast	when will that one start? (backfill)
 *
 * Primaries may preempt all guests where the plugin is ours. SLURM_CONF and
 * HPC_BALANCE_CONF are those of the caller (bench/select makes them).
 */
#include "tests/select/tables.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG "{\"hpcb\":{\"v\":1,\"bw\":{\"mem\":%d,\"net\":1000}}}"
#define MB 1000000

static part_record_t *primaries, *guests;

#pragma GCC visibility push(default)
/* The clock of the plugin: it stands still, so that what nodes have reported
 * does not grow old while tests are timed. */
extern time_t time(time_t *at)
{
	static time_t start = 0;
	struct timespec now;

	if (!start) {
		clock_gettime(CLOCK_REALTIME, &now);
		start = now.tv_sec;
	}
	if (at)
		*at = start;
	return start;
}
#pragma GCC visibility pop

static job_record_t *_job(uint32_t id, part_record_t *part, int mem)
{
	char comment[128];

	snprintf(comment, sizeof(comment), TAG, mem);
	return tables_job(id, part, comment);
}

/* Each job needs another bandwidth, so that hardly two nodes are alike. */
static void _make_jobs(part_record_t *part, int nodes, int cores, int jobs)
{
	static uint32_t id = 0;
	int i;

	for (i = 0; i < jobs; i++) {
		if (i / nodes >= cores)
			tables_die("too many jobs for these cores");
		tables_run(_job(++id, part, i * 37 % 1009 * 2 * MB), i % nodes,
			   i / nodes, 1);
	}
}

static double _now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* A test as slurmctld asks for it. */
typedef struct {
	const char *name;
	bool guest, blocked;
	uint16_t mode;
} ask_t;

static const ask_t tests[] = {
	{ "primary", false, false, SELECT_MODE_RUN_NOW },
	{ "guest", true, false, SELECT_MODE_RUN_NOW },
	{ "blocked", false, true, SELECT_MODE_RUN_NOW },
	{ "forecast", false, true, SELECT_MODE_WILL_RUN },
};

static const ask_t *_find_test(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	}
	tables_die("unknown TEST");
	return NULL;
}

/* By this name callgrind knows what to count. */
static __attribute__((noinline)) double ask(tables_test_t test, const ask_t *how,
					    job_record_t *job,
					    bitstr_t *nodes,
					    struct xlist *preemptees)
{
	struct xlist *gone = NULL;
	double start = _now();

	(void) tables_ask(test, job, nodes, how->mode, preemptees, &gone);
	start = _now() - start;
	FREE_NULL_LIST(gone);
	return start;
}

static int _add_guest(void *x, void *arg)
{
	if (((job_record_t *) x)->part_ptr == guests)
		list_append(arg, x);
	return 0;
}

/* Primaries may preempt the guests, where there are any. */
static struct xlist *_preemptees(void)
{
	struct xlist *found = list_create(NULL);

	list_for_each(job_list, _add_guest, found);
	if (!list_count(found))
		FREE_NULL_LIST(found);
	return found;
}

static double _run_test(tables_test_t test, const ask_t *how, job_record_t *job,
			uint32_t tasks, struct xlist *preemptees)
{
	bitstr_t *nodes = bit_copy(job->part_ptr->node_bitmap);
	double took;

	job->details->min_cpus = job->details->num_tasks = tasks;
	took = ask(test, how, job, nodes, how->guest ? NULL : preemptees);
	if ((job->job_resrcs != NULL) == how->blocked &&
	    (how->mode == SELECT_MODE_RUN_NOW))
		tables_die("the job starts where it should wait, or waits");
	free_job_resources(&job->job_resrcs);
	FREE_NULL_BITMAP(nodes);
	return took;
}

static job_record_t *_pending(part_record_t *part, uint32_t id)
{
	job_record_t *job = _job(id, part, 3 * MB);

	job->job_state = JOB_PENDING;
	return job;
}

int main(int argc, char **argv)
{
	int nodes, cores, jobs;
	job_record_t *primary, *guest;
	struct xlist *preemptees = NULL;
	tables_test_t test;
	char name[32];
	void *plugin;

	if (argc != 6)
		tables_die("usage: select_time PLUGIN NODES CORES PRIMARIES GUESTS");
	/*
	 * A test frees what it has allocated. Whether that is the heap's end,
	 * which libc gives back to the kernel, to fault it in again at the
	 * next test (a millisecond with 10,000 nodes), is chance: what was
	 * allocated last before it.
	 */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	nodes = atoi(argv[2]);
	cores = atoi(argv[3]);
	jobs = atoi(argv[4]);
	tables_make_nodes(nodes, cores);
	primaries = tables_part("primary", 10);
	guests = tables_part("guest", 20);
	_make_jobs(primaries, nodes, cores, jobs);
	_make_jobs(guests, nodes, cores, atoi(argv[5]));
	primary = _pending(primaries, 1000000);
	guest = _pending(guests, 1000001);
	plugin = tables_load(argv[1]);
	test = tables_function(plugin, "select_p_job_test");
	if (dlsym(plugin, "hpcb_select_plugin"))
		preemptees = _preemptees();
	while (scanf("%31s", name) == 1) {
		const ask_t *how = _find_test(name);

		printf("%.2f\n", _run_test(test, how, how->guest ? guest : primary,
					   how->blocked ? nodes * cores - jobs + 1 : 4,
					   preemptees));
		fflush(stdout);
	}
	FREE_NULL_LIST(preemptees);
	return 0;
}
