/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The undo log: what was there before a mechanism wrote.  Written before the write
 * (StateDir/jobs/<jobid>.undo, one line an entry, O_APPEND), so that after a kill -9 at
 * any point a replay brings everything back.
 */
#ifndef HPCB_CGROUP_UNDO_H
#define HPCB_CGROUP_UNDO_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

typedef struct hpcb_undo hpcb_undo_t;

int hpcb_undo_open(const char *state_dir, uint32_t job_id, hpcb_undo_t **undo,
                   hpcb_error_t *err);
void hpcb_undo_close(hpcb_undo_t *undo);

/* A file's old content; a cgroup.procs move (the task's old directory); a task's
 * scheduling policy, nice, I/O priority, affinity, oom_score_adj. Tasks are named with
 * their start time, so that a reused pid is left alone. */
int hpcb_undo_note_file(hpcb_undo_t *undo, const char *path, const char *old,
                        hpcb_error_t *err);
int hpcb_undo_note_task(hpcb_undo_t *undo, pid_t pid, const char *attribute,
                        const char *old, hpcb_error_t *err);

/* Replay the job's log from its last line to its first, then remove it.  What has gone
 * meanwhile (task ended, group removed) is no error; a malformed line is skipped and
 * logged. Returns the number of entries undone, or -1. */
int hpcb_undo_replay(const char *state_dir, uint32_t job_id, hpcb_error_t *err);

#endif
