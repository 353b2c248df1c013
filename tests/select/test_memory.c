/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * GuestMemory=unused in the select plugin itself, with Slurm's own behind it
 * (tests/select/tables.h): a few nodes whose reports the test writes, by a clock
 * that the test sets.
 */
#include "tests/select/tables.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/live.h"

#define NODES 3
#define CORES 8
#define MEMORY 10000	/* MiB */
#define RESERVE 1000
#define SETTLE 60
#define UNKNOWN "{\"hpcb\":{\"v\":1}}"
#define MIB (UINT64_C(1) << 20)
#define NOBODY UINT64_MAX
#define JOBS_MAX 64	/* more than there are cores */
#define SEQUENCES 1000
#define LOOPS 4
#define STEPS 40
#define STEPS_PER_RESTART 160	/* of slurmctld, on average */

typedef int (*job_function_t)(job_record_t *job_ptr);

static char dir[] = "/tmp/hpcb-test-memory.XXXXXX";
static char conf[128], slurm_conf_file[128], log_file[128], live_file[128];
static part_record_t *primaries, *guests;
static void *plugin;
static tables_test_t test;
static job_function_t begin, set, fini;
static node_use_record_t **usage;	/* stock's table */
static uint32_t next_id = 1;
static time_t clock_now = 1700000000;

#pragma GCC visibility push(default)
/* The clock of the plugin and of all of Slurm. */
extern time_t time(time_t *at)
{
	if (at)
		*at = clock_now;
	return clock_now;
}

/*
 * The plugin waits for the thread that reads the reports as long as that takes:
 * with a bound a loaded machine makes it go on with older ones, which is right
 * (test_reader.c) and which the model does not know of.
 */
extern int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  clockid_t clock, const struct timespec *until)
{
	(void) clock;
	(void) until;
	return pthread_cond_wait(cond, mutex);
}
#pragma GCC visibility pop

/* What the test knows of a running job: one node, one core. */
typedef struct {
	job_record_t *job;	/* NULL: free */
	uint32_t id;
	bool guest;
	int node, core;
	uint64_t memory, used;	/* MiB */
	time_t since;
	bool cpus_known;
	uint64_t cpus;		/* that it computes on, millionths */
} model_t;

static model_t model[JOBS_MAX];
static time_t reported[NODES];	/* 0: never */
static bool protects[NODES];
static bool silent[NODES];	/* hpcbd was killed there */
static struct {
	uint32_t count;
	hpcb_live_job_t jobs[JOBS_MAX];
} said[NODES];			/* by the last report */
static struct {
	uint32_t level, part;
} probed[NODES];

static void _write(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");

	if (!stream || (fputs(text, stream) < 0) || fclose(stream))
		tables_die(path);
}

static void _make_cluster(void)
{
	log_options_t options = LOG_OPTS_INITIALIZER;
	char text[512];
	int i;

	snprintf(text, sizeof(text),
		 "ClusterName=test\nSlurmctldHost=localhost\n"
		 "SelectType=select/cons_tres\n"
		 "SelectTypeParameters=CR_Core_Memory\n"
		 "NodeName=n[0-%d] CPUs=%d Sockets=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d\n"
		 "PartitionName=primary Nodes=ALL Default=YES\n",
		 NODES - 1, CORES, CORES, MEMORY);
	_write(slurm_conf_file, text);
	snprintf(text, sizeof(text),
		 "CollectorDir=%s\nGuestMemory=unused\nGuestMemoryReserve=%dM\nGuestMemorySettle=%d\n",
		 dir, RESERVE, SETTLE);
	_write(conf, text);
	options.stderr_level = LOG_LEVEL_QUIET;
	options.logfile_level = LOG_LEVEL_ERROR;
	unlink(log_file);
	log_init("test_memory", options, 0, log_file);
	tables_make_nodes(NODES, CORES);
	for (i = 0; i < NODES; i++)
		node_record_table_ptr[i]->real_memory = MEMORY;
	primaries = tables_part("primary", 10);
	guests = tables_part("guest", 20);
}

