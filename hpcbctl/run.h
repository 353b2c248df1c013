/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Run of another program without a shell, with bounded time and output. */
#ifndef HPCB_HPCBCTL_RUN_H
#define HPCB_HPCBCTL_RUN_H

#include <stddef.h>
#include "common/error.h"

/*
 * Find name in the directories of $PATH, then in the usual ones.  Relative entries of
 * PATH are skipped, so that an administrator in a user's directory does not run that
 * user's scontrol.  Return 0, or -1 with errno ENOENT and err.
 */
int hpcb_run_find(const char *name, char *path, size_t size, hpcb_error_t *err);

/*
 * Run argv[0] (a path) and collect its standard output, at most max bytes, for at most
 * timeout_ms; then it is killed with its process group.  Return its exit code with
 * *output NUL-terminated (the caller frees it), also if the code is not 0: err then
 * holds the first line of its stderr.  Return -1 with errno (ETIMEDOUT, EFBIG, ...) and
 * err if it did not run to its end; *output is then unchanged.
 */
int hpcb_run(char *const argv[], unsigned timeout_ms, size_t max, char **output,
             hpcb_error_t *err);

#endif
