/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Files below an open directory, named by relative paths ("a/b/c").  No symbolic link
 * is followed in any component, "." and ".." are refused, and only regular files count,
 * so that nothing outside of the tree is accessed, whatever it contains.  Each returns
 * -1 with errno; ELOOP or ENOTDIR means a link.
 */
#ifndef HPCB_HPCBCTL_SNAPSHOT_INTREE_H
#define HPCB_HPCBCTL_SNAPSHOT_INTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Read at most size - 1 bytes, NUL-terminated; a longer file is an error (EFBIG).
 * Return the length. */
ssize_t hpcb_intree_read(int tree, const char *path, char *buf, size_t size);

bool hpcb_intree_exists(int tree, const char *path);

/* Call visit for each name in directory path, unsorted; a result other than 0 ends the
 * walk.  Return 0 or -1. */
int hpcb_intree_list(int tree, const char *path,
                     int (*visit)(const char *name, void *arg), void *arg);

/* Write a new file (0600), creating missing directories (0700).  EEXIST if there is
 * one. */
int hpcb_intree_write(int tree, const char *path, const char *text, size_t length);

/* Remove directory name of tree with its content. */
int hpcb_intree_remove(int tree, const char *name);

#endif
