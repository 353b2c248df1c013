/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The users' options as SPANK carries them. */
#ifndef HPCB_SPANK_USEROPTS_H
#define HPCB_SPANK_USEROPTS_H

#include "common/compat.h"
#include "common/options.h"

/* Register every option with Slurm; only from slurm_spank_init.  0, or -1 (logged). */
int hpcb_spank_options_register(spank_t sp);

/*
 * In srun, sbatch and salloc only, from init_post_opt, which comes before anything is
 * submitted: when a value is malformed, or two options exclude each other, say so in
 * one line and end the command.  Slurm would also end it when the option's callback
 * fails, but with a second line of its own that repeats the value, whatever is in it;
 * what init_post_opt returns it ignores for an `optional` plugin.  In slurmstepd bad
 * values are dropped: they are a user's text that did not pass through a command.
 */
void hpcb_spank_options_enforce(void);

/* What was given so far: the step's own options in slurmstepd, from init_post_opt on.
 * Not to be trusted. */
const hpcb_options_t *hpcb_spank_options(void);

/* The options with which the job was submitted; only in job_prolog and job_epilog,
 * where options must not have been registered (a registered one is looked up among
 * parsed arguments, and there are none). */
void hpcb_spank_options_of_job(spank_t sp, hpcb_options_t *options);

#endif
