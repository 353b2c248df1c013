/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What takes a node's CPU away from a job: tasks that sleep, run for a while and sleep
 * again (the noise daemon of Jones 2009, appendix A; the crumbs that an idle group
 * gets). One stream is one such task on one node, and tells its detours in turn.
 *
 * With windows (policy/window) the task does not run in favoured parts: what is left of
 * it then waits for the next regular part, by that node's own clock.  A favoured part
 * may begin late, by what the edges of a daemon were measured to be late.
 *
 * Detours that were measured (sim/recording.h) come as they were, on each node from
 * another place of the recording on.
 *
 * With a guard (policy/guard) the task is a guest next to a primary that polls: what it
 * had is looked at each second, and once it is stopped it has no more detours.  If the
 * primary sleeps in its waits the guest has these as well; only who simulates the waits
 * knows them and asks the guard.
 */
#ifndef HPCB_SIM_DETOUR_H
#define HPCB_SIM_DETOUR_H

#include "policy/guard.h"
#include "policy/window.h"
#include "sim/random.h"
#include "sim/recording.h"

/* What all streams of one kind share. */
typedef struct {
    hpcb_sim_dist_t pause;  /* asleep, ns */
    hpcb_sim_dist_t length; /* then it needs so much of a CPU, ns */
    /* Or NULL: takes the place of pause and length; each task begins anywhere on it. */
    const hpcb_sim_recording_t *recording;
    int64_t slice_ns; /* takes turns of that length with the job, 0: runs through */
    const hpcb_window_t *window;      /* or NULL */
    const hpcb_sim_dist_t *edge_late; /* of favoured parts, ns; only with window */
    const hpcb_crumbs_conf_t *guard;  /* or NULL */
    bool shares_waits; /* hpcb_sim_task_next leaves the guard to its caller */
} hpcb_sim_noise_t;

typedef struct {
    hpcb_sim_stream_t chance;
    int64_t clock_ns; /* the node's clock minus true time */
    int64_t wake_ns;  /* when it wants to run next */
    int64_t left_ns;  /* of what it wants to run */
} hpcb_sim_task_t;

/* What else is known of a task with a guard or a recording.  All zero before time 0. */
typedef struct {
    hpcb_crumbs_t crumbs;      /* guard: */
    int64_t second_ns, ran_ns; /* when its second began, what the task ran in that */
    size_t next;               /* of the recording */
} hpcb_sim_extra_t;

#define HPCB_SIM_NEVER (INT64_MAX / 2)

typedef struct {
    int64_t from_ns, to_ns; /* to > from; HPCB_SIM_NEVER: there are no more */
} hpcb_sim_detour_t;

bool hpcb_sim_noise_has_extra(const hpcb_sim_noise_t *noise);

/* The task as it may be at time 0: somewhere in its sleep or its work.  extra is NULL
 * if the noise has none. */
void hpcb_sim_task_begin(const hpcb_sim_noise_t *noise, hpcb_sim_stream_t chance,
                         int64_t clock_ns, hpcb_sim_task_t *task,
                         hpcb_sim_extra_t *extra);

/*
 * Look at the seconds before at_ns; whether the guard has stopped the task in one of
 * them.  left_ns: what the primary left of each second, or NULL: the guest had its
 * detours only.  Call it with growing at_ns.
 */
bool hpcb_sim_task_is_stopped(const hpcb_crumbs_conf_t *guard, hpcb_sim_extra_t *extra,
                              int64_t at_ns, const int64_t *left_ns);

/* The next detour: after the end of the one before. */
hpcb_sim_detour_t hpcb_sim_task_next(const hpcb_sim_noise_t *noise,
                                     hpcb_sim_task_t *task, hpcb_sim_extra_t *extra);

#endif
