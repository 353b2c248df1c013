/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Small files, read and written as a whole: kernel knobs, state, records.  No call
 * follows a symbolic link in the last component, and none blocks on a FIFO.
 */
#ifndef HPCB_COMMON_FILE_H
#define HPCB_COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include "common/error.h"

/* Read the whole of path into buf (NUL-terminated, trailing newline kept).  Return the
 * length, or -1 with errno (EFBIG if it does not fit) and err. */
ssize_t hpcb_file_read(const char *path, char *buf, size_t size, hpcb_error_t *err);

/* Write text to an existing file in one write(2) (a kernel knob).  Return 0, or -1 with
 * the kernel's errno and err, which names path, text and reason. */
int hpcb_file_write(const char *path, const char *text, hpcb_error_t *err);

/* Replace path by text: temporary file in the same directory, fsync, rename.  A reader
 * sees the old or the new content as a whole, also after a crash at any point. */
int hpcb_file_replace(const char *path, const char *text, size_t length, mode_t mode,
                      hpcb_error_t *err);

/* Do what hpcb_file_replace does without waiting for the disk, for content that is
 * useless after a crash of the machine.  A killed process still leaves the old or the
 * new content as a whole. */
int hpcb_file_swap(const char *path, const char *text, size_t length, mode_t mode,
                   hpcb_error_t *err);

/* Do what hpcb_file_replace does, but return -1 with EEXIST if path exists: of several
 * writers exactly one succeeds. */
int hpcb_file_create(const char *path, const char *text, size_t length, mode_t mode,
                     hpcb_error_t *err);

/* Append text in one O_APPEND write.  A new file gets mode less the umask. */
int hpcb_file_append(const char *path, const char *text, mode_t mode,
                     hpcb_error_t *err);

/* Create path and missing parents.  An existing directory is unchanged.  Return 0 or
 * -1. */
int hpcb_file_mkdirs(const char *path, mode_t mode, hpcb_error_t *err);

/* Identity of a file and time of its last change.  All zero: none. */
typedef struct {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec written;
} hpcb_file_stamp_t;

/* Return true if path is not the file of *stamp, or its status cannot be read.  *stamp
 * becomes that of path; all zero if its status cannot be read. */
bool hpcb_file_changed(const char *path, hpcb_file_stamp_t *stamp);

/* Return 0 if path (no symlink) is owned by root or by the caller's effective user and
 * nobody else can write to it; -1 with err otherwise.  Content of a file counts only
 * after this check. */
int hpcb_file_trusted(const char *path, hpcb_error_t *err);

/* Open a regular file that passes the same check for reading.  The check applies to the
 * opened file, so nobody can replace the file in between.  Return the descriptor (the
 * caller closes it), or -1 with errno (EPERM if not trusted) and err. */
int hpcb_file_open_trusted(const char *path, hpcb_error_t *err);

/* Read such a file like hpcb_file_read. */
ssize_t hpcb_file_read_trusted(const char *path, char *buf, size_t size,
                               hpcb_error_t *err);

#endif
