/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmctld's internal headers, and all differences between releases in their
 * use by select/ and preempt/. They fit exactly one version of Slurm: the
 * plugins' plugin_version makes slurmctld reject any other.
 *
 * Compiled against 22.05.8, 24.11.5 and 26.05.3.
 */
#ifndef HPCB_SELECT_COMPAT_H
#define HPCB_SELECT_COMPAT_H

#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

/* Symbols that slurmctld and stock plugins export. */
#pragma GCC visibility push(default)
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#include "src/interfaces/preempt.h"
#include "src/interfaces/select.h"
#else
#include "src/common/select.h"
#include "src/slurmctld/preempt.h"
#endif
#include "src/common/job_resources.h"
#include "src/common/node_conf.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#include "src/plugins/select/cons_tres/node_data.h"
#include "src/plugins/select/cons_tres/part_data.h"
#else
#include "src/plugins/select/cons_common/node_data.h"
#include "src/plugins/select/cons_common/part_data.h"
#endif
#pragma GCC visibility pop

/* Resources that a job must not use: cores alone, or since 23.11 GRES as
 * well. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
typedef resv_exc_t hpcb_exc_t;
#define HPCB_EXC_BY_NODE 1
#else
typedef bitstr_t hpcb_exc_t;
#define HPCB_EXC_BY_NODE 0
#endif

/* job_test() returns more of a forecast since 24.11. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
#define HPCB_WILL_RUN_MEMBER    will_run_data_t *will_run;
#define HPCB_WILL_RUN_PARAMETER , will_run_data_t *will_run
#define HPCB_WILL_RUN_ARGUMENT  , will_run
#define HPCB_WILL_RUN_OF(test)  , (test)->will_run
#define HPCB_WILL_RUN_SET(test) ((test)->will_run = will_run)
#else
#define HPCB_WILL_RUN_MEMBER
#define HPCB_WILL_RUN_PARAMETER
#define HPCB_WILL_RUN_ARGUMENT
#define HPCB_WILL_RUN_OF(test)
#define HPCB_WILL_RUN_SET(test) ((void) 0)
#endif

/* Rows of cores that must be rebuilt, since 24.05. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
#define HPCB_ROWS_STALE(part) ((part)->rebuild_rows)
#define HPCB_ROWS_SET_STALE(part, stale) ((part)->rebuild_rows = (stale))
#else
#define HPCB_ROWS_STALE(part) false
#define HPCB_ROWS_SET_STALE(part, stale) ((void) (stale))
#endif

/*
 * --exclusive, but not --exclusive=user and the like: bits since 24.05, a
 * number before.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
#define HPCB_IS_EXCLUSIVE(details) \
	(((details)->whole_node & WHOLE_NODE_REQUIRED) != 0)
#else
#define HPCB_IS_EXCLUSIVE(details) \
	((details)->whole_node == WHOLE_NODE_REQUIRED)
#endif

/* Whether memory is allocated: a bit with another name since 25.11. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define HPCB_ALLOCATES_MEMORY \
	((slurm_conf.select_type_param & SELECT_MEMORY) != 0)
#else
#define HPCB_ALLOCATES_MEMORY \
	((slurm_conf.select_type_param & CR_MEMORY) != 0)
#endif

/* job_overlap_and_running() has another parameter since 24.11. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
#define HPCB_LICENSES_PARAMETER struct xlist *licenses __attribute__((unused)),
#else
#define HPCB_LICENSES_PARAMETER
#endif

/* Jobs can return memory since 26.05. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define HPCB_HAS_MEM_REDUCE 1
#else
#define HPCB_HAS_MEM_REDUCE 0
#endif

/*
 * One function for all requests of slurmctld to a preempt plugin, or one each
 * since 25.05.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
#define HPCB_PREEMPT_BY_FUNCTION 1
#else
#define HPCB_PREEMPT_BY_FUNCTION 0
#endif

#endif
