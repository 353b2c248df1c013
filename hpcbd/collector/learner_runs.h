/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the runs of the database of records say of their programs' demand, for the
 * profile store: those with a larger seq than CollectorDir/learner.pos says.
 */
#ifndef HPCB_HPCBD_COLLECTOR_LEARNER_RUNS_H
#define HPCB_HPCBD_COLLECTOR_LEARNER_RUNS_H

#include <stddef.h>
#include <stdint.h>
#include "common/profile.h"

#define HPCBD_LEARNER_POSITION "learner.pos"

/* Runs that are read together. */
#define HPCBD_LEARNER_RUNS 256

/* Shorter runs say little: starting and ending is most of them. */
#define HPCBD_LEARNER_SECONDS 2

typedef struct {
    hpcb_profile_key_t key;
    hpcb_profile_run_t run;
} hpcbd_lesson_t;

/*
 * Read the next runs behind position of the database in dir (CollectorDir), in the
 * order of their seq: the number of those that say something, and position, which is
 * then that of the last one that was read.  *more is set if there are more.  0 also if
 * the database cannot be read.
 *
 * Rates are per node.  A job that was kept off its CPUs by others would have used
 * more: time that its tasks waited for a CPU counts as CPU time, and the bytes of a
 * guest are those of the rest of its time.  A guest of which that is less than a tenth
 * says nothing about bytes.  Nor does a run whose nodes may have had fewer tasks than
 * Slurm would put there (--bw-spread), nor about a node's memory: those figures are of
 * a node with all of them, or the next run would not be spread (policy/spread.h).
 */
size_t hpcbd_learner_next(const char *dir, int64_t *position,
                          hpcbd_lesson_t lessons[static HPCBD_LEARNER_RUNS],
                          bool *more);

/* Fold lessons into the store at path, at now (seconds since the epoch).  0, or -1 with
 * err. */
int hpcbd_learner_fold(const char *path, const hpcbd_lesson_t *lessons, size_t count,
                       uint64_t now, hpcb_error_t *err);

#endif
