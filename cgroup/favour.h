/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Boost of a job over everything else for a part of a second: the actuators of
 * coordinated windows (policy/window.h computes the times).
 *
 *   fifo    Each thread of the job becomes SCHED_FIFO, as in the Colony kernel.  Its
 *           slurmstepds, which serve its PMI, get a priority one higher, or ranks that
 *           spin would starve them.  No child inherits it (SCHED_RESET_ON_FORK): a new
 *           thread is boosted after the next hpcb_favour_look.
 *   weight  The job's group gets the largest weight: Slurm's directory of the job on
 *           v2, a group of ours on v1, where Slurm makes none.  This takes one write
 *           per switch for any number of threads; other tasks keep a small part.
 *
 * After a crash everything is found without stored state: our FIFO threads by their
 * priorities, groups by their names, other knobs by the undo log.
 */
#ifndef HPCB_CGROUP_FAVOUR_H
#define HPCB_CGROUP_FAVOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/conf.h"
#include "common/error.h"

/* Real-time priorities, below those of interrupt threads (50) and of hpcbd itself, so
 * that the regular part always begins. */
#define HPCB_FAVOUR_PRIORITY        2
#define HPCB_FAVOUR_PRIORITY_DAEMON 3

/* A job with more threads on this node is boosted by weight, so that a switch stays
 * short. */
#define HPCB_FAVOUR_THREADS_MAX 512

typedef struct {
    const hpcb_node_t *node; /* must outlive the handle */
    uint32_t job_id;
    const char *dir;       /* Slurm's directory of the job (cgroup/steps.h) */
    const char *state_dir; /* of the undo log, outlives the handle; NULL: in memory */
    const char *cgroup;    /* v1: the group is called <cgroup>_<job> */
    unsigned permille;     /* the boosted part of a period */
    hpcb_window_mechanism_t wanted;
} hpcb_favour_job_t;

typedef struct hpcb_favour hpcb_favour_t;

/* Open a handle without changing the job.  Return 0, or -1 with err. */
int hpcb_favour_open(const hpcb_favour_job_t *job, hpcb_favour_t **favour,
                     hpcb_error_t *err);

/* End the boost and remove everything.  favour may be NULL. */
void hpcb_favour_close(hpcb_favour_t *favour);

/* Scan the threads of the job, boost new ones if the job is boosted, and choose a
 * mechanism if the job had no process before.  Reads a few small files per process, so
 * not for every switch.  Return 0, or -1; errno is ENOENT if the job has ended. */
int hpcb_favour_look(hpcb_favour_t *favour, hpcb_error_t *err);

/*
 * Forbid SCHED_FIFO from the next scan on, with the reason why, a text that outlives
 * the handle; NULL allows it (the default).  While a boosted thread waits for a futex
 * with priority inheritance, the kernel runs the owner as SCHED_FIFO too, which may be
 * a guest of the same user.
 */
void hpcb_favour_forbid_fifo(hpcb_favour_t *favour, const char *why);

/* Begin or end the boost, with one system call per thread or one write.  Return 0, or
 * -1 with err; hpcb_favour_end does as much as possible in any case. */
int hpcb_favour_begin(hpcb_favour_t *favour, hpcb_error_t *err);
int hpcb_favour_end(hpcb_favour_t *favour, hpcb_error_t *err);

/* Return "fifo", "weight", or "none" while there is no process or no mechanism
 * works. */
const char *hpcb_favour_mechanism(const hpcb_favour_t *favour);
/* Return why no better mechanism is used; "" if it is the best one. */
const char *hpcb_favour_why(const hpcb_favour_t *favour);
size_t hpcb_favour_threads(const hpcb_favour_t *favour);

/*
 * After a crash, without a handle: end the boost of every job of this node and remove
 * what is left (including undo logs below state_dir).  Harmless if there is nothing.
 * Return the number of changes undone, or -1 with err if one could not be undone.
 */
int hpcb_favour_release(const hpcb_node_t *node, const char *state_dir,
                        const char *cgroup, hpcb_error_t *err);

#endif
