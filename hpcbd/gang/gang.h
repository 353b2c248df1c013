/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs of this node that share CPUs take turns (GuestOversubscribe=, GangPartitions=):
 * each quantum policy/gang elects who runs, the others are stopped by their one owner
 * (hpcbd/windows/freeze.h).  A part of the daemon (hpcbd/hpcbd.h).
 *
 * Without such a partition there is no timer; while no two jobs share a CPU, it comes
 * every few seconds.
 */
#ifndef HPCB_HPCBD_GANG_GANG_H
#define HPCB_HPCBD_GANG_GANG_H

#include "hpcbd/gang/decision.h"
#include "hpcbd/gang/member.h"
#include "hpcbd/gang/tuning.h"
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_gang;

typedef struct {
    hpcbd_turn_t turn;  /* of partitions that have none of their own */
    bool paused;        /* root has: all jobs run that are not paused themselves */
    uint64_t quanta;    /* for which somebody was elected */
    hpcb_bw_t capacity; /* of the node; 0: not known */
    const char *clock;  /* what is wrong with it; "": nothing is known */
} hpcbd_gang_stats_t;

/* The job is new, or has new tasks. */
void hpcbd_gang_job(uint32_t job_id);

/* NULL: the job takes no turns here. */
const hpcbd_member_t *hpcbd_gang_member(uint32_t job_id);

/* For how long the job was elected since this daemon began.  Return false if it takes
 * no turns. */
bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us);

/* Whether the job takes turns with another one now. */
bool hpcbd_gang_switches(uint32_t job_id);

void hpcbd_gang_stats(hpcbd_gang_stats_t *stats);

/* No turns for the job until it is resumed; job 0: no turns for anybody, all run.
 * Return false if there is no such job. */
bool hpcbd_gang_pause(uint32_t job_id, bool pause);

/* The job takes turns, whatever its partition does; or takes none, unless it does so
 * because it has joined, which ends then.  Whoever is not root ends that only: by now
 * its partition may be one that takes turns.  Until the job ends, or this daemon does.
 * NULL, or why it cannot be. */
const char *hpcbd_gang_join(hpcbd_job_t *job);
const char *hpcbd_gang_leave(hpcbd_job_t *job, bool by_root);

/* Of the job's turns; all zero if it takes none. */
hpcbd_turn_t hpcbd_gang_turn(uint32_t job_id);

/* Turns of partition (NULL: of all) from the next quantum on, until the configuration
 * is read again; 0: as it is.  NULL, or why it is refused: out of the range that
 * hpc-balance.conf allows, no such partition, or jobs of several partitions elect
 * together. */
const char *hpcbd_gang_set(const char *partition, const hpcbd_turn_t *turn);

/* The last decisions. */
const hpcbd_decisions_t *hpcbd_gang_decisions(void);

#endif