/* slurmctld counts the jobs that run already. */
static void _load_plugin(void)
{
	char path[PATH_MAX];
	const char *build = getenv("HPCB_BUILDDIR");

	snprintf(path, sizeof(path), "%s/select/.libs/shadow.so",
		 build ? build : ".");
	plugin = tables_load(path);
	test = tables_function(plugin, "select_p_job_test");
	begin = tables_function(plugin, "select_p_job_begin");
	set = tables_function(plugin, "select_p_select_nodeinfo_set");
	fini = tables_function(plugin, "select_p_job_fini");
	usage = tables_function(plugin, "select_node_usage");
}

static void _load(void)
{
	unlink(live_file);
	_make_cluster();
	_load_plugin();
}

static uint32_t _jobs_on(int node, hpcb_live_job_t *jobs)
{
	uint32_t count = 0;
	int i;

	for (i = 0; i < JOBS_MAX; i++) {
		if (!model[i].job || (model[i].node != node))
			continue;
		jobs[count++] = (hpcb_live_job_t) {
			.job_id = model[i].job->job_id,
			.guest = model[i].guest,
			.used = model[i].used * MIB,
			.peak = model[i].used * MIB,
			.cpus_known = model[i].cpus_known,
			.cpus = model[i].cpus,
		};
	}
	return count;
}

/* Nodes report at clock_now; those that never did stay out. */
static void _write_live(void)
{
	hpcb_live_table_t *table = hpcb_live_table_new();
	struct timespec times[2] = { { .tv_sec = clock_now },
				     { .tv_sec = clock_now } };
	int i;

	for (i = 0; i < NODES; i++) {
		hpcb_live_node_t node = {
			.time = reported[i],
			.memory = MEMORY * MIB,
			.available = MEMORY * MIB,
			.protects = protects[i],
			.saturation = probed[i].level,
			.memory_part = probed[i].part,
			.jobs = said[i].jobs,
		};

		if (!reported[i])
			continue;
		snprintf(node.name, sizeof(node.name), "n%d", i);
		if (!silent[i])
			said[i].count = _jobs_on(i, said[i].jobs);
		node.n_jobs = said[i].count;
		ck_assert_int_eq(hpcb_live_put(table, &node), 0);
	}
	ck_assert_int_eq(hpcb_live_write(table, dir, NULL), 0);
	/* Two files of the same moment may have the same inode. */
	ck_assert_int_eq(utimensat(AT_FDCWD, live_file, times, 0), 0);
	hpcb_live_table_free(table);
}

static void _report_all(void)
{
	int i;

	clock_now++;
	for (i = 0; i < NODES; i++) {
		reported[i] = clock_now;
		protects[i] = true;
	}
	_write_live();
}

static job_record_t *_pending(part_record_t *part, uint64_t memory)
{
	job_record_t *job = tables_job(next_id++, part, UNKNOWN);

	job->details->pn_min_memory = memory;
	return job;
}

/* The node where the job would start, -1: none. Its resources stay. */
static int _ask(job_record_t *job, uint16_t mode)
{
	bitstr_t *at = bit_copy(job->part_ptr->node_bitmap);
	int node = -1;

	if (tables_ask(test, job, at, mode, NULL, NULL) == SLURM_SUCCESS)
		node = bit_ffs(at);
	FREE_NULL_BITMAP(at);
	return node;
}

static bool _starts(job_record_t *job, uint16_t mode)
{
	int node = _ask(job, mode);

	free_job_resources(&job->job_resrcs);
	return node != -1;
}

/* As slurmctld does where the job starts. Its slot in the model, or NULL. */
static model_t *_start(job_record_t *job)
{
	model_t *slot = model;
	int node = _ask(job, SELECT_MODE_RUN_NOW);

	if (node == -1)
		return NULL;
	while (slot->job)
		slot++;
	*slot = (model_t) {
		.job = job,
		.id = job->job_id,
		.guest = (job->part_ptr == guests),
		.node = node,
		.core = bit_ffs(job->job_resrcs->core_bitmap),
		.memory = job->job_resrcs->memory_allocated[0],
		.since = clock_now,
	};
	job->node_bitmap = bit_copy(job->job_resrcs->node_bitmap);
	job->start_time = clock_now;
	job->end_time = clock_now + 100000 + job->job_id;
	ck_assert_int_eq(begin(job), SLURM_SUCCESS);
	job->job_state = JOB_RUNNING;
	ck_assert_int_eq(set(job), SLURM_SUCCESS);
	list_append(job_list, job);
	return slot;
}

