/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the parts of the select plugin that face slurmctld share. */
#ifndef HPCB_SELECT_SHADOW_H
#define HPCB_SELECT_SHADOW_H

#include "common/live.h"
#include "select/compat.h"
#include "select/usage.h"

/* The arguments of select_p_job_test(). */
typedef struct {
	job_record_t *job_ptr;
	bitstr_t *node_bitmap;
	uint32_t min_nodes, max_nodes, req_nodes;
	uint16_t mode;
	struct xlist *preemptees;
	struct xlist **preemptee_list;
	hpcb_exc_t *exc;
	HPCB_WILL_RUN_MEMBER
} hpcb_test_t;

/* shadow.c */

/* Stock's select_p_job_test(); primaries of different partitions get no core
 * together. */
extern int hpcb_stock_test(const hpcb_test_t *test);

/* What stock's function changes in a job even where it fails, so that it can
 * be asked again. */
typedef struct {
	uint64_t pn_min_memory;
	uint32_t min_cpus;
	time_t start_time;
	uint32_t total_cpus;
	uint64_t bit_flags;
} hpcb_before_t;

extern hpcb_before_t hpcb_before(const job_record_t *job_ptr);
extern void hpcb_as_before(job_record_t *job_ptr, const hpcb_before_t *before);

extern bool hpcb_is_guest(const part_record_t *part_ptr);

/* unshare.c: primaries' partitions as if with OverSubscribe=NO, for one call */

/* Returns the job's partition where that was needed, else NULL. */
extern part_record_t *hpcb_unshare(const hpcb_test_t *test);

/* Undo it; NULL is fine. */
extern void hpcb_share_again(const hpcb_test_t *test, part_record_t *part_ptr);

/* Before stock counts all jobs anew: those that began under OverSubscribe=NO, in a
 * partition that has FORCE now, share their nodes as those that begin now. */
extern void hpcb_share_of_old(void);

/* hide.c: the other queue's cores, out of stock's sight for one call */

typedef struct hpcb_hidden hpcb_hidden_t;

/* Hide the cores that jobs of guests (or, with guests false, of primaries)
 * hold. Every hide needs its show, whatever happens in between. */
extern hpcb_hidden_t *hpcb_hide(bool guests);
extern void hpcb_show(hpcb_hidden_t *hidden);

/* primary.c and guest.c: a test for a job of that class */
extern int hpcb_test_primary(const hpcb_test_t *test);
extern int hpcb_test_guest(const hpcb_test_t *test);

/* spread.c: primaries with --bw-spread */

/* Test the job by ask: spread over more nodes if these are free without preemption,
 * else as it is. ask leaves nothing behind if it fails. */
typedef int (*hpcb_ask_t)(const hpcb_test_t *test);
extern int hpcb_ask_spread(const hpcb_test_t *test, hpcb_ask_t ask);

/* The job starts on its last offer: write the decision to SystemComment and the
 * log. */
extern void hpcb_spread_begin(job_record_t *job_ptr);

/* Reduce the demand of a running job to that of its tasks per node. */
extern void hpcb_count_spread(const job_record_t *job_ptr,
			      hpcb_demand_t *demand);

/* offers.c: jobs that did not start on the nodes that they were offered */

/* The job may start now on more nodes than it needs. */
extern void hpcb_offer(uint32_t job_id, time_t now);
/* Was the job offered more nodes some seconds before now, and has not started? */
extern bool hpcb_offer_was_vain(uint32_t job_id, time_t now);
/* It starts. */
extern void hpcb_offer_forget(uint32_t job_id);

/* evict.c: the guests that a primary needs gone */

/* Those of preemptees that have memory or GRES on the candidates that the job
 * may want; NULL for none. The caller destroys the list. */
extern struct xlist *hpcb_in_the_way(const job_record_t *job_ptr,
				     const bitstr_t *candidates,
				     struct xlist *preemptees);
/* For lists of guests: none of its components is on these nodes (key), as far as
 * the leader tells. */
extern int hpcb_is_elsewhere(void *x, void *key);
/* Would the job start now on some of these nodes with these guests gone? nodes
 * becomes the ones it would have; what test says of them does not count. */
extern bool hpcb_fits_without(const hpcb_test_t *test, bitstr_t *nodes,
			      struct xlist *guests);
/* The job fits on test's nodes when all guests of the list are gone: take those
 * off that need not go. */
extern void hpcb_spare(const hpcb_test_t *test, struct xlist *list);

/* het.c: primaries of several components */

/* The first one may start on test's nodes: who must go for the others is added to
 * its list. Nothing happens for other jobs. */
extern void hpcb_clear_components(const hpcb_test_t *test);

/* claims.c: nodes that guests are being cleared off */

