/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Demand of programs for the profile store, from the runs in the database of records
 * with a seq above CollectorDir/learner.pos.
 */
#ifndef HPCB_HPCBD_COLLECTOR_LEARNER_RUNS_H
#define HPCB_HPCBD_COLLECTOR_LEARNER_RUNS_H

#include <stddef.h>
#include <stdint.h>
#include "common/profile.h"

#define HPCBD_LEARNER_POSITION "learner.pos"

/* Maximum number of runs read at once. */
#define HPCBD_LEARNER_RUNS 256

/* Shorter runs are ignored, because they mostly start and end. */
#define HPCBD_LEARNER_SECONDS 2

typedef struct {
    hpcb_profile_key_t key;
    hpcb_profile_run_t run;
} hpcbd_lesson_t;

/*
 * Read the next runs after position from the database in dir (CollectorDir), in the
 * order of their seq.  Return the number of useful ones, and set position to that of
 * the last one read.  *more is set if there are more.  Return 0 also if the database
 * cannot be read.
 *
 * Rates are per node.  A job that was kept from its CPUs by others would have used
 * more: time that its tasks waited for a CPU counts as CPU time, and the bytes of a
 * guest are those of the rest of its time.  A guest for which that is less than a tenth
 * is ignored for bytes.  So is a run with --bw-spread for bytes and for memory of a
 * node, because its nodes may have had fewer tasks than Slurm's default; otherwise the
 * next run would not be spread (policy/spread.h).
 */
size_t hpcbd_learner_next(const char *dir, int64_t *position,
                          hpcbd_lesson_t lessons[static HPCBD_LEARNER_RUNS],
                          bool *more);

/* Add lessons to the store at path, at now (seconds since the epoch).  Return 0, or -1
 * with err. */
int hpcbd_learner_fold(const char *path, const hpcbd_lesson_t *lessons, size_t count,
                       uint64_t now, hpcb_error_t *err);

#endif
