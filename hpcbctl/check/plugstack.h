/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Search for our plugin in plugstack.conf, which is parsed like SPANK does. */
#ifndef HPCB_HPCBCTL_CHECK_PLUGSTACK_H
#define HPCB_HPCBCTL_CHECK_PLUGSTACK_H

#include <limits.h>
#include <stdbool.h>
#include "common/error.h"

#define HPCB_SPANK_FILE "hpc_balance.so"

typedef struct {
    char file[PATH_MAX]; /* of that line, which may be included */
    unsigned line;
    char plugin[PATH_MAX]; /* as written in it */
    bool required;
} hpcb_plugstack_line_t;

/*
 * Find the first line that loads a plugin called HPCB_SPANK_FILE, in path or in files
 * that it includes.  Return 1 if there is one, 0 if there is none, -1 with err if path
 * cannot be read; found is only changed if 1 is returned.
 */
int hpcb_plugstack_find(const char *path, hpcb_plugstack_line_t *found,
                        hpcb_error_t *err);

#endif
