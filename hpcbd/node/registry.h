/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs of this node by StateDir.  The files of prolog and steps are authoritative, so
 * that a restarted daemon finds all jobs again.
 */
#ifndef HPCB_HPCBD_NODE_REGISTRY_H
#define HPCB_HPCBD_NODE_REGISTRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "cgroup/favour.h"
#include "cgroup/node.h"
#include "common/state.h"
#include "policy/window.h"

/* Maximum number of jobs; further ones are not managed. */
#define HPCBD_JOBS_MAX 1024

/* No user, for a guest without a record. */
#define HPCBD_NO_USER ((uid_t)-1)

/* Identity of a record's file, which changes if it is replaced. */
typedef struct {
    ino_t inode;
    struct timespec changed;
} hpcbd_stamp_t;

/* Whether a job takes turns (hpcbd/gang): by its partition, or by a later request. */
typedef enum {
    HPCBD_TURNS_OF_PARTITION,
    HPCBD_TURNS_JOINED,
    HPCBD_TURNS_LEFT
} hpcbd_turns_t;

typedef struct {
    hpcb_job_state_t state;
    hpcbd_stamp_t stamp; /* of the record that state was read from */
    char dir[PATH_MAX];  /* Slurm's directory of the job, "" until its first step */
    bool marked; /* guest without a record and so without a user (HPCBD_NO_USER) */
    bool seen;   /* by the present refresh */
    bool gang;   /* takes turns (hpcbd/gang/gang.h): it may be stopped though it is no
                    guest */
    hpcbd_turns_t turns;
    uint64_t guest_since_ns; /* when hpcbd/harm/guarded.c found it, CLOCK_MONOTONIC */
    uint64_t guest_program;  /* of its tag at that time; 0: not known */
    /* windows, if state.window is set */
    hpcb_window_t window;
    hpcb_favour_t *favour; /* NULL until dir is known */
    const char *no_fifo;   /* why it may not be SCHED_FIFO, at the last scan */
    bool favoured;
    bool wanted;     /* whether it should be boosted after this iteration */
    bool dirty;      /* has new tasks */
    int64_t edge_ns; /* the next switch; 0: not scheduled yet */
    int64_t due_ns;  /* the switch of this iteration; 0: none */
    uint64_t missed; /* missed switches */
} hpcbd_job_t;

typedef struct {
    hpcbd_job_t *jobs[HPCBD_JOBS_MAX]; /* sorted by number */
    size_t count;
    /* Location of marks of guests that the prolog could not record
     * (cgroup/mechanism.h).  NULL: they are ignored. */
    const hpcb_node_t *node;
    const char *guest_cgroup;
    /* Called before a job is removed. */
    void (*gone)(hpcbd_job_t *job);
} hpcbd_registry_t;

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *registry, uint32_t job_id);

/* Scan StateDir, and guests that are only marked: remove jobs that have ended, and read
 * up to loads_max records that are new or changed, so that an iteration of the loop
 * stays short.  Return true if these were all. */
bool hpcbd_registry_refresh(hpcbd_registry_t *registry, const char *state_dir,
                            unsigned loads_max);

void hpcbd_registry_remove(hpcbd_registry_t *registry, uint32_t job_id);
void hpcbd_registry_clear(hpcbd_registry_t *registry);

#endif
