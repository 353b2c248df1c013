/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The jobs of this node that take turns: primaries and guests, each a set of their own.
 * What is read of files for them is bounded: a few jobs at a time, those first that
 * have waited longest, so that neither many jobs nor jobs with many steps keep the loop
 * from its edges.
 */
#ifndef HPCB_HPCBD_GANG_ROSTER_H
#define HPCB_HPCBD_GANG_ROSTER_H

#include "common/conf.h"
#include "hpcbd/gang/member.h"

typedef struct {
    const char *name;
    bool guests;
    hpcb_gang_t gang;
    bool full; /* the log has said so */
    /* Of its quanta (gang.c): */
    int64_t quantum_ns;
    int64_t number;     /* of the quantum under way, by the wall clock */
    int64_t decided_ns; /* CLOCK_MONOTONIC: when it began */
    bool switching;     /* somebody takes turns now, or is stopped */
} hpcbd_set_t;

#define HPCBD_SETS 2

typedef struct {
    hpcbd_set_t sets[HPCBD_SETS];
    const hpcb_node_t *node;
    const hpcb_conf_t *conf;
    int64_t marked_ns; /* when all jobs were marked as due for a look */
    int64_t looked_ns; /* the last look at one */
} hpcbd_roster_t;

hpcbd_member_t *hpcbd_set_at(const hpcbd_set_t *set, size_t i);

/* NULL: the job takes no turns in the set; in any. */
hpcbd_member_t *hpcbd_set_find(const hpcbd_set_t *set, uint32_t job_id);
hpcbd_member_t *hpcbd_roster_find(const hpcbd_roster_t *roster, uint32_t job_id);

/* The job has new tasks. */
void hpcbd_roster_mark(hpcbd_roster_t *roster, uint32_t job_id);

/* Let jobs of registry come and go.  Reads no file.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_roster_follow(hpcbd_roster_t *roster, const hpcbd_registry_t *registry,
                         int64_t now_ns);

/* Look at some of those that are new or marked, or whose last look is a second ago; in
 * a turn of the loop in which the registry was followed.  Return false if there are
 * more: call again soon. */
bool hpcbd_roster_look(hpcbd_roster_t *roster, int64_t now_ns);

/* Is it known of all on which CPUs they are?  A job's first step may be about to begin.
 */
bool hpcbd_roster_is_placed(const hpcbd_roster_t *roster);

/* The member runs, and the gang has no reason any more that it does not, also if it
 * could not be stopped: its next task would be. */
void hpcbd_roster_let_go(hpcbd_member_t *member);

/* All of them go.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_roster_clear(hpcbd_roster_t *roster, int64_t now_ns);

#endif
