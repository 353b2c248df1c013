/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Input of discovery on a node, stored as files on which discovery can run again
 * (hpcb_node_open, tests/snapshots).  Nothing else is read: no command line,
 * environment or address, no name of a host, user or job, and no file that is not in
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
    unsigned jobs;      /* Slurm's, with a process here */
    unsigned processes; /* one per set of cgroups, at most 64 */
    bool truncated;     /* there were more files than the maximum, or 8 MiB: the rest is
                           missing */
} hpcb_snapshot_t;

/* Maximum number of files: 20000; only the unit test changes it. */
extern unsigned hpcb_snapshot_files_max;

/*
 * Write the state of the system below root ("/", or a snapshot) to the empty directory
 * out.  keep_names: keep names, IDs and pids; otherwise they are replaced
 * (hpcbctl/snapshot/anonymize.h; processes become 100, 101, ... in the order of their
 * pids).  guest_cgroup: the name of the group of guests.  slurm: Slurm's version, NULL
 * if it is not known.  Return 0, or -1 with err if the system cannot be read or out
 * cannot be written; *done is then unchanged.
 */
int hpcb_snapshot_take(const char *root, int out, const char *guest_cgroup,
                       bool keep_names, const char *slurm, hpcb_snapshot_t *done,
                       hpcb_error_t *err);

#endif
