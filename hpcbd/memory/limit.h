/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory limit of a guest's group while memory is short: below the one that Slurm set,
 * so that all guests together stay below what primaries leave (hpcb_memguard_divide).
 * The groups are Slurm's own: a common group of all guests would have to be Slurm's
 * parent of primaries too, and Slurm loses tasks that leave its groups.
 *
 * Slurm's value is stored in an undo log in StateDir/lent before the change.
 * hpcb_undo_replay_lent restores the limits after a guard has died.
 */
#ifndef HPCB_HPCBD_MEMORY_LIMIT_H
#define HPCB_HPCBD_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"

/* Initially all zero. */
typedef struct {
    hpcb_undo_t *undo; /* NULL: nothing was changed */
    uint64_t own;      /* bytes: Slurm's limit; UINT64_MAX: none */
    uint64_t set;      /* bytes: ours; 0: Slurm's is in force */
    uint64_t kills;    /* by the kernel because of memory, that do not count */
    bool seen;
} hpcbd_limit_t;

/* Read the limit in force in dir, the job's group of the memory controller (version 1
 * or 2).  Slurm may have set its own again.  Return 0, or -1 with err. */
int hpcbd_limit_look(hpcbd_limit_t *limit, int version, const char *dir,
                     hpcb_error_t *err);

/* Set bytes, or Slurm's limit again if bytes is not below it.  Small changes are
 * skipped.  The kernel first reclaims page cache of the group, which blocks for 20 ms
 * at most.  Return 0, or -1 with errno and err: EBUSY if the group uses more than that,
 * EINTR if reclaim takes longer: Slurm's or our last limit stays. */
int hpcbd_limit_set(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id,
                    int version, const char *dir, uint64_t bytes, hpcb_error_t *err);

/* Return true if the kernel has killed a process of the group since our limit came
 * into force, since the first hpcbd_limit_look, or since hpcbd_limit_forget_kills,
 * whichever was last. */
bool hpcbd_limit_killed(hpcbd_limit_t *limit, int version, const char *dir);

/* Attribute the kernel's kills so far to the guest itself. */
void hpcbd_limit_forget_kills(hpcbd_limit_t *limit, int version, const char *dir);

/* Request reclaim of up to bytes from the group, if the kernel supports it (v2, Linux
 * 5.19); page cache goes first.  Blocks for 20 ms at most.  Return the requested bytes,
 * a part of bytes on v2; on v1 bytes, for which the caller lowers the limit. */
uint64_t hpcbd_limit_reclaim(int version, const char *dir, uint64_t bytes);

/* End the limit, because the job has ended or gets Slurm's limit again. */
void hpcbd_limit_end(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id);

#endif
