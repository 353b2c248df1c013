/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs of this node that take turns: one set of primaries and one of guests.  The
 * number of files read for them is bounded: a few jobs at a time, those that have
 * waited longest first, so that neither many jobs nor jobs with many steps delay the
 * loop's switches.
 */
#ifndef HPCB_HPCBD_GANG_ROSTER_H
#define HPCB_HPCBD_GANG_ROSTER_H

#include "common/conf.h"
#include "hpcbd/gang/member.h"

typedef struct {
    const char *name;
    bool guests;
    hpcb_gang_t gang;
    bool full; /* logged */
    /* State of its quanta (gang.c): */
    int64_t quantum_ns;
    int64_t number;     /* number of the present quantum, by the wall clock */
    int64_t decided_ns; /* CLOCK_MONOTONIC: begin of it */
    bool switching;     /* a job takes turns now, or is stopped */
} hpcbd_set_t;

#define HPCBD_SETS 2

typedef struct {
    hpcbd_set_t sets[HPCBD_SETS];
    const hpcb_node_t *node;
    const hpcb_conf_t *conf;
    int64_t marked_ns; /* time at which all jobs were marked for a scan */
    int64_t looked_ns; /* time of the last scan */
} hpcbd_roster_t;

hpcbd_member_t *hpcbd_set_at(const hpcbd_set_t *set, size_t i);

/* Return NULL if the job takes no turns in the set, or in any. */
hpcbd_member_t *hpcbd_set_find(const hpcbd_set_t *set, uint32_t job_id);
hpcbd_member_t *hpcbd_roster_find(const hpcbd_roster_t *roster, uint32_t job_id);

/* Note that the job has new tasks. */
void hpcbd_roster_mark(hpcbd_roster_t *roster, uint32_t job_id);

/* Add and remove jobs according to registry.  Reads no file.  now_ns:
 * CLOCK_MONOTONIC. */
void hpcbd_roster_follow(hpcbd_roster_t *roster, const hpcbd_registry_t *registry,
                         int64_t now_ns);

/* Scan some of the jobs that are new or marked, or were scanned more than a second ago;
 * in an iteration of the loop after hpcbd_roster_follow.  Return false if there are
 * more: call again soon. */
bool hpcbd_roster_look(hpcbd_roster_t *roster, int64_t now_ns);

/* Return whether the CPUs of all jobs are known.  A job's first step may be about to
 * begin. */
bool hpcbd_roster_is_placed(const hpcbd_roster_t *roster);

/* Continue the member and drop the gang's reason to stop it, also if it could not be
 * stopped, because its next task would be. */
void hpcbd_roster_let_go(hpcbd_member_t *member);

/* Continue and remove all jobs.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_roster_clear(hpcbd_roster_t *roster, int64_t now_ns);

#endif
