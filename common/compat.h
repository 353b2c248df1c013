/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm's public headers, in an order in which those of every release compile (spank.h
 * of 22.05 uses fixed-width types without including them), and all differences between
 * the releases: SLURM_VERSION_NUMBER is compared nowhere else (tests/common/compat.sh
 * checks this).  Built and run with 22.05, 24.11 and 26.05.
 *
 * For plugins that Slurm loads (spank/, jobsubmit/) and their tests, and for the parts
 * of hpcbd that use Slurm's library.
 */
#ifndef HPCB_COMMON_COMPAT_H
#define HPCB_COMMON_COMPAT_H

#include <stdint.h>
#include <sys/types.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

/* Hooks and log functions cross the boundary between plugin and daemon. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
#pragma GCC visibility pop

/* job_modify() hands messages to the user since 23.02. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define HPCB_ERR_MSG_PARAMETER , char **err_msg
#define HPCB_ERR_MSG           err_msg
#else
#define HPCB_ERR_MSG_PARAMETER
#define HPCB_ERR_MSG NULL
#endif

/* From 25.05 on a plugin says whether a failing init drains the node (the default) or
 * only fails the job. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
#define HPCB_SPANK_HAS_INIT_FAILURE_MODE 1
#endif

/* Since 25.05 functions of libslurm call plugins that only slurm_init loads.  It exits
 * if slurm.conf is missing or invalid. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
#define HPCB_SLURM_INIT() slurm_init(NULL)
#else
#define HPCB_SLURM_INIT() ((void)0)
#endif

/* Since 25.11 job_desc_msg_t has the job's ID in step_id. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define HPCB_DESC_JOB_ID(job_desc) ((job_desc)->step_id.job_id)
#else
#define HPCB_DESC_JOB_ID(job_desc) ((job_desc)->job_id)
#endif

/* Since 26.05 functions of libslurm take a slurm_step_id_t for a job. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
static inline slurm_step_id_t hpcb_job_by_id(uint32_t job_id)
{
    slurm_step_id_t step_id = SLURM_STEP_ID_INITIALIZER;

    step_id.job_id = job_id;
    return step_id;
}
#else
static inline uint32_t hpcb_job_by_id(uint32_t job_id)
{
    return job_id;
}
#endif

#endif
