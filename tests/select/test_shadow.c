/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The select plugin itself, with Slurm's own behind it, in a process that has
 * slurmctld's tables (tests/select/tables.h): a few nodes of eight cores with
 * 1000 MiB and 20 GB/s, or many.
 */
#include "policy/fitness.h"
#include "tests/select/tables.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CORES 8
#define MEMORY 1000
#define MANY 600
/* Bytes per second; hardly any network. */
#define MEM "{\"hpcb\":{\"v\":1,\"bw\":{\"mem\":%lld,\"net\":1}}}"
#define WANTS_MEM(gigabytes) \
	"{\"hpcb\":{\"v\":1,\"bw\":{\"mem\":" #gigabytes "000000000,\"net\":1}}}"
#define UNKNOWN "{\"hpcb\":{\"v\":1}}"

static char dir[] = "/tmp/hpcb-test-shadow.XXXXXX";
static char conf[128], slurm_conf_file[128];
static part_record_t *primaries, *guests;
static void *plugin;
static tables_test_t test;
static uint32_t next_id = 1;

static void _write(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");

	if (!stream || (fputs(text, stream) < 0) || fclose(stream))
		tables_die(path);
}

static void _make_cluster(int nodes)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "ClusterName=test\nSlurmctldHost=localhost\n"
		 "SelectType=select/cons_tres\n"
		 "SelectTypeParameters=CR_Core_Memory\n"
		 "NodeName=n[0-%d] CPUs=%d Sockets=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d\n"
		 "PartitionName=primary Nodes=ALL Default=YES\n",
		 nodes - 1, CORES, CORES, MEMORY);
	_write(slurm_conf_file, text);
	_write(conf, "NodeName=ALL MemBandwidth=20G NetBandwidth=1G\n");
	tables_make_nodes(nodes, CORES);
	for (nodes--; nodes >= 0; nodes--)
		node_record_table_ptr[nodes]->real_memory = MEMORY;
	primaries = tables_part("primary", 10);
	guests = tables_part("guest", 20);
}

static const char *_path(void)
{
	static char path[PATH_MAX];
	const char *build = getenv("HPCB_BUILDDIR");

	snprintf(path, sizeof(path), "%s/select/.libs/shadow.so",
		 build ? build : ".");
	return path;
}

static void _load(void)
{
	plugin = tables_load(_path());
	test = tables_function(plugin, "select_p_job_test");
}

static void _few(void)
{
	_make_cluster(3);
}

static job_record_t *_running(part_record_t *part, int node, int core,
			      uint64_t memory, int gigabytes)
{
	char comment[128] = UNKNOWN;
	job_record_t *job;

	if (gigabytes >= 0)
		snprintf(comment, sizeof(comment), MEM,
			 gigabytes ? gigabytes * (1LL << 30) : 1LL);
	job = tables_job(next_id++, part, comment);
	job->start_time = 1000 + (time_t) job->job_id;
	tables_run(job, node, core, memory);
	return job;
}

static job_record_t *_pending(part_record_t *part, uint32_t cpus,
			      uint64_t memory, const char *comment)
{
	job_record_t *job = tables_job(next_id++, part, comment);

	job->details->min_cpus = job->details->num_tasks = cpus;
	job->details->pn_min_memory = memory;
	return job;
}

/* Where it would run, which the caller frees; NULL: nowhere. */
static bitstr_t *_ask(job_record_t *job, uint16_t mode,
		      struct xlist *preemptees, struct xlist **gone)
{
	bitstr_t *at = bit_copy(job->part_ptr->node_bitmap);

	if (tables_ask(test, job, at, mode, preemptees, gone) != SLURM_SUCCESS)
		FREE_NULL_BITMAP(at);
	/* What else keeps the other queue off the node. */
	if (at && job->job_resrcs)
		ck_assert_int_eq(job->job_resrcs->node_req, NODE_CR_AVAILABLE);
	free_job_resources(&job->job_resrcs);
	return at;
}

static bool _starts(job_record_t *job, uint16_t mode, struct xlist *preemptees,
		    struct xlist **gone)
{
	bitstr_t *at = _ask(job, mode, preemptees, gone);
	bool starts = (at != NULL);

	FREE_NULL_BITMAP(at);
	return starts;
}

static int _node_of(job_record_t *job, uint16_t mode)
{
	bitstr_t *at = _ask(job, mode, NULL, NULL);
	int node = -1;

	if (at) {
		ck_assert_int_eq(bit_set_count(at), 1);
		node = bit_ffs(at);
	}
	FREE_NULL_BITMAP(at);
	return node;
}

START_TEST(primaries_see_no_guests)
{
	int n, c;

	for (n = 0; n < 3; n++)
		for (c = 0; c < 2; c++)
			_running(guests, n, c, 10, 0);
	_load();
	/* Idle cores are spread over all nodes. */
	ck_assert_int_ne(_node_of(_pending(primaries, CORES, 10, UNKNOWN),
				  SELECT_MODE_RUN_NOW), -1);
	ck_assert_int_ne(_node_of(_pending(guests, 2, 10, UNKNOWN),
				  SELECT_MODE_RUN_NOW), -1);
	ck_assert_int_eq(_node_of(_pending(guests, CORES, 10, UNKNOWN),
				  SELECT_MODE_TEST_ONLY), 0);
}
END_TEST

