/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The threads of a job, from its group of the cgroup2 hierarchy and the groups
 * below. */
#ifndef HPCB_SENSOR_THREADS_H
#define HPCB_SENSOR_THREADS_H

#include <stdbool.h>
#include <sys/types.h>
#include "common/error.h"

typedef struct {
    /* Return whether the threads of this group, which has some, are to be visited.
     * NULL: true. */
    bool (*enter)(ino_t group, void *arg);
    /* Called for each of them; -1 with err ends the walk. */
    int (*visit)(pid_t tid, void *arg, hpcb_error_t *err);
} hpcb_threads_visitor_t;

/* Walk over dir and the groups below.  Groups that disappear meanwhile are skipped.
 * Return 0, or -1 with errno and err. */
int hpcb_threads_each(const char *dir, const hpcb_threads_visitor_t *visitor, void *arg,
                      hpcb_error_t *err);

#endif
