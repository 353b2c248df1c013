/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sums over all jobs that have ended on this node, for counters that never decrease,
 * because records leave the node once the collector has them.  SpoolDir/totals has one
 * line per class; only root writes it.
 */
#ifndef HPCB_HPCBCTL_STATUS_TOTALS_H
#define HPCB_HPCBCTL_STATUS_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"
#include "common/state.h"

#define HPCB_N_CLASSES (HPCB_CLASS_GUEST + 1)

typedef struct {
    uint64_t jobs; /* runs of jobs that ended on this node */
    uint64_t cpu_us;
    uint64_t wall_us;
    uint64_t run_delay_us;
    uint64_t evictions; /* runs of guests that had been evicted before */
} hpcb_totals_t;

/* Add one job's figures to those of its class.  Waits a second at most for other
 * epilogs.  Return 0, or -1 with nothing added.  Called by job end. */
int hpcb_totals_add(const char *spool_dir, hpcb_class_t klass,
                    const hpcb_totals_t *figures, hpcb_error_t *err);

/*
 * Turn totals, to which the caller has added the usage of present jobs, into counters
 * that never decrease: figures below those of an earlier call are raised to them (a job
 * between its state and the totals, a node that crashed), unless fewer jobs have ended
 * than then, because the file totals was removed and everything starts anew.  note:
 * store the result in SpoolDir/shown for later calls, which only root can.  Return 0,
 * or -1 with err; totals are usable in either case.
 */
int hpcb_totals_show(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     bool note, hpcb_error_t *err);

/* Read all classes, by hpcb_class_t; all zero if no job has ended yet.  Return 0, or -1
 * with totals unchanged if the file is not root's or is damaged. */
int hpcb_totals_read(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     hpcb_error_t *err);

#endif
