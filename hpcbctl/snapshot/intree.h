/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Files below a directory that was opened before, named by relative paths ("a/b/c"). No
 * symbolic link is followed in any component, "." and ".." are refused, and only
 * regular files count: nothing outside of the tree is ever touched, whatever is in it.
 * Each returns -1 with errno; ELOOP or ENOTDIR is a link in the way.
 */
#ifndef HPCB_HPCBCTL_SNAPSHOT_INTREE_H
#define HPCB_HPCBCTL_SNAPSHOT_INTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* At most size - 1 bytes of it, NUL-terminated; longer ones give EFBIG.  The length. */
ssize_t hpcb_intree_read(int tree, const char *path, char *buf, size_t size);

bool hpcb_intree_exists(int tree, const char *path);

/* Call visit for each name in directory path, in no order; one that returns other than
 * 0 ends the walk.  0, or -1. */
int hpcb_intree_list(int tree, const char *path,
                     int (*visit)(const char *name, void *arg), void *arg);

/* Write a new file (0600), with the directories above it (0700).  EEXIST where there is
 * one. */
int hpcb_intree_write(int tree, const char *path, const char *text, size_t length);

/* Remove directory name of tree and what is in it. */
int hpcb_intree_remove(int tree, const char *name);

#endif
