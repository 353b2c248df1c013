/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MUNGE credentials, which authenticate the writer of a text and can only be decoded by
 * its reader, once and for a short time.
 */
#ifndef HPCB_HPCBD_RECORDS_SEAL_H
#define HPCB_HPCBD_RECORDS_SEAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Encode length bytes of text into a credential that root, or this process' own user if
 * that is not root, can decode.  The caller frees it; NULL with err on failure. */
char *hpcbd_seal(const char *text, size_t length, hpcb_error_t *err);

/*
 * Decode a credential.  Return its text (NUL-terminated; the caller frees it), or NULL
 * with err: munged does not answer (errno EAGAIN: it may later), the credential is
 * invalid, was decoded before or is too old, or its writer is neither root nor the user
 * of this process (EPERM).
 */
char *hpcbd_unseal(const char *credential, hpcb_error_t *err);

#endif
