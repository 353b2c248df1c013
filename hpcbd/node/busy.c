/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>

#include "common/cleanup.h"
#include "hpcbd/node/busy.h"
#include "sensor/meter.h"
#include "sensor/stat.h"

#define EVERY_US UINT64_C(2000000)

void hpcbd_busy_sample(hpcb_busy_t *busy, const hpcb_node_t *node,
                       const hpcbd_job_t *job, uint64_t now_us)
{
    hpcb_autoclose int fd = -1;
    char dir[PATH_MAX];
    uint64_t usage;

    if ((busy->begun && now_us - busy->time_us < EVERY_US) ||
        hpcb_meter_group(node, job->state.job_id, job->dir[0] ? job->dir : NULL, dir,
                         sizeof(dir), NULL) < 0)
        return;
    fd = hpcb_stat_open(dir, "cpu.stat", NULL);
    if (fd >= 0 && hpcb_stat_number(fd, "usage_usec ", &usage, NULL) == 0)
        hpcb_busy_add(busy, usage, now_us);
}
