/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The short form of a run's record in AdminComment (doc/record.md). */
#ifndef HPCB_COMMON_JOBRECORD_H
#define HPCB_COMMON_JOBRECORD_H

#include <stdbool.h>
#include "common/record.h"

/* What the comment says of a run. */
typedef struct {
    char cluster[HPCB_NAME_MAX];
    uint32_t job_id, restart;
    hpcb_class_t klass;
    bool guests_known;
    uint64_t guests;
    double efficiency, stolen_fraction; /* below 0: not known */
    double cpu_seconds, wall_seconds;
    double mem_bandwidth, net_bandwidth; /* mean, bytes/s of a node; as efficiency */
} hpcb_run_t;

/* AdminComment holds no more bytes than this, its NUL included. */
#define HPCB_COMMENT_MAX 1024

/*
 * before (AdminComment, NULL or "": none) with the run's figures in the member "hpcb";
 * what else is there stays: members of a JSON object beside ours, another text as the
 * member "comment".  The caller frees it.  NULL with err where that does not fit
 * (EMSGSIZE), or memory runs out.
 */
char *hpcb_run_comment(const hpcb_run_t *run, const char *before, hpcb_error_t *err);

#endif
