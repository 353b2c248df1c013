/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The runs whose AdminComment is being written.  A run that fails (it was requeued and
 * has not ended again, or slurmdbd does not know it) is tried again later, and no other
 * waits for it.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_QUEUE_H
#define HPCB_HPCBD_COLLECTOR_WRITER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include "hpcbd/collector/writer_runs.h"

#define HPCBD_QUEUE_MAX 128

/* slurmctld tells slurmdbd of a job's end when it can; it is seldom behind the epilog.
 */
#define HPCBD_END_TRIES    15
#define HPCBD_END_PAUSE_MS 2000

typedef struct {
    hpcbd_writer_run_t what;
    unsigned tries;  /* that failed */
    uint64_t due_ms; /* not tried before */
} hpcbd_queued_t;

/* All zero: empty. */
typedef struct {
    size_t count;
    hpcbd_queued_t entries[HPCBD_QUEUE_MAX];
} hpcbd_queue_t;

/* Return how many more runs the queue takes. */
size_t hpcbd_queue_room(const hpcbd_queue_t *queue);

/* Add a run that is due now; the queue must have room.  slurmdbd answers for the
 * last run of the last job of an id, so only that one stays. */
void hpcbd_queue_add(hpcbd_queue_t *queue, const hpcbd_writer_run_t *what,
                     uint64_t now_ms);

/* Return the run that has been due for longest, or NULL.  The pointer holds until the
 * queue changes. */
hpcbd_queued_t *hpcbd_queue_due(hpcbd_queue_t *queue, uint64_t now_ms);

/* Return when the next run is due; UINT64_MAX if the queue is empty. */
uint64_t hpcbd_queue_next_ms(const hpcbd_queue_t *queue);

/* Remove a run. */
void hpcbd_queue_remove(hpcbd_queue_t *queue, hpcbd_queued_t *entry);

/* A try of the run has failed.  Return whether it stays; it is removed after
 * HPCBD_END_TRIES. */
bool hpcbd_queue_put_off(hpcbd_queue_t *queue, hpcbd_queued_t *entry, uint64_t now_ms);

/* Return the number (seq) up to which everything is done, if the runs up to read have
 * been added. */
int64_t hpcbd_queue_position(const hpcbd_queue_t *queue, int64_t read);

#endif
