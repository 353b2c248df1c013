/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Runs whose AdminComment is being written.  A run that fails (it was requeued and has
 * not ended again, or slurmdbd does not know it) is retried later and does not delay
 * the others.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_QUEUE_H
#define HPCB_HPCBD_COLLECTOR_WRITER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include "hpcbd/collector/writer_runs.h"

#define HPCBD_QUEUE_MAX 128

/* slurmctld notifies slurmdbd of a job's end with a delay, which seldom exceeds that of
 * the epilog. */
#define HPCBD_END_TRIES    15
#define HPCBD_END_PAUSE_MS 2000

typedef struct {
    hpcbd_writer_run_t what;
    unsigned tries;  /* failed attempts */
    uint64_t due_ms; /* earliest time of the next attempt */
} hpcbd_queued_t;

/* All zero: empty. */
typedef struct {
    size_t count;
    hpcbd_queued_t entries[HPCBD_QUEUE_MAX];
} hpcbd_queue_t;

/* Return how many more runs the queue accepts. */
size_t hpcbd_queue_room(const hpcbd_queue_t *queue);

/* Add a run that is due now; the queue must not be full.  slurmdbd only knows the last
 * run of the last job of an ID, so earlier ones are removed. */
void hpcbd_queue_add(hpcbd_queue_t *queue, const hpcbd_writer_run_t *what,
                     uint64_t now_ms);

/* Return the run that has been due longest, or NULL.  The pointer is valid until the
 * queue changes. */
hpcbd_queued_t *hpcbd_queue_due(hpcbd_queue_t *queue, uint64_t now_ms);

/* Return the time at which the next run is due; UINT64_MAX if the queue is empty. */
uint64_t hpcbd_queue_next_ms(const hpcbd_queue_t *queue);

/* Remove a run. */
void hpcbd_queue_remove(hpcbd_queue_t *queue, hpcbd_queued_t *entry);

/* Note a failed attempt.  Return whether the run stays; it is removed after
 * HPCBD_END_TRIES. */
bool hpcbd_queue_put_off(hpcbd_queue_t *queue, hpcbd_queued_t *entry, uint64_t now_ms);

/* Return the number (seq) up to which all runs are done, if the runs up to read have
 * been added. */
int64_t hpcbd_queue_position(const hpcbd_queue_t *queue, int64_t read);

#endif
