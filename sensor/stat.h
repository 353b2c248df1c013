/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A file of the kernel's that is read again and again: it stays open between, so that a
 * sample is one system call. */
#ifndef HPCB_SENSOR_STAT_H
#define HPCB_SENSOR_STAT_H

#include <stdint.h>
#include "common/error.h"

/* Open dir/name.  A descriptor that the caller closes, or -1 with errno and err. */
int hpcb_stat_open(const char *dir, const char *name, hpcb_error_t *err);

/* The decimal number behind the first key in the file; with key "" the file is that
 * number.  0, or -1 with errno (ENODATA: no such key), err and value untouched. */
int hpcb_stat_number(int fd, const char *key, uint64_t *value, hpcb_error_t *err);

/* Files that stay open because a user has started so many tasks: all jobs together get
 * no more than that, or the process that measures would have none left for its work. */
#define HPCB_STAT_FILES_MAX 4096

/* Take n of them, and give them back.  -1 with errno and err if there are not so many
 * left. */
int hpcb_stat_take(size_t n, hpcb_error_t *err);
void hpcb_stat_give(size_t n);

#endif
