/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The cores that primaries hold are read from select/cons_tres' rows, as in
 * hide.c: one bitmap of a node's cores for each row.
 */
#include "select/pin.h"

#include "select/settings.h"

extern part_res_record_t *select_part_record __attribute__((weak));

/* Put the cores that primaries hold on the node into cores. */
static void _add_held(const part_res_record_t *part, int node_inx,
		      bitstr_t *cores)
{
	int r;

	for (r = 0; part->row && (r < part->num_rows); r++) {
		bitstr_t **by_node = part->row[r].row_bitmap;

		if (by_node && by_node[node_inx] &&
		    (bit_size(by_node[node_inx]) == bit_size(cores)))
			bit_or(cores, by_node[node_inx]);
	}
}

/* Return the cores of a node without a primary; the caller frees them. */
static bitstr_t *_cores_off(int node_inx)
{
	const part_res_record_t *part;
	bitstr_t *cores =
		bit_alloc(node_record_table_ptr[node_inx]->tot_cores);

	for (part = select_part_record; part; part = part->next) {
		if (!hpcb_is_guest(part->part_ptr))
			_add_held(part, node_inx, cores);
	}
	bit_not(cores);
	return cores;
}

#if HPCB_EXC_BY_NODE
static hpcb_exc_t *_new_pin(const hpcb_exc_t *exc)
{
	hpcb_exc_t *pin = xmalloc(sizeof(*pin));

	if (exc)
		*pin = *exc;
	pin->exc_cores = xcalloc(node_record_count, sizeof(bitstr_t *));
	return pin;
}

static void _keep_off(hpcb_exc_t *pin, const hpcb_exc_t *exc, int node_inx,
		      bitstr_t *cores)
{
	bitstr_t *also = (exc && exc->exc_cores) ? exc->exc_cores[node_inx] :
						   NULL;

	if (also && (bit_size(also) == bit_size(cores)))
		bit_or(cores, also);
	pin->exc_cores[node_inx] = cores;
}

/* All but the cores is the caller's. */
extern void hpcb_unpin(hpcb_exc_t *pin)
{
	int i;

	if (!pin)
		return;
	for (i = 0; i < node_record_count; i++)
		FREE_NULL_BITMAP(pin->exc_cores[i]);
	xfree(pin->exc_cores);
	xfree(pin);
}
#else
/* One bitmap of all cores of the cluster, which begins as a copy of exc. */
static hpcb_exc_t *_new_pin(const hpcb_exc_t *exc)
{
	return exc ? bit_copy((bitstr_t *) exc) :
		     bit_alloc(cr_get_coremap_offset(node_record_count));
}

static void _keep_off(hpcb_exc_t *pin, const hpcb_exc_t *exc, int node_inx,
		      bitstr_t *cores)
{
	int offset = cr_get_coremap_offset(node_inx);
	int i, size = bit_size(cores);

	(void) exc;
	for (i = 0; (i < size) && (offset + i < bit_size(pin)); i++) {
		if (bit_test(cores, i))
			bit_set(pin, offset + i);
	}
	FREE_NULL_BITMAP(cores);
}

extern void hpcb_unpin(hpcb_exc_t *pin)
{
	FREE_NULL_BITMAP(pin);
}
#endif

extern hpcb_exc_t *hpcb_pin(const bitstr_t *candidates, const hpcb_exc_t *exc)
{
	bitstr_t *nodes = (bitstr_t *) candidates;
	hpcb_exc_t *pin;
	int i, first, last;

	if (!hpcb_select_pins() || !&select_part_record)
		return NULL;
	pin = _new_pin(exc);
	first = bit_ffs(nodes);
	last = (first == -1) ? -2 : bit_fls(nodes);
	for (i = first; i <= last; i++) {
		if (bit_test(nodes, i) && node_record_table_ptr[i])
			_keep_off(pin, exc, i, _cores_off(i));
	}
	return pin;
}
