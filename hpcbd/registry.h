/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The jobs of this node, as StateDir has them: what prolog and steps have written is
 * the truth, so that a restarted daemon finds all of it again.
 */
#ifndef HPCB_HPCBD_REGISTRY_H
#define HPCB_HPCBD_REGISTRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "cgroup/favour.h"
#include "common/state.h"
#include "policy/window.h"

/* More jobs on one node are not managed. */
#define HPCBD_JOBS_MAX 1024

typedef struct {
    hpcb_job_state_t state;
    char dir[PATH_MAX]; /* Slurm's directory of the job, "" until its first step */
    bool seen;          /* by the refresh that is going on */
    /* windows, where state.window is set */
    hpcb_window_t window;
    hpcb_favour_t *favour; /* NULL until dir is known */
    bool favoured;
    bool dirty;      /* has new tasks */
    int64_t edge_ns; /* the next one; 0: not scheduled yet */
    uint64_t missed; /* edges slept over */
} hpcbd_job_t;

typedef struct {
    hpcbd_job_t *jobs[HPCBD_JOBS_MAX];
    size_t count;
    /* What a job needs before it goes. */
    void (*gone)(hpcbd_job_t *job);
} hpcbd_registry_t;

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *registry, uint32_t job_id);

/* Read one job's files; it is added, updated, or removed when there is no record. NULL
 * when there is none, or too many jobs. */
hpcbd_job_t *hpcbd_registry_load(hpcbd_registry_t *registry, const char *state_dir,
                                 uint32_t job_id);

/* All of StateDir. */
void hpcbd_registry_refresh(hpcbd_registry_t *registry, const char *state_dir);

void hpcbd_registry_remove(hpcbd_registry_t *registry, uint32_t job_id);
void hpcbd_registry_clear(hpcbd_registry_t *registry);

#endif
