/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between the parts of the select plugin that use slurmctld. */
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

/*
 * Call stock's select_p_job_test() so that primaries of different partitions
 * share no core.
 */
extern int hpcb_stock_test(const hpcb_test_t *test);

/*
 * Members of a job that stock's function changes even if it fails, so that it
 * can be called again.
 */
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

/* unshare.c: primaries' partitions as with OverSubscribe=NO, for one call */

/* Return the job's partition if that was necessary, otherwise NULL. */
extern part_record_t *hpcb_unshare(const hpcb_test_t *test);

/* Undo hpcb_unshare; part_ptr may be NULL. */
extern void hpcb_share_again(const hpcb_test_t *test, part_record_t *part_ptr);

/*
 * Before stock counts all jobs again: let jobs that began under
 * OverSubscribe=NO, in a partition that has FORCE now, share their nodes like
 * jobs that begin now.
 */
extern void hpcb_share_of_old(void);

/* hide.c: the other queue's cores, hidden from stock for one call */

typedef struct hpcb_hidden hpcb_hidden_t;

/*
 * Hide the cores allocated to guests (or, with guests false, to primaries).
 * hpcb_show must always follow.
 */
extern hpcb_hidden_t *hpcb_hide(bool guests);
extern void hpcb_show(hpcb_hidden_t *hidden);

/* primary.c and guest.c: a test for a job of that class */
extern int hpcb_test_primary(const hpcb_test_t *test);
extern int hpcb_test_guest(const hpcb_test_t *test);

/* spread.c: primaries with --bw-spread */

/*
 * Test the job by ask: spread over more nodes if these are free without
 * preemption, otherwise as it is. A failed ask must not change anything.
 */
typedef int (*hpcb_ask_t)(const hpcb_test_t *test);
extern int hpcb_ask_spread(const hpcb_test_t *test, hpcb_ask_t ask);

/*
 * The job starts on its last offer: write the decision to SystemComment and the
 * log.
 */
extern void hpcb_spread_begin(job_record_t *job_ptr);

/* Reduce the demand of a running job to that of its tasks per node. */
extern void hpcb_count_spread(const job_record_t *job_ptr,
			      hpcb_demand_t *demand);

/* offers.c: jobs that did not start on offered nodes */

/* Note that the job may start now on more nodes than it needs. */
extern void hpcb_offer(uint32_t job_id, time_t now);
/*
 * Return whether the job was offered more nodes some seconds before now and has
 * not started.
 */
extern bool hpcb_offer_was_vain(uint32_t job_id, time_t now);
/* Note that it starts. */
extern void hpcb_offer_forget(uint32_t job_id);

/* evict.c: guests that must go for a primary */

/*
 * Return those of preemptees with memory or GRES on the candidates that the job
 * may need; NULL for none. The caller destroys the list.
 */
extern struct xlist *hpcb_in_the_way(const job_record_t *job_ptr,
				     const bitstr_t *candidates,
				     struct xlist *preemptees);
/*
 * For lists of guests: return whether none of its components is on these nodes
 * (key), as far as the leader shows.
 */
extern int hpcb_is_elsewhere(void *x, void *key);
/*
 * Return whether the job would start now on some of these nodes without these
 * guests; nodes becomes those. The nodes of test are ignored.
 */
extern bool hpcb_fits_without(const hpcb_test_t *test, bitstr_t *nodes,
			      struct xlist *guests);
/*
 * Remove from list the guests that need not go; the job fits on test's nodes
 * without all of them.
 */
extern void hpcb_spare(const hpcb_test_t *test, struct xlist *list);

/* het.c: primaries of several components */

/*
 * The first component may start on test's nodes: add the guests that must go
 * for the others to its list. No effect for other jobs.
 */
extern void hpcb_clear_components(const hpcb_test_t *test);

/* claims.c: nodes that are being cleared of guests */

/* Note that these guests go so that the job gets test's nodes. */
extern void hpcb_claim(const hpcb_test_t *test, struct xlist *guests);
/*
 * Note that these guests go for the job at the end of their grace time at the
 * latest.
 */
extern void hpcb_end_grace(job_record_t *job_ptr, struct xlist *guests);
/* Note that the job starts or has ended. */
extern void hpcb_unclaim(uint32_t job_id);
/* Remove claimed nodes from a guest's candidates. */
extern void hpcb_keep_off_claims(bitstr_t *nodes);
/* Drop all claims, because nodes are renumbered. */
extern void hpcb_claims_forget(void);

/* jobs.c: usage of nodes, from slurmctld's jobs */

