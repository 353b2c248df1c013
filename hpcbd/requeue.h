/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Notes of guests that Slurm is to requeue: files in StateDir/ended, from the part that
 * decides it to the process that communicates with slurmctld (hpcbd/memory/requeues.c)
 * and may block.  They stay until slurmctld has answered, also if processes die.
 */
#ifndef HPCB_HPCBD_REQUEUE_H
#define HPCB_HPCBD_REQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

#define HPCBD_REQUEUE_DIR "ended"

/* Texts for the user, in the output of the guest and in the job's comment. */
#define HPCBD_MEMORY_TEXT  "guest ended: a primary needed its memory"
#define HPCBD_STARVED_TEXT "guest starved: primaries left it no CPU time"
#define HPCBD_HARM_TEXT    "guest went: it slowed a primary down"
#define HPCBD_LARGE_TEXT   "guest went: it had too many tasks on a node"

typedef enum {
    HPCBD_REQUEUE_MEMORY,  /* its processes have been killed: StateDir/ended/<jobid> */
    HPCBD_REQUEUE_STARVED, /* it runs: StateDir/ended/<jobid>.starved */
    HPCBD_REQUEUE_HARM,    /* it runs: StateDir/ended/<jobid>.harm */
    HPCBD_REQUEUE_LARGE,   /* it runs: StateDir/ended/<jobid>.large */
    HPCBD_REQUEUE_KILLED,  /* it has ended; only if Slurm's state is out of memory:
                              StateDir/ended/<jobid>.killed, written and read by
                              hpcbd/memory/killed.h */
    HPCBD_REQUEUE_REASONS
} hpcbd_requeue_t;

/* Leave a note; figure (bytes, microseconds of CPU time that the guest lacks, or
 * stopped groups of its tasks) is for admins.  Return 0, or -1 with errno and err. */
int hpcbd_requeue_note(const char *state_dir, uint32_t job_id, hpcbd_requeue_t reason,
                       uint64_t figure, hpcb_error_t *err);

/* Get the path of the note.  Return 0, or -1 with err if it is too long. */
int hpcbd_requeue_path(const char *state_dir, uint32_t job_id, hpcbd_requeue_t reason,
                       char *path, size_t size, hpcb_error_t *err);

/* Get job and reason from the name of a note.  Return 0, or -1 for another file. */
int hpcbd_requeue_parse(const char *name, uint32_t *job_id, hpcbd_requeue_t *reason);

const char *hpcbd_requeue_text(hpcbd_requeue_t reason);

#endif
