/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that nodes lend to guests (policy/lend.h): what nodes report is read
 * from the collector's file (common/live.h) at most once a second, when a job
 * is tested. A node lends as long as its last report is fresh and says that
 * hpcbd there can take the memory back.
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/live.h"
#include "common/log.h"
#include "policy/lend.h"
#include "select/settings.h"

#define MIB_SHIFT 20

typedef struct {
	time_t until;		/* the report counts so long, 0: there is none */
	uint64_t usable;	/* MiB that jobs can have, less the reserve */
} lender_t;

static hpcb_select_memory_t settings;
static lender_t *lenders = NULL;	/* by slurmctld's number of the node */
static int n_lenders = 0;
static time_t last_until = 0;	/* no report counts any longer */

static hpcb_live_t live;
static hpcb_live_known_t known;
static int *indices = NULL;	/* of the nodes in live, -1: no such node */
static time_t looked = 0, now = 0;
static uint32_t applied_recount = 0;
static bool complained = false;

extern bool hpcb_lend_is_on(void)
{
	return settings.unused;
}

extern bool hpcb_lends(int node_inx)
{
	return settings.unused && (node_inx < n_lenders) &&
	       (lenders[node_inx].until > now);
}

extern bool hpcb_lends_somewhere(void)
{
	return settings.unused && n_lenders && (last_until > now);
}

extern uint64_t hpcb_lent(const hpcb_usage_t *usage, int node_inx)
{
	return hpcb_lend_free(lenders[node_inx].usable, 0,
			      hpcb_usage_expected(usage, node_inx),
			      hpcb_usage_guest_memory(usage, node_inx));
}

extern void hpcb_lend_begin(void)
{
	hpcb_select_memory(&settings);
	xfree(lenders);
	xfree(indices);
	hpcb_live_clear(&live);
	memset(&known, 0, sizeof(known));
	n_lenders = 0;
	looked = 0;
}

static void _find_nodes(void)
{
	size_t i;

	xfree(indices);
	indices = xcalloc(live.n_nodes + 1, sizeof(*indices));
	for (i = 0; i < live.n_nodes; i++) {
		/* The other function logs each name that is none. */
		node_record_t *node_ptr = find_node_record2(live.nodes[i].name);

		indices[i] = node_ptr ? (int) node_ptr->index : -1;
	}
}

/* What is there is as old as it says. */
static void _complain(const hpcb_error_t *err)
{
	if (errno == ENOENT)
		return;
	hpcb_log_once(&complained, HPCB_LOG_ERROR,
		      "no memory is lent to guests: %s", err->text);
}

/* True where there is something new. */
static bool _read_live(void)
{
	hpcb_error_t err = { "" };
	int status = hpcb_live_read(settings.dir, &known, &live, &err);

	if (status < 0) {
		_complain(&err);
		return false;
	}
	complained = false;
	if (!status)
		return false;
	_find_nodes();
	return true;
}

static uint64_t _mib(uint64_t bytes)
{
	return (bytes >> MIB_SHIFT) +
	       ((bytes & ((UINT64_C(1) << MIB_SHIFT) - 1)) != 0);
}

/* The job's memory on the node, 0 for what slurmctld knows nothing of. */
static uint64_t _apply_job(hpcb_usage_t *usage, const hpcb_live_job_t *job,
			   int node_inx)
{
	hpcb_lend_job_t lend = {
		.reported = true,
		.used = job->used,
		.growth = job->growth,
		.peak = job->peak,
	};
	hpcb_usage_at_t at;

	if (!hpcb_usage_find(usage, job->job_id, node_inx, &at))
		return 0;
	lend.promised = at.memory << MIB_SHIFT;
	lend.profile = at.peak;
	lend.age = (now > at.since) ? now - at.since : 0;
	hpcb_usage_expect(usage, node_inx, &at,
			  _mib(hpcb_lend_expected(&lend, settings.settle)));
	return job->used;
}

static void _apply_node(hpcb_usage_t *usage, const hpcb_live_node_t *report,
			int node_inx)
{
	const hpcb_lend_reserve_t reserve = {
		.percent = settings.reserve.percent,
		.bytes = settings.reserve.bytes,
	};
	hpcb_lend_node_t node = {
		.real_memory = (node_record_table_ptr[node_inx]->real_memory -
				node_record_table_ptr[node_inx]->mem_spec_limit)
			       << MIB_SHIFT,
		.available = report->available,
	};
	uint32_t i;

	for (i = 0; i < report->n_jobs; i++)
		node.used += _apply_job(usage, &report->jobs[i], node_inx);
	lenders[node_inx].until = report->time + HPCB_LIVE_STALE_SECONDS;
	last_until = MAX(last_until, lenders[node_inx].until);
	lenders[node_inx].usable =
		hpcb_lend_free(hpcb_lend_usable(&node),
			       hpcb_lend_reserve(&reserve, node.real_memory),
			       0, 0) >> MIB_SHIFT;
}

static void _apply(hpcb_usage_t *usage)
{
	size_t i;

	xfree(lenders);
	last_until = 0;
	n_lenders = node_record_count;
	lenders = xcalloc(n_lenders, sizeof(*lenders));
	hpcb_usage_expect_all(usage);
	for (i = 0; i < live.n_nodes; i++) {
		const hpcb_live_node_t *report = &live.nodes[i];
		int node_inx = indices[i];

		if ((node_inx >= 0) && (node_inx < n_lenders) &&
		    node_record_table_ptr[node_inx] && report->protects &&
		    hpcb_live_is_fresh(report, now))
			_apply_node(usage, report, node_inx);
	}
	applied_recount = hpcb_jobs_recounts();
}

extern void hpcb_lend_refresh(hpcb_usage_t *usage)
{
	bool renewed = false;

	now = time(NULL);
	if (!settings.unused || !usage)
		return;
	if (now != looked)
		renewed = _read_live();
	looked = now;
	if (renewed || (applied_recount != hpcb_jobs_recounts()))
		_apply(usage);
}