static int _is_job(void *x, void *key)
{
	return x == key;
}

static void _end(model_t *slot)
{
	job_record_t *job = slot->job;

	ck_assert_uint_eq(job->job_resrcs->memory_allocated[0], slot->memory);
	job->job_state = JOB_COMPLETE;
	ck_assert_int_eq(fini(job), SLURM_SUCCESS);
	free_job_resources(&job->job_resrcs);
	list_remove_first(job_list, _is_job, job);
	slot->job = NULL;
}

/* Of the test's own knowledge: */

static uint64_t _sum(int node, bool guest)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (model[i].job && (model[i].node == node) &&
		    (model[i].guest == guest))
			sum += model[i].memory;
	return sum;
}

static int _count(int node, bool guest)
{
	int i, count = 0;

	for (i = 0; i < JOBS_MAX; i++)
		count += model[i].job && (model[i].node == node) &&
			 (model[i].guest == guest);
	return count;
}

static bool _lends(int node)
{
	return protects[node] && reported[node] &&
	       (clock_now - reported[node] < HPCB_LIVE_STALE_SECONDS);
}

/* No memory of a guest is in the table, and none of a job that is gone. */
static void _check_table(void)
{
	int i;

	for (i = 0; i < NODES; i++)
		ck_assert_uint_eq((*usage)[i].alloc_memory,
				  _sum(i, false));
}

static void _check_log(void)
{
	struct stat st;

	log_flush();
	if (!stat(log_file, &st) && st.st_size) {
		char command[256];

		snprintf(command, sizeof(command), "head -3 %s >&2", log_file);
		if (system(command))
			fputs("no head\n", stderr);
		ck_abort_msg("Slurm has logged errors");
	}
}

/* It started a while ago and uses little. */
static model_t *_settled(uint64_t memory, uint64_t used)
{
	model_t *slot = _start(_pending(primaries, memory));

	ck_assert_ptr_nonnull(slot);
	slot->used = used;
	clock_now += SETTLE + 1;
	slot->job->start_time = slot->since;
	_report_all();
	return slot;
}

/* --mem=0 on every node. */
static void _fill(void)
{
	int i;

	for (i = 0; i < NODES; i++)
		_settled(0, 5);
}

START_TEST(a_guest_starts_beside_primaries_that_hold_all_memory)
{
	_load();
	_fill();
	ck_assert_uint_eq(_sum(0, false), MEMORY);
	ck_assert(_starts(_pending(guests, 4000), SELECT_MODE_WILL_RUN));
	ck_assert(_starts(_pending(guests, 4000), SELECT_MODE_RUN_NOW));
	ck_assert(!_starts(_pending(guests, MEMORY - RESERVE),
			   SELECT_MODE_RUN_NOW));
	ck_assert(!_starts(_pending(guests, MEMORY - RESERVE),
			   SELECT_MODE_WILL_RUN));
	/* 5 MiB, an eighth more, whole MiB. */
	ck_assert(_starts(_pending(guests, MEMORY - RESERVE - 6),
			  SELECT_MODE_RUN_NOW));
	_check_table();
	_check_log();
}
END_TEST

static void _probe(int node, uint32_t level, uint32_t part)
{
	probed[node].level = level;
	probed[node].part = part;
}

/* Where a guest of which nothing is known goes, after reports of now. */
static int _goes_to(void)
{
	model_t *guest;
	int node;

	/* Capacities are looked for every 5 s. */
	clock_now += 6;
	_report_all();
	guest = _start(_pending(guests, 100));
	ck_assert_ptr_nonnull(guest);
	node = guest->node;
	_end(guest);
	return node;
}

