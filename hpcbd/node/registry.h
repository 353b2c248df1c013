/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The jobs of this node, as StateDir has them: what prolog and steps have written is
 * the truth, so that a restarted daemon finds all of it again.
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

/* More jobs on one node are not managed. */
#define HPCBD_JOBS_MAX 1024

/* Nobody: of a guest without a record. */
#define HPCBD_NO_USER ((uid_t)-1)

/* A record that is replaced is another file. */
typedef struct {
    ino_t inode;
    struct timespec changed;
} hpcbd_stamp_t;

/* Whether a job takes turns (hpcbd/gang): as its partition does, or as somebody has
 * said since. */
typedef enum {
    HPCBD_TURNS_OF_PARTITION,
    HPCBD_TURNS_JOINED,
    HPCBD_TURNS_LEFT
} hpcbd_turns_t;

typedef struct {
    hpcb_job_state_t state;
    hpcbd_stamp_t stamp; /* of the record that state was read from */
    char dir[PATH_MAX];  /* Slurm's directory of the job, "" until its first step */
    bool marked;         /* a guest without a record: it has no user (HPCBD_NO_USER) */
    bool seen;           /* by the refresh that is going on */
    bool gang;           /* takes turns (hpcbd/gang/gang.h): it may be stopped though it
                            is no guest */
    hpcbd_turns_t turns;
    uint64_t guest_since_ns; /* hpcbd/harm/guarded.c found it, CLOCK_MONOTONIC */
    uint64_t guest_program;  /* then, of its tag; 0: not known */
    /* windows, where state.window is set */
    hpcb_window_t window;
    hpcb_favour_t *favour; /* NULL until dir is known */
    const char *no_fifo;   /* why it may not be SCHED_FIFO, at the last look */
    bool favoured;
    bool wanted;     /* favoured is what it should be after this turn */
    bool dirty;      /* has new tasks */
    int64_t edge_ns; /* the next one; 0: not scheduled yet */
    int64_t due_ns;  /* the edge that this turn is about; 0: none */
    uint64_t missed; /* edges slept over */
} hpcbd_job_t;

typedef struct {
    hpcbd_job_t *jobs[HPCBD_JOBS_MAX]; /* by number */
    size_t count;
    /* Where the prolog marks guests that it cannot record (cgroup/mechanism.h).  NULL:
     * they are not looked for. */
    const hpcb_node_t *node;
    const char *guest_cgroup;
    /* What a job needs before it goes. */
    void (*gone)(hpcbd_job_t *job);
} hpcbd_registry_t;

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *registry, uint32_t job_id);

/* All of StateDir, and guests that are only marked: jobs that have gone go, and up to
 * loads_max records that are new or have changed are read, so that a turn of the loop
 * stays short.  True: that was all of them. */
bool hpcbd_registry_refresh(hpcbd_registry_t *registry, const char *state_dir,
                            unsigned loads_max);

void hpcbd_registry_remove(hpcbd_registry_t *registry, uint32_t job_id);
void hpcbd_registry_clear(hpcbd_registry_t *registry);

#endif
