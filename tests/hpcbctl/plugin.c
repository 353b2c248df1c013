/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A file that looks like a plugin of Slurm 22.05.8; nothing loads it. */
#include "config.h"

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

extern const char plugin_type[];
extern const uint32_t plugin_version;
extern uint32_t plugin_unset;
int job_submit(void);

EXPORT const char plugin_type[] = "job_submit/test";
EXPORT const uint32_t plugin_version = 0x160508;
EXPORT uint32_t plugin_unset; /* in .bss: no value in the file */

EXPORT int job_submit(void)
{
    return 0;
}
