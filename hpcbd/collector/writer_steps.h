/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the writer of AdminComment does, a step at a time: it takes runs from the
 * database of records, and gives their figures to slurmdbd.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_STEPS_H
#define HPCB_HPCBD_COLLECTOR_WRITER_STEPS_H

#include "hpcbd/collector/writer_queue.h"
#include "hpcbd/collector/writer_slurm.h"

typedef struct {
    uint64_t written;   /* comments set */
    uint64_t unchanged; /* that held the figures already */
    uint64_t unknown;   /* jobs that were given up: slurmdbd has not heard of their end
                           in time, or refuses their comment */
    uint64_t
        no_room; /* comments of others that leave no room, or that we cannot keep */
} hpcbd_writer_totals_t;

/* The caller sets the first four members and read; the others are 0 at first. */
typedef struct {
    const hpcbd_slurm_t *slurm;
    const char *dir;   /* CollectorDir */
    uint32_t pause_ms; /* between two questions to slurmdbd */
    int64_t read;      /* seq of the last run that was taken from the database */
    hpcbd_queue_t queue;
    hpcbd_writer_totals_t totals;
    uint64_t look_ms; /* the database is not asked before */
    uint32_t backoff_ms;
    bool away, refuses; /* the log says so */
} hpcbd_writer_t;

/* Try one run, or look for more.  now_ms is of a clock that only goes forward.  Return
 * the time in ms after which the next step is due. */
uint32_t hpcbd_writer_step(hpcbd_writer_t *writer, uint64_t now_ms);

/* Return the number (seq) up to which everything is done, for hpcbd_writer_save. */
int64_t hpcbd_writer_done(const hpcbd_writer_t *writer);

/* Ask slurmdbd whether it is there.  HPCBD_FAILED, HPCBD_NO_DBD, or another: it is. */
hpcbd_outcome_t hpcbd_writer_probe(const hpcbd_slurm_t *slurm);

/* slurmdbd or slurmctld is away.  Return the time in ms to wait for it: longer each
 * time until hpcbd_writer_recover. */
uint32_t hpcbd_writer_back_off(hpcbd_writer_t *writer);

/* slurmdbd has answered. */
void hpcbd_writer_recover(hpcbd_writer_t *writer);

#endif
