/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Turns of jobs of this node that share CPUs (GuestOversubscribe=, GangPartitions=):
 * policy/gang elects the jobs that run in each quantum, and the owner of freezing
 * (hpcbd/windows/freeze.h) stops the others.  A part of the daemon (hpcbd/hpcbd.h).
 *
 * There is no timer without such a partition; while no two jobs share a CPU, its
 * interval is a few seconds.
 */
#ifndef HPCB_HPCBD_GANG_GANG_H
#define HPCB_HPCBD_GANG_GANG_H

#include "hpcbd/gang/decision.h"
#include "hpcbd/gang/member.h"
#include "hpcbd/gang/tuning.h"
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_gang;

typedef struct {
    hpcbd_turn_t turn;  /* of partitions without their own */
    bool paused;        /* by root: all jobs run that are not paused themselves */
    uint64_t quanta;    /* number of quanta with an election */
    hpcb_bw_t capacity; /* of the node; 0: not known */
    const char *clock;  /* error of the clock; "": none is known */
} hpcbd_gang_stats_t;

/* Note that the job is new or has new tasks. */
void hpcbd_gang_job(uint32_t job_id);

/* Return the job, or NULL if it takes no turns here. */
const hpcbd_member_t *hpcbd_gang_member(uint32_t job_id);

/* Get the time for which the job was elected since this daemon began.  Return false if
 * it takes no turns. */
bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us);

/* Return whether the job takes turns with another one now. */
bool hpcbd_gang_switches(uint32_t job_id);

void hpcbd_gang_stats(hpcbd_gang_stats_t *stats);

/* Stop electing the job until it is resumed; job 0: stop elections, so that all run.
 * Return false if there is no such job. */
bool hpcbd_gang_pause(uint32_t job_id, bool pause);

/* Let the job take turns, whatever its partition does; or end that.  by_root also ends
 * the turns of a job by its partition; other users only undo a join, because the
 * partition may have changed meanwhile.  Valid until the job or this daemon ends.
 * Return NULL, or why it is refused. */
const char *hpcbd_gang_join(hpcbd_job_t *job);
const char *hpcbd_gang_leave(hpcbd_job_t *job, bool by_root);

/* Return the settings of the job's turns; all zero if it takes none. */
hpcbd_turn_t hpcbd_gang_turn(uint32_t job_id);

/* Set the turns of partition (NULL: of all) from the next quantum on, until the
 * configuration is read again; 0: unchanged.  Return NULL, or why it is refused: out of
 * the range of hpc-balance.conf, no such partition, or jobs of several partitions elect
 * together. */
const char *hpcbd_gang_set(const char *partition, const hpcbd_turn_t *turn);

/* The last decisions. */
const hpcbd_decisions_t *hpcbd_gang_decisions(void);

#endif