static bool _is_loaded(void)
{
	void *handle = dlopen(_path(), RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle != NULL;
}

/* slurmctld opens a plugin of another version and passes it over. */
START_TEST(who_is_not_used_goes)
{
	void *handle = dlopen(_path(), RTLD_LAZY);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	dlclose(handle);
	ck_assert(!_is_loaded());
	/* A thread of one that was used may still run. */
	_load();
	dlclose(plugin);
	ck_assert(_is_loaded());
}
END_TEST

/* Slurm's FORCE:1 alone lets partitions of one tier share cores. */
START_TEST(primaries_of_two_partitions_share_no_core)
{
	part_record_t *others = tables_part("others", 10);
	job_record_t *job, *whole, *guest;
	int n, c;

	for (n = 0; n < 3; n++)
		for (c = 0; c < CORES; c++)
			if (n || (c > 1))
				_running(others, n, c, 10, 0);
	_load();
	job = _pending(primaries, 3, 10, UNKNOWN);
	whole = _pending(primaries, 1, 10, UNKNOWN);
	whole->details->whole_node = WHOLE_NODE_REQUIRED;
	ck_assert(!_starts(job, SELECT_MODE_RUN_NOW, NULL, NULL));
	ck_assert(!_starts(whole, SELECT_MODE_RUN_NOW, NULL, NULL));
	/* It has a future, when enough of the others have ended. */
	ck_assert(_starts(job, SELECT_MODE_WILL_RUN, NULL, NULL));
	ck_assert_int_gt(job->start_time, time(NULL) + 1000);
	ck_assert_int_eq(_node_of(_pending(primaries, 2, 10, UNKNOWN),
				  SELECT_MODE_RUN_NOW), 0);
	guest = _pending(guests, CORES, 10, UNKNOWN);
	ck_assert(_starts(guest, SELECT_MODE_RUN_NOW, NULL, NULL));
	ck_assert_uint_eq(primaries->max_share, SHARED_FORCE | 1);
}
END_TEST

/* slurmctld has been restarted with OverSubscribe=FORCE:1 in the place of NO. */
START_TEST(jobs_that_began_alone_open_their_nodes)
{
	job_record_t *old[3];
	int n;

	for (n = 0; n < 3; n++) {
		old[n] = _running(primaries, n, 0, 10, 0);
		old[n]->job_resrcs->node_req = NODE_CR_ONE_ROW;
	}
	_load();
	ck_assert(_starts(_pending(primaries, 3 * CORES - 3, 10, UNKNOWN),
			  SELECT_MODE_RUN_NOW, NULL, NULL));
	ck_assert(!_starts(_pending(primaries, 3 * CORES - 2, 10, UNKNOWN),
			   SELECT_MODE_RUN_NOW, NULL, NULL));
	ck_assert(_starts(_pending(guests, 3 * CORES, 10, UNKNOWN),
			  SELECT_MODE_RUN_NOW, NULL, NULL));
	/* In a partition that still says NO they stay as they are. */
	primaries->max_share = 1;
	old[0]->job_resrcs->node_req = NODE_CR_ONE_ROW;
	tables_recount(plugin);
	ck_assert_uint_eq(old[0]->job_resrcs->node_req, NODE_CR_ONE_ROW);
}
END_TEST

/* What another thread sees of a partition while jobs are tested. */
typedef struct {
	const part_record_t *part;
	atomic_bool end;
	unsigned other;
} watch_t;

static void *_watch(void *arg)
{
	watch_t *watch = arg;

	while (!atomic_load(&watch->end))
		watch->other += *(const volatile uint16_t *)
			&watch->part->max_share != (SHARED_FORCE | 1);
	return NULL;
}

START_TEST(nobody_sees_that_primaries_do_not_share)
{
	static const uint16_t modes[] = { SELECT_MODE_TEST_ONLY,
					  SELECT_MODE_RUN_NOW,
					  SELECT_MODE_WILL_RUN };
	part_record_t *others = tables_part("others", 10);
	watch_t watch = { .part = primaries };
	job_record_t *job, *running;
	pthread_t thread;
	int i;

	_running(others, 0, 0, 10, 0);
	running = _running(primaries, 1, 0, 10, 0);
	_load();
	job = _pending(primaries, 3 * CORES, 10, UNKNOWN);
	ck_assert_int_eq(pthread_create(&thread, NULL, _watch, &watch), 0);
	for (i = 0; i < 300; i++)
		(void) _starts(job, modes[i % 3], NULL, NULL);
	atomic_store(&watch.end, true);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(watch.other, 0);
	ck_assert_ptr_eq(job->part_ptr, primaries);
	ck_assert_ptr_eq(running->part_ptr, primaries);
	ck_assert(_starts(job, SELECT_MODE_WILL_RUN, NULL, NULL));
}
END_TEST

/* -- preemption -- */

static struct xlist *_list(job_record_t **jobs, const int *order, int count)
{
	struct xlist *list = list_create(NULL);
	int i;

	for (i = 0; i < count; i++)
		list_append(list, jobs[order ? order[i] : i]);
	return list;
}

static int _is(void *x, void *key)
{
	return x == key;
}

/* Exactly these of jobs must go, in whatever order. */
static void _expect_gone(job_record_t *job, struct xlist *preemptees,
			 job_record_t **jobs, unsigned which, int count)
{
	struct xlist *gone = NULL;
	bitstr_t *at = _ask(job, SELECT_MODE_RUN_NOW, preemptees, &gone);
	int i;

	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(gone);
	for (i = 0; i < count; i++) {
		bool must = which & (1u << i);
		bool does = list_find_first(gone, _is, jobs[i]) != NULL;

		ck_assert_msg(does == must, "job %u: %d", jobs[i]->job_id,
			      does);
	}
	FREE_NULL_LIST(gone);
	FREE_NULL_BITMAP(at);
}

static bool _next_order(int *order, int count)
{
	int i = count - 2, j = count - 1, swap;

	while ((i >= 0) && (order[i] > order[i + 1]))
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	swap = order[i], order[i] = order[j], order[j] = swap;
	for (i++, j = count - 1; i < j; i++, j--)
		swap = order[i], order[i] = order[j], order[j] = swap;
	return true;
}

/*
 * So many must go for the memory, in whatever order Slurm lists them. Stock
 * alone takes others with them from three on.
 */
static const struct {
	uint64_t memory[6];	/* MiB of guests; the last is on another node */
	uint64_t wants;
	unsigned go;
} cases[] = {
	{ { 300, 10, 300, 10, 10, 50 }, 900, 1 << 0 | 1 << 2 },
	{ { 200, 10, 200, 10, 200, 50 }, 900, 1 << 0 | 1 << 2 | 1 << 4 },
	{ { 600, 100, 10, 10, 10, 50 }, 800, 1 << 0 },
};

START_TEST(only_guests_in_the_way_go)
{
	job_record_t *jobs[6], *job;
	int order[] = { 0, 1, 2, 3, 4, 5 }, i;

	for (i = 0; i < 6; i++)
		jobs[i] = _running(guests, i == 5, i % CORES,
				   cases[_i].memory[i], 0);
	_running(primaries, 1, 0, 900, 0);
	_running(primaries, 2, 0, 900, 0);
	_load();
	job = _pending(primaries, 1, cases[_i].wants, UNKNOWN);
	do {
		struct xlist *list = _list(jobs, order, 6);

		_expect_gone(job, list, jobs, cases[_i].go, 6);
		ck_assert_int_eq(list_count(list), 6);
		FREE_NULL_LIST(list);
	} while (_next_order(order, 6));
}
END_TEST

/* Where either would do, the one that was told already. */
START_TEST(the_grace_of_one_is_not_the_end_of_another)
{
	job_record_t *jobs[2], *job;
	int order[] = { 0, 1 }, i;

	for (i = 0; i < 2; i++)
		jobs[i] = _running(guests, 0, i, 400, 0);
	_running(primaries, 1, 0, 900, 0);
	_running(primaries, 2, 0, 900, 0);
	_load();
	job = _pending(primaries, 1, 500, UNKNOWN);
	for (i = 0; i < 4; i++) {
		struct xlist *list;

		order[0] = i & 1;
		order[1] = !order[0];
		jobs[i >> 1]->preempt_time = 7;
		jobs[!(i >> 1)]->preempt_time = 0;
		list = _list(jobs, order, 2);
		/* As our preempt plugin sorts them. */
		if (jobs[order[1]]->preempt_time) {
			list_prepend(list, list_remove_first(list, _is,
							     jobs[order[1]]));
		}
		_expect_gone(job, list, jobs, 1u << (i >> 1), 2);
		FREE_NULL_LIST(list);
	}
}
END_TEST

#define PREEMPTED_AT 7

/* Does slurmctld ask the guest once more to go, though it has just done so? */
static bool _asks_again(job_record_t *job, struct xlist *list)
{
	struct xlist *gone = NULL;

	job->details->preempt_start_time = PREEMPTED_AT;
	ck_assert(_starts(job, SELECT_MODE_RUN_NOW, list, &gone));
	ck_assert_ptr_nonnull(gone);
	FREE_NULL_LIST(gone);
	return job->details->preempt_start_time != PREEMPTED_AT;
}

/* Slurm itself waits for KillWait and MessageTimeout. */
START_TEST(a_grace_time_is_not_longer_than_it_says)
{
	job_record_t *jobs[2], *job;
	time_t now = time(NULL);
	struct xlist *list;
	int i;

	for (i = 0; i < 2; i++)
		jobs[i] = _running(guests, 0, i, 400, 0);
	_running(primaries, 1, 0, 900, 0);
	_running(primaries, 2, 0, 900, 0);
	_load();
	list = _list(jobs, NULL, 2);
	job = _pending(primaries, 1, 900, UNKNOWN);
	for (i = 0; i < 2; i++) {
		jobs[i]->preempt_time = PREEMPTED_AT;
		jobs[i]->end_time = now + 100;
	}
	ck_assert(!_asks_again(job, list));
	jobs[1]->end_time = now;
	ck_assert(_asks_again(job, list));
	/* That would be the other one's first time. */
	jobs[0]->preempt_time = 0;
	ck_assert(!_asks_again(job, list));
	FREE_NULL_LIST(list);
}
END_TEST

/* Preempting cannot help: what it lacks is held by primaries, or nobody. */
START_TEST(guests_stay_where_that_helps_nobody)
{
	job_record_t *jobs[3], *job;
	struct xlist *list, *gone = NULL;
	int i, c;

	for (i = 0; i < 3; i++) {
		jobs[i] = _running(guests, i, 0, 300, 0);
		for (c = 0; c < CORES; c++)
			_running(primaries, i, c, 10, 0);
	}
	_load();
	list = _list(jobs, NULL, 3);
	job = _pending(primaries, 1, 900, UNKNOWN);
	ck_assert(!_starts(job, SELECT_MODE_RUN_NOW, list, &gone));
	ck_assert_ptr_null(gone);
	job = _pending(primaries, 1, 10, UNKNOWN);
	ck_assert(!_starts(job, SELECT_MODE_RUN_NOW, list, &gone));
	ck_assert_ptr_null(gone);
	FREE_NULL_LIST(list);
}
END_TEST

/* Until the primary has started, or Slurm gives it up. */
START_TEST(what_a_guest_gave_back_is_no_other_guests)
{
	job_record_t *guest, *job, *next;
	struct xlist *list;
	int (*begin)(job_record_t *job_ptr);
	int n;

	guest = _running(guests, 0, 0, 800, 0);
	for (n = 1; n < 3; n++)
		_running(primaries, n, 0, 950, 0);
	_load();
	begin = tables_function(plugin, "select_p_job_begin");
	slurm_conf.kill_wait = 1;
	slurm_conf.msg_timeout = 1;
	list = _list(&guest, NULL, 1);
	job = _pending(primaries, 1, 500, UNKNOWN);
	next = _pending(guests, 1, 100, UNKNOWN);
	ck_assert_int_eq(_node_of(next, SELECT_MODE_RUN_NOW), 0);
	_expect_gone(job, list, &guest, 1, 1);
	ck_assert_int_eq(_node_of(next, SELECT_MODE_RUN_NOW), -1);
	ck_assert(_starts(next, SELECT_MODE_TEST_ONLY, NULL, NULL));
	/* Asked for once more, it does not last for longer. */
	sleep(1);
	_expect_gone(job, list, &guest, 1, 1);
	sleep(1);
	ck_assert_int_eq(_node_of(next, SELECT_MODE_RUN_NOW), 0);
	_expect_gone(job, list, &guest, 1, 1);
	ck_assert_int_eq(_node_of(next, SELECT_MODE_RUN_NOW), -1);
	tables_run(job, 0, 1, 10);
	ck_assert_int_eq(begin(job), SLURM_SUCCESS);
	ck_assert_int_eq(_node_of(next, SELECT_MODE_RUN_NOW), 0);
	FREE_NULL_LIST(list);
}
END_TEST

START_TEST(a_heterogeneous_guest_goes_by_its_leader)
{
	job_record_t *jobs[3], *job;
	struct xlist *list;
	int i;

	jobs[0] = _running(guests, 1, 0, 10, 0);
	jobs[1] = _running(guests, 0, 0, 600, 0);
	jobs[2] = _running(guests, 0, 1, 10, 0);
	jobs[0]->het_job_list = _list(jobs, NULL, 2);
	for (i = 0; i < 2; i++)
		jobs[i]->het_job_id = jobs[0]->job_id;
	_running(primaries, 1, 0, 900, 0);
	_running(primaries, 2, 0, 900, 0);
	_load();
	list = list_create(NULL);
	list_append(list, jobs[0]);
	list_append(list, jobs[2]);
	job = _pending(primaries, 1, 900, UNKNOWN);
	_expect_gone(job, list, jobs, 1 << 0, 1);
	FREE_NULL_LIST(list);
}
END_TEST

/* -- ranks -- */

static uint64_t weights[MANY];

static void _note_weights(void)
{
	int i;

	for (i = 0; i < node_record_count; i++)
		weights[i] = node_record_table_ptr[i]->sched_weight;
}

static void _expect_weights(void)
{
	int i;

	for (i = 0; i < node_record_count; i++)
		ck_assert_uint_eq(weights[i],
				  node_record_table_ptr[i]->sched_weight);
}

/*
 * Only the first one's list counts: slurmctld stops a component that started where
 * a later one has to preempt. The last guest is in nobody's way.
 */
static const struct {
	uint64_t first, second;	/* MiB that the components want */
	int completing;		/* a node, -1 for none */
	const char *features;	/* of the second component */
	unsigned go;
} components[] = {
	{ 900, 700, -1, NULL, 1 << 0 },
	{ 300, 300, -1, NULL, 0 },
	{ 900, 300, -1, NULL, 0 },
	{ 900, 355, -1, NULL, 0 },
	{ 950, 900, -1, NULL, 1 << 0 },
	{ 900, 700, 1, NULL, 0 },
	{ 900, 700, -1, "fast", 0 },
	{ 300, 300, 2, NULL, 0 },
};

START_TEST(a_heterogeneous_primary_starts_as_a_whole)
{
	job_record_t *jobs[2], *parts[2];
	struct xlist *list, *gone = NULL;
	int i;

	/* Node 0 is free; 600 MiB are on node 1, 350 on node 2. */
	jobs[0] = _running(guests, 1, 0, 400, 0);
	jobs[1] = _running(guests, 2, 0, 10, 0);
	_running(primaries, 2, 1, 640, 0);
	_load();
	list = _list(jobs, NULL, 2);
	parts[0] = _pending(primaries, 1, components[_i].first, UNKNOWN);
	parts[1] = _pending(primaries, 1, components[_i].second, UNKNOWN);
	parts[1]->details->features = (char *) components[_i].features;
	parts[0]->het_job_list = _list(parts, NULL, 2);
	for (i = 0; i < 2; i++)
		parts[i]->het_job_id = parts[0]->job_id;
	if (components[_i].completing >= 0)
		bit_set(cg_node_bitmap, components[_i].completing);
	if (components[_i].go) {
		_expect_gone(parts[0], list, jobs, components[_i].go, 2);
	} else {
		ck_assert(_starts(parts[0], SELECT_MODE_RUN_NOW, list, &gone));
		ck_assert_ptr_null(gone);
	}
	parts[1]->details->features = NULL;
	FREE_NULL_LIST(list);
}
END_TEST

START_TEST(the_rank_counts_before_the_weight)
{
	job_record_t *big, *huge, *same;

	_running(primaries, 0, 0, 10, 16);
	_running(primaries, 1, 0, 10, 9);
	_running(primaries, 2, 0, 10, 9);
	_load();
	node_record_table_ptr[0]->sched_weight = 1 << 8 | 0xff;
	node_record_table_ptr[1]->sched_weight = 9 << 8 | 0xff;
	node_record_table_ptr[2]->sched_weight = 5 << 8 | 0xff;
	_note_weights();
	big = _pending(guests, 1, 10, WANTS_MEM(5));
	ck_assert_int_eq(_node_of(big, SELECT_MODE_RUN_NOW), 2);
	_expect_weights();
	/* A node that would have to be rebooted comes last. */
	node_record_table_ptr[2]->sched_weight |= UINT64_C(0x20000000000);
	node_record_table_ptr[1]->sched_weight |= UINT64_C(0x10000000000);
	_note_weights();
	same = _pending(guests, 1, 10, WANTS_MEM(3));
	ck_assert_int_eq(_node_of(same, SELECT_MODE_RUN_NOW), 0);
	ck_assert_int_eq(_node_of(big, SELECT_MODE_RUN_NOW), 1);
	_expect_weights();
	/* Nowhere now, but not never. */
	huge = _pending(guests, 1, 10, WANTS_MEM(14));
	ck_assert_int_eq(_node_of(huge, SELECT_MODE_RUN_NOW), -1);
	ck_assert_int_eq(_node_of(huge, SELECT_MODE_WILL_RUN), -1);
	_expect_weights();
	ck_assert(_starts(huge, SELECT_MODE_TEST_ONLY, NULL, NULL));
	_expect_weights();
}
END_TEST

/* Ranks in steps: the best node is still the best. */
START_TEST(among_many_nodes_the_best_one)
{
	int i, best;
	char comment[128];

	_make_cluster(MANY);
	best = 7 + _i * 83;
	for (i = 0; i < MANY; i++) {
		snprintf(comment, sizeof(comment), MEM, (i == best) ?
			 1000LL : 100000000LL + i * 7919LL % MANY * 10000000);
		tables_run(tables_job(next_id++, primaries, comment), i, 0, 1);
	}
	_load();
	_note_weights();
	/* For a core of the four it wants an eighth of an idle node's, and
	 * next to no CPU time, which each node has left. */
	snprintf(comment, sizeof(comment),
		 "{\"hpcb\":{\"bw\":{\"mem\":%lld,\"net\":%lld,\"cpu\":0.001}}}",
		 (20LL << 30) / CORES, (1LL << 30) / CORES);
	ck_assert_int_eq(_node_of(_pending(guests, 1, 1, comment),
				  SELECT_MODE_RUN_NOW), best);
	_expect_weights();
}
END_TEST

#define RUNS(program) "{\"hpcb\":{\"v\":1,\"program\":\"" program "\"}}"

/* The pair has proved bad at that time, as the collector says. */
static void _put_company(long long when)
{
	char path[PATH_MAX], text[256];

	snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, dir);
	snprintf(text, sizeof(text), "hpcb-company 1\n%llx %llx 0 0 %lld 1000\n",
		 (unsigned long long) hpcb_fit_program(0, "solver"),
		 (unsigned long long) hpcb_fit_program(0, "sweep"), when);
	_write(path, text);
}

