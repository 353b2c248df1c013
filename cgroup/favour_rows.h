/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between the files of favour. */
#ifndef HPCB_CGROUP_FAVOUR_ROWS_H
#define HPCB_CGROUP_FAVOUR_ROWS_H

#include <limits.h>
#include "cgroup/favour.h"
#include "cgroup/undo.h"

typedef struct {
    pid_t tid;
    pid_t pid;      /* its process */
    uint64_t start; /* start time of the process (cgroup/task.h), which identifies it */
    int priority;
} hpcb_favour_thread_t;

typedef struct {
    const char *name;
    /* Return 0 if the mechanism works for the job of process pid, or -1 with the
     * reason. */
    int (*probe)(hpcb_favour_t *favour, pid_t pid, hpcb_error_t *err);
    int (*look)(hpcb_favour_t *favour, hpcb_error_t *err);
    int (*begin)(hpcb_favour_t *favour, hpcb_error_t *err);
    int (*end)(hpcb_favour_t *favour, hpcb_error_t *err);
    void (*close)(hpcb_favour_t *favour);
} hpcb_favour_row_t;

struct hpcb_favour {
    hpcb_favour_job_t job;
    char dir[PATH_MAX];
    char cgroup[HPCB_NAME_MAX];
    const hpcb_favour_row_t *row;
    const char *no_fifo;     /* reason; NULL: SCHED_FIFO may be used */
    const char *chosen_with; /* no_fifo at the choice of row */
    hpcb_error_t why;
    bool favoured;
    bool overflow; /* more threads than can be scanned */
    hpcb_favour_thread_t threads[HPCB_FAVOUR_THREADS_MAX];
    size_t n_threads;
    /* weight */
    char group[PATH_MAX]; /* "": none yet */
    char regular[32];
    int knob; /* hpcb_knob_write_kept */
    size_t n_processes;
    hpcb_undo_t *undo;
};

extern const hpcb_favour_row_t hpcb_favour_fifo, hpcb_favour_weight;

/* Release the groups of the weight row (v1). */
int hpcb_favour_weight_release(const hpcb_node_t *node, const char *cgroup,
                               hpcb_error_t *err);
/* Return a thread to its normal policy if it is boosted as FIFO and still of its
 * process. */
int hpcb_favour_let_down(const hpcb_favour_thread_t *thread);

/* Release the threads of the fifo row. */
int hpcb_favour_fifo_release(const hpcb_node_t *node, hpcb_error_t *err);

#endif
