/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How a job is made to run ahead of everything else for a part of a second, and back:
 * the hands of coordinated windows (policy/window.h says when).
 *
 * fifo    each thread of the job becomes SCHED_FIFO, as in the Colony kernel; its
 *         slurmstepds, which serve its PMI, one step above them, or ranks that spin
 *         would starve them.  No child inherits it (SCHED_RESET_ON_FORK): a new thread
 *         is favoured after the next hpcb_favour_look.
 * weight  the job's group gets the largest weight: Slurm's directory of the job on v2,
 * a group of ours on v1, where Slurm makes none.  One write an edge, whatever the
 *         number of threads; others still get their small part.
 *
 * What a crash leaves behind is found without memory of it: FIFO threads of ours by
 * their priorities, groups by their names, other knobs by the undo log.
 */
#ifndef HPCB_CGROUP_FAVOUR_H
#define HPCB_CGROUP_FAVOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/conf.h"
#include "common/error.h"

/* Real-time priorities.  Below those of interrupt threads (50) and of hpcbd itself, so
 * that the regular part always comes. */
#define HPCB_FAVOUR_PRIORITY        2
#define HPCB_FAVOUR_PRIORITY_DAEMON 3

/* A job with more threads on this node is favoured by weight: an edge must stay short.
 */
#define HPCB_FAVOUR_THREADS_MAX 512

typedef struct {
    const hpcb_node_t *node; /* outlives the handle */
    uint32_t job_id;
    const char *dir;       /* Slurm's directory of the job (cgroup/steps.h) */
    const char *state_dir; /* of the undo log (cgroup/undo.h); NULL: in memory; outlives
                              the handle */
    const char *cgroup;    /* v1: the group is called <cgroup>_<job> */
    unsigned permille;     /* the favoured part of a period */
    hpcb_window_mechanism_t wanted;
} hpcb_favour_job_t;

typedef struct hpcb_favour hpcb_favour_t;

/* Nothing is touched yet.  0, or -1 with err. */
int hpcb_favour_open(const hpcb_favour_job_t *job, hpcb_favour_t **favour,
                     hpcb_error_t *err);

/* Back to regular, and leave nothing.  NULL is fine. */
void hpcb_favour_close(hpcb_favour_t *favour);

/* Look which threads the job has now, favour those that are new if the job is favoured,
 * and choose a mechanism where there was no process to ask for one before.  A few small
 * files a process: not at every edge.  0, or -1: errno ENOENT when the job has gone. */
int hpcb_favour_look(hpcb_favour_t *favour, hpcb_error_t *err);

/*
 * Whether SCHED_FIFO may be used, from the next look on; why, a text that outlives the
 * handle, says why not, NULL that it may (at first).  While a favoured thread waits for
 * a futex with priority inheritance, the kernel runs whoever holds it as SCHED_FIFO
 * too, and a guest of the same user may.
 */
void hpcb_favour_forbid_fifo(hpcb_favour_t *favour, const char *why);

/* One system call a thread or one write.  0, or -1 with err; end does what can be done
 * in any case. */
int hpcb_favour_begin(hpcb_favour_t *favour, hpcb_error_t *err);
int hpcb_favour_end(hpcb_favour_t *favour, hpcb_error_t *err);

/* "fifo", "weight", or "none" while there is no process or nothing works. */
const char *hpcb_favour_mechanism(const hpcb_favour_t *favour);
/* Why it is not a better one; "" where it is the best. */
const char *hpcb_favour_why(const hpcb_favour_t *favour);
size_t hpcb_favour_threads(const hpcb_favour_t *favour);

/*
 * After a crash, without any handle: make every job of this node regular and remove
 * what favour left (its undo logs below state_dir included).  Harmless where there is
 * nothing.  The number of things undone, or -1 with err when one could not be.
 */
int hpcb_favour_release(const hpcb_node_t *node, const char *state_dir,
                        const char *cgroup, hpcb_error_t *err);

#endif
