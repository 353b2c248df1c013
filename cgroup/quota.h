/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A cpu group's CFS quota: how long its tasks may run in each period.
 */
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

/* The knob that holds it, by the cpu controller's version: with its period (v2), or
 * beside HPCB_QUOTA_PERIOD (v1). */
#define HPCB_QUOTA_PERIOD "cpu.cfs_period_us"
const char *hpcb_quota_knob(int version);

/* That of the group at dir.  0, or -1 with errno and err. */
int hpcb_quota_read(int version, const char *dir, hpcb_quota_t *quota,
                    hpcb_error_t *err);

/* What the knob takes for it. */
void hpcb_quota_text(int version, const hpcb_quota_t *quota,
                     char text[HPCB_QUOTA_TEXT_MAX]);

#endif
