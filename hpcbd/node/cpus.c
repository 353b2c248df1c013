/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>

#include "cgroup/steps.h"
#include "common/state.h"
#include "hpcbd/node/cpus.h"

hpcbd_cpus_kind_t hpcbd_cpus_of(const hpcb_node_t *node, const char *state_dir,
                                const hpcbd_job_t *job, hpcb_cpus_t *cpus)
{
    char cores[PATH_MAX];

    if (!job->dir[0])
        return HPCBD_CPUS_UNKNOWN;
    if (hpcb_steps_cpus(node, job->dir, cpus) == 0)
        return HPCBD_CPUS_LINUX;
    if (hpcb_state_load_cores(state_dir, job->state.job_id, cores, sizeof(cores),
                              NULL) == 0 &&
        hpcb_cpus_parse(cores, cpus) == 0)
        return HPCBD_CPUS_CORES;
    return HPCBD_CPUS_UNKNOWN;
}
