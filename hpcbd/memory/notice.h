/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The line in the output of a guest that notifies its user of its end for memory.  Only
 * processes that may hang, and are killed then, write it, because the user may control
 * a file system that never answers.
 */
#ifndef HPCB_HPCBD_MEMORY_NOTICE_H
#define HPCB_HPCBD_MEMORY_NOTICE_H

#include <stdint.h>
#include <sys/types.h>

/* Life time of such a process. */
#define HPCBD_NOTICE_SECONDS 5

/* Write as the user from now on, without any group, because the kernel checks who
 * writes to some kinds of files.  Real and saved IDs stay root's, so that the user
 * cannot stop the process.  Closes the socket to hpcbd, by which the worker would count
 * as alive.  Return 0, or -1, also if there is no user. */
int hpcbd_notice_become(uid_t uid);

/* Write the line.  used: memory of the guest in bytes.  Return 0 or -1. */
int hpcbd_notice_write(int fd, uint32_t job_id, uint64_t used);

/* Start a process that appends the line to a regular file, as the user.  The caller
 * does not wait for it and ignores SIGCHLD. */
void hpcbd_notice_append(uid_t uid, const char *path, uint32_t job_id, uint64_t used);

#endif
