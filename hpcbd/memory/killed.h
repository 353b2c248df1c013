/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A guest that has gone while our limit was in force (hpcbd/memory/limit.h), or while
 * the node was full.  With its last process the kernel may have killed all of it: then
 * its groups went too, and with them the kernel's count.  Slurm knows: it calls such a
 * job out of memory.  The guard leaves a note, and the process that speaks with
 * slurmctld asks (hpcbd/memory/requeues.c).
 */
#ifndef HPCB_HPCBD_MEMORY_KILLED_H
#define HPCB_HPCBD_MEMORY_KILLED_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"

typedef struct {
    uint32_t job_id;
    uid_t uid;
    uint64_t used;         /* bytes: our limit, or what it had */
    char output[PATH_MAX]; /* its standard error; "": no file */
} hpcbd_killed_t;

/* Write the path of the file that the first process of the job with one has as its
 * standard error; "" if there is none.  The file system that it is on is not asked:
 * whoever has it may be the guest. */
void hpcbd_killed_output(const hpcb_node_t *node, const char *steps, char *path,
                         size_t size);

/* Leave the note (hpcbd/requeue.h).  0, or -1 with errno and err. */
int hpcbd_killed_note(const char *state_dir, const hpcbd_killed_t *killed,
                      hpcb_error_t *err);

/* Read the note of that path; job_id stays.  0, or -1. */
int hpcbd_killed_read(const char *path, hpcbd_killed_t *killed);

#endif
