/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/compat.h"
#include "common/log.h"
#include "spank/log.h"

/* slurmstepd's errors also go to the stderr of the job, which is not the place for what
 * is wrong with the node: there they are lines of the daemon's log like the others. */
static void to_slurm(hpcb_log_level_t level, const char *line)
{
    if (level == HPCB_LOG_ERROR && spank_context() != S_CTX_REMOTE)
        slurm_error("hpc_balance: %s", line);
    else if (level == HPCB_LOG_DEBUG)
        slurm_debug("hpc_balance: %s", line);
    else
        slurm_info("hpc_balance: %s", line);
}

static void to_nowhere(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

void hpcb_spank_log_on(void)
{
    hpcb_log_set_sink(to_slurm);
}

void hpcb_spank_log_off(void)
{
    hpcb_log_set_sink(to_nowhere);
}
