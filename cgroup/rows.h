/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between the files of the mechanism table. */
#ifndef HPCB_CGROUP_ROWS_H
#define HPCB_CGROUP_ROWS_H

#include "cgroup/mechanism.h"

/* Probe, apply, verify and undo of each row: cgroup/mechanism.h. */
#define HPCB_ROW(name)                                                                 \
    int hpcb_##name##_probe(const hpcb_node_t *node, hpcb_error_t *err);               \
    int hpcb_##name##_apply(const hpcb_target_t *target, hpcb_error_t *err);           \
    int hpcb_##name##_verify(const hpcb_target_t *target, hpcb_error_t *err)

HPCB_ROW(idle_group);
HPCB_ROW(weight);
HPCB_ROW(sched_idle);
HPCB_ROW(nice);
HPCB_ROW(ionice);
HPCB_ROW(oom_score);
HPCB_ROW(cpu_affinity);
HPCB_ROW(memory_high);
HPCB_ROW(realtime_limit);
HPCB_ROW(long_slice);
HPCB_ROW(io_weight);
HPCB_ROW(freeze);
HPCB_ROW(ppr);
HPCB_ROW(core_cookie);
HPCB_ROW(sibling_avoid);
HPCB_ROW(sibling_throttle);
HPCB_ROW(primary_weight);

int hpcb_guest_group_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                          hpcb_error_t *err);
int hpcb_freeze_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                     hpcb_error_t *err);
int hpcb_ppr_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                  hpcb_error_t *err);
/* Undo by the undo log alone. */
int hpcb_row_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                  hpcb_error_t *err);

/* Begin apply: the following log entries belong to this row and target. */
void hpcb_row_begin(const hpcb_target_t *target, const char *row);

/* Log the content of dir/name, then write text.  Do nothing if the content is text
 * already. */
int hpcb_row_write(const hpcb_target_t *target, const char *dir, const char *name,
                   const char *text, hpcb_error_t *err);

/* Do the same for an attribute of task tid. */
int hpcb_row_set(const hpcb_target_t *target, pid_t tid, const char *attribute,
                 const char *text, hpcb_error_t *err);

/* Call visit for every thread of the target.  A thread that ends meanwhile (visit fails
 * with ESRCH) is no failure, except the target itself.  Ends at the first failure. */
int hpcb_row_each_thread(const hpcb_target_t *target,
                         int (*visit)(const hpcb_target_t *target, pid_t tid,
                                      const void *arg, hpcb_error_t *err),
                         const void *arg, hpcb_error_t *err);

/* Set attribute for every thread of the target; return 0 if each has it. */
int hpcb_row_set_threads(const hpcb_target_t *target, const char *attribute,
                         const char *text, hpcb_error_t *err);
int hpcb_row_check_threads(const hpcb_target_t *target, const char *attribute,
                           const char *text, hpcb_error_t *err);

/*
 * The group of guests in the v1 cpu hierarchy: <mount>/<GuestCgroup>/job_<id>, at the
 * top so that it competes with any group that contains primaries.
 * hpcb_guest_group_join creates it, calls lower for <mount>/<GuestCgroup>, and moves
 * the target there.
 */
int hpcb_guest_group_probe(const hpcb_node_t *node, hpcb_error_t *err);
int hpcb_guest_group_join(const hpcb_target_t *target,
                          int (*lower)(const char *group, hpcb_error_t *err),
                          hpcb_error_t *err);
/* Return 0 if target is in it now; write the path of <mount>/<GuestCgroup> to group. */
int hpcb_guest_group_check(const hpcb_target_t *target, char *group, size_t size,
                           hpcb_error_t *err);
/* Write the path of <mount>/<GuestCgroup>/job_<id> if target is in it. */
int hpcb_guest_group_job(const hpcb_target_t *target, char *dir, size_t size,
                         hpcb_error_t *err);

/* Get the CPUs of the group that sibling-avoid would restrict (*group), or of the
 * target alone if there is no such group. */
int hpcb_sibling_base(const hpcb_target_t *target, hpcb_cpus_t *base, bool *group,
                      hpcb_error_t *err);

#endif
