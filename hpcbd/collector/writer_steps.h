/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Steps of the writer of AdminComment: read runs from the database of records, and send
 * their figures to slurmdbd.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_STEPS_H
#define HPCB_HPCBD_COLLECTOR_WRITER_STEPS_H

#include "hpcbd/collector/writer_queue.h"
#include "hpcbd/collector/writer_slurm.h"

typedef struct {
    uint64_t written;   /* comments set */
    uint64_t unchanged; /* already had the figures */
    uint64_t unknown; /* jobs that were given up: slurmdbd did not know of their end in
                         time, or refuses their comment */
    uint64_t no_room; /* comments of others that leave no space or cannot be kept */
} hpcbd_writer_totals_t;

/* The caller sets the first four members and read; the others are initially 0. */
typedef struct {
    const hpcbd_slurm_t *slurm;
    const char *dir;   /* CollectorDir */
    uint32_t pause_ms; /* between two requests to slurmdbd */
    int64_t read;      /* seq of the last run read from the database */
    hpcbd_queue_t queue;
    hpcbd_writer_totals_t totals;
    uint64_t look_ms; /* time of the next read of the database */
    uint32_t backoff_ms;
    bool away, refuses; /* logged */
} hpcbd_writer_t;

/* Process one run, or read more.  now_ms is of a monotonic clock.  Return the time in
 * ms after which the next step is due. */
uint32_t hpcbd_writer_step(hpcbd_writer_t *writer, uint64_t now_ms);

/* Return the number (seq) up to which all runs are done, for hpcbd_writer_save. */
int64_t hpcbd_writer_done(const hpcbd_writer_t *writer);

/* Check whether slurmdbd is available.  It is unless the result is HPCBD_FAILED or
 * HPCBD_NO_DBD. */
hpcbd_outcome_t hpcbd_writer_probe(const hpcbd_slurm_t *slurm);

/* Note that slurmdbd or slurmctld is not available.  Return the time in ms to wait for
 * it, which grows until hpcbd_writer_recover. */
uint32_t hpcbd_writer_back_off(hpcbd_writer_t *writer);

/* Note that slurmdbd has answered. */
void hpcbd_writer_recover(hpcbd_writer_t *writer);

#endif