/* Until the plugin has read it: a thread does, once a second at most. */
static int _node_soon(const char *comment, int node)
{
	int found = -2, i;

	for (i = 0; (i < 300) && (found != node); i++) {
		found = _node_of(_pending(guests, 1, 10, comment),
				 SELECT_MODE_RUN_NOW);
		if (found != node)
			usleep(100000);
	}
	return found;
}

START_TEST(bad_company_is_avoided)
{
	char path[PATH_MAX], text[PATH_MAX + 32];
	int node;

	snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, dir);
	snprintf(text, sizeof(text), "CollectorDir=%s\n", dir);
	_write(conf, text);
	for (node = 0; node < 3; node++)
		tables_run(tables_job(next_id++, primaries,
				      (node == 1) ? RUNS("other") :
				      RUNS("solver")), node, 0, 10);
	_put_company((long long) time(NULL));
	_load();
	ck_assert_int_eq(_node_soon(RUNS("sweep"), 1), 1);
	/* Others go where they would have gone. */
	ck_assert_int_eq(_node_of(_pending(guests, 1, 10, RUNS("else")),
				  SELECT_MODE_RUN_NOW), 0);
	ck_assert_int_eq(_node_of(_pending(guests, 1, 10, UNKNOWN),
				  SELECT_MODE_RUN_NOW), 0);
	/* No other node is there: it waits, and is not refused. */
	tables_run(tables_job(next_id++, primaries, RUNS("solver")), 1, 1, 10);
	tables_recount(plugin);
	ck_assert_int_eq(_node_soon(RUNS("sweep"), -1), -1);
	ck_assert(_starts(_pending(guests, 1, 10, RUNS("sweep")),
			  SELECT_MODE_TEST_ONLY, NULL, NULL));
	/* Some time later it gets such a node if there is no other. */
	_put_company((long long) time(NULL) - 2 * HPCB_COMPANY_HOUR);
	ck_assert_int_ge(_node_soon(RUNS("sweep"), 0), 0);
	unlink(path);
}
END_TEST

