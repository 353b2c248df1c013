/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records of jobs (doc/record.md) as input of `hpcbctl profile learn`. */
#ifndef HPCB_HPCBCTL_PROFILE_RECORDS_H
#define HPCB_HPCBCTL_PROFILE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include "common/profile.h"
#include "common/state.h"

/* Content of one line: a run of a job. */
typedef struct {
    char cluster[HPCB_NAME_MAX];
    uint32_t job_id, restart, uid;
    uint64_t submit; /* seconds since the epoch; 0: not known */
    bool whole;      /* from the collector: of all nodes, and a later line replaces it;
                        false: of one node */
    char name[HPCB_PROFILE_NAME_MAX]; /* "": not known */
    char executable[HPCB_PROFILE_NAME_MAX];
    bool known[HPCB_PROFILE_FIGURES];
    double value[HPCB_PROFILE_FIGURES]; /* bytes/s or bytes per node; CPU: a part of its
                                           CPUs */
} hpcb_job_line_t;

/* Parse a node's record or one that the collector merged.  Return 0, or -1 with err and
 * job unchanged if line is neither. */
int hpcb_job_line_read(const char *line, hpcb_job_line_t *job, hpcb_error_t *err);

#endif
