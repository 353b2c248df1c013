/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The users' options in SPANK. */
#ifndef HPCB_SPANK_USEROPTS_H
#define HPCB_SPANK_USEROPTS_H

#include "common/compat.h"
#include "common/options.h"

/* Register every option with Slurm; only from slurm_spank_init.  Return 0, or -1
 * (logged). */
int hpcb_spank_options_register(spank_t sp);

/*
 * In srun, sbatch and salloc only, from init_post_opt, before the submission: if a
 * value is malformed, or two options exclude each other, print one line and end the
 * command.  If the option's callback failed, Slurm would also end it, but with a second
 * line that repeats the value, whatever it contains; the result of init_post_opt is
 * ignored for an `optional` plugin.  In slurmstepd invalid values are dropped: they are
 * a user's text that did not pass through a command.
 */
void hpcb_spank_options_enforce(void);

/* Return the options so far: in slurmstepd the step's own options, from init_post_opt
 * on.  Not trusted. */
const hpcb_options_t *hpcb_spank_options(void);

/* Get the options of the job's submission; only in job_prolog and job_epilog, where
 * options must not be registered (a registered one is taken from parsed arguments, and
 * there are none). */
void hpcb_spank_options_of_job(spank_t sp, hpcb_options_t *options);

#endif
