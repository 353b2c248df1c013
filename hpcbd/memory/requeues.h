/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Requests to slurmctld to requeue the guests for which there are notes
 * (hpcbd/requeue.h).  For a process that may block.
 */
#ifndef HPCB_HPCBD_MEMORY_REQUEUES_H
#define HPCB_HPCBD_MEMORY_REQUEUES_H

#include <stdbool.h>
#include "hpcbd/slurm_module.h"

typedef struct {
    const char *state_dir;      /* of the calling process */
    const hpcbd_slurm_t *slurm; /* NULL: not loaded yet */
    bool no_slurm;              /* logged */
} hpcbd_requeues_t;

/* Process all notes.  Those that slurmctld has not answered stay for an hour, also if
 * processes die. */
void hpcbd_requeues_carry_out(hpcbd_requeues_t *requeues);

#endif