/* Return NULL if memory is short. Valid until the next call to this file. */
extern hpcb_usage_t *hpcb_jobs_usage(void);
/* Return a number that changes when all jobs are counted again. */
extern uint32_t hpcb_jobs_recounts(void);
extern void hpcb_jobs_begin(job_record_t *job_ptr);
extern void hpcb_jobs_end(job_record_t *job_ptr);
/* Count all jobs again before the next request. */
extern void hpcb_jobs_forget(void);

/* reports.c: reports of nodes */

/* The settings were read, and slurmctld's nodes may have changed. */
extern void hpcb_reports_begin(void);
/*
 * Read new reports, at most once a second; call it before a test. Return the
 * number of the present state.
 */
extern uint32_t hpcb_reports_refresh(time_t now);
extern size_t hpcb_reports_count(void);
/* Return a report and its node; NULL if slurmctld has no such node. */
extern const hpcb_live_node_t *hpcb_report(size_t i, int *node_inx);

/* busy.c: CPU time that primaries leave */

/* Update usage from nodes' reports; call it before a guest's test. */
extern void hpcb_busy_refresh(hpcb_usage_t *usage);

/* company.c: primaries that a guest's program has harmed */

/* Begin the test of a guest of that program (0: unknown). */
extern void hpcb_company_begin(uint64_t program, time_t now);
/* Return the verdict for the primaries on the node. */
extern hpcb_company_verdict_t hpcb_company_on(const hpcb_usage_t *usage, int node_inx);

/* lend.c: memory that nodes lend to guests */

/* Read the settings; slurmctld's nodes may have changed. */
extern void hpcb_lend_begin(void);
/* Return whether GuestMemory=unused. */
extern bool hpcb_lend_is_on(void);
/*
 * Update usage and the results below from nodes' reports; call it before a
 * test.
 */
extern void hpcb_lend_refresh(hpcb_usage_t *usage);
/* Return whether the node reports that it protects primaries. */
extern bool hpcb_lends(int node_inx);
extern bool hpcb_lends_somewhere(void);
/* Return whether all nodes of the cluster do. */
extern bool hpcb_lends_everywhere(void);
/* Return the memory in MiB that another guest can get on a node that lends. */
extern uint64_t hpcb_lent(const hpcb_usage_t *usage, int node_inx);

/* memory.c: guests' memory, removed from the tables of select/cons_tres */

/*
 * For one call of stock that counts the job: remove a guest's memory. Return
 * the argument of hpcb_memory_show(), NULL for other jobs.
 */
extern uint64_t *hpcb_memory_hide(job_record_t *job_ptr);
extern void hpcb_memory_show(job_record_t *job_ptr, uint64_t *memory);

/*
 * For one call of stock that subtracts what the job has from the tables and
 * adds what it then has: include a guest's memory (sign +1 before, -1 after).
 */
extern void hpcb_memory_balance(const job_record_t *job_ptr, int sign);

/*
 * Set the tables as a test of a primary or a guest must see them; return NULL
 * if they are right. forecast: stock may remove all running jobs from a copy.
 * Every view must be undone, the last one first.
 */
typedef struct hpcb_view hpcb_view_t;

extern hpcb_view_t *hpcb_memory_view_primary(bool forecast);
extern hpcb_view_t *hpcb_memory_view_guest(const bitstr_t *candidates);
extern void hpcb_memory_unview(hpcb_view_t *view);

/* Set the tables for a test in which stock may remove these guests from a
 * copy. */
extern hpcb_view_t *hpcb_memory_view_without(struct xlist *guests);

/* Set the tables for stock's reconfiguration: no guest has memory. */
extern hpcb_view_t *hpcb_memory_view_none(void);

/* Return whether a guest's memory is hidden at present. */
extern bool hpcb_memory_is_hidden(void);

/*
 * Return the memory of guests in MiB that a primary sees as allocated on the
 * node.
 */
extern uint64_t hpcb_memory_seen(const hpcb_usage_t *usage, int node_inx);

/* capacity.c: bandwidths of nodes, from hpc-balance.conf */
extern void hpcb_capacity_read(void);
extern const hpcb_bw_t *hpcb_capacity(int node_inx);

/*
 * Set the result of the node's last probe of its memory in description, unless
 * it is too old.
 */
extern void hpcb_capacity_saturation(int node_inx, time_t now,
				     hpcb_fit_node_t *description);

/* Read the nodes' own measurements, at most every few seconds. */
extern void hpcb_capacity_refresh(void);

#endif
