/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* CFS quota of a cpu group: run time of its tasks in each period. */
#ifndef HPCB_CGROUP_QUOTA_H
#define HPCB_CGROUP_QUOTA_H

#include <stdint.h>
#include "common/error.h"

#define HPCB_QUOTA_NONE     UINT64_MAX
#define HPCB_QUOTA_TEXT_MAX 64

typedef struct {
    uint64_t us; /* of CPU time in each period, or HPCB_QUOTA_NONE */
    uint64_t period_us;
} hpcb_quota_t;

/* Return the name of the knob, by version of the cpu controller: it includes the period
 * (v2), or HPCB_QUOTA_PERIOD holds it (v1). */
#define HPCB_QUOTA_PERIOD "cpu.cfs_period_us"
const char *hpcb_quota_knob(int version);

/* Read the quota of the group at dir.  Return 0, or -1 with errno and err. */
int hpcb_quota_read(int version, const char *dir, hpcb_quota_t *quota,
                    hpcb_error_t *err);

/* Write the text for the knob. */
void hpcb_quota_text(int version, const hpcb_quota_t *quota,
                     char text[HPCB_QUOTA_TEXT_MAX]);

#endif