START_TEST(guests_avoid_nodes_whose_memory_is_saturated)
{
	model_t *guest;

	_load();
	_fill();
	ck_assert_int_eq(_goes_to(), 0);
	_probe(0, HPCB_LIVE_SATURATED, 400);
	_probe(1, HPCB_LIVE_SATURATION_BUSY, 700);
	_probe(2, HPCB_LIVE_SATURATION_FREE, 900);
	ck_assert_int_eq(_goes_to(), 2);
	_probe(2, HPCB_LIVE_SATURATED, 450);
	ck_assert_int_eq(_goes_to(), 1);
	/* The least saturated one. */
	_probe(1, HPCB_LIVE_SATURATED, 300);
	ck_assert_int_eq(_goes_to(), 2);
	/* What is not known, or noise, is no reason. */
	_probe(0, HPCB_LIVE_SATURATION_FREE, 810);
	_probe(1, HPCB_LIVE_SATURATION_UNKNOWN, 400);
	_probe(2, HPCB_LIVE_SATURATION_FREE, 1000);
	ck_assert_int_eq(_goes_to(), 0);
	/* What a node said that has fallen silent is no reason either. */
	_probe(0, HPCB_LIVE_SATURATED, 100);
	_probe(1, HPCB_LIVE_SATURATED, 100);
	_probe(2, HPCB_LIVE_SATURATED, 900);
	ck_assert_int_eq(_goes_to(), 2);
	for (int i = 0; i < NODES; i++)
		_end(&model[i]);
	clock_now += HPCB_LIVE_STALE_SECONDS;
	guest = _start(_pending(guests, 100));
	ck_assert_ptr_nonnull(guest);
	ck_assert_int_eq(guest->node, 0);
	_check_log();
	memset(probed, 0, sizeof(probed));
}
END_TEST

/* Nobody knows the guest, and all cores are held. */
START_TEST(guests_go_where_primaries_leave_cpu_time)
{
	model_t *guest;
	int i;

	_load();
	_fill();
	for (i = 0; i < JOBS_MAX; i++) {
		model[i].cpus_known = true;
		model[i].cpus = (model[i].node == 2) ? 100000 : 950000;
	}
	_report_all();
	guest = _start(_pending(guests, 100));
	ck_assert_ptr_nonnull(guest);
	ck_assert_int_eq(guest->node, 2);
	_end(guest);
	/* A node that says nothing new computes as if all of it was used. */
	for (i = 0; i < JOBS_MAX; i++)
		model[i].cpus = (model[i].node == 1) ? 500000 : 950000;
	silent[2] = true;
	clock_now += HPCB_LIVE_STALE_SECONDS;
	for (i = 0; i < NODES; i++)
		if (i != 2)
			reported[i] = clock_now;
	_write_live();
	guest = _start(_pending(guests, 100));
	ck_assert_ptr_nonnull(guest);
	ck_assert_int_eq(guest->node, 1);
	_check_log();
	silent[2] = false;
}
END_TEST

START_TEST(a_guests_memory_is_lent_once)
{
	int i;

	_load();
	_fill();
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(_start(_pending(guests, 8000)));
	ck_assert(!_starts(_pending(guests, 2000), SELECT_MODE_RUN_NOW));
	for (i = 0; i < NODES; i++)
		ck_assert_int_eq(_count(i, true), 1);
	ck_assert_ptr_nonnull(_start(_pending(guests, 500)));
	_check_table();
	_check_log();
}
END_TEST

START_TEST(a_primary_starts_where_guests_have_all_memory)
{
	static const uint64_t wishes[] = { 0, MEMORY, 1 };
	uint16_t mode;
	size_t i;

	_load();
	_report_all();
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(_start(_pending(guests, 9000)));
	for (i = 0; i < 3; i++) {
		for (mode = SELECT_MODE_RUN_NOW; mode <= SELECT_MODE_WILL_RUN;
		     mode++) {
			if (mode == SELECT_MODE_TEST_ONLY)
				continue;
			ck_assert(_starts(_pending(primaries, wishes[i]),
					  mode));
		}
	}
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(_start(_pending(primaries, 0)));
	ck_assert(!_starts(_pending(primaries, 1), SELECT_MODE_RUN_NOW));
	/* When one of the primaries has ended. */
	ck_assert(_starts(_pending(primaries, 1), SELECT_MODE_WILL_RUN));
	_check_table();
	_check_log();
}
END_TEST

