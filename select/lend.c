/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that nodes lend to guests (policy/lend.h), from their reports
 * (reports.c). A node lends as long as its last report is fresh and hpcbd there
 * can take the memory back.
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

#include <inttypes.h>
#include <time.h>

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
static time_t first_until = 0;	/* all nodes lend so long, 0: not all do */

static time_t now = 0;
static uint32_t applied_reports = 0, applied_recount = 0;

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

extern bool hpcb_lends_everywhere(void)
{
	return settings.unused && n_lenders && (first_until > now);
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
	n_lenders = 0;
	first_until = 0;
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

static time_t _first_until(void)
{
	time_t first = n_lenders ? lenders[0].until : 0;
	int i;

	for (i = 1; i < n_lenders; i++)
		first = MIN(first, lenders[i].until);
	return first;
}

static void _apply(hpcb_usage_t *usage)
{
	size_t i;
	int node_inx;

	xfree(lenders);
	last_until = 0;
	n_lenders = node_record_count;
	lenders = xcalloc(n_lenders, sizeof(*lenders));
	hpcb_usage_expect_all(usage);
	for (i = 0; i < hpcb_reports_count(); i++) {
		const hpcb_live_node_t *report = hpcb_report(i, &node_inx);

		if (report && (node_inx < n_lenders) &&
		    node_record_table_ptr[node_inx] && report->protects &&
		    hpcb_live_is_fresh(report, now))
			_apply_node(usage, report, node_inx);
	}
	first_until = _first_until();
	applied_recount = hpcb_jobs_recounts();
}

extern void hpcb_lend_refresh(hpcb_usage_t *usage)
{
	uint32_t reports;

	now = time(NULL);
	if (!settings.unused || !usage)
		return;
	reports = hpcb_reports_refresh(now);
	if ((applied_reports != reports) ||
	    (applied_recount != hpcb_jobs_recounts()))
		_apply(usage);
	applied_reports = reports;
}
