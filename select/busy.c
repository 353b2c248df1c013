/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time that primaries leave (policy/busy.h), from nodes' reports
 * (reports.c). It determines where a guest gets the most, and so where one goes
 * that was requeued because primaries left it none. A report counts as long as
 * it is fresh; otherwise a primary is assumed to use all of its CPUs, or what
 * earlier runs used.
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

#include <time.h>

static time_t first_until = 0;	/* a report that was applied is stale then */
static uint32_t applied_reports = 0, applied_recount = 0;

static void _apply_node(hpcb_usage_t *usage, const hpcb_live_node_t *report,
			int node_inx)
{
	hpcb_usage_at_t at;
	uint32_t i;

	for (i = 0; i < report->n_jobs; i++) {
		const hpcb_live_job_t *job = &report->jobs[i];

		if (job->cpus_known &&
		    hpcb_usage_find(usage, job->job_id, node_inx, &at))
			hpcb_usage_compute(usage, node_inx, &at, job->cpus);
	}
}

static void _apply(hpcb_usage_t *usage, time_t now)
{
	size_t i;
	int node_inx;

	hpcb_usage_compute_all(usage);
	first_until = 0;
	for (i = 0; i < hpcb_reports_count(); i++) {
		const hpcb_live_node_t *report = hpcb_report(i, &node_inx);
		time_t until;

		if (!report || !hpcb_live_is_fresh(report, now))
			continue;
		_apply_node(usage, report, node_inx);
		until = report->time + HPCB_LIVE_STALE_SECONDS;
		if (!first_until || (until < first_until))
			first_until = until;
	}
}

extern void hpcb_busy_refresh(hpcb_usage_t *usage)
{
	time_t now = time(NULL);
	uint32_t reports = hpcb_reports_refresh(now);

	if (!usage ||
	    ((applied_reports == reports) &&
	     (applied_recount == hpcb_jobs_recounts()) &&
	     (!first_until || (now < first_until))))
		return;
	_apply(usage, now);
	applied_reports = reports;
	applied_recount = hpcb_jobs_recounts();
}
