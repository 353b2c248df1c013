/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The line that tells a user in the output of a guest that it ended for memory.  Only
 * processes that may hang, and are killed then, write it: the file system may be one of
 * the user's own, that never answers.
 */
#ifndef HPCB_HPCBD_MEMORY_NOTICE_H
#define HPCB_HPCBD_MEMORY_NOTICE_H

#include <stdint.h>
#include <sys/types.h>

/* How long such a process lives. */
#define HPCBD_NOTICE_SECONDS 5

/* Write as the user from now on, and without any group: the kernel checks who writes
 * for some kinds of files, and that must not be root.  Real and saved id stay root's,
 * so that the user cannot stop the process.  Close the socket to hpcbd, which would
 * take the worker for alive.  0, or -1, also if there is no user. */
int hpcbd_notice_become(uid_t uid);

/* Write the line.  used: bytes that the guest had.  0, or -1. */
int hpcbd_notice_write(int fd, uint32_t job_id, uint64_t used);

/* Start a process that appends the line to a regular file, as the user.  Nobody waits
 * for it: the caller ignores SIGCHLD. */
void hpcbd_notice_append(uid_t uid, const char *path, uint32_t job_id, uint64_t used);

#endif
