/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A guest's test. Nodes that it would saturate are no candidates; the others
 * get a weight by how well it fits (policy/fitness), above all that stock puts
 * into a node's weight. Stock prefers idle cores to good nodes, so it is asked
 * twice: which nodes, with the primaries' cores hidden, so that the weight
 * alone decides; then which cores of these nodes, with primaries in sight.
 */
#include "select/shadow.h"

#include <assert.h>
#include <inttypes.h>

#include "common/log.h"
#include "select/pin.h"
#include "select/settings.h"
#include "select/demand.h"

/*
 * Slurm uses bits 0 to 41 of node_record.sched_weight (22.05 to 26.05), the
 * upper two for nodes that would have to be rebooted or are in use by a flexible
 * reservation: these come last for guests, too. In between is the rank, so that
 * slurm.conf's Weight decides among nodes of one rank.
 */
#define WEIGHT_BITS 42
#define WEIGHT_MASK ((UINT64_C(1) << WEIGHT_BITS) - 1)
#define LAST_BITS 40
#define LAST_MASK (UINT64_C(3) << LAST_BITS)
#define LAST_SHIFT (62 - LAST_BITS)

static_assert(WEIGHT_BITS + HPCB_FIT_SCORE_BITS <= LAST_BITS + LAST_SHIFT,
	      "the rank ends below the marks of nodes that come last");

/*
 * Stock searches the list of nodes of the same weight again for each node: with
 * ten thousand nodes of ten thousand ranks it would take a hundred times as
 * long. So many nodes are ranked exactly, more in steps that grow with the
 * distance from the best one, of an eighth to a sixteenth of it.
 */
#define EXACT_NODES 128
#define EXACT_BITS 4
/* Behind the best one's class: in this many bits less. */
#define COARSE_BITS 12

/*
 * Interval at which the same guest's wait is logged again, and maximum number
 * of such lines in it.
 */
#define REASON_SECONDS 60
#define REASON_SLOTS 1024
#define REASON_LINES 200

typedef struct {
	hpcb_fit_guest_t guest;
	int candidates;	/* nodes on which it could run now */
	int refused;	/* of these, for their bandwidth */
	int apart;	/* of these, for a primary that it has harmed */
	int example;	/* the first of them, -1: none */
} search_t;

static hpcb_fit_guest_t _describe(job_record_t *job_ptr)
{
	const hpcb_demand_t *demand = hpcb_demand_of(job_ptr->job_id,
						      job_ptr->user_id,
						      job_ptr->admin_comment);
	const __typeof__(*job_ptr->details) *details = job_ptr->details;
	uint32_t nodes = details->min_nodes ? details->min_nodes : 1;
	uint32_t cpus = MAX((details->min_cpus + nodes - 1) / nodes,
			    details->pn_min_cpus);

	return (hpcb_fit_guest_t) {
		.use = demand->use,
		.mem_known = demand->mem_known,
		.net_known = demand->net_known,
		.cpu_known = demand->cpu_known,
		.cpu = (uint64_t) demand->cpu * cpus,
		.program = demand->program,
		.processors = cpus,
	};
}

static void _put_rank(node_record_t *node_ptr, uint32_t score)
{
	uint64_t weight = node_ptr->sched_weight & WEIGHT_MASK;

	node_ptr->sched_weight = weight | ((uint64_t) score << WEIGHT_BITS) |
				 ((weight & LAST_MASK) << LAST_SHIFT);
}

static uint32_t _ranked(const node_record_t *node_ptr)
{
	uint64_t above = node_ptr->sched_weight >> WEIGHT_BITS;

	return above & ((1 << (62 - WEIGHT_BITS)) - 1);
}

static uint32_t _in_steps(uint32_t score, uint32_t best)
{
	uint32_t far = score - best;
	int drop = COARSE_BITS;

	if (score >> HPCB_FIT_SCORE_SHIFT != best >> HPCB_FIT_SCORE_SHIFT)
		return score >> drop << drop;
	drop = far ? 32 - __builtin_clz(far) - EXACT_BITS : 0;
	return (drop > 0) ? best + (far >> drop << drop) : score;
}

static void _rank_in_steps(bitstr_t *node_bitmap, uint32_t best)
{
	int i, first = bit_ffs(node_bitmap);
	int last = (first == -1) ? -2 : bit_fls(node_bitmap);

	for (i = first; i <= last; i++) {
		node_record_t *node_ptr = node_record_table_ptr[i];

		if (bit_test(node_bitmap, i) && node_ptr)
			_put_rank(node_ptr, _in_steps(_ranked(node_ptr), best));
	}
}