/* Of the second component it is asked whether it fits with all guests staying. */
START_TEST(a_heterogeneous_primary_starts_beside_guests_with_lent_memory)
{
	struct xlist *list = list_create(NULL), *gone = NULL;
	job_record_t *parts[2];
	model_t *guest;
	bitstr_t *at;
	int i;

	_load();
	_report_all();
	guest = _start(_pending(guests, 9000));
	ck_assert_ptr_nonnull(guest);
	list_append(list, guest->job);
	for (i = 0; i < 2; i++)
		parts[i] = _pending(primaries, 100);
	parts[0]->het_job_list = list_create(NULL);
	for (i = 0; i < 2; i++) {
		parts[i]->het_job_id = parts[0]->job_id;
		list_append(parts[0]->het_job_list, parts[i]);
	}
	at = bit_copy(primaries->node_bitmap);
	ck_assert_int_eq(tables_ask(test, parts[0], at, SELECT_MODE_RUN_NOW,
				    list, &gone),
			 SLURM_SUCCESS);
	ck_assert_ptr_null(gone);
	free_job_resources(&parts[0]->job_resrcs);
	FREE_NULL_BITMAP(at);
	FREE_NULL_LIST(list);
	_check_table();
	_check_log();
}
END_TEST

START_TEST(without_a_fresh_report_all_is_used)
{
	model_t *guest;

	_load();
	_fill();
	guest = _start(_pending(guests, 4000));
	ck_assert_ptr_nonnull(guest);
	clock_now += HPCB_LIVE_STALE_SECONDS;
	ck_assert(!_starts(_pending(guests, 1), SELECT_MODE_RUN_NOW));
	_report_all();
	ck_assert(_starts(_pending(guests, 1), SELECT_MODE_RUN_NOW));
	unlink(live_file);
	clock_now += HPCB_LIVE_STALE_SECONDS;
	ck_assert(!_starts(_pending(guests, 1), SELECT_MODE_RUN_NOW));
	_check_table();
	_check_log();
}
END_TEST

/* What runs there is in a primary's way as with GuestMemory=allocated. */
START_TEST(a_primary_waits_for_guests_that_nobody_would_end)
{
	int i;

	_load();
	_report_all();
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(_start(_pending(guests, 6000)));
	protects[0] = protects[1] = protects[2] = false;
	clock_now++;
	_write_live();
	ck_assert(!_starts(_pending(primaries, 6000), SELECT_MODE_RUN_NOW));
	ck_assert(_starts(_pending(primaries, 6000), SELECT_MODE_WILL_RUN));
	ck_assert(_starts(_pending(primaries, 4000), SELECT_MODE_RUN_NOW));
	ck_assert(!_starts(_pending(guests, 4001), SELECT_MODE_RUN_NOW));
	ck_assert(_starts(_pending(guests, 4000), SELECT_MODE_RUN_NOW));
	_check_table();
	_check_log();
}
END_TEST

START_TEST(a_young_primary_may_touch_all)
{
	int i;

	_load();
	_report_all();
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(_start(_pending(primaries, MEMORY)));
	_report_all();
	ck_assert(!_starts(_pending(guests, 1), SELECT_MODE_RUN_NOW));
	clock_now += SETTLE;
	_report_all();
	ck_assert(_starts(_pending(guests, 1), SELECT_MODE_RUN_NOW));
	_check_log();
}
END_TEST

/* 2000 MiB by earlier runs, and an eighth more. */
START_TEST(a_young_primary_that_is_known_lends_what_it_never_used)
{
	static char known[] = "{\"hpcb\":{\"v\":1,\"peak\":2097152000}}";
	int i;

	_load();
	_report_all();
	for (i = 0; i < NODES; i++) {
		job_record_t *job = tables_job(next_id++, primaries, known);

		job->details->pn_min_memory = MEMORY;
		ck_assert_ptr_nonnull(_start(job));
	}
	_report_all();
	ck_assert(!_starts(_pending(guests, MEMORY - RESERVE - 2249),
			   SELECT_MODE_RUN_NOW));
	ck_assert(_starts(_pending(guests, MEMORY - RESERVE - 2250),
			  SELECT_MODE_RUN_NOW));
	_check_log();
}
END_TEST

START_TEST(a_restart_keeps_what_it_should)
{
	model_t *guest;

	_load();
	_fill();
	guest = _start(_pending(guests, 8000));
	ck_assert_ptr_nonnull(guest);
	tables_recount(plugin);
	_check_table();
	ck_assert_uint_eq(guest->job->job_resrcs->memory_allocated[0], 8000);
	_report_all();
	ck_assert(_starts(_pending(guests, 8000), SELECT_MODE_RUN_NOW));
	_end(guest);
	_check_table();
	_check_log();
}
END_TEST

