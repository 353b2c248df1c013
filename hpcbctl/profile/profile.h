/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Common code of the verbs of `hpcbctl profile`. */
#ifndef HPCB_HPCBCTL_PROFILE_PROFILE_H
#define HPCB_HPCBCTL_PROFILE_PROFILE_H

#include <limits.h>
#include <stdint.h>
#include "common/profile.h"
#include "hpcbctl/verbs.h"

#define HPCB_EXIT_USAGE 2

/* Get the store of hpc-balance.conf.  Return 0, or -1 after an error line. */
int hpcb_profile_path(const hpcb_ctl_t *ctl, char path[static PATH_MAX]);

/* Get the uid of --user, a name or a number.  Return 0, or -1 after an error line: no
 * such user. */
int hpcb_profile_uid(const char *user, uint32_t *uid);

/* Print a line about the command line; return HPCB_EXIT_USAGE. */
int hpcb_profile_usage(const char *verb, const char *what);

#endif
