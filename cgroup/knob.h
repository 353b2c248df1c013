/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The four things that one can do to a cgroup file system.  Every touch of this room
 * goes through here, so that a test can stand a directory tree in for the kernel and
 * let it answer as the kernel does (EINVAL, files that come with a directory).
 */
#ifndef HPCB_CGROUP_KNOB_H
#define HPCB_CGROUP_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* 1: what is in the group runs when nothing else wants the CPU (Linux 5.15). */
#define HPCB_KNOB_IDLE "cpu.idle"

typedef struct {
    ssize_t (*read)(const char *path, char *buf, size_t size, hpcb_error_t *err);
    int (*write)(const char *path, const char *text, hpcb_error_t *err);
    int (*mkdir)(const char *path, mode_t mode);
    int (*rmdir)(const char *path);
} hpcb_knob_ops_t;

/* Use ops from now on, NULL for the kernel again; returns what was in use.  For tests
 * and for changes to snapshots.  Not thread-safe. */
const hpcb_knob_ops_t *hpcb_knob_set_ops(const hpcb_knob_ops_t *ops);

/* Each takes a directory and a name below it ("" for the directory itself) and
 * returns 0, or -1 with errno and err. */

/* Content of dir/name without the newline at its end. */
int hpcb_knob_read(const char *dir, const char *name, char *buf, size_t size,
                   hpcb_error_t *err);

/*
 * Return the whole of dir/name, as hpcb_knob_read, for lists that may have any length
 * (cgroup.procs, cgroup.threads); the caller frees it.  The bound is what the kernel
 * can list at most: 4194304 ids (PID_MAX_LIMIT) of seven digits, one a line.  NULL with
 * errno and err if it is larger (EFBIG) or memory is short (ENOMEM): that is not an
 * empty list.
 */
#define HPCB_KNOB_ALL_MAX ((size_t)32 << 20)
char *hpcb_knob_read_all(const char *dir, const char *name, hpcb_error_t *err);
/* A single number; "max" gives UINT64_MAX. */
int hpcb_knob_number(const char *dir, const char *name, uint64_t *value,
                     hpcb_error_t *err);
int hpcb_knob_write(const char *dir, const char *name, const char *text,
                    hpcb_error_t *err);

/*
 * The same for a knob that is written again and again: its file stays open between, in
 * *fd (-1 at first), so that a write is one system call.  A group that has been made
 * anew under that name is found again.  At most HPCB_KNOB_KEPT_MAX files are kept open
 * in a process; the others are opened each time.
 */
#define HPCB_KNOB_KEPT_MAX 256
int hpcb_knob_write_kept(int *fd, const char *dir, const char *name, const char *text,
                         hpcb_error_t *err);
/* -1 is fine. */
void hpcb_knob_close(int *fd);

/* An existing directory is left as it is. */
int hpcb_knob_mkdir(const char *dir, const char *name, hpcb_error_t *err);
int hpcb_knob_rmdir(const char *dir, const char *name, hpcb_error_t *err);

bool hpcb_knob_exists(const char *dir, const char *name);

/* Compose dir/name; -1 with errno ENAMETOOLONG. */
int hpcb_knob_path(const char *dir, const char *name, char *path, size_t size,
                   hpcb_error_t *err);

/* True where errno of a failed touch means that the group or task has gone. */
bool hpcb_knob_gone(int error);

#endif
