/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The arguments behind the plugin's path in plugstack.conf. */
#ifndef HPCB_SPANK_ARGS_H
#define HPCB_SPANK_ARGS_H

#include <stdbool.h>

/*
 * plugstack.conf belongs to the admin, so what stands there is trusted; for the same
 * reason root= exists only here and not as an environment variable.
 */
typedef struct {
    const char *conf; /* conf=PATH: hpc-balance.conf, NULL = look for it */
    const char *root; /* root=DIR: where proc/ and the cgroup mounts are ("/"); tests */
    bool epilog;      /* epilog=yes: job_epilog removes the job's traces */
} hpcb_spank_args_t;

/* Read ac words of av, which must outlive args.  What is not understood is logged once
 * per process and left out: a typing error in plugstack.conf must stop no job. */
void hpcb_spank_args(int ac, char *av[], hpcb_spank_args_t *args);

#endif
