/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPUs that Slurm has allocated to a job.  The affinity of its processes is never used,
 * because a job can change that, to CPUs that nobody wants or to those of others.
 */
#ifndef HPCB_HPCBD_NODE_CPUS_H
#define HPCB_HPCBD_NODE_CPUS_H

#include "cgroup/node.h"
#include "hpcbd/node/registry.h"
#include "policy/cpus.h"

typedef enum {
    HPCBD_CPUS_UNKNOWN, /* no step has begun yet */
    HPCBD_CPUS_CORES,   /* Slurm's core numbers: jobs have no cpuset here */
    HPCBD_CPUS_LINUX,   /* Linux' CPU numbers */
} hpcbd_cpus_kind_t;

/* Read five small files at most.  Return the meaning of cpus; UNKNOWN leaves it
 * unchanged. */
hpcbd_cpus_kind_t hpcbd_cpus_of(const hpcb_node_t *node, const char *state_dir,
                                const hpcbd_job_t *job, hpcb_cpus_t *cpus);

#endif
