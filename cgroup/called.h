/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Detection of signals that wait for stopped processes, which cannot receive them
 * (scancel, a grace time, --signal).
 */
#ifndef HPCB_CGROUP_CALLED_H
#define HPCB_CGROUP_CALLED_H

#include <stdbool.h>

/* Return true if HUP, INT, QUIT, TERM, USR1, USR2 or XCPU is pending for a process of
 * group (a directory of cgroup2) or of a group below, and that process does not ignore
 * it.  Scan up to *budget groups and processes and subtract their number from *budget.
 * In a larger group the first processes are scanned. */
bool hpcb_called(const char *group, unsigned *budget);

#endif
