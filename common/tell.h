/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Socket of this node's hpcbd: one JSON object per packet (SOCK_SEQPACKET).  A
 * notification never blocks and may be lost: all important data are in StateDir before,
 * which hpcbd scans every few seconds.
 */
#ifndef HPCB_COMMON_TELL_H
#define HPCB_COMMON_TELL_H

#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/* Maximum length of a packet in either direction. */
#define HPCB_TELL_MAX 4096

/* Get STATE_DIR/hpcbd.sock.  Return -1 with errno ENAMETOOLONG if that is too long for
 * a socket. */
int hpcb_tell_path(const char *state_dir, char *path, size_t size);

/* Get STATE_DIR/hpcbd.root.sock, which users cannot fill. */
int hpcb_tell_root_path(const char *state_dir, char *path, size_t size);

/* Open a connection that never blocks, for root by root's own socket.  Return -1 with
 * errno (ENOENT, ECONNREFUSED: no hpcbd; EAGAIN: it is busy) and err.  The caller
 * closes it. */
int hpcb_tell_connect(const char *state_dir, hpcb_error_t *err);

/* Notify hpcbd of a change of job_id: verb "job" (new, or new tasks) or "end".  Return
 * 0 if the notification was sent, or -1 as above. */
int hpcb_tell(const char *state_dir, const char *verb, uint32_t job_id,
              hpcb_error_t *err);

/* Notify hpcbd, and wait up to timeout_ms until it has acted.  Return 0, or -1 with
 * errno (ETIMEDOUT) and err. */
int hpcb_tell_wait(const char *state_dir, const char *verb, uint32_t job_id,
                   int timeout_ms, hpcb_error_t *err);

#endif
