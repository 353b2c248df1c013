/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the verbs of `hpcbctl profile` share. */
#ifndef HPCB_HPCBCTL_PROFILE_PROFILE_H
#define HPCB_HPCBCTL_PROFILE_PROFILE_H

#include <limits.h>
#include <stdint.h>
#include "common/profile.h"
#include "hpcbctl/verbs.h"

#define HPCB_EXIT_USAGE 2

/* The store that hpc-balance.conf names.  0, or -1 after a line. */
int hpcb_profile_path(const hpcb_ctl_t *ctl, char path[static PATH_MAX]);

/* The uid of --user, a name or a number.  0, or -1 after a line: no such user. */
int hpcb_profile_uid(const char *user, uint32_t *uid);

/* A line about the command line; returns HPCB_EXIT_USAGE. */
int hpcb_profile_usage(const char *verb, const char *what);

#endif
