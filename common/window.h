/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Text form of coordinated windows, for users and hpc-balance.conf: PERIOD:DUTY, for
 * example 1s:90%, 500ms:450ms, 1.5s:0.9.  policy/window.h defines them.
 */
#ifndef HPCB_COMMON_WINDOW_H
#define HPCB_COMMON_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define HPCB_WINDOW_PERIOD_MIN_US UINT64_C(1000)
#define HPCB_WINDOW_PERIOD_MAX_US UINT64_C(3600000000)

/* SCHED_FIFO priority of the daemon: above every job that it boosts, below interrupt
 * threads (50). */
#define HPCBD_PRIORITY 40

/* 0 < favoured_us < period_us; both 0: no window. */
typedef struct {
    uint64_t period_us;
    uint64_t favoured_us;
} hpcb_window_spec_t;

/* Description of valid values for error messages. */
extern const char hpcb_window_rule[];

/* Parse the whole of text: a duration with its unit (us, ms, s), ':', and the boosted
 * part as a share (90% or 0.9) or as a duration.  Return 0, or -1 with spec
 * unchanged. */
int hpcb_window_parse(const char *text, hpcb_window_spec_t *spec);

/* Write the shortest text that hpcb_window_parse reads as spec, "none" for no window.
 * HPCB_WINDOW_TEXT_MAX bytes are always enough.  Return buf. */
#define HPCB_WINDOW_TEXT_MAX 48
const char *hpcb_window_print(const hpcb_window_spec_t *spec, char *buf, size_t size);

#endif
