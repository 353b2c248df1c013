/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Files that grow by whole lines: what an append that did not end has left, after a
 * crash or on a full disk, is cut off before the next one.
 */
#ifndef HPCB_HPCBD_COLLECTOR_FILE_H
#define HPCB_HPCBD_COLLECTOR_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Append length bytes of lines (a newline at the end of each) to path, made where it is
 * missing, and wait until they are on disk.  The offset of the first one; or -1 with
 * err: they are not there, or may be there after a crash. */
int64_t hpcbd_file_append(const char *path, const char *text, size_t length,
                          hpcb_error_t *err);

/* Call visit for each whole line of path from start on (NUL-terminated instead of its
 * newline), with its offset.  0, also where there is no file; or -1 with err where
 * reading fails or visit has returned non-zero. */
int hpcbd_file_each(const char *path, uint64_t start,
                    int (*visit)(const char *line, size_t length, uint64_t offset,
                                 void *arg),
                    void *arg, hpcb_error_t *err);

/* The line at offset, without newline; the caller frees it.  NULL with err, errno 0
 * where the file ends before that. */
char *hpcbd_file_line(const char *path, uint64_t offset, hpcb_error_t *err);

#endif
