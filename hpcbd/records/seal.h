/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MUNGE credentials: who on the cluster has written a text, which only its reader can
 * open, once and for a short time.
 */
#ifndef HPCB_HPCBD_RECORDS_SEAL_H
#define HPCB_HPCBD_RECORDS_SEAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Put length bytes of text into a credential that root, or this process' own user where
 * that is not root, can open.  The caller frees it; NULL with err. */
char *hpcbd_seal(const char *text, size_t length, hpcb_error_t *err);

/*
 * Open a credential.  The text that was in it (NUL-terminated; the caller frees it), or
 * NULL with err: munged does not answer (errno EAGAIN: it may later), it is none, has
 * been opened before, is too old, or its writer is neither root nor the user of this
 * process (EPERM).
 */
char *hpcbd_unseal(const char *credential, hpcb_error_t *err);

#endif