/* These guests go, for the job to have test's nodes. */
extern void hpcb_claim(const hpcb_test_t *test, struct xlist *guests);
/* These guests go for the job: not later than at the end of their grace time. */
extern void hpcb_end_grace(job_record_t *job_ptr, struct xlist *guests);
/* The job starts, or is gone. */
extern void hpcb_unclaim(uint32_t job_id);
/* Take the nodes that are claimed out of a guest's candidates. */
extern void hpcb_keep_off_claims(bitstr_t *nodes);
/* Nodes get other numbers. */
extern void hpcb_claims_forget(void);

/* jobs.c: the usage of nodes, out of slurmctld's jobs */

/* NULL when memory runs out. Valid until the next call into this file. */
extern hpcb_usage_t *hpcb_jobs_usage(void);
/* Changes when all were counted anew. */
extern uint32_t hpcb_jobs_recounts(void);
extern void hpcb_jobs_begin(job_record_t *job_ptr);
extern void hpcb_jobs_end(job_record_t *job_ptr);
/* All is counted anew before it is asked for again. */
extern void hpcb_jobs_forget(void);

/* reports.c: what nodes report of themselves */

/* The settings were read; slurmctld's nodes may be others. */
extern void hpcb_reports_begin(void);
/* Take in what is new, at most once a second: to be called before a test. The
 * number of what there is, which changes with it. */
extern uint32_t hpcb_reports_refresh(time_t now);
extern size_t hpcb_reports_count(void);
/* One of them, and whose it is; NULL where slurmctld has no such node. */
extern const hpcb_live_node_t *hpcb_report(size_t i, int *node_inx);

/* busy.c: CPU time that primaries leave */

/* Bring usage up to date with what nodes report: to be called before a guest's
 * test. */
extern void hpcb_busy_refresh(hpcb_usage_t *usage);

/* company.c: primaries that a guest's program has harmed */

/* A guest of that program (0: unknown) is tested now. */
extern void hpcb_company_begin(uint64_t program, time_t now);
/* What of that is on the node. */
extern hpcb_company_verdict_t hpcb_company_on(const hpcb_usage_t *usage, int node_inx);

/* lend.c: memory that nodes lend to guests */

/* Read the settings; slurmctld's nodes may be others. */
extern void hpcb_lend_begin(void);
/* GuestMemory=unused? */
extern bool hpcb_lend_is_on(void);
/* Bring usage and the answers below up to date with what nodes report: to be
 * called before a test. */
extern void hpcb_lend_refresh(hpcb_usage_t *usage);
/* Does the node protect primaries, and says so? */
extern bool hpcb_lends(int node_inx);
extern bool hpcb_lends_somewhere(void);
/* On each node of the cluster. */
extern bool hpcb_lends_everywhere(void);
/* What a further guest can have on a node that lends, in MiB. */
extern uint64_t hpcb_lent(const hpcb_usage_t *usage, int node_inx);

/* memory.c: guests' memory, out of the tables of select/cons_tres */

/* For one call of stock's that counts the job in or out: a guest has no
 * memory. Returns what hpcb_memory_show() takes, NULL for others. */
extern uint64_t *hpcb_memory_hide(job_record_t *job_ptr);
extern void hpcb_memory_show(job_record_t *job_ptr, uint64_t *memory);

/* For one call of stock's that takes what the job has from the tables and puts
 * back what it then has: a guest's memory is in them. (sign) +1 before, -1
 * after. */
extern void hpcb_memory_balance(const job_record_t *job_ptr, int sign);

/* The tables as a test of a primary or a guest is to see them; NULL where they
 * are right. forecast: stock may take all running jobs out of a copy. Every view
 * needs its unview, the last one first. */
typedef struct hpcb_view hpcb_view_t;

extern hpcb_view_t *hpcb_memory_view_primary(bool forecast);
extern hpcb_view_t *hpcb_memory_view_guest(const bitstr_t *candidates);
extern void hpcb_memory_unview(hpcb_view_t *view);

/* For a test in which stock may take these guests out of a copy. */
extern hpcb_view_t *hpcb_memory_view_without(struct xlist *guests);

/* For stock's reconfiguration: all guests have no memory. */
extern hpcb_view_t *hpcb_memory_view_none(void);

/* Is some guest's memory hidden just now? */
extern bool hpcb_memory_is_hidden(void);

/* MiB of guests that a primary sees as allocated on the node. */
extern uint64_t hpcb_memory_seen(const hpcb_usage_t *usage, int node_inx);

/* capacity.c: what nodes can move, out of hpc-balance.conf */
extern void hpcb_capacity_read(void);
extern const hpcb_bw_t *hpcb_capacity(int node_inx);

/* Put what the node's probe last said of its memory into description, unless
 * that is too old by now. */
extern void hpcb_capacity_saturation(int node_inx, time_t now,
				     hpcb_fit_node_t *description);

/* Take in what nodes have measured of themselves. Cheap: at most every few
 * seconds. */
extern void hpcb_capacity_refresh(void);

#endif
