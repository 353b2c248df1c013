/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Log of lower layers.  Programs and plugins decide where lines go:
 * slurm_info/slurm_error in plugins, stderr in hpcbctl.
 */
#ifndef HPCB_COMMON_LOG_H
#define HPCB_COMMON_LOG_H

#include <stdbool.h>

typedef enum { HPCB_LOG_ERROR, HPCB_LOG_INFO, HPCB_LOG_DEBUG } hpcb_log_level_t;

typedef void (*hpcb_log_sink_t)(hpcb_log_level_t level, const char *line);

/* Send all later lines to sink; NULL restores the default (errors and info to stderr,
 * debug dropped).  Not thread-safe: call it once, from the entry point. */
void hpcb_log_set_sink(hpcb_log_sink_t sink);

/* Log one line (no newline, no prefix: the sink adds its own). */
void hpcb_log(hpcb_log_level_t level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Log only if *once is false, and set it.  The caller has one flag for each kind of
 * failure. */
void hpcb_log_once(bool *once, hpcb_log_level_t level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
