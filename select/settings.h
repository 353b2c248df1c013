/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf for select/ and preempt/: a copy in each plugin, read at slurmctld's
 * start and after each reconfiguration, never in between.  All functions are
 * thread-safe.
 */
#ifndef HPCB_SELECT_SETTINGS_H
#define HPCB_SELECT_SETTINGS_H

#include <stdbool.h>
#include <time.h>
#include "common/conf.h"

/* Read the file.  An invalid one is logged; the previous settings, or the defaults,
 * stay. */
void hpcb_select_settings_read(void);

/* Read it unless it was read since as_of, slurmctld's time of configuration. */
void hpcb_select_settings_refresh(time_t as_of);

/* Return true for the partition of guests.  Never reads the file. */
bool hpcb_select_is_guest(const char *partition);

/* Return GuestPriority. */
uint32_t hpcb_select_guest_priority(void);

/* Return GuestPinToPrimaries. */
bool hpcb_select_pins(void);

/* GuestMemory and related keys. */
typedef struct {
    bool unused;
    hpcb_memory_reserve_t reserve;
    uint32_t settle;    /* seconds */
    char dir[PATH_MAX]; /* directory of the live state of nodes */
} hpcb_select_memory_t;

void hpcb_select_memory(hpcb_select_memory_t *memory);

/* Read the bandwidths of nodes from the file itself: rows has HPCB_CAPACITIES_MAX
 * entries.  Return 0, or -1 if the file is invalid, which is logged when it is read. */
int hpcb_select_capacities(hpcb_capacity_t *rows, size_t *count);

#endif
