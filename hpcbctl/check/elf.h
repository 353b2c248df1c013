/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Exported values of a plugin's file, read without loading it: dlopen would run its
 * constructors, and fails on symbols that only slurmctld has.
 */
#ifndef HPCB_HPCBCTL_CHECK_ELF_H
#define HPCB_HPCBCTL_CHECK_ELF_H

#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/*
 * Get the value of an exported 32-bit integer that is constant or initialized
 * ("plugin_version").  Return 0, or -1 with errno (ENOEXEC: not a shared object of this
 * machine's kind, or damaged; ENOENT: no such symbol) and err.
 */
int hpcb_elf_u32(const char *path, const char *symbol, uint32_t *value,
                 hpcb_error_t *err);

/* Do the same for a file in memory; path is for err only. */
int hpcb_elf_parse_u32(const char *path, const void *image, size_t size,
                       const char *symbol, uint32_t *value, hpcb_error_t *err);

#endif
