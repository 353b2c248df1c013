/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One sentence for people.  Low layers return -1 (errno set where it helps) and
 * put that sentence here; a front door prints it as one line.
 */
#ifndef HPCB_COMMON_ERROR_H
#define HPCB_COMMON_ERROR_H

#define HPCB_ERROR_MAX 512

typedef struct {
    char text[HPCB_ERROR_MAX];
} hpcb_error_t;

/*
 * Format a sentence into err (which may be NULL), cut to HPCB_ERROR_MAX, with
 * every control character replaced by '?', so that hostile input stays on one
 * line.  Always returns -1 and keeps errno: `return hpcb_error(err, "...")`.
 */
int hpcb_error(hpcb_error_t *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
