/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bandwidths of nodes, by slurmctld's node numbers: the NodeName lines of
 * hpc-balance.conf, read at start and reconfiguration, with slurmctld's node
 * write lock held; for other nodes their own measurements (reports.c), every
 * few seconds. A measurement stays valid while the node is silent.
 */
#include "select/shadow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "select/settings.h"

/* One reconfiguration reads the file twice. */
#define REPEAT_SECONDS 5

static hpcb_bw_t *capacities = NULL;
static int n_capacities = 0;
static hpcb_bw_t *typed = NULL;	/* of them, what the file says; else 0 */

/* Saturation of memory at that time. */
static struct {
	int64_t time;
	bool saturated;
	uint32_t lost;	/* thousandths */
} *probed = NULL;

static time_t looked = 0;
static uint32_t applied = 0;	/* the number of the reports taken in */

/* Last rows that were read, and when. */
static hpcb_capacity_t *last_rows = NULL;
static size_t last_count = 0;
static time_t read_at = 0;

/* Later lines win, for each of the two figures. */
static void _apply(const hpcb_capacity_t *row, int node_inx)
{
	if (row->mem)
		typed[node_inx].mem = row->mem;
	if (row->net)
		typed[node_inx].net = row->net;
}

static void _apply_report(const hpcb_live_node_t *report, int node_inx)
{
	if (!typed[node_inx].mem && report->mem_bandwidth)
		capacities[node_inx].mem = report->mem_bandwidth;
	if (!typed[node_inx].net && report->net_bandwidth)
		capacities[node_inx].net = report->net_bandwidth;
	probed[node_inx].time = report->time;
	probed[node_inx].saturated =
		(report->saturation == HPCB_LIVE_SATURATED);
	probed[node_inx].lost = 0;
	/* A free node's deficit is noise. */
	if ((report->saturation >= HPCB_LIVE_SATURATION_BUSY) &&
	    (report->memory_part < 1000))
		probed[node_inx].lost = 1000 - report->memory_part;
}

extern void hpcb_capacity_saturation(int node_inx, time_t now,
				     hpcb_fit_node_t *description)
{
	if ((node_inx >= n_capacities) || (probed[node_inx].time > now) ||
	    (probed[node_inx].time <= now - HPCB_LIVE_STALE_SECONDS))
		return;
	description->mem_saturated = probed[node_inx].saturated;
	description->mem_lost = probed[node_inx].lost;
}

extern void hpcb_capacity_refresh(void)
{
	time_t now = time(NULL);
	uint32_t reports;
	int node_inx;
	size_t i;

	/* Also after the clock was set back. */
	if (!n_capacities ||
	    ((now >= looked) && (now - looked < REPEAT_SECONDS)))
		return;
	looked = now;
	reports = hpcb_reports_refresh(now);
	if (applied == reports)
		return;
	applied = reports;
	for (i = 0; i < hpcb_reports_count(); i++) {
		const hpcb_live_node_t *report = hpcb_report(i, &node_inx);

		if (report && (node_inx < n_capacities))
			_apply_report(report, node_inx);
	}
}

/* Nodes that there are not are passed over; said: the log has that already. */
static void _apply_named(const hpcb_capacity_t *row, bool said)
{
	__auto_type hosts = hostlist_create(row->nodes);
	int unknown = 0;
	char *name;

	while (hosts && (name = hostlist_shift(hosts))) {
		/* The other function logs each name. */
		node_record_t *node_ptr = find_node_record2(name);

		if (!node_ptr)
			unknown++;
		else if (node_ptr->index < (uint32_t) n_capacities)
			_apply(row, node_ptr->index);
		free(name);
	}
	if ((!hosts || unknown) && !said)
		hpcb_log(HPCB_LOG_ERROR,
			 "NodeName=%s in hpc-balance.conf: %d of these are no nodes",
			 row->nodes, unknown);
	if (hosts)
		hostlist_destroy(hosts);
}

static void _read_row(const hpcb_capacity_t *row, bool said)
{
	int i;

	if (strcasecmp(row->nodes, "ALL")) {
		_apply_named(row, said);
		return;
	}
	for (i = 0; i < n_capacities; i++)
		_apply(row, i);
}

static bool _is_same(const hpcb_capacity_t *row, const hpcb_capacity_t *last)
{
	return (row->mem == last->mem) && (row->net == last->net) &&
	       !strcmp(row->nodes, last->nodes);
}

/* The same lines again, at once; rows go where they are remembered. */
static bool _is_repeated(hpcb_capacity_t *rows, size_t count)
{
	time_t now = time(NULL);
	bool same = (now - read_at < REPEAT_SECONDS) && (count == last_count);
	size_t i;

	for (i = 0; same && (i < count); i++)
		same = _is_same(&rows[i], &last_rows[i]);
	free(last_rows);
	last_rows = rows;
	last_count = count;
	read_at = now;
	return same;
}

extern void hpcb_capacity_read(void)
{
	hpcb_autofree hpcb_capacity_t *rows = NULL;
	size_t i, count = 0;
	bool said;

	/* Clients have no nodes. */
	if (node_record_count <= 0)
		return;
	rows = calloc(HPCB_CAPACITIES_MAX, sizeof(*rows));
	/* A bad file leaves what was read, as it does for settings; numbers of
	 * other nodes would be wrong. */
	if ((!rows || hpcb_select_capacities(rows, &count)) &&
	    (n_capacities == node_record_count))
		return;
	xfree(capacities);
	xfree(typed);
	capacities = xcalloc(node_record_count, sizeof(*capacities));
	typed = xcalloc(node_record_count, sizeof(*typed));
	xfree(probed);
	probed = xcalloc(node_record_count, sizeof(*probed));
	n_capacities = node_record_count;
	looked = 0;
	if (!rows)
		return;
	said = _is_repeated(rows, count);
	for (i = 0; i < count; i++)
		_read_row(&rows[i], said);
	memcpy(capacities, typed, n_capacities * sizeof(*typed));
	rows = NULL;
}

extern const hpcb_bw_t *hpcb_capacity(int node_inx)
{
	static const hpcb_bw_t unknown = { 0, 0 };

	return (node_inx < n_capacities) ? &capacities[node_inx] : &unknown;
}
