/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A guest that ended while our limit was in force (hpcbd/memory/limit.h), or while the
 * node was full.  The kernel may have killed all of it; its groups and the kernel's
 * count disappeared with its last process.  Slurm's state of such a job is out of
 * memory.  The guard leaves a note, and the process that communicates with slurmctld
 * asks for the state (hpcbd/memory/requeues.c).
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
    uint64_t used;         /* bytes: our limit, or its use */
    char output[PATH_MAX]; /* its standard error; "": no file */
} hpcbd_killed_t;

/* Get the path of the standard error of the job's first process that has one; "" if
 * there is none.  The file system of that path is not accessed, because it may be
 * controlled by the guest. */
void hpcbd_killed_output(const hpcb_node_t *node, const char *steps, char *path,
                         size_t size);

/* Leave the note (hpcbd/requeue.h).  Return 0, or -1 with errno and err. */
int hpcbd_killed_note(const char *state_dir, const hpcbd_killed_t *killed,
                      hpcb_error_t *err);

/* Read the note at path; job_id is unchanged.  Return 0 or -1. */
int hpcbd_killed_read(const char *path, hpcbd_killed_t *killed);

#endif
