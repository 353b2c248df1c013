/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The socket of this node's hpcbd: one JSON object a packet (SOCK_SEQPACKET).  Telling
 * it something never waits and may be lost: all that matters is in StateDir before, and
 * hpcbd looks there by itself every few seconds.
 */
#ifndef HPCB_COMMON_TELL_H
#define HPCB_COMMON_TELL_H

#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/* No packet is longer, in either direction. */
#define HPCB_TELL_MAX 4096

/* STATE_DIR/hpcbd.sock; -1 with errno ENAMETOOLONG where a socket cannot be called so.
 */
int hpcb_tell_path(const char *state_dir, char *path, size_t size);

/* The same for STATE_DIR/hpcbd.root.sock, which users cannot fill. */
int hpcb_tell_root_path(const char *state_dir, char *path, size_t size);

/* A connection that never blocks, for root by root's own socket; -1 with errno (ENOENT,
 * ECONNREFUSED: no hpcbd; EAGAIN: it is busy) and err.  The caller closes it. */
int hpcb_tell_connect(const char *state_dir, hpcb_error_t *err);

/* Say that something about job_id has changed: verb "job" (new, or new tasks) or "end".
 * 0 when it is on its way, or -1 as above. */
int hpcb_tell(const char *state_dir, const char *verb, uint32_t job_id,
              hpcb_error_t *err);

/* The same, and wait up to timeout_ms until it has been done.  0, or -1 with errno
 * (ETIMEDOUT) and err. */
int hpcb_tell_wait(const char *state_dir, const char *verb, uint32_t job_id,
                   int timeout_ms, hpcb_error_t *err);

#endif
