/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_BENCH_MEMORY_HOSTILE_H
#define HPCB_BENCH_MEMORY_HOSTILE_H

#include <stddef.h>

/* Lock half of size, and as much in a memory file; from now on children allocate and
 * fork, and write and read a file in dir, for ever. */
void hostile_hold(size_t size, const char *dir);

#endif
