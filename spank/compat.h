/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm's public headers in the order in which every release compiles (spank.h of
 * 22.05 uses fixed-width types without including them), and what differs between
 * releases.
 */
#ifndef HPCB_SPANK_COMPAT_H
#define HPCB_SPANK_COMPAT_H

#include <stdint.h>
#include <sys/types.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <slurm/spank.h>

/* From 25.05 on a plugin says whether a failing init drains the node (the default) or
 * only fails the job. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
#define HPCB_SPANK_HAS_INIT_FAILURE_MODE 1
#endif

#endif
