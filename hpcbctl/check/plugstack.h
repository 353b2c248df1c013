/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* plugstack.conf as SPANK reads it, searched for our plugin. */
#ifndef HPCB_HPCBCTL_CHECK_PLUGSTACK_H
#define HPCB_HPCBCTL_CHECK_PLUGSTACK_H

#include <limits.h>
#include <stdbool.h>
#include "common/error.h"

#define HPCB_SPANK_FILE "hpc_balance.so"

typedef struct {
    char file[PATH_MAX]; /* where the line is: it may have been included */
    unsigned line;
    char plugin[PATH_MAX]; /* as written there */
    bool required;
} hpcb_plugstack_line_t;

/*
 * The first line that loads a plugin called HPCB_SPANK_FILE, in path or in what it
 * includes.  Returns 1 when there is one, 0 when there is none, -1 with err when path
 * cannot be read; found is untouched unless 1 is returned.
 */
int hpcb_plugstack_find(const char *path, hpcb_plugstack_line_t *found,
                        hpcb_error_t *err);

#endif