/* Another mode is in force from the next reconfiguration on. */
START_TEST(a_guest_is_counted_again_without_lending)
{
	model_t *guest;

	_load();
	_report_all();
	guest = _start(_pending(guests, 6000));
	ck_assert_ptr_nonnull(guest);
	_write(conf, "GuestMemory=allocated\n");
	tables_recount(plugin);
	ck_assert_uint_eq((*usage)[guest->node].alloc_memory, 6000);
	_end(guest);
	_check_table();
	_check_log();
}
END_TEST

START_TEST(a_guest_gives_back_its_node)
{
	int (*resized)(job_record_t *, node_record_t *);
	model_t *guest;

	_load();
	_fill();
	resized = tables_function(plugin, "select_p_job_resized");
	guest = _start(_pending(guests, 8000));
	ck_assert_ptr_nonnull(guest);
	ck_assert_int_eq(resized(guest->job,
				 node_record_table_ptr[guest->node]),
			 SLURM_SUCCESS);
	_check_table();
	ck_assert_int_eq(fini(guest->job), SLURM_SUCCESS);
	_check_table();
	_check_log();
}
END_TEST

/* A suspended guest holds its memory. */
START_TEST(a_suspended_guest_has_what_it_was_lent)
{
	int (*suspend)(job_record_t *, bool);
	model_t *slots[NODES];
	int i;

	_load();
	_fill();
	for (i = 0; i < NODES; i++)
		ck_assert_ptr_nonnull(slots[i] = _start(_pending(guests, 8000)));
	suspend = tables_function(plugin, "select_p_job_suspend");
	for (i = 0; i < NODES; i++) {
		slots[i]->job->job_state = JOB_SUSPENDED;
		ck_assert_int_eq(suspend(slots[i]->job, true), SLURM_SUCCESS);
	}
	_check_table();
	ck_assert(!_starts(_pending(guests, 2000), SELECT_MODE_RUN_NOW));
	ck_assert(_starts(_pending(guests, 500), SELECT_MODE_RUN_NOW));
	for (i = 0; i < NODES; i++)
		_end(slots[i]);
	_check_table();
	_check_log();
}
END_TEST

/* What the model expects: */

static bool _primary_would_start(uint64_t memory)
{
	int i;

	for (i = 0; i < NODES; i++) {
		uint64_t held = _sum(i, false);

		if (!_lends(i))
			held += _sum(i, true);
		if ((_count(i, false) < CORES) &&
		    (memory ? (held + memory <= MEMORY) : !held))
			return true;
	}
	return false;
}

/* What the last report said of each job, and what that meant when the plugin
 * read it. */
static uint64_t reported_use[JOBS_MAX], expected_use[JOBS_MAX];

static void _note_expected(void)
{
	int i;

	for (i = 0; i < JOBS_MAX; i++) {
		uint64_t used = reported_use[i];

		expected_use[i] = model[i].memory;
		if (model[i].job && (used != NOBODY) &&
		    (clock_now - model[i].since >= SETTLE))
			expected_use[i] = MIN(used + (used + 7) / 8,
					      model[i].memory);
	}
}

static void _note_reports(void)
{
	int i;

	for (i = 0; i < JOBS_MAX; i++) {
		if (!model[i].job)
			reported_use[i] = NOBODY;
		else if (!silent[model[i].node])
			reported_use[i] = model[i].used;
	}
	_note_expected();
}

static uint64_t _lent(int node)
{
	uint64_t taken = RESERVE + _sum(node, true);
	int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (model[i].job && !model[i].guest && (model[i].node == node))
			taken += expected_use[i];
	return (taken < MEMORY) ? MEMORY - taken : 0;
}

static uint64_t _free_for_guests(int node)
{
	if (_lends(node))
		return _lent(node);
	return MEMORY - MIN(MEMORY, _sum(node, true) + _sum(node, false));
}

/* The largest guest that would start, 0 for none. */
static uint64_t _largest_guest(void)
{
	uint64_t largest = 0;
	int i;

	for (i = 0; i < NODES; i++)
		if (_count(i, true) < CORES)
			largest = MAX(largest, _free_for_guests(i));
	return largest;
}

