/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The two hooks that run once per job and node, as root, in a slurmstepd of their own
 * with the environment of slurmd's prolog and epilog.  slurm_spank_init is not called
 * there (22.05).
 */
#ifndef HPCB_SPANK_JOBSCRIPT_H
#define HPCB_SPANK_JOBSCRIPT_H

#include "common/compat.h"
#include "spank/args.h"

/* Record the job's class, policy and partition.  An existing record (of the Prolog
 * script) stays. */
void hpcb_spank_job_prolog(spank_t sp, const hpcb_spank_args_t *args);

/* No effect unless plugstack.conf has epilog=yes (a site without our Epilog script):
 * remove the job's groups and its record.  The record must survive otherwise, because
 * Slurm runs this hook before the Epilog script, which reads it. */
void hpcb_spank_job_epilog(spank_t sp, const hpcb_spank_args_t *args);

#endif
