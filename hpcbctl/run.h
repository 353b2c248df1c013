/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Another program, run without a shell, for a bounded time and amount of output. */
#ifndef HPCB_HPCBCTL_RUN_H
#define HPCB_HPCBCTL_RUN_H

#include <stddef.h>
#include "common/error.h"

/*
 * Where name lies: the directories of $PATH, then the usual ones.  Entries of PATH
 * that are not absolute are passed over: the administrator who stands in a user's
 * directory does not run that user's scontrol.  0, or -1 with errno ENOENT and err.
 */
int hpcb_run_find(const char *name, char *path, size_t size, hpcb_error_t *err);

/*
 * Run argv[0] (a path) and collect its standard output, at most max bytes, for at most
 * timeout_ms; then it is killed with all that it started in its process group.
 * Returns its exit code with *output NUL-terminated (the caller frees it), also when
 * the code is not 0: err then holds the first line of what it wrote to stderr.  -1
 * with errno (ETIMEDOUT, EFBIG, ...) and err when it did not run to its end; *output
 * is then untouched.
 */
int hpcb_run(char *const argv[], unsigned timeout_ms, size_t max, char **output,
             hpcb_error_t *err);

#endif
