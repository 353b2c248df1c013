/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * AdminComment of jobs that have ended, in slurmdbd, because slurmctld refuses to
 * change it (ESLURM_JOB_FINISHED, 22.05 to 26.05).
 *
 * A module in the directory of the release that it was built for, because Slurm's
 * structures differ between releases.  A process that may exit or block loads it after
 * libslurm, which may do both.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_SLURM_H
#define HPCB_HPCBD_COLLECTOR_WRITER_SLURM_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef enum {
    HPCBD_DONE,
    HPCBD_NOT_ENDED,  /* slurmdbd does not know the job, or not yet its end */
    HPCBD_FAILED,     /* slurmdbd or slurmctld does not answer */
    HPCBD_NO_DBD,     /* the cluster has none */
    HPCBD_NO_REQUEUE, /* slurmctld does not know the job, or must not requeue it */
    HPCBD_RUNS_ANEW   /* another run of the job has begun, or will */
} hpcbd_outcome_t;

typedef struct {
    /* Read the comment ("" if there is none) of the last run of a job that has ended;
     * the caller frees it. */
    hpcbd_outcome_t (*get)(const char *cluster, uint32_t job_id, char **comment);

    /* Set the comment.  slurmdbd 22.05 inserts the text into SQL without quoting: it
     * must not contain apostrophes or backslashes. */
    hpcbd_outcome_t (*set)(const char *cluster, uint32_t job_id, const char *comment);

    /* Requeue a job, and add text to its comment, once for any number of requeues.
     * Return HPCBD_NO_REQUEUE for a job that cannot be requeued (--no-requeue, or no
     * batch job); it is cancelled if its processes have been killed (ended).  The
     * caller is root. */
    hpcbd_outcome_t (*requeue)(uint32_t job_id, const char *text, bool ended);

    /* Return HPCBD_DONE if the run of the job that had begun by then ended out of
     * memory; HPCBD_NOT_ENDED if it is still running anywhere, HPCBD_RUNS_ANEW if
     * another one has begun or will, HPCBD_NO_REQUEUE in all other cases. */
    hpcbd_outcome_t (*how_it_ended)(uint32_t job_id, time_t then);
} hpcbd_slurm_t;

/* The module's only symbol. */
#define HPCBD_SLURM_SYMBOL "hpcbd_slurm"

#endif