/* -- primaries that are spread -- */

#define SPREAD(source, gigabytes)					     \
	"{\"hpcb\":{\"v\":1,\"spread\":true,\"bw\":{\"mem\":" #gigabytes	     \
	"000000000,\"net\":1,\"source\":\"" source "\"}}}"

/* The nodes that it would have, and on each of them that many CPUs. */
static int _nodes_of(job_record_t *job, uint16_t mode, int cpus)
{
	bitstr_t *at = bit_copy(job->part_ptr->node_bitmap);
	int nodes = 0, i;

	if (tables_ask(test, job, at, mode, NULL, NULL) == SLURM_SUCCESS)
		nodes = bit_set_count(at);
	for (i = 0; job->job_resrcs && (i < nodes); i++)
		ck_assert_int_eq(job->job_resrcs->cpus[i], cpus);
	free_job_resources(&job->job_resrcs);
	FREE_NULL_BITMAP(at);
	return nodes;
}

/* It starts on what it is offered (of an array, one element, which gets an id of its
 * own then). What stock counts elsewhere is left out: it takes nothing. Returns the
 * number of its nodes. */
static int _begin(job_record_t *job, bool element, int cpus)
{
	int (*begin)(job_record_t *job_ptr) =
		tables_function(plugin, "select_p_job_begin");
	bitstr_t *at = bit_copy(job->part_ptr->node_bitmap);
	uint32_t id = job->job_id;
	int i, nodes;

	ck_assert_int_eq(tables_ask(test, job, at, SELECT_MODE_RUN_NOW, NULL,
				    NULL), SLURM_SUCCESS);
	nodes = bit_set_count(at);
	for (i = 0; i < nodes; i++)
		ck_assert_int_eq(job->job_resrcs->cpus[i], cpus);
	job->node_bitmap = at;
	job->job_state = JOB_RUNNING;
	if (element) {
		job->array_job_id = id;
		job->job_id = next_id++;
	}
	ck_assert_int_eq(begin(job), SLURM_SUCCESS);
	job->job_state = JOB_PENDING;
	job->job_id = id;
	free_job_resources(&job->job_resrcs);
	FREE_NULL_BITMAP(job->node_bitmap);
	return nodes;
}