/* The most that is known to be used on one of the nodes. */
static hpcb_bw_t _scale(const hpcb_usage_t *usage, const bitstr_t *node_bitmap)
{
	bitstr_t *nodes = (bitstr_t *) node_bitmap;
	hpcb_bw_t most = { 0, 0 };
	int i, first = bit_ffs(nodes);
	int last = (first == -1) ? -2 : bit_fls(nodes);

	for (i = first; i <= last; i++) {
		hpcb_bw_t used;

		if (!bit_test(nodes, i))
			continue;
		used = hpcb_usage_known(usage, i);
		most.mem = MAX(most.mem, used.mem);
		most.net = MAX(most.net, used.net);
	}
	return most;
}

static void _refuse(search_t *search, const hpcb_fit_node_t *node, int node_inx)
{
	if (search->example < 0)
		search->example = node_inx;
	if (node->company == HPCB_COMPANY_APART)
		search->apart++;
	else
		search->refused++;
}

/*
 * Remove nodes that the guest would saturate, or where it must not run, from
 * the candidates, and put the others' rank into their weight.
 */
static void _rank(search_t *search, const hpcb_usage_t *usage,
		  bitstr_t *node_bitmap)
{
	const hpcb_usage_axes_t matters = {
		.mem = search->guest.mem_known,
		.net = search->guest.net_known,
	};
	const hpcb_bw_t scale = _scale(usage, node_bitmap);
	const time_t now = time(NULL);
	uint32_t best = HPCB_FIT_SCORE_REFUSED;
	int i, first = bit_ffs(node_bitmap);
	int last = (first == -1) ? -2 : bit_fls(node_bitmap);

	for (i = first; i <= last; i++) {
		node_record_t *node_ptr = node_record_table_ptr[i];
		hpcb_fit_node_t node;
		uint32_t score;

		if (!bit_test(node_bitmap, i) || !node_ptr)
			continue;
		hpcb_usage_node(usage, i, hpcb_capacity(i), matters,
				node_ptr->cpus, search->guest.program, &node);
		node.scale = scale;
		hpcb_capacity_saturation(i, now, &node);
		node.company = hpcb_company_on(usage, i);
		score = hpcb_fit_score(&node, &search->guest);
		if (score == HPCB_FIT_SCORE_REFUSED) {
			bit_clear(node_bitmap, i);
			_refuse(search, &node, i);
			continue;
		}
		_put_rank(node_ptr, score);
		best = MIN(best, score);
	}
	if (bit_set_count(node_bitmap) > EXACT_NODES)
		_rank_in_steps(node_bitmap, best);
}

static void _unrank(const bitstr_t *ranked)
{
	bitstr_t *nodes = (bitstr_t *) ranked;
	int i, first = bit_ffs(nodes);
	int last = (first == -1) ? -2 : bit_fls(nodes);

	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) && node_record_table_ptr[i])
			node_record_table_ptr[i]->sched_weight &= WEIGHT_MASK;
	}
}

/* A waiting job is tested every few seconds. */
static bool _is_said(uint32_t job_id)
{
	static struct {
		uint32_t job_id;
		time_t when;
	} said[REASON_SLOTS];
	static time_t since = 0;
	static int lines = 0;
	time_t now = time(NULL);
	uint32_t slot = job_id % REASON_SLOTS;

	if (now - since >= REASON_SECONDS) {
		since = now;
		lines = 0;
	}
	if (((said[slot].job_id == job_id) &&
	     (now - said[slot].when < REASON_SECONDS)) ||
	    (++lines > REASON_LINES))
		return true;
	said[slot].job_id = job_id;
	said[slot].when = now;
	return false;
}

static void _say_why(const hpcb_test_t *test, const search_t *search)
{
	if ((test->mode != SELECT_MODE_RUN_NOW) ||
	    (!search->refused && !search->apart) ||
	    _is_said(test->job_ptr->job_id))
		return;
	if (!search->refused) {
		hpcb_log(HPCB_LOG_INFO,
			 "JobId=%u waits: it has harmed primaries that run on %d of the %d nodes where it could run now (%s)",
			 test->job_ptr->job_id, search->apart, search->candidates,
			 node_record_table_ptr[search->example]->name);
		return;
	}
	hpcb_log(HPCB_LOG_INFO,
		 "JobId=%u waits: with its %"PRIu64" bytes/s of memory and %"PRIu64" of network bandwidth it would saturate %d of the %d nodes where it could run now (%s)",
		 test->job_ptr->job_id, search->guest.use.mem,
		 search->guest.use.net, search->refused, search->candidates,
		 node_record_table_ptr[search->example]->name);
}

