/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that a guest leaves behind when it ends: files in /dev/shm, and shared memory
 * of System V.  No process has it any more, no limit counts it, and primaries lack it.
 * What logind does with RemoveIPC=yes when a user logs out.
 */
#ifndef HPCB_HPCBCTL_JOB_LEFTOVERS_H
#define HPCB_HPCBCTL_JOB_LEFTOVERS_H

#include "common/state.h"

#define HPCB_LEFTOVERS_DIR "/dev/shm"

/* Remove what the guest's user owns in dir and in shared memory and has made or changed
 * since the guest began, unless another job of the user is here, or the user is root.
 * A process of the user's does it, and is killed after two seconds: a line in the log
 * says that something stays.  Symbolic links are not followed, and other file systems
 * are left alone. */
void hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                           const char *dir);

#endif