static void _expect_comment(job_record_t *job, const char *part)
{
	ck_assert_ptr_nonnull(job->system_comment);
	ck_assert_msg(strstr(job->system_comment, part) != NULL, "%s",
		      job->system_comment);
}

/* Six tasks of 10 GB/s each: on three nodes, there are no six. */
START_TEST(who_saturates_a_node_is_spread)
{
	job_record_t *job, *other;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_WILL_RUN, 2), 3);
	ck_assert_ptr_null(job->system_comment);
	ck_assert_uint_eq(job->bit_flags & TEST_NOW_ONLY, 0);
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 3);
	ck_assert_ptr_null(job->system_comment);
	ck_assert_int_eq(_begin(job, false, 2), 3);
	_expect_comment(job, "at most 2 of 6 tasks a node, not 6, which would use 55.9G/s of a node's 20.0G/s");
	/* It may say something else the next time. */
	ck_assert_uint_eq(job->details->ntasks_per_node, 0);
	ck_assert_uint_eq(job->details->pn_min_cpus, 1);
	other = _pending(primaries, 6, 10, WANTS_MEM(60));
	ck_assert_int_eq(_begin(other, false, 6), 1);
	ck_assert_ptr_null(other->system_comment);
}
END_TEST

START_TEST(half_of_a_measured_job_is_on_a_node)
{
	job_record_t *job;

	_load();
	/* Three quarters would do, had it been given. */
	job = _pending(primaries, 4, 10, SPREAD("learned", 20));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 2);
	job = _pending(primaries, 4, 10, SPREAD("learned", 19));
	ck_assert_int_eq(_begin(job, false, 4), 1);
	_expect_comment(job, "nothing changed: it does not saturate a node");
}
END_TEST

