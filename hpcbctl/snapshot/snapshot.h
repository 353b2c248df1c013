/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What discovery reads of a node, as files that discovery can be pointed at again
 * (hpcb_node_open, tests/snapshots).  Nothing else is read: no command line, no
 * environment, no address, no host's, user's or job's name, and no file that is not on
 * the lists of snapshot.c.
 */
#ifndef HPCB_HPCBCTL_SNAPSHOT_SNAPSHOT_H
#define HPCB_HPCBCTL_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"

typedef struct {
    uint64_t files;
    uint64_t bytes;
    unsigned jobs;      /* Slurm's, that have a process here */
    unsigned processes; /* one per set of cgroups, at most 64 */
    bool truncated;     /* more files than the maximum, or 8 MiB: the rest is missing */
} hpcb_snapshot_t;

/* The maximum of files: 20000; only the unit test sets another one. */
extern unsigned hpcb_snapshot_files_max;

/*
 * Look at the system below root ("/", or a snapshot) and write it into the empty
 * directory out.  keep_names: leave names, ids and pids as they are; otherwise they are
 * replaced (hpcbctl/snapshot/anonymize.h; processes become 100, 101, ... by their pids'
 * order). guest_cgroup: the name of the group of guests.  slurm: Slurm's version, NULL
 * where it is not known.  0, or -1 with err where the system cannot be looked at or out
 * cannot be written; *done is then untouched.
 */
int hpcb_snapshot_take(const char *root, int out, const char *guest_cgroup,
                       bool keep_names, const char *slurm, hpcb_snapshot_t *done,
                       hpcb_error_t *err);

#endif
