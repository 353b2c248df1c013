/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Undo log: the state before a mechanism writes.  It is written before the change
 * (StateDir/jobs/<jobid>.undo, one line per entry, O_APPEND), so that a replay restores
 * everything after a kill -9 at any point.  Several slurmstepds of one job append to
 * one log.
 */
#ifndef HPCB_CGROUP_UNDO_H
#define HPCB_CGROUP_UNDO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

typedef struct hpcb_undo hpcb_undo_t;

/* Open the job's log.  state_dir NULL keeps the entries in memory only, which is enough
 * for hpcb_undo_revert but not for a crash. */
int hpcb_undo_open(const char *state_dir, uint32_t job_id, hpcb_undo_t **undo,
                   hpcb_error_t *err);
void hpcb_undo_close(hpcb_undo_t *undo);

/* Assign the following entries to mechanism (a string that outlives the handle) applied
 * to task pid; hpcb_undo_revert finds them by that. */
void hpcb_undo_scope(hpcb_undo_t *undo, const char *mechanism, pid_t pid);

/* Log the old content of a file.  The caller must not write if this fails. */
int hpcb_undo_note_file(hpcb_undo_t *undo, const char *path, const char *old,
                        hpcb_error_t *err);
/* Log an old attribute of a task (cgroup/task.h); "cgroup" is the directory of the
 * group that it leaves.  The entry contains the start time of the task, so that a
 * reused pid is ignored. */
int hpcb_undo_note_task(hpcb_undo_t *undo, pid_t pid, const char *attribute,
                        const char *old, hpcb_error_t *err);

/*
 * Write the entries of this handle again if the log has been removed or replaced
 * (hpcbctl release replays and removes it while a daemon runs).  A caller that writes
 * the same knobs repeatedly calls this before each write and once more after it.  Costs
 * one fstat(2) if nothing happened.  Return 0, or -1 with err; the caller must not
 * write then.
 */
int hpcb_undo_renew(hpcb_undo_t *undo, hpcb_error_t *err);

/* Return true if an entry could not be written to the log (no space, read-only). */
bool hpcb_undo_broken(const hpcb_undo_t *undo);

/* Return true if hpcb_undo_revert has nothing to restore. */
bool hpcb_undo_empty(const hpcb_undo_t *undo);

/* Copy all entries of undo, a handle in memory, that are not reverted to the log of to.
 * Return 0, or -1 with err if not all could be logged: undo still has them, and the
 * call may be repeated. */
int hpcb_undo_hand_over(const hpcb_undo_t *undo, hpcb_undo_t *to, hpcb_error_t *err);

/*
 * Restore, newest first, what was logged through this handle for mechanism and pid, and
 * drop the entries.  The lines stay in the log, because a second replay is harmless.
 * Return 0, or -1 with err if something could not be restored.
 */
int hpcb_undo_revert(hpcb_undo_t *undo, const char *mechanism, pid_t pid,
                     hpcb_error_t *err);

/* Replay the job's log from its last line to its first, then remove it.  Tasks and
 * groups that no longer exist are no error; a malformed line is skipped and logged.
 * Return the number of entries undone, or -1 if something could not be restored: the
 * rest is restored anyway, and the log stays. */
int hpcb_undo_replay(const char *state_dir, uint32_t job_id, hpcb_error_t *err);

/* Replay the logs of all jobs below state_dir.  Return the number of entries undone, or
 * -1 with the first error if something could not be restored. */
int hpcb_undo_replay_all(const char *state_dir, hpcb_error_t *err);

/* Directory below StateDir: logs of the limits that hpcbd sets on guests' memory. */
#define HPCB_UNDO_LENT "lent"

/* Replay these logs like hpcb_undo_replay_all, with the same result: guests get back
 * the limits that Slurm gave them. */
int hpcb_undo_replay_lent(const char *state_dir, hpcb_error_t *err);

/*
 * Get the original value of attribute of the first task of the job in the log.
 * Children that are not in the log would have inherited it without us.  Return 1 with
 * old, 0 if no line has it, -1 with err if the log cannot be read.
 */
int hpcb_undo_first(const char *state_dir, uint32_t job_id, const char *attribute,
                    char *old, size_t size, hpcb_error_t *err);

#endif