START_TEST(to_be_spread_makes_no_job_wait)
{
	job_record_t *job;
	int n, c;

	for (n = 1; n < 3; n++)
		for (c = 0; c < CORES; c++)
			_running(primaries, n, c, 10, 0);
	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_WILL_RUN, 6), 1);
	ck_assert_int_le(job->start_time, time(NULL) + 1);
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: no more nodes were available");
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_TEST_ONLY, 6), 1);
	/* What cannot start now has the future that it had. */
	job = _pending(primaries, 9, 10, SPREAD("given", 60));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 0), 0);
	ck_assert_int_gt(_nodes_of(job, SELECT_MODE_WILL_RUN, 0), 0);
	ck_assert_int_gt(job->start_time, time(NULL) + 1000);
}
END_TEST

/* Node 0 has what it wants, the others have it without their guests. */
START_TEST(nobody_is_preempted_for_a_spread_job)
{
	struct xlist *list, *gone = NULL;
	job_record_t *jobs[2], *job;
	bitstr_t *at;
	int n;

	for (n = 0; n < 2; n++)
		jobs[n] = _running(guests, n + 1, 0, 600, 0);
	_load();
	list = _list(jobs, NULL, 2);
	job = _pending(primaries, 4, 700, SPREAD("given", 80));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 4), 1);
	at = _ask(job, SELECT_MODE_WILL_RUN, list, &gone);
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(bit_set_count(at), 1);
	ck_assert_int_le(job->start_time, time(NULL) + 1);
	FREE_NULL_BITMAP(at);
	at = _ask(job, SELECT_MODE_RUN_NOW, list, &gone);
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_null(gone);
	ck_assert_int_eq(bit_set_count(at), 1);
	FREE_NULL_BITMAP(at);
	/* As without the option: who needs a guest's memory on one node has it. */
	_running(primaries, 0, 0, 900, 0);
	tables_recount(plugin);
	at = _ask(job, SELECT_MODE_RUN_NOW, list, &gone);
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(bit_set_count(at), 1);
	ck_assert_ptr_nonnull(gone);
	ck_assert_int_eq(list_count(gone), 1);
	FREE_NULL_LIST(gone);
	FREE_NULL_BITMAP(at);
	FREE_NULL_LIST(list);
}
END_TEST

