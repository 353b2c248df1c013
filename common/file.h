/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Small files, read and written whole: kernel knobs, state, records.  No call
 * follows a symbolic link in the last component; none blocks on a FIFO.
 */
#ifndef HPCB_COMMON_FILE_H
#define HPCB_COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include "common/error.h"

/* Read path whole into buf (NUL-terminated, trailing newline kept).  Returns the
 * length, or -1 with errno (EFBIG when it does not fit) and err. */
ssize_t hpcb_file_read(const char *path, char *buf, size_t size, hpcb_error_t *err);

/* Write text to an existing file in one write(2) (a kernel knob).  0 or -1 with
 * the kernel's errno and err, which names path, text and reason. */
int hpcb_file_write(const char *path, const char *text, hpcb_error_t *err);

/* Replace path by text so that a reader, or a crash at any point, sees the old or
 * the new whole: temporary file in the same directory, fsync, rename. */
int hpcb_file_replace(const char *path, const char *text, size_t length, mode_t mode,
                      hpcb_error_t *err);

/* As hpcb_file_replace, but without waiting for the disk: for what is worth nothing
 * after the machine has crashed.  A process that is killed leaves the old or the new
 * whole all the same. */
int hpcb_file_swap(const char *path, const char *text, size_t length, mode_t mode,
                   hpcb_error_t *err);

/* As hpcb_file_replace, but -1 with EEXIST where path is there already: of several
 * writers exactly one succeeds. */
int hpcb_file_create(const char *path, const char *text, size_t length, mode_t mode,
                     hpcb_error_t *err);

/* Append text in one O_APPEND write, creating the file with mode less
 * the umask. */
int hpcb_file_append(const char *path, const char *text, mode_t mode,
                     hpcb_error_t *err);

/* Make path and what is missing above it.  An existing directory is left as it
 * is.  0 or -1. */
int hpcb_file_mkdirs(const char *path, mode_t mode, hpcb_error_t *err);

/* Which file, and when it was written to.  All zero: none. */
typedef struct {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec written;
} hpcb_file_stamp_t;

/* True if path is not the file that *stamp says, or cannot be looked at.  *stamp
 * becomes that of path; all zero if it cannot be looked at. */
bool hpcb_file_changed(const char *path, hpcb_file_stamp_t *stamp);

/* 0 when path (no symlink) is owned by root or by the caller's effective user and
 * writable by nobody else; -1 with err otherwise.  Trusted files pass this before
 * they are believed. */
int hpcb_file_trusted(const char *path, hpcb_error_t *err);

/* Open for reading a regular file that passes the same check; the check is made on
 * what was opened, so nobody can swap the file in between.  Returns the descriptor
 * (the caller closes it), or -1 with errno (EPERM when not trusted) and err. */
int hpcb_file_open_trusted(const char *path, hpcb_error_t *err);

/* hpcb_file_read of such a file. */
ssize_t hpcb_file_read_trusted(const char *path, char *buf, size_t size,
                               hpcb_error_t *err);

#endif
