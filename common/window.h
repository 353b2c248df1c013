/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What users and hpc-balance.conf write about coordinated windows: PERIOD:DUTY, e.g.
 * 1s:90%, 500ms:450ms, 1.5s:0.9.  What a window means: policy/window.h.
 */
#ifndef HPCB_COMMON_WINDOW_H
#define HPCB_COMMON_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define HPCB_WINDOW_PERIOD_MIN_US UINT64_C(1000)
#define HPCB_WINDOW_PERIOD_MAX_US UINT64_C(3600000000)

/* SCHED_FIFO priority of the daemon: above every job that it favours, below interrupt
 * threads (50). */
#define HPCBD_PRIORITY 40

/* 0 < favoured_us < period_us; both 0: no window. */
typedef struct {
    uint64_t period_us;
    uint64_t favoured_us;
} hpcb_window_spec_t;

/* What is allowed, for the person whose value was refused. */
extern const char hpcb_window_rule[];

/* Read text as a whole: a duration with its unit (us, ms, s), ':', and the favoured
 * part as a share (90% or 0.9) or as a duration.  0, or -1 with spec untouched. */
int hpcb_window_parse(const char *text, hpcb_window_spec_t *spec);

/* The shortest that hpcb_window_parse reads as spec, "none" where there is no window.
 * HPCB_WINDOW_TEXT_MAX bytes are always enough.  Returns buf. */
#define HPCB_WINDOW_TEXT_MAX 48
const char *hpcb_window_print(const hpcb_window_spec_t *spec, char *buf, size_t size);

#endif
