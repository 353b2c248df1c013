/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The operations on a cgroup file system.  All of this module's accesses use them, so
 * that a test can replace the kernel by a directory tree that answers like the kernel
 * (EINVAL, files that appear with a directory).
 */
#ifndef HPCB_CGROUP_KNOB_H
#define HPCB_CGROUP_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* 1: tasks of the group run only if nothing else wants the CPU (Linux 5.15). */
#define HPCB_KNOB_IDLE "cpu.idle"

typedef struct {
    ssize_t (*read)(const char *path, char *buf, size_t size, hpcb_error_t *err);
    int (*write)(const char *path, const char *text, hpcb_error_t *err);
    int (*mkdir)(const char *path, mode_t mode);
    int (*rmdir)(const char *path);
} hpcb_knob_ops_t;

/* Use ops from now on; NULL: the kernel again.  Return the previous ones.  For tests
 * and for changes to snapshots.  Not thread-safe. */
const hpcb_knob_ops_t *hpcb_knob_set_ops(const hpcb_knob_ops_t *ops);

/* Each takes a directory and a name below it ("" for the directory itself) and returns
 * 0, or -1 with errno and err. */

/* Read dir/name without the trailing newline. */
int hpcb_knob_read(const char *dir, const char *name, char *buf, size_t size,
                   hpcb_error_t *err);

/*
 * Return the whole of dir/name, like hpcb_knob_read, for lists of any length
 * (cgroup.procs, cgroup.threads); the caller frees it.  The bound is the longest list
 * of the kernel: 4194304 IDs (PID_MAX_LIMIT) of seven digits, one per line.  Return
 * NULL with errno and err if the file is larger (EFBIG) or memory is short (ENOMEM),
 * which must not be taken for an empty list.
 */
#define HPCB_KNOB_ALL_MAX ((size_t)32 << 20)
char *hpcb_knob_read_all(const char *dir, const char *name, hpcb_error_t *err);
/* Read a single number; "max" yields UINT64_MAX. */
int hpcb_knob_number(const char *dir, const char *name, uint64_t *value,
                     hpcb_error_t *err);
int hpcb_knob_write(const char *dir, const char *name, const char *text,
                    hpcb_error_t *err);

/*
 * Write a knob that is written often: its file stays open in *fd (initially -1), so
 * that a write is one system call.  A group that was created anew under that name is
 * found again.  A process keeps at most HPCB_KNOB_KEPT_MAX files open; further ones are
 * opened each time.
 */
#define HPCB_KNOB_KEPT_MAX 256
int hpcb_knob_write_kept(int *fd, const char *dir, const char *name, const char *text,
                         hpcb_error_t *err);
/* fd may be -1. */
void hpcb_knob_close(int *fd);

/* An existing directory is no error. */
int hpcb_knob_mkdir(const char *dir, const char *name, hpcb_error_t *err);
int hpcb_knob_rmdir(const char *dir, const char *name, hpcb_error_t *err);

bool hpcb_knob_exists(const char *dir, const char *name);

/* Compose dir/name.  Return 0, or -1 with errno ENAMETOOLONG. */
int hpcb_knob_path(const char *dir, const char *name, char *path, size_t size,
                   hpcb_error_t *err);

/* Return true if errno of a failed access means that the group or task no longer
 * exists. */
bool hpcb_knob_gone(int error);

#endif
