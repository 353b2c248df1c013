/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Preference of cpufreq for energy or performance on a CPU
 * (energy_performance_preference: intel_pstate and amd_pstate, in active mode).  A CPU
 * that others wait for gains if all share the power of a package: it may run faster
 * while they run slower.
 */
#ifndef HPCB_CGROUP_FREQUENCY_H
#define HPCB_CGROUP_FREQUENCY_H

#include "cgroup/node.h"
#include "cgroup/undo.h"

/* Largest number of levels below the original preference. */
#define HPCB_FREQUENCY_LOWEST 2

/* Return 0 if the preference of cpu can be set; -1 with errno and err otherwise. */
int hpcb_frequency_probe(const hpcb_node_t *node, unsigned cpu, hpcb_error_t *err);

/* Write the present preference of cpu to the undo log and to old.  Return 0 or -1. */
#define HPCB_FREQUENCY_TEXT_MAX 64
int hpcb_frequency_note(const hpcb_node_t *node, unsigned cpu, hpcb_undo_t *undo,
                        char old[HPCB_FREQUENCY_TEXT_MAX], hpcb_error_t *err);

/* Set the preference of cpu to old, or to one that is `below` levels lower.  Return 0
 * or -1. */
int hpcb_frequency_set(const hpcb_node_t *node, unsigned cpu, unsigned below,
                       const char *old, hpcb_error_t *err);

#endif
