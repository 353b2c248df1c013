/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The end of a guest whose memory a primary needs.  Its processes are killed here, at
 * once and without Slurm; that Slurm requeues it is asked for by another process
 * (hpcbd/memory/requeues.c), for which a note is left (hpcbd/requeue.h).
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
    const char *group; /* of the cpu controller, as hpcb_exiting_lift takes it */
    uint64_t used;     /* bytes, for the note */
    bool at_once;      /* SIGKILL; else SIGTERM, and SIGKILL by the next call */
} hpcbd_ending_t;

/* Signal all processes of the job, again and again as long as new ones appear (up to
 * a limit: the next call goes on), and take back the memory of those that were killed:
 * what is private here, and shared memory by having them exit ahead of everything else.
 * first: leave the note, and tell the user, for which it waits 20 ms at most.  The
 * number of processes that were signalled, or -1 with err if there is no note. */
int hpcbd_memory_end(const hpcbd_ending_t *ending, bool first, hpcb_error_t *err);

#endif
