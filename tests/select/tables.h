/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The tables that slurmctld would have, for programs that load the select plugin
 * without one: nodes from SLURM_CONF, partitions, running jobs. Defines what
 * the plugins refer to in slurmctld, so that the program must be linked with
 * -export-dynamic. Everything ends the program where it fails.
 */
#ifndef HPCB_TESTS_SELECT_TABLES_H
#define HPCB_TESTS_SELECT_TABLES_H

#include "select/compat.h"

typedef int (*tables_test_t)(job_record_t *job_ptr, bitstr_t *node_bitmap,
			     uint32_t min_nodes, uint32_t max_nodes,
			     uint32_t req_nodes, uint16_t mode,
			     struct xlist *preemptees,
			     struct xlist **preemptee_list,
			     hpcb_exc_t *exc HPCB_WILL_RUN_PARAMETER);

extern void tables_die(const char *why);

/* Read SLURM_CONF, which has that many nodes of so many cores. */
extern void tables_make_nodes(int nodes, int cores);

extern part_record_t *tables_part(const char *name, uint16_t tier);

/* A pending job of one node and core; comment is copied. No id twice. */
extern job_record_t *tables_job(uint32_t id, part_record_t *part,
				const char *comment);

/* It runs on one core of that node, with memory in MiB. */
extern void tables_run(job_record_t *job, int node_inx, int core,
		       uint64_t memory);

/* Load a select plugin and let it count the running jobs. */
extern void *tables_load(const char *path);
extern void tables_recount(void *plugin);

/* A function of the plugin. */
extern void *tables_function(void *plugin, const char *name);

/* select_p_job_test() */
extern int tables_ask(tables_test_t test, job_record_t *job, bitstr_t *nodes,
		      uint16_t mode, struct xlist *preemptees,
		      struct xlist **gone);

#endif
