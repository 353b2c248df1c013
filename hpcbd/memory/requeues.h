/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Asks slurmctld to requeue guests of which somebody has left a note
 * (hpcbd/requeue.h).  For a process that may wait.
 */
#ifndef HPCB_HPCBD_MEMORY_REQUEUES_H
#define HPCB_HPCBD_MEMORY_REQUEUES_H

#include <stdbool.h>
#include "hpcbd/slurm_module.h"

typedef struct {
    const char *state_dir;      /* of whoever calls */
    const hpcbd_slurm_t *slurm; /* NULL: not loaded yet */
    bool no_slurm;              /* the log says so */
} hpcbd_requeues_t;

/* Carry out all notes.  Those that slurmctld has not answered stay for an hour, whoever
 * dies meanwhile. */
void hpcbd_requeues_carry_out(hpcbd_requeues_t *requeues);

#endif
