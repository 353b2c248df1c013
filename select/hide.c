/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * select/cons_tres stores the allocated cores as rows of each partition, and a
 * partition without rows has no jobs. Its table is no interface, but the same
 * in 22.05 to 26.05; if it is not visible, nothing is hidden.
 */
#include "select/shadow.h"

extern part_res_record_t *select_part_record __attribute__((weak));

typedef struct {
	part_res_record_t *part;
	part_row_data_t *row;
	bool stale;
} row_t;

struct hpcb_hidden {
	int count;
	row_t rows[];
};

static int _count_parts(void)
{
	part_res_record_t *part;
	int count = 0;

	for (part = select_part_record; part; part = part->next)
		count++;
	return count;
}

extern hpcb_hidden_t *hpcb_hide(bool guests)
{
	part_res_record_t *part;
	hpcb_hidden_t *hidden;

	if (!&select_part_record || !select_part_record)
		return NULL;
	hidden = xmalloc(sizeof(*hidden) + _count_parts() * sizeof(row_t));
	for (part = select_part_record; part; part = part->next) {
		row_t *row = &hidden->rows[hidden->count];

		if (!part->row || (hpcb_is_guest(part->part_ptr) != guests))
			continue;
		row->part = part;
		row->row = part->row;
		row->stale = HPCB_ROWS_STALE(part);
		part->row = NULL;
		HPCB_ROWS_SET_STALE(part, false);
		hidden->count++;
	}
	return hidden;
}

extern void hpcb_show(hpcb_hidden_t *hidden)
{
	int i;

	for (i = 0; hidden && (i < hidden->count); i++) {
		row_t *row = &hidden->rows[i];

		row->part->row = row->row;
		HPCB_ROWS_SET_STALE(row->part, row->stale);
	}
	xfree(hidden);
}
