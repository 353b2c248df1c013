/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that a guest leaves behind when it ends: files in /dev/shm, and System V
 * shared memory.  No process uses it any more, no limit counts it, and primaries lack
 * it.  logind does the same with RemoveIPC=yes when a user logs out.
 */
#ifndef HPCB_HPCBCTL_JOB_LEFTOVERS_H
#define HPCB_HPCBCTL_JOB_LEFTOVERS_H

#include "common/state.h"

#define HPCB_LEFTOVERS_DIR "/dev/shm"

/* Remove files in dir and shared memory that the guest's user owns and has created or
 * changed since the guest began, unless another job of the user is here, or the user is
 * root.  A process of the user does it, and is killed after two seconds, with a line in
 * the log about the remainder.  Symbolic links are not followed, and other file systems
 * are skipped. */
void hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                           const char *dir);

#endif
