/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One-line error messages.  Low layers return -1 (with errno where it is useful) and
 * write the message here; programs and plugins print it as one line.
 */
#ifndef HPCB_COMMON_ERROR_H
#define HPCB_COMMON_ERROR_H

#define HPCB_ERROR_MAX 512

typedef struct {
    char text[HPCB_ERROR_MAX];
} hpcb_error_t;

/*
 * Format a message into err (which may be NULL), truncated to HPCB_ERROR_MAX, with
 * every control character replaced by '?', so that hostile input stays on one line.
 * Always return -1 and keep errno: `return hpcb_error(err, "...")`.
 */
int hpcb_error(hpcb_error_t *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
