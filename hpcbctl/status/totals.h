/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What all jobs that have ended on this node add up to, for counters that never go
 * back: records leave the node when the collector has them.  SpoolDir/totals holds a
 * line a class; only root writes it.
 */
#ifndef HPCB_HPCBCTL_STATUS_TOTALS_H
#define HPCB_HPCBCTL_STATUS_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"
#include "common/state.h"

#define HPCB_N_CLASSES (HPCB_CLASS_GUEST + 1)

typedef struct {
    uint64_t jobs; /* runs of jobs that ended here */
    uint64_t cpu_us;
    uint64_t wall_us;
    uint64_t run_delay_us;
    uint64_t evictions; /* runs of guests that had been evicted before */
} hpcb_totals_t;

/* Add one job's figures to those of its class.  Waits for other epilogs a second at
 * most.  0, or -1 with nothing added.  Called by job end. */
int hpcb_totals_add(const char *spool_dir, hpcb_class_t klass,
                    const hpcb_totals_t *figures, hpcb_error_t *err);

/*
 * Make counters of totals to which the caller has added what jobs have used that are
 * here: they never go back.  What is below the figures of an earlier call is raised to
 * them (a job that is just between its state and the totals, a node that crashed),
 * unless less jobs have ended than then: somebody has removed the file totals, and all
 * begins anew.  note: the result is kept for later calls in SpoolDir/shown, which only
 * root can. 0, or -1 with err; totals are usable in either case.
 */
int hpcb_totals_show(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     bool note, hpcb_error_t *err);

/* All classes, by hpcb_class_t; all zero where nothing has ended yet.  0, or -1 with
 * totals untouched where the file is not root's or is damaged. */
int hpcb_totals_read(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     hpcb_error_t *err);

#endif
