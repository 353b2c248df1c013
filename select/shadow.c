/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A select_cons_tres.so that stands before Slurm's own in PluginDir and loads
 * it (DT_NEEDED by absolute path). slurmctld looks for each function with
 * dlsym(), which finds here what is below, and all the rest in the stock
 * plugin. Taken away, or built for another version of Slurm, it leaves the
 * stock plugin as it is.
 *
 *   select_p_node_init, _reconfigure	configuration is read, jobs are counted
 *					anew
 *   select_p_job_test		can the job start, and where: class by class
 *   select_p_job_begin, _fini	a job starts, ends: it is counted
 *   select_p_select_nodeinfo_set, _fini, ...
 *				stock counts a guest, but not its memory
 *   select_p_job_resized, ...	all are counted anew when needed
 *
 * All calls come with slurmctld's job and node write locks held, one at a time;
 * nothing here does I/O but select_p_node_init: what nodes report is read by a
 * thread (reader.h). Clients and slurmd load select
 * plugins too (up to 24.11), and call none of these functions; slurmctld's data
 * are referenced weakly for their sake.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr() */
#endif
#include "select/shadow.h"

#include <dlfcn.h>

#include "common/log.h"
#include "select/settings.h"

#pragma GCC visibility push(default)
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
/* By this `hpcbctl check` knows the file from Slurm's. */
extern const uint32_t hpcb_select_plugin;
const uint32_t hpcb_select_plugin = 1;
#pragma GCC visibility pop

static void _log_line(hpcb_log_level_t level, const char *line)
{
	if (level == HPCB_LOG_ERROR)
		error("select/hpc_balance: %s", line);
	else if (level == HPCB_LOG_INFO)
		info("select/hpc_balance: %s", line);
	else
		debug("select/hpc_balance: %s", line);
}

/* Stock's function of that name. It is there: slurmctld has checked that this
 * plugin and the one that it needs have all together. */
#define STOCK(name)						\
({								\
	static __typeof__(&name) stock = NULL;			\
	if (!stock)						\
		stock = (__typeof__(&name)) dlsym(RTLD_NEXT, #name); \
	stock;							\
})

#define CALL_STOCK(name, ...)					\
({								\
	__typeof__(&name) function = STOCK(name);		\
	function ? function(__VA_ARGS__) : ESLURM_NOT_SUPPORTED; \
})

#pragma GCC visibility push(default)
extern int select_p_node_init(void);
extern int select_p_reconfigure(void);
extern int select_p_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap,
			     uint32_t min_nodes, uint32_t max_nodes,
			     uint32_t req_nodes, uint16_t mode,
			     struct xlist *preemptees,
			     struct xlist **preemptee_list,
			     hpcb_exc_t *exc HPCB_WILL_RUN_PARAMETER);
extern int select_p_job_begin(job_record_t *job_ptr);
extern int select_p_job_fini(job_record_t *job_ptr);
extern int select_p_select_nodeinfo_set(job_record_t *job_ptr);
#if HPCB_HAS_MEM_REDUCE
extern void select_p_job_mem_reduce(job_record_t *job_ptr);
#endif
extern int select_p_job_resized(job_record_t *job_ptr,
				node_record_t *node_ptr);
extern int select_p_job_expand(job_record_t *from_job_ptr,
			       job_record_t *to_job_ptr);
extern int select_p_job_suspend(job_record_t *job_ptr, bool indf_susp);
extern int select_p_job_resume(job_record_t *job_ptr, bool indf_susp);
#pragma GCC visibility pop

extern bool hpcb_is_guest(const part_record_t *part_ptr)
{
	return part_ptr && part_ptr->name &&
	       hpcb_select_is_guest(part_ptr->name);
}

extern int hpcb_stock_test(const hpcb_test_t *test)
{
	part_record_t *shared = hpcb_unshare(test);
	int rc;

	rc = CALL_STOCK(select_p_job_test, test->job_ptr, test->node_bitmap,
			test->min_nodes, test->max_nodes, test->req_nodes,
			test->mode, test->preemptees, test->preemptee_list,
			test->exc HPCB_WILL_RUN_OF(test));
	hpcb_share_again(test, shared);
	return rc;
}

extern hpcb_before_t hpcb_before(const job_record_t *job_ptr)
{
	return (hpcb_before_t) {
		.pn_min_memory = job_ptr->details->pn_min_memory,
		.min_cpus = job_ptr->details->min_cpus,
		.start_time = job_ptr->start_time,
		.total_cpus = job_ptr->total_cpus,
		.bit_flags = job_ptr->bit_flags,
	};
}

extern void hpcb_as_before(job_record_t *job_ptr, const hpcb_before_t *before)
{
	job_ptr->details->pn_min_memory = before->pn_min_memory;
	job_ptr->details->min_cpus = before->min_cpus;
	job_ptr->start_time = before->start_time;
	job_ptr->total_cpus = before->total_cpus;
	job_ptr->bit_flags = before->bit_flags;
}

/*
 * A thread of ours (reader.h) may be in a read when slurmctld ends. Not by the
 * linker's nodelete: slurmctld opens a plugin of another version, too, and
 * passes it over. If that one stayed, the stock plugin's calls of its own
 * functions would end in it.
 */
