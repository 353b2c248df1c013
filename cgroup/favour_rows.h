/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the files of favour share; nobody else includes it. */
#ifndef HPCB_CGROUP_FAVOUR_ROWS_H
#define HPCB_CGROUP_FAVOUR_ROWS_H

#include <limits.h>
#include "cgroup/favour.h"
#include "cgroup/undo.h"

typedef struct {
    pid_t tid;
    pid_t pid;      /* its process */
    uint64_t start; /* of the process (cgroup/task.h): it and not one after it */
    int priority;
} hpcb_favour_thread_t;

typedef struct {
    const char *name;
    /* 0 where it works for the job of process pid, else -1 and why. */
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
    const char *no_fifo;     /* why, NULL: it may be used */
    const char *chosen_with; /* no_fifo, when row was chosen */
    hpcb_error_t why;
    bool favoured;
    bool overflow; /* more threads than can be looked at */
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

/* The weight row's part of hpcb_favour_release: groups of v1. */
int hpcb_favour_weight_release(const hpcb_node_t *node, const char *cgroup,
                               hpcb_error_t *err);
/* Make a thread normal if it is favoured as FIFO and still of its process. */
int hpcb_favour_let_down(const hpcb_favour_thread_t *thread);

/* The fifo row's. */
int hpcb_favour_fifo_release(const hpcb_node_t *node, hpcb_error_t *err);

#endif
