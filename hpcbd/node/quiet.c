/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/state.h"
#include "hpcbd/node/quiet.h"

/* Of the CPUs: more than the daemons of an idle node use. */
#define BUSY       0.05
#define BUSY_LEAST 0.5

static int found(const hpcb_job_state_t *job, void *arg)
{
    (void)job;
    (void)arg;
    return 1;
}

bool hpcbd_has_jobs(const char *state_dir)
{
    return hpcb_state_each(state_dir, found, NULL, NULL) != 0;
}

bool hpcbd_is_busy(void)
{
    double limit = BUSY * (double)sysconf(_SC_NPROCESSORS_ONLN), load;

    return getloadavg(&load, 1) != 1 ||
           load > (limit > BUSY_LEAST ? limit : BUSY_LEAST);
}