static bool _can_do(const hpcb_test_t *test)
{
	bitstr_t *required = test->job_ptr->details->req_node_bitmap;

	if (bit_set_count(test->node_bitmap) < (int) test->min_nodes)
		return false;
	return !required || bit_super_set(required, test->node_bitmap);
}

/* Choose nodes with the primaries' cores hidden. */
static int _choose_nodes(const hpcb_test_t *test)
{
	hpcb_hidden_t *hidden = hpcb_hide(false);
	int rc = hpcb_stock_test(test);

	hpcb_show(hidden);
	return rc;
}

/*
 * Choose cores of these nodes: idle ones before those of primaries. If that is
 * impossible on exactly these nodes, the first choice stands.
 */
static int _choose_cores(const hpcb_test_t *test, const hpcb_before_t *before)
{
	bitstr_t *chosen = bit_copy(test->node_bitmap);
	uint32_t count = bit_set_count(chosen);
	hpcb_test_t again = *test;
	int rc;

	again.min_nodes = again.max_nodes = again.req_nodes = count;
	hpcb_as_before(test->job_ptr, before);
	rc = hpcb_stock_test(&again);
	if (rc != SLURM_SUCCESS) {
		bit_copybits(test->node_bitmap, chosen);
		hpcb_as_before(test->job_ptr, before);
		rc = _choose_nodes(&again);
	}
	FREE_NULL_BITMAP(chosen);
	return rc;
}

static int _place(const hpcb_test_t *test)
{
	hpcb_before_t before = hpcb_before(test->job_ptr);
	hpcb_test_t pinned = *test;
	hpcb_exc_t *pin = hpcb_pin(test->node_bitmap, test->exc);
	int rc;

	if (pin)
		pinned.exc = pin;
	rc = _choose_nodes(&pinned);
	if (!pin && (rc == SLURM_SUCCESS) &&
	    (test->mode == SELECT_MODE_RUN_NOW))
		rc = _choose_cores(test, &before);
	hpcb_unpin(pin);
	return rc;
}

static int _search(const hpcb_test_t *test, const hpcb_usage_t *usage)
{
	search_t search = { .guest = _describe(test->job_ptr), .example = -1 };
	bitstr_t *ranked;
	int rc = SLURM_ERROR;

	search.candidates = bit_set_count(test->node_bitmap);
	hpcb_keep_off_claims(test->node_bitmap);
	hpcb_capacity_refresh();
	hpcb_company_begin(search.guest.program, time(NULL));
	_rank(&search, usage, test->node_bitmap);
	ranked = bit_copy(test->node_bitmap);
	if (_can_do(test))
		rc = _place(test);
	_unrank(ranked);
	FREE_NULL_BITMAP(ranked);
	if (rc != SLURM_SUCCESS)
		_say_why(test, &search);
	return rc;
}

/*
 * Hold and release, or an operator, may have given the guest a priority with
 * which it reserves nodes. It is only ever lowered; 0 is a held job.
 */
static void _clamp_priority(job_record_t *job_ptr)
{
	uint32_t most = hpcb_select_guest_priority();

	if (job_ptr->priority > most)
		job_ptr->priority = most;
}

/*
 * With lent memory only a start now can be tested: what a node lends after one
 * of its primaries has ended is unknown.
 */
static int _search_lent(const hpcb_test_t *test, const hpcb_usage_t *usage)
{
	hpcb_view_t *view = hpcb_memory_view_guest(test->node_bitmap);
	uint64_t flags = test->job_ptr->bit_flags;
	int rc;

	if (view)
		test->job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = _search(test, usage);
	if (!(flags & TEST_NOW_ONLY))
		test->job_ptr->bit_flags &= ~TEST_NOW_ONLY;
	hpcb_memory_unview(view);
	return rc;
}

extern int hpcb_test_guest(const hpcb_test_t *test)
{
	hpcb_usage_t *usage;

	_clamp_priority(test->job_ptr);
	/* "Could it ever run?": a refusal here is one for good. */
	if (test->mode == SELECT_MODE_TEST_ONLY)
		return hpcb_stock_test(test);
	usage = hpcb_jobs_usage();
	if (!usage)
		return hpcb_lend_is_on() ? SLURM_ERROR : hpcb_stock_test(test);
	hpcb_busy_refresh(usage);
	return _search_lent(test, usage);
}
