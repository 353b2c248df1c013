/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * preempt/hpc_balance: lets primaries take back from guests what they cannot
 * share, memory and GRES. They can share cores, for which select/ never
 * requests a preemption.
 *
 * slurmctld calls these functions with its job lock held, for every pair of a
 * pending job and any other job: they decide by the names of the two partitions
 * and never wait. hpc-balance.conf is read at start and again after `scontrol
 * reconfigure`.
 *
 * The name must contain neither "partition" nor "qos": select/cons_tres
 * searches for these words and then breaks up the overlay of the two queues.
 */
#include "select/compat.h"

#include <string.h>

#include "common/log.h"
#include "select/settings.h"

#pragma GCC visibility push(default)
const char plugin_name[] = "hpc-balance: primaries before guests";
const char plugin_type[] = "preempt/hpc_balance";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void);
extern int fini(void);
extern bool preempt_p_job_preempt_check(job_queue_rec_t *preemptor,
					job_queue_rec_t *preemptee);
extern bool preempt_p_preemptable(job_record_t *preemptee,
				  job_record_t *preemptor);
#if HPCB_PREEMPT_BY_FUNCTION
extern uint16_t preempt_p_get_mode(job_record_t *job_ptr);
extern uint32_t preempt_p_get_prio(job_record_t *job_ptr);
extern uint32_t preempt_p_get_grace_time(job_record_t *job_ptr);
#else
extern int preempt_p_get_data(job_record_t *job_ptr,
			      slurm_preempt_data_type_t data_type, void *data);
#endif
#pragma GCC visibility pop

static void _log_line(hpcb_log_level_t level, const char *line)
{
	if (level == HPCB_LOG_ERROR)
		error("%s: %s", plugin_type, line);
	else if (level == HPCB_LOG_INFO)
		info("%s: %s", plugin_type, line);
	else
		debug("%s: %s", plugin_type, line);
}

static bool _is_guest(const job_record_t *job_ptr)
{
	return job_ptr->part_ptr && job_ptr->part_ptr->name &&
	       hpcb_select_is_guest(job_ptr->part_ptr->name);
}

extern int init(void)
{
	hpcb_log_set_sink(_log_line);
	hpcb_select_settings_refresh(slurm_conf.last_update);
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	return SLURM_SUCCESS;
}

static bool _is_het_guest(const job_queue_rec_t *rec)
{
	if (!rec->job_ptr->het_job_id || !rec->part_ptr || !rec->part_ptr->name)
		return false;
	hpcb_select_settings_refresh(slurm_conf.last_update);
	return hpcb_select_is_guest(rec->part_ptr->name);
}

/*
 * This one orders the queue, and does not decide on preemption. With primaries
 * sorted before all guests, a waiting primary would hold guests back that could
 * start.
 *
 * Heterogeneous guests come last nevertheless, since each that waits would hold
 * primaries back: the main scheduler takes all nodes of its partition from who
 * comes behind it, and backfill those of a component that could start while
 * another one cannot (22.05 to 26.05).
 */
extern bool preempt_p_job_preempt_check(job_queue_rec_t *preemptor,
					job_queue_rec_t *preemptee)
{
	return _is_het_guest(preemptee) && !_is_het_guest(preemptor);
}

/* preemptee may be any job, also one that waits and has no partition yet. */
extern bool preempt_p_preemptable(job_record_t *preemptee,
				  job_record_t *preemptor)
{
	hpcb_select_settings_refresh(slurm_conf.last_update);
	return preemptor->part_ptr && !_is_guest(preemptor) &&
	       _is_guest(preemptee);
}

static uint16_t _mode(const job_record_t *job_ptr)
{
	return _is_guest(job_ptr) ? PREEMPT_MODE_REQUEUE : PREEMPT_MODE_OFF;
}

/*
 * Lowest first: a guest in its grace time goes anyway; else the one that has
 * run for the shortest time loses least. By the time of its start, because the
 * list is sorted while time passes.
 */
static uint32_t _prio(const job_record_t *job_ptr)
{
	if (job_ptr->preempt_time)
		return 0;
	return UINT32_MAX - (uint32_t) job_ptr->start_time;
}

/* The guests' partition decides, and else their QOS. */
static uint32_t _grace_time(const job_record_t *job_ptr)
{
	uint32_t grace = 0;

	if (job_ptr->part_ptr)
		grace = job_ptr->part_ptr->grace_time;
	if (!grace && job_ptr->qos_ptr &&
	    (job_ptr->qos_ptr->grace_time != NO_VAL) &&
	    (job_ptr->qos_ptr->grace_time != INFINITE))
		grace = job_ptr->qos_ptr->grace_time;
	return grace;
}

#if HPCB_PREEMPT_BY_FUNCTION
extern uint16_t preempt_p_get_mode(job_record_t *job_ptr)
{
	return _mode(job_ptr);
}

extern uint32_t preempt_p_get_prio(job_record_t *job_ptr)
{
	return _prio(job_ptr);
}

extern uint32_t preempt_p_get_grace_time(job_record_t *job_ptr)
{
	return _grace_time(job_ptr);
}
#else
extern int preempt_p_get_data(job_record_t *job_ptr,
			      slurm_preempt_data_type_t data_type, void *data)
{
	switch (data_type) {
	case PREEMPT_DATA_ENABLED:
		*(bool *) data = (slurm_conf.preempt_mode != PREEMPT_MODE_OFF);
		break;
	case PREEMPT_DATA_MODE:
		*(uint16_t *) data = _mode(job_ptr);
		break;
	case PREEMPT_DATA_PRIO:
		*(uint32_t *) data = _prio(job_ptr);
		break;
	case PREEMPT_DATA_GRACE_TIME:
		*(uint32_t *) data = _grace_time(job_ptr);
		break;
	default:
		return SLURM_ERROR;
	}
	return SLURM_SUCCESS;
}
#endif
