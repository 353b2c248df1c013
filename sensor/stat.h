/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A kernel file that is read often: it stays open, so that a sample is one system
 * call. */
#ifndef HPCB_SENSOR_STAT_H
#define HPCB_SENSOR_STAT_H

#include <stdint.h>
#include "common/error.h"

/* Open dir/name.  Return a descriptor that the caller closes, or -1 with errno and
 * err. */
int hpcb_stat_open(const char *dir, const char *name, hpcb_error_t *err);

/* Get the decimal number after the first key in the file; with key "" the file is
 * that number.  Return 0, or -1 with errno (ENODATA: no such key), err and value
 * unchanged. */
int hpcb_stat_number(int fd, const char *key, uint64_t *value, hpcb_error_t *err);

/* Maximum number of open files for users' tasks of all jobs together, so that the
 * measuring process keeps some for its own work. */
#define HPCB_STAT_FILES_MAX 4096

/* Reserve n of them, and release n of them.  hpcb_stat_take returns 0, or -1 with errno
 * and err if fewer are left. */
int hpcb_stat_take(size_t n, hpcb_error_t *err);
void hpcb_stat_give(size_t n);

#endif