static void _stay_loaded(void)
{
	static void *self = NULL;
	Dl_info info;

	if (!self && dladdr(&hpcb_select_plugin, &info) && info.dli_fname)
		self = dlopen(info.dli_fname,
			      RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void _begin_anew(void)
{
	_stay_loaded();
	hpcb_log_set_sink(_log_line);
	hpcb_select_settings_read();
	hpcb_reports_begin();
	hpcb_capacity_read();
	hpcb_lend_begin();
	hpcb_jobs_forget();
	hpcb_claims_forget();
}

extern int select_p_node_init(void)
{
	_begin_anew();
	hpcb_log(HPCB_LOG_INFO,
		 "before Slurm's own select/cons_tres, built for %d.%02d.%d",
		 SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
	return CALL_STOCK(select_p_node_init);
}

/*
 * Also called when nodes are added or removed; slurmctld has not called the one
 * above then.
 */
extern int select_p_reconfigure(void)
{
	hpcb_view_t *view;
	int rc;

	_begin_anew();
	hpcb_share_of_old();
	view = hpcb_memory_view_none();
	rc = CALL_STOCK(select_p_reconfigure);
	hpcb_memory_unview(view);
	return rc;
}

extern int select_p_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap,
			     uint32_t min_nodes, uint32_t max_nodes,
			     uint32_t req_nodes, uint16_t mode,
			     struct xlist *preemptees,
			     struct xlist **preemptee_list,
			     hpcb_exc_t *exc HPCB_WILL_RUN_PARAMETER)
{
	hpcb_test_t test = {
		.job_ptr = job_ptr,
		.node_bitmap = node_bitmap,
		.min_nodes = min_nodes,
		.max_nodes = max_nodes,
		.req_nodes = req_nodes,
		.mode = mode,
		.preemptees = preemptees,
		.preemptee_list = preemptee_list,
		.exc = exc,
	};

	HPCB_WILL_RUN_SET(&test);
	if (!job_ptr || !job_ptr->details || !job_ptr->part_ptr || !node_bitmap)
		return hpcb_stock_test(&test);
	if (hpcb_is_guest(job_ptr->part_ptr))
		return hpcb_test_guest(&test);
	return hpcb_test_primary(&test);
}

/*
 * The nodes of a job that is --exclusive are closed to all others. Guests may
 * use them: the job keeps all cores from other primaries by holding them.
 */
static void _let_guests_in(job_record_t *job_ptr)
{
	if (job_ptr->details && HPCB_IS_EXCLUSIVE(job_ptr->details) &&
	    !job_ptr->details->share_res)
		job_ptr->details->share_res = NO_VAL8;
}

extern int select_p_job_begin(job_record_t *job_ptr)
{
	int rc = CALL_STOCK(select_p_job_begin, job_ptr);

	if ((rc == SLURM_SUCCESS) && job_ptr) {
		_let_guests_in(job_ptr);
		hpcb_unclaim(job_ptr->job_id);
		/* The task has an ID of its own by now; the test had that of
		 * the array. */
		if (job_ptr->array_job_id)
			hpcb_unclaim(job_ptr->array_job_id);
		hpcb_spread_begin(job_ptr);
		hpcb_jobs_begin(job_ptr);
	}
	return rc;
}

extern int select_p_job_fini(job_record_t *job_ptr)
{
	uint64_t *memory = hpcb_memory_hide(job_ptr);
	int rc;

	if (job_ptr)
		hpcb_jobs_end(job_ptr);
	rc = CALL_STOCK(select_p_job_fini, job_ptr);
	hpcb_memory_show(job_ptr, memory);
	return rc;
}

extern int select_p_select_nodeinfo_set(job_record_t *job_ptr)
{
	uint64_t *memory = hpcb_memory_hide(job_ptr);
	int rc = CALL_STOCK(select_p_select_nodeinfo_set, job_ptr);

	hpcb_memory_show(job_ptr, memory);
	return rc;
}

extern int select_p_job_resized(job_record_t *job_ptr, node_record_t *node_ptr)
{
	int rc;

	hpcb_jobs_forget();
	hpcb_memory_balance(job_ptr, 1);
	rc = CALL_STOCK(select_p_job_resized, job_ptr, node_ptr);
	hpcb_memory_balance(job_ptr, -1);
	return rc;
}

extern int select_p_job_expand(job_record_t *from_job_ptr,
			       job_record_t *to_job_ptr)
{
	int rc;

	hpcb_jobs_forget();
	hpcb_memory_balance(from_job_ptr, 1);
	hpcb_memory_balance(to_job_ptr, 1);
	rc = CALL_STOCK(select_p_job_expand, from_job_ptr, to_job_ptr);
	hpcb_memory_balance(to_job_ptr, -1);
	hpcb_memory_balance(from_job_ptr, -1);
	return rc;
}

#if HPCB_HAS_MEM_REDUCE
/* Only the tables change: slurmctld writes down what the job has left. */
extern void select_p_job_mem_reduce(job_record_t *job_ptr)
{
	__typeof__(&select_p_job_mem_reduce) stock =
		STOCK(select_p_job_mem_reduce);

	hpcb_jobs_forget();
	if (stock && !(hpcb_lend_is_on() && hpcb_is_guest(job_ptr->part_ptr)))
		stock(job_ptr);
}
#endif

extern int select_p_job_suspend(job_record_t *job_ptr, bool indf_susp)
{
	hpcb_jobs_forget();
	return CALL_STOCK(select_p_job_suspend, job_ptr, indf_susp);
}

extern int select_p_job_resume(job_record_t *job_ptr, bool indf_susp)
{
	hpcb_jobs_forget();
	return CALL_STOCK(select_p_job_resume, job_ptr, indf_susp);
}
