/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Arguments after the plugin's path in plugstack.conf. */
#ifndef HPCB_SPANK_ARGS_H
#define HPCB_SPANK_ARGS_H

#include <stdbool.h>

/*
 * plugstack.conf belongs to the admin, so its content is trusted; therefore root=
 * exists only here and not as an environment variable.
 */
typedef struct {
    const char *conf; /* conf=PATH: hpc-balance.conf; NULL: the usual one */
    const char *root; /* root=DIR: location of proc/ and cgroup mounts ("/"); tests */
    bool epilog;      /* epilog=yes: job_epilog removes the job's traces */
} hpcb_spank_args_t;

/* Parse ac words of av, which must outlive args.  Unknown words are logged once per
 * process and ignored, because a typing error in plugstack.conf must not stop jobs. */
void hpcb_spank_args(int ac, char *av[], hpcb_spank_args_t *args);

#endif
