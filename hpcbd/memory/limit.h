/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The memory limit of a guest's group while memory is short: below the one that Slurm
 * gave it, so that all guests together stay below what primaries leave
 * (hpcb_memguard_divide).  The groups are Slurm's own: a group of all guests above them
 * would have to be Slurm's parent of primaries too, and tasks that leave Slurm's groups
 * are lost to it.
 *
 * What Slurm had is in an undo log in StateDir/lent before it changes.  What a guard
 * that died has left behind is for hpcb_undo_replay_lent.
 */
#ifndef HPCB_HPCBD_MEMORY_LIMIT_H
#define HPCB_HPCBD_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"

/* All zero at first. */
typedef struct {
    hpcb_undo_t *undo; /* NULL: nothing was changed */
    uint64_t own;      /* bytes: Slurm's limit; UINT64_MAX: none */
    uint64_t set;      /* bytes: ours; 0: Slurm's is in force */
    uint64_t kills;    /* by the kernel for want of memory, that do not count */
    bool seen;
} hpcbd_limit_t;

/* Read what is in force in dir, the job's group of the memory controller (version 1 or
 * 2).  Slurm may have written its own again.  0, or -1 with err. */
int hpcbd_limit_look(hpcbd_limit_t *limit, int version, const char *dir,
                     hpcb_error_t *err);

/* Put bytes into force, or Slurm's limit again if bytes is not below it.  Small changes
 * are left out.  The kernel takes page cache of the group back first, and does not
 * return before, but for 20 ms at most.  0, or -1 with errno and err: EBUSY if the
 * group holds more than that, EINTR if reclaim takes longer: Slurm's or our last limit
 * stays. */
int hpcbd_limit_set(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id,
                    int version, const char *dir, uint64_t bytes, hpcb_error_t *err);

/* True if the kernel has killed a process of the group since our limit came into force,
 * since the first look, or since they were forgotten, whatever was last. */
bool hpcbd_limit_killed(hpcbd_limit_t *limit, int version, const char *dir);

/* What the kernel has killed until now is the guest's own fault. */
void hpcbd_limit_forget_kills(hpcbd_limit_t *limit, int version, const char *dir);

/* Have the kernel take back up to bytes from the group, if it can be asked to (v2,
 * Linux 5.19); page cache goes first. */
void hpcbd_limit_reclaim(int version, const char *dir, uint64_t bytes);

/* The job has gone, or is to have Slurm's limit again. */
void hpcbd_limit_end(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id);

#endif
