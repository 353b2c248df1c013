/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Detours of a node's CPU from a job: tasks that sleep, run for a while and sleep again
 * (the noise daemon of Jones 2009, appendix A; the CPU time that an idle group gets).
 * One stream is one such task on one node, and yields its detours in turn.
 *
 * With windows (policy/window) the task does not run in boosted parts: its remaining
 * work waits for the next regular part, by that node's own clock.  A boosted part may
 * begin late, by the measured delay of a daemon's switches.
 *
 * Measured detours (sim/recording.h) are replayed, on each node from another position
 * of the recording.
 *
 * With a guard (policy/guard) the task is a guest next to a primary that polls: its CPU
 * time is checked each second, and once it is stopped it has no more detours.  If the
 * primary sleeps in its waits the guest gets these as well; only a caller that
 * simulates the waits knows them and calls the guard.
 */
#ifndef HPCB_SIM_DETOUR_H
#define HPCB_SIM_DETOUR_H

#include "policy/guard.h"
#include "policy/window.h"
#include "sim/random.h"
#include "sim/recording.h"

/* Common parameters of all streams of one kind. */
typedef struct {
    hpcb_sim_dist_t pause;  /* sleep, ns */
    hpcb_sim_dist_t length; /* CPU time that it needs then, ns */
    /* NULL, or the recording instead of pause and length; each task begins anywhere in
     * it. */
    const hpcb_sim_recording_t *recording;
    int64_t slice_ns; /* length of its turns with the job; 0: runs to completion */
    const hpcb_window_t *window;      /* or NULL */
    const hpcb_sim_dist_t *edge_late; /* delay of boosted parts, ns; only with window */
    const hpcb_crumbs_conf_t *guard;  /* or NULL */
    bool shares_waits; /* hpcb_sim_task_next leaves the guard to its caller */
} hpcb_sim_noise_t;

typedef struct {
    hpcb_sim_stream_t chance;
    int64_t clock_ns; /* the node's clock minus true time */
    int64_t wake_ns;  /* next time at which it wants to run */
    int64_t left_ns;  /* rest of its work */
} hpcb_sim_task_t;

/* Additional state of a task with a guard or a recording.  All zero before time 0. */
typedef struct {
    hpcb_crumbs_t crumbs;      /* guard: */
    int64_t second_ns, ran_ns; /* begin of its second, its CPU time in that */
    size_t next;               /* in the recording */
} hpcb_sim_extra_t;

#define HPCB_SIM_NEVER (INT64_MAX / 2)

typedef struct {
    int64_t from_ns, to_ns; /* to > from; HPCB_SIM_NEVER: there are no more */
} hpcb_sim_detour_t;

bool hpcb_sim_noise_has_extra(const hpcb_sim_noise_t *noise);

/* Set the state of the task at time 0, at a random point of its sleep or work.  extra
 * is NULL if the noise needs none. */
void hpcb_sim_task_begin(const hpcb_sim_noise_t *noise, hpcb_sim_stream_t chance,
                         int64_t clock_ns, hpcb_sim_task_t *task,
                         hpcb_sim_extra_t *extra);

/*
 * Process the seconds before at_ns; return whether the guard has stopped the task in
 * one of them.  left_ns: CPU time that the primary left in each second; NULL: the guest
 * had only its detours.  at_ns must grow from call to call.
 */
bool hpcb_sim_task_is_stopped(const hpcb_crumbs_conf_t *guard, hpcb_sim_extra_t *extra,
                              int64_t at_ns, const int64_t *left_ns);

/* Return the next detour, after the end of the last one. */
hpcb_sim_detour_t hpcb_sim_task_next(const hpcb_sim_noise_t *noise,
                                     hpcb_sim_task_t *task, hpcb_sim_extra_t *extra);

#endif
