/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The undo log: what was there before a mechanism wrote.  Written before the write
 * (StateDir/jobs/<jobid>.undo, one line an entry, O_APPEND), so that after a kill -9 at
 * any point a replay brings everything back.  Several slurmstepds of one job append to
 * one log.
 */
#ifndef HPCB_CGROUP_UNDO_H
#define HPCB_CGROUP_UNDO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

typedef struct hpcb_undo hpcb_undo_t;

/* Open the job's log; state_dir NULL keeps the notes in memory only, which is enough
 * for hpcb_undo_revert but not for a crash. */
int hpcb_undo_open(const char *state_dir, uint32_t job_id, hpcb_undo_t **undo,
                   hpcb_error_t *err);
void hpcb_undo_close(hpcb_undo_t *undo);

/* The following notes belong to mechanism (a string that outlives the handle) applied
 * to task pid: hpcb_undo_revert finds them by that. */
void hpcb_undo_scope(hpcb_undo_t *undo, const char *mechanism, pid_t pid);

/* A file's old content.  A failure to note is a reason not to write. */
int hpcb_undo_note_file(hpcb_undo_t *undo, const char *path, const char *old,
                        hpcb_error_t *err);
/* A task's old attribute (cgroup/task.h); "cgroup" is the directory of the group that
 * it leaves.  Tasks are named with their start time, so that a reused pid is left
 * alone. */
int hpcb_undo_note_task(hpcb_undo_t *undo, pid_t pid, const char *attribute,
                        const char *old, hpcb_error_t *err);

/*
 * Write the notes of this handle again if the log has been removed or replaced since
 * (hpcbctl release replays and removes it beside a daemon that lives).  Who writes the
 * same knobs again and again calls this before a write and once more after it.  One
 * fstat(2) if nothing happened.  0, or -1 with err: a reason not to write.
 */
int hpcb_undo_renew(hpcb_undo_t *undo, hpcb_error_t *err);

/* True after a note could not be written to the log (no space, read-only). */
bool hpcb_undo_broken(const hpcb_undo_t *undo);

/* True if there is nothing that hpcb_undo_revert would put back. */
bool hpcb_undo_empty(const hpcb_undo_t *undo);

/* Note in to what undo, a handle in memory, has noted and not put back.  0, or -1 with
 * err if not all of it could be noted: then undo still has it, and may be asked again.
 */
int hpcb_undo_hand_over(const hpcb_undo_t *undo, hpcb_undo_t *to, hpcb_error_t *err);

/*
 * Put back, newest first, what was noted through this handle for mechanism and pid,
 * and forget it.  The lines stay in the log: to replay them again does no harm.  0, or
 * -1 with err when something could not be put back.
 */
int hpcb_undo_revert(hpcb_undo_t *undo, const char *mechanism, pid_t pid,
                     hpcb_error_t *err);

/* Replay the job's log from its last line to its first, then remove it.  What has gone
 * meanwhile (task ended, group removed) is no error; a malformed line is skipped and
 * logged.  Returns the number of entries undone, or -1 when there was something that
 * could not be put back: the rest is done all the same, and the log stays. */
int hpcb_undo_replay(const char *state_dir, uint32_t job_id, hpcb_error_t *err);

/* The same for every job that has a log below state_dir.  The number of entries undone,
 * or -1 with the first error when something could not be put back. */
int hpcb_undo_replay_all(const char *state_dir, hpcb_error_t *err);

/* Below StateDir: logs of the limits that hpcbd sets on guests' memory. */
#define HPCB_UNDO_LENT "lent"

/* hpcb_undo_replay_all of these: guests have the limits that Slurm gave them. */
int hpcb_undo_replay_lent(const char *state_dir, hpcb_error_t *err);

/*
 * What the first of the job's tasks that the log knows had for attribute: children that
 * no log knows had inherited it, but for us.  1 with old, 0 where no line says, -1 with
 * err where the log cannot be read.
 */
int hpcb_undo_first(const char *state_dir, uint32_t job_id, const char *attribute,
                    char *old, size_t size, hpcb_error_t *err);

#endif