static void _try(bool guest)
{
	static const uint64_t wishes[] = { 1, 500, 2500, 5000, 9000, MEMORY };
	uint64_t memory = wishes[rand() % 6];
	model_t *slot;
	bool expected;

	if (!guest && !(rand() % 4))
		memory = 0;
	if (guest && !(rand() % 3))
		memory = MAX(_largest_guest(), 1) + rand() % 2;
	expected = guest ? (memory <= _largest_guest()) :
			   _primary_would_start(memory);
	slot = _start(_pending(guest ? guests : primaries, memory));
	ck_assert_msg((slot != NULL) == expected,
		      "a %s of %lu MiB %s", guest ? "guest" : "primary",
		      (unsigned long) memory,
		      slot ? "starts" : "does not start");
	if (!slot)
		return;
	expected_use[slot - model] = slot->memory;
	reported_use[slot - model] = NOBODY;
}

static void _grow(void)
{
	int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (model[i].job && rand() % 2)
			model[i].used = (uint64_t) rand() %
					(model[i].memory + 1);
}

static void _report_some(void)
{
	int i;

	for (i = 0; i < NODES; i++) {
		if (silent[i])
			continue;
		reported[i] = clock_now;
		protects[i] = rand() % 8 != 0;
	}
	_write_live();
	_note_reports();
}

/* The plugin has forgotten all, and reads what the nodes said last. */
static void _expect_anew(void)
{
	(void) _starts(_pending(guests, 1), SELECT_MODE_WILL_RUN);
	_note_expected();
}

static void _kill_or_start_hpcbd(void)
{
	bool *is_silent = &silent[rand() % NODES];

	*is_silent = !*is_silent;
}

static void _step(void)
{
	model_t *slot = &model[rand() % 16];

	clock_now += (rand() % 4) ? 1 : 1 + rand() % 20;
	switch (rand() % 10) {
	case 0:
	case 1:
		_try(true);
		break;
	case 2:
	case 3:
		_try(false);
		break;
	case 4:
		if (slot->job)
			_end(slot);
		break;
	case 5:
		_grow();
		break;
	case 6:
	case 7:
		_report_some();
		/* The plugin reads it with the next test. */
		(void) _starts(_pending(guests, 1), SELECT_MODE_RUN_NOW);
		break;
	case 8:
		_kill_or_start_hpcbd();
		break;
	default:
		if (!(rand() % 4)) {
			tables_recount(plugin);
			_expect_anew();
		}
	}
	_check_table();
}

/* Where the sequences are, whichever slurmctld it is. */
static int sequence, step;
static unsigned int seed;

/* What outlives slurmctld: what the test knows. Jobs are made anew from it, as
 * from slurmctld's state; what nodes said is in a file. */
static const struct {
	void *at;
	size_t size;
} kept[] = {
	{ model, sizeof(model) },
	{ reported, sizeof(reported) },
	{ protects, sizeof(protects) },
	{ silent, sizeof(silent) },
	{ said, sizeof(said) },
	{ reported_use, sizeof(reported_use) },
	{ expected_use, sizeof(expected_use) },
	{ &next_id, sizeof(next_id) },
	{ &clock_now, sizeof(clock_now) },
	{ &sequence, sizeof(sequence) },
	{ &step, sizeof(step) },
	{ &seed, sizeof(seed) },
};

static size_t _kept_size(void)
{
	size_t i, size = 0;

	for (i = 0; i < ARRAY_SIZE(kept); i++)
		size += kept[i].size;
	return size;
}

static void _keep(char *shared)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kept); shared += kept[i++].size)
		memcpy(shared, kept[i].at, kept[i].size);
}

static void _recall(const char *shared)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kept); shared += kept[i++].size)
		memcpy(kept[i].at, shared, kept[i].size);
}

static void _recover_jobs(void)
{
	int i;

	for (i = 0; i < JOBS_MAX; i++) {
		model_t *slot = &model[i];

		if (!slot->job)
			continue;
		slot->job = tables_job(slot->id,
				       slot->guest ? guests : primaries,
				       UNKNOWN);
		tables_run(slot->job, slot->node, slot->core, slot->memory);
		slot->job->start_time = slot->since;
	}
}

static void _begin_sequence(void)
{
	memset(reported, 0, sizeof(reported));
	memset(silent, 0, sizeof(silent));
	clock_now += 1000;
	_report_some();
}

