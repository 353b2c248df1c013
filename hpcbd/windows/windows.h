/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The windows engine, a part of the daemon (hpcbd/hpcbd.h): boosts the jobs of this
 * node between switches.  These functions are for other parts.
 */
#ifndef HPCB_HPCBD_WINDOWS_WINDOWS_H
#define HPCB_HPCBD_WINDOWS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>
#include "common/histogram.h"
#include "hpcbd/hpcbd.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/windows/freeze.h"
#include "hpcbd/windows/watchdog.h"

typedef struct {
    uint64_t edges;         /* switches of jobs */
    uint64_t missed;        /* missed switches */
    uint64_t clock_sets;    /* number of times that the clock was set */
    hpcb_histogram_t late;  /* from the time of a switch until it was done, ns */
    hpcb_histogram_t turns; /* duration of the loop's iterations, ns */
    const char *suspended;  /* why no job is boosted; NULL: windows are active */
    bool realtime;          /* the daemon itself runs as SCHED_FIFO */
} hpcbd_window_stats_t;

extern const hpcbd_part_t hpcbd_window;

/* Note that the job's data in StateDir have changed. */
void hpcbd_window_job(uint32_t job_id);
void hpcbd_window_job_end(uint32_t job_id);

/* Return true if work that reads many files should wait, because a job is boosted now
 * and will soon not be: it may keep the holder of a lock of the kernel from running. */
bool hpcbd_window_must_wait(void);

/* Suspend windows, because the clock cannot be trusted, for the reason why (a string
 * that stays valid); NULL: resume. */
void hpcbd_window_suspend(const char *why);

/* Stop a guest for a reason other than windows.  Return false if not all of it is
 * stopped (hpcbd_freeze_stop), or there is no watchdog.  If the watchdog ends, all of
 * these reasons are dropped: call again as long as there is one. */
bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason);
void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason);

/* Return whether there is a watchdog that undoes changes of this daemon. */
bool hpcbd_window_is_guarded(void);
/* Return the reasons why it is stopped, including windows; 0: it is not. */
unsigned hpcbd_window_why_stopped(uint32_t job_id);
/* Return whether it runs for a minute in spite of that, to receive its end. */
bool hpcbd_window_hears(uint32_t job_id);

/* Set the deadline of a part that has stopped guests: it decides about them again by
 * end_ns of CLOCK_MONOTONIC, or the watchdog ends the daemon and continues them; 0: it
 * has stopped none. */
void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns);

const hpcbd_registry_t *hpcbd_window_registry(void);
const hpcbd_window_stats_t *hpcbd_window_stats(void);

#endif
