/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What cpufreq is told to prefer on a CPU, energy or performance
 * (energy_performance_preference: intel_pstate and amd_pstate, in active mode).  A CPU
 * that others wait for gains by it where all share a package's power: it may run faster
 * while they run slower.
 */
#ifndef HPCB_CGROUP_FREQUENCY_H
#define HPCB_CGROUP_FREQUENCY_H

#include "cgroup/node.h"
#include "cgroup/undo.h"

/* How far below what it is otherwise, from 0 to here. */
#define HPCB_FREQUENCY_LOWEST 2

/* Whether cpu can be told.  0, or -1 with errno and err. */
int hpcb_frequency_probe(const hpcb_node_t *node, unsigned cpu, hpcb_error_t *err);

/* What cpu prefers now goes to the undo log, and into old.  0, or -1. */
#define HPCB_FREQUENCY_TEXT_MAX 64
int hpcb_frequency_note(const hpcb_node_t *node, unsigned cpu, hpcb_undo_t *undo,
                        char old[HPCB_FREQUENCY_TEXT_MAX], hpcb_error_t *err);

/* Let cpu prefer what it did (old), or something that is `below` levels lower.  0, or
 * -1. */
int hpcb_frequency_set(const hpcb_node_t *node, unsigned cpu, unsigned below,
                       const char *old, hpcb_error_t *err);

#endif
