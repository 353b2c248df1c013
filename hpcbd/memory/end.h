/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * End of a guest whose memory a primary needs.  Its processes are killed here, at once
 * and without Slurm.  Another process requests its requeue from Slurm
 * (hpcbd/memory/requeues.c); a note is left for that (hpcbd/requeue.h).
 */
#ifndef HPCB_HPCBD_MEMORY_END_H
#define HPCB_HPCBD_MEMORY_END_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"

typedef struct {
    const hpcb_node_t *node;
    const char *state_dir;
    uint32_t job_id;
    uid_t uid;
    const char *steps; /* hpcb_steps_job */
    const char *group; /* of the cpu controller, for hpcb_exiting_lift */
    uint64_t used;     /* bytes, for the note */
    bool at_once;      /* SIGKILL; otherwise SIGTERM, and SIGKILL by the next call */
} hpcbd_ending_t;

/* Signal all processes of the job, repeatedly while new ones appear (up to a limit: the
 * next call continues), and reclaim the memory of killed ones: private memory here,
 * shared memory by letting them exit before everything else.  first: leave the note,
 * and notify the user, which blocks for 20 ms at most.  Return the number of signalled
 * processes, or -1 with err if there is no note. */
int hpcbd_memory_end(const hpcbd_ending_t *ending, bool first, hpcb_error_t *err);

#endif
