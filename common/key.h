/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpc-balance.key, in the directory of hpc-balance.conf: a secret that root of all
 * nodes shares. */
#ifndef HPCB_COMMON_KEY_H
#define HPCB_COMMON_KEY_H

#include <sys/types.h>
#include "common/error.h"

#define HPCB_KEY_MIN 16
#define HPCB_KEY_MAX 1024

/* Get its path for this hpc-balance.conf; path has PATH_MAX bytes.  Return 0, or -1 if
 * it is too long. */
int hpcb_key_path(const char *conf_path, char *path);

/* Read it.  Return its length, or -1 with errno and err: ENOENT if there is none; EPERM
 * if anybody except its owner, who must be root or the caller, may read it; ERANGE if
 * it has too few or too many bytes. */
ssize_t hpcb_key_read(const char *conf_path, unsigned char secret[static HPCB_KEY_MAX],
                      hpcb_error_t *err);

#endif
