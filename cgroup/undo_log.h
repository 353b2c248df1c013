/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The undo log as a text file: one entry a line, written by several processes at once.
 * For undo.c alone.
 */
#ifndef HPCB_CGROUP_UNDO_LOG_H
#define HPCB_CGROUP_UNDO_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/task.h"
#include "common/error.h"

typedef struct {
    pid_t pid; /* 0: a file */
    uint64_t start;
    char *name; /* path or attribute */
    char *old;
} hpcb_undo_entry_t;

/* Append entry to the log at path, made 0600 where there is none.  Never waits.  0, or
 * -1 with errno and err. */
int hpcb_undo_log_add(const char *path, const hpcb_undo_entry_t *entry,
                      hpcb_error_t *err);

/* The whole log, "" where there is none; the caller frees it.  NULL with errno and err,
 * also where others than root and the caller could have written it. */
char *hpcb_undo_log_read(const char *path, hpcb_error_t *err);

/* The non-empty lines of text, cut in place; the caller frees the array.  NULL when
 * memory runs out. */
char **hpcb_undo_log_lines(char *text, size_t *count);

/* Take line apart in place; entry's texts point into it.  -1 when it is malformed. */
int hpcb_undo_log_parse(char *line, hpcb_undo_entry_t *entry);

/* True while the task of entry, and not another with its pid, is there. */
bool hpcb_undo_log_lives(const hpcb_undo_entry_t *entry);

/* Drop what no longer matters where the log has grown large. */
void hpcb_undo_log_compact(const char *path);

/* Open the log to append, made if there is none.  The descriptor, which the caller
 * closes, or -1 with errno and err. */
int hpcb_undo_log_open(const char *path, hpcb_error_t *err);

/* True while the log that fd is of has its name: neither removed nor replaced. */
bool hpcb_undo_log_named(int fd);

#endif
