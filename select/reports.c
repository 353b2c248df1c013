/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reports of nodes, by slurmctld's node numbers: read at most once a second,
 * when a job is tested (reader.h).
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

#include <errno.h>
#include <time.h>

#include "common/log.h"
#include "select/reader.h"
#include "select/settings.h"

static hpcb_live_t live;
static int *indices = NULL;	/* of the nodes in live, -1: no such node */
static uint32_t number = 0;
static time_t looked = 0;
static bool complained = false;

extern void hpcb_reports_begin(void)
{
	hpcb_select_memory_t settings;

	hpcb_select_memory(&settings);
	hpcb_reader_follow(settings.dir);
	xfree(indices);
	hpcb_live_clear(&live);
	looked = 0;
	number++;
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

/* Present reports keep their time. */
static void _complain(const hpcb_error_t *err)
{
	if (errno == ENOENT)
		return;
	hpcb_log_once(&complained, HPCB_LOG_ERROR,
		      "nothing is known of what nodes have left: %s",
		      err->text);
}

extern uint32_t hpcb_reports_refresh(time_t now)
{
	hpcb_error_t err = { "" };
	int status;

	if (now == looked)
		return number;
	looked = now;
	status = hpcb_reader_look(&live, &err);
	if (status < 0) {
		_complain(&err);
		return number;
	}
	complained = false;
	if (status > 0) {
		_find_nodes();
		number++;
	}
	return number;
}

extern size_t hpcb_reports_count(void)
{
	return live.n_nodes;
}

extern const hpcb_live_node_t *hpcb_report(size_t i, int *node_inx)
{
	*node_inx = indices[i];
	return (*node_inx >= 0) ? &live.nodes[i] : NULL;
}
