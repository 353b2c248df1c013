/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether somebody has asked processes to end that are stopped and cannot hear it: a
 * signal waits for them (scancel, a grace time, --signal).
 */
#ifndef HPCB_CGROUP_CALLED_H
#define HPCB_CGROUP_CALLED_H

#include <stdbool.h>

/* Return true if HUP, INT, QUIT, TERM, USR1, USR2 or XCPU waits for a process of group
 * (a directory of cgroup2) or of a group below, and that process does not ignore it.
 * Looks at up to *budget groups and processes and takes them from it; of a group that
 * is larger it sees the first processes. */
bool hpcb_called(const char *group, unsigned *budget);

#endif