/* The first component is spread, and the second one's guests are asked to go. */
START_TEST(components_beside_a_spread_one_are_cleared)
{
	job_record_t *guest, *parts[2];
	struct xlist *list;
	int i;

	guest = _running(guests, 2, 0, 600, 0);
	_load();
	list = _list(&guest, NULL, 1);
	parts[0] = _pending(primaries, 2, 700, SPREAD("given", 40));
	parts[1] = _pending(primaries, 1, 700, UNKNOWN);
	parts[0]->het_job_list = _list(parts, NULL, 2);
	for (i = 0; i < 2; i++)
		parts[i]->het_job_id = parts[0]->job_id;
	_expect_gone(parts[0], list, &guest, 1, 1);
	FREE_NULL_LIST(list);
}
END_TEST

/* slurmctld looks at limits after the plugin has chosen. */
START_TEST(who_did_not_start_on_more_nodes_is_not_spread_again)
{
	job_record_t *job, *other;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	other = _pending(primaries, 6, 10, SPREAD("given", 60));
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 3);
	/* It may ask several times at one look. */
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 3);
	sleep(3);
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_WILL_RUN, 6), 1);
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 6), 1);
	ck_assert_int_eq(_nodes_of(other, SELECT_MODE_RUN_NOW, 2), 3);
	ck_assert_ptr_null(job->system_comment);
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: slurmctld rejected the start on more nodes");
	/* Requeued, it is decided anew. */
	ck_assert_int_eq(_begin(job, false, 2), 3);
	_expect_comment(job, "at most 2 of 6");
}
END_TEST

/* Whatever the ids of others are that are offered nodes, too. */
START_TEST(others_offers_do_not_hide_that_a_job_did_not_start)
{
	job_record_t *jobs[3];
	int i;

	_load();
	for (i = 0; i < 3; i++) {
		jobs[i] = _pending(primaries, 6, 10, SPREAD("given", 60));
		jobs[i]->job_id = 1000000 + 16384 * i;
		ck_assert_int_eq(_nodes_of(jobs[i], SELECT_MODE_RUN_NOW, 2), 3);
	}
	sleep(3);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(_nodes_of(jobs[i], SELECT_MODE_RUN_NOW, 6), 1);
}
END_TEST

/* What is left of the array keeps the id. */
START_TEST(each_element_of_an_array_is_spread)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	ck_assert_int_eq(_begin(job, true, 2), 3);
	_expect_comment(job, "at most 2 of 6");
	sleep(3);
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 3);
}
END_TEST

/* A decision is that of the job that starts. */
START_TEST(others_are_not_told)
{
	int (*begin)(job_record_t *job_ptr);
	job_record_t *job, *other;

	_load();
	begin = tables_function(plugin, "select_p_job_begin");
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	other = _pending(primaries, 1, 10, UNKNOWN);
	ck_assert_int_eq(_nodes_of(job, SELECT_MODE_RUN_NOW, 2), 3);
	tables_run(other, 0, 7, 10);
	ck_assert_int_eq(begin(other), SLURM_SUCCESS);
	ck_assert_ptr_null(other->system_comment);
	other = _pending(primaries, 1, 10, UNKNOWN);
	ck_assert_int_ge(_node_of(other, SELECT_MODE_RUN_NOW), 0);
	tables_run(job, 1, 7, 10);
	ck_assert_int_eq(begin(job), SLURM_SUCCESS);
	ck_assert_ptr_null(job->system_comment);
}
END_TEST

START_TEST(who_lays_out_its_tasks_is_not_spread)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	job->details->ntasks_per_node = 6;
	job->details->pn_min_cpus = 6;
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: the job sets its own layout");
	ck_assert_uint_eq(job->details->ntasks_per_node, 6);
	ck_assert_uint_eq(job->details->pn_min_cpus, 6);
}
END_TEST

START_TEST(the_size_of_a_plane_is_a_layout)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	job->details->task_dist = SLURM_DIST_PLANE;
	job->details->mc_ptr->plane_size = 6;
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: the job sets its own layout");
}
END_TEST

/* Four of them have memory on a node, whatever CPUs there are. */
START_TEST(packed_is_what_has_memory)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 8, 250 | MEM_PER_CPU, SPREAD("given", 24));
	ck_assert_int_eq(_begin(job, false, 3), 3);
	_expect_comment(job, "at most 3 of 8 tasks a node, not 4,");
}
END_TEST

/* --hint=nomultithread, on cores of two threads */
START_TEST(packed_is_one_on_a_core_for_who_says_so)
{
	job_record_t *job;
	int n;

	for (n = 0; n < 3; n++) {
		node_record_t *node_ptr = node_record_table_ptr[n];

		node_ptr->cpus = node_ptr->cpus_efctv = 2 * CORES;
		node_ptr->threads = node_ptr->tpc = 2;
	}
	_load();
	job = _pending(primaries, 16, 10, SPREAD("given", 36));
	job->details->mc_ptr->threads_per_core = 1;
	/* Cores are allocated as a whole. */
	ck_assert_int_eq(_begin(job, false, 12), 3);
	_expect_comment(job, "at most 6 of 16 tasks a node, not 8,");
}
END_TEST

/* Two cores of the eight are not for its tasks. */
START_TEST(packed_leaves_out_specialized_cores)
{
	job_record_t *job;
	int n;

	for (n = 0; n < 3; n++)
		node_record_table_ptr[n]->cpus_efctv = CORES - 2;
	_load();
	job = _pending(primaries, 8, 10, SPREAD("given", 24));
	ck_assert_int_eq(_begin(job, false, 4), 2);
	_expect_comment(job, "tasks a node, not 6,");
	job->details->core_spec = 3;
	ck_assert_int_eq(_begin(job, false, 4), 2);
	_expect_comment(job, "tasks a node, not 5,");
}
END_TEST

