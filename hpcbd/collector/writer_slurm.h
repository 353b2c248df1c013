/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * AdminComment of jobs that have ended.  slurmctld refuses to change them
 * (ESLURM_JOB_FINISHED, 22.05 to 26.05): it is slurmdbd that has them.
 *
 * A module of its own, in the directory of the release that it was built for, because
 * Slurm's structures differ between releases; it is loaded after libslurm by a process
 * that may end or wait: libslurm does both as it likes.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_SLURM_H
#define HPCB_HPCBD_COLLECTOR_WRITER_SLURM_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef enum {
    HPCBD_DONE,
    HPCBD_NOT_ENDED, /* slurmdbd has not heard of its end yet, or not of the job */
    HPCBD_FAILED,    /* slurmdbd or slurmctld does not answer */
    HPCBD_NO_DBD,    /* the cluster has none */
    HPCBD_NO_REQUEUE /* slurmctld does not know the job, or may not requeue it */
} hpcbd_outcome_t;

typedef struct {
    /* Read the comment ("" where there is none) of the last run of a job that has
     * ended; the caller frees it. */
    hpcbd_outcome_t (*get)(const char *cluster, uint32_t job_id, char **comment);

    /* Set it.  slurmdbd 22.05 puts the text into SQL as it is: it must hold neither
     * apostrophes nor backslashes. */
    hpcbd_outcome_t (*set)(const char *cluster, uint32_t job_id, const char *comment);

    /* Requeue a job, and add text to its comment, once however often the job is
     * requeued.  HPCBD_NO_REQUEUE for a job that cannot be requeued (--no-requeue, or
     * no batch job), which is cancelled if its processes have been killed (ended).  The
     * caller is root. */
    hpcbd_outcome_t (*requeue)(uint32_t job_id, const char *text, bool ended);

    /* HPCBD_DONE if the run of the job that had begun by then ended for want of memory;
     * HPCBD_NOT_ENDED if it still runs somewhere, HPCBD_NO_REQUEUE if it ended
     * otherwise, or has another run. */
    hpcbd_outcome_t (*how_it_ended)(uint32_t job_id, time_t then);
} hpcbd_slurm_t;

/* The module's only symbol. */
#define HPCBD_SLURM_SYMBOL "hpcbd_slurm"

#endif