static void _end_sequence(void)
{
	int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (model[i].job)
			_end(&model[i]);
	for (i = 0; i < NODES; i++)
		ck_assert_uint_eq((*usage)[i].alloc_memory, 0);
	sequence++;
	step = 0;
}

/* From its start until it is killed, or all sequences are done. */
static void _slurmctld(void)
{
	srand(seed);
	_make_cluster();
	_recover_jobs();
	_load_plugin();
	_expect_anew();
	_check_table();
	while (sequence < SEQUENCES / LOOPS) {
		if (!step)
			_begin_sequence();
		if (step++ < STEPS)
			_step();
		else
			_end_sequence();
		if (!(rand() % STEPS_PER_RESTART))
			break;
	}
	_check_log();
	seed = rand();
}

/* In a process of its own: all that the plugins know ends with it. */
static void _run_slurmctld(char *shared)
{
	pid_t pid = fork();
	int status = -1;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		_slurmctld();
		_keep(shared);
		_exit(EXIT_SUCCESS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!WIFSIGNALED(status), "signal %d", WTERMSIG(status));
	/* It has said why. */
	if (status)
		exit(EXIT_FAILURE);
	_recall(shared);
}

START_TEST(random_sequences_are_as_the_model_says)
{
	char *shared = mmap(NULL, _kept_size(), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int restarts = -1;

	ck_assert_ptr_ne(shared, MAP_FAILED);
	seed = 19 + _i;
	unlink(live_file);
	for (; sequence < SEQUENCES / LOOPS; restarts++) {
		_run_slurmctld(shared);
		/* Until the next one is up. */
		clock_now += rand() % (2 * HPCB_LIVE_STALE_SECONDS);
	}
	ck_assert_int_gt(restarts, 0);
	munmap(shared, _kept_size());
}
END_TEST

static Suite *_suite(void)
{
	Suite *suite = suite_create("memory");
	TCase *few = tcase_create("few");

	tcase_add_test(few,
		       a_guest_starts_beside_primaries_that_hold_all_memory);
	tcase_add_test(few, guests_avoid_nodes_whose_memory_is_saturated);
	tcase_add_test(few, guests_go_where_primaries_leave_cpu_time);
	tcase_add_test(few, a_guests_memory_is_lent_once);
	tcase_add_test(few, a_primary_starts_where_guests_have_all_memory);
	tcase_add_test(
		few,
		a_heterogeneous_primary_starts_beside_guests_with_lent_memory);
	tcase_add_test(few, without_a_fresh_report_all_is_used);
	tcase_add_test(few, a_primary_waits_for_guests_that_nobody_would_end);
	tcase_add_test(few, a_young_primary_may_touch_all);
	tcase_add_test(few,
		       a_young_primary_that_is_known_lends_what_it_never_used);
	tcase_add_test(few, a_restart_keeps_what_it_should);
	tcase_add_test(few, a_guest_is_counted_again_without_lending);
	tcase_add_test(few, a_guest_gives_back_its_node);
	tcase_add_test(few, a_suspended_guest_has_what_it_was_lent);
	tcase_add_loop_test(few, random_sequences_are_as_the_model_says, 0,
			    LOOPS);
	tcase_set_timeout(few, 120);
	suite_add_tcase(suite, few);
	return suite;
}

int main(void)
{
	SRunner *runner;
	int failed;

	/* Later plugins want more of slurmctld than tables.c has. */
	if (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)) {
		puts("1..0 # SKIP needs the tables of Slurm 22.05");
		return 0;
	}
	if (!mkdtemp(dir))
		tables_die(dir);
	snprintf(conf, sizeof(conf), "%s/hpc-balance.conf", dir);
	snprintf(slurm_conf_file, sizeof(slurm_conf_file), "%s/slurm.conf",
		 dir);
	snprintf(log_file, sizeof(log_file), "%s/log", dir);
	snprintf(live_file, sizeof(live_file), "%s/%s", dir, HPCB_LIVE_FILE);
	setenv("SLURM_CONF", slurm_conf_file, 1);
	setenv("HPC_BALANCE_CONF", conf, 1);
	runner = srunner_create(_suite());
	/* Slurm's library reads its configuration once. */
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	unlink(conf);
	unlink(slurm_conf_file);
	unlink(log_file);
	unlink(live_file);
	rmdir(dir);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
