/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The windows engine: favours the jobs of this node from edge to edge.  A part of the
 * daemon (hpcbd/hpcbd.h); these calls are for its other parts.
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
    uint64_t edges;         /* jobs switched at an edge */
    uint64_t missed;        /* edges slept over */
    uint64_t clock_sets;    /* somebody has set the clock */
    hpcb_histogram_t late;  /* from an edge until the job was switched, ns */
    hpcb_histogram_t turns; /* how long the loop was busy at a time, ns */
    const char *suspended;  /* why nobody is favoured; NULL: windows are on */
    bool realtime;          /* the daemon itself runs as SCHED_FIFO */
} hpcbd_window_stats_t;

extern const hpcbd_part_t hpcbd_window;

/* Something about the job has changed in StateDir. */
void hpcbd_window_job(uint32_t job_id);
void hpcbd_window_job_end(uint32_t job_id);

/* Return true if what reads many files should wait, because a job that is boosted now
 * will not be for long: it may keep the holder of a lock of the kernel from running. */
bool hpcbd_window_must_wait(void);

/* The clock is not to be trusted, because of why (a string that stays): favour nobody
 * from now on; NULL: it is. */
void hpcbd_window_suspend(const char *why);

/* Stop a guest for another reason than windows.  Return false if not all of it is
 * stopped (hpcbd_freeze_stop), or there is no watchdog.  Without one all of these
 * reasons go: ask again, as long as there is one. */
bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason);
void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason);

/* Whether a watchdog is there that undoes what this daemon leaves. */
bool hpcbd_window_is_guarded(void);
/* Why it is stopped, windows' own reason among the others; 0: it is not. */
unsigned hpcbd_window_why_stopped(uint32_t job_id);
/* Whether it goes on in spite of that for a minute, to hear of its end. */
bool hpcbd_window_hears(uint32_t job_id);

/* Whose deadline it is, who has stopped guests, will decide about them again by end_ns
 * of CLOCK_MONOTONIC, or else the watchdog ends the daemon and sets them going; 0: it
 * has let all of them go. */
void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns);

const hpcbd_registry_t *hpcbd_window_registry(void);
const hpcbd_window_stats_t *hpcbd_window_stats(void);

#endif
