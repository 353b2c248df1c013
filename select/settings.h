/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf as select/ and preempt/ see it: a copy in each plugin, read at
 * slurmctld's start and when it was reconfigured, never in between.  All functions are
 * safe from any thread.
 */
#ifndef HPCB_SELECT_SETTINGS_H
#define HPCB_SELECT_SETTINGS_H

#include <stdbool.h>
#include <time.h>
#include "common/conf.h"

/* Read the file that is in force.  One that cannot be read is logged; what was read
 * before, or the defaults, stay. */
void hpcb_select_settings_read(void);

/* Read it where it was not read since as_of, slurmctld's time of configuration, was
 * this one. */
void hpcb_select_settings_refresh(time_t as_of);

/* True for the partition of guests.  Never looks at the file. */
bool hpcb_select_is_guest(const char *partition);

/* GuestPriority. */
uint32_t hpcb_select_guest_priority(void);

/* GuestPinToPrimaries. */
bool hpcb_select_pins(void);

/* GuestMemory and what belongs to it. */
typedef struct {
    bool unused;
    hpcb_memory_reserve_t reserve;
    uint32_t settle;    /* seconds */
    char dir[PATH_MAX]; /* where the live state of nodes is */
} hpcb_select_memory_t;

void hpcb_select_memory(hpcb_select_memory_t *memory);

/* What nodes can move, from the file itself: rows has room for HPCB_CAPACITIES_MAX.
 * 0, or -1 where the file is not good, which is logged when it is read. */
int hpcb_select_capacities(hpcb_capacity_t *rows, size_t *count);

#endif