START_TEST(a_job_of_no_number_of_tasks_is_told_so)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	job->details->num_tasks = NO_VAL;
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: the number of tasks is not known");
}
END_TEST

START_TEST(a_comment_of_somebody_else_stays)
{
	job_record_t *job;

	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	job->system_comment = xstrdup("a power cut");
	ck_assert_int_eq(_begin(job, false, 2), 3);
	ck_assert_str_eq(job->system_comment, "a power cut");
}
END_TEST

START_TEST(nodes_of_unknown_capacity_spread_nobody)
{
	job_record_t *job;

	_write(conf, "NodeName=ALL NetBandwidth=1G\n");
	_load();
	job = _pending(primaries, 6, 10, SPREAD("given", 60));
	ck_assert_int_eq(_begin(job, false, 6), 1);
	_expect_comment(job, "nothing changed: the memory bandwidth of the nodes");
}
END_TEST

/* One task of eight of 40 GB/s leaves room for a guest of 10. */
START_TEST(guests_see_what_a_spread_job_moves)
{
	job_record_t *job;
	int n;

	for (n = 1; n < 3; n++)
		_running(primaries, n, 0, 10, 20);
	job = tables_job(next_id++, primaries, SPREAD("given", 40));
	job->details->num_tasks = job->details->min_cpus = 8;
	tables_run(job, 0, 0, 10);
	_load();
	ck_assert_int_eq(_node_of(_pending(guests, 1, 10, WANTS_MEM(10)),
				  SELECT_MODE_RUN_NOW), 0);
	ck_assert_int_eq(_node_of(_pending(guests, 1, 10, WANTS_MEM(19)),
				  SELECT_MODE_RUN_NOW), -1);
}
END_TEST

START_TEST(a_guests_priority_only_falls)
{
	job_record_t *job;

	_load();
	job = _pending(guests, 1, 1, UNKNOWN);
	job->priority = 50000;
	_node_of(job, SELECT_MODE_TEST_ONLY);
	ck_assert_uint_eq(job->priority, 100);
	job->priority = 0;
	_node_of(job, SELECT_MODE_RUN_NOW);
	ck_assert_uint_eq(job->priority, 0);
	job = _pending(primaries, 1, 1, UNKNOWN);
	job->priority = 50000;
	_node_of(job, SELECT_MODE_RUN_NOW);
	ck_assert_uint_eq(job->priority, 50000);
}
END_TEST

static Suite *_suite(void)
{
	Suite *suite = suite_create("shadow");
	TCase *few = tcase_create("few"), *many = tcase_create("many");

	tcase_add_checked_fixture(few, _few, NULL);
	tcase_add_test(few, primaries_see_no_guests);
	tcase_add_test(few, who_is_not_used_goes);
	tcase_add_test(few, primaries_of_two_partitions_share_no_core);
	tcase_add_test(few, jobs_that_began_alone_open_their_nodes);
	tcase_add_test(few, nobody_sees_that_primaries_do_not_share);
	tcase_add_loop_test(few, only_guests_in_the_way_go, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(few, the_grace_of_one_is_not_the_end_of_another);
	tcase_add_test(few, a_grace_time_is_not_longer_than_it_says);
	tcase_add_test(few, guests_stay_where_that_helps_nobody);
	tcase_add_test(few, what_a_guest_gave_back_is_no_other_guests);
	tcase_add_test(few, a_heterogeneous_guest_goes_by_its_leader);
	tcase_add_loop_test(few, a_heterogeneous_primary_starts_as_a_whole, 0,
			    sizeof(components) / sizeof(components[0]));
	tcase_add_test(few, the_rank_counts_before_the_weight);
	tcase_add_test(few, bad_company_is_avoided);
	tcase_add_test(few, who_saturates_a_node_is_spread);
	tcase_add_test(few, half_of_a_measured_job_is_on_a_node);
	tcase_add_test(few, to_be_spread_makes_no_job_wait);
	tcase_add_test(few, nobody_is_preempted_for_a_spread_job);
	tcase_add_test(few, components_beside_a_spread_one_are_cleared);
	tcase_add_test(few, who_did_not_start_on_more_nodes_is_not_spread_again);
	tcase_add_test(few, others_offers_do_not_hide_that_a_job_did_not_start);
	tcase_add_test(few, each_element_of_an_array_is_spread);
	tcase_add_test(few, others_are_not_told);
	tcase_add_test(few, who_lays_out_its_tasks_is_not_spread);
	tcase_add_test(few, the_size_of_a_plane_is_a_layout);
	tcase_add_test(few, packed_is_what_has_memory);
	tcase_add_test(few, packed_is_one_on_a_core_for_who_says_so);
	tcase_add_test(few, packed_leaves_out_specialized_cores);
	tcase_add_test(few, a_job_of_no_number_of_tasks_is_told_so);
	tcase_add_test(few, a_comment_of_somebody_else_stays);
	tcase_add_test(few, nodes_of_unknown_capacity_spread_nobody);
	tcase_add_test(few, guests_see_what_a_spread_job_moves);
	tcase_add_test(few, a_guests_priority_only_falls);
	tcase_add_loop_test(many, among_many_nodes_the_best_one, 0, 6);
	tcase_set_timeout(few, 60);
	tcase_set_timeout(many, 60);
	suite_add_tcase(suite, few);
	suite_add_tcase(suite, many);
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
	rmdir(dir);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
