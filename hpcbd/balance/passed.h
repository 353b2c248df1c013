/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Steps that are not balanced: those of one rank (a job may run thousands of `srun
 * -n1`), and unreadable ones.  They are stored, so that a scan of StateDir only reads
 * new ones, and only some of them.
 */
#ifndef HPCB_HPCBD_BALANCE_PASSED_H
#define HPCB_HPCBD_BALANCE_PASSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of stored steps; further ones are not read at all. */
#define HPCBD_PASSED_MAX 16384

/* Maximum number of steps that one scan reads, at a few hundredths of a millisecond
 * each. */
#define HPCBD_PASSED_READS 64

/* Number of scans after which an unreadable step is read again. */
#define HPCBD_PASSED_RETRY 5

typedef struct hpcbd_passed_step hpcbd_passed_step_t;

/* All zero: empty. */
typedef struct {
    hpcbd_passed_step_t *steps;
    size_t count, room;
    size_t sorted;  /* sorted entries; the others are from this scan */
    unsigned reads; /* in this scan */
} hpcbd_passed_t;

typedef enum {
    HPCBD_PASSED_READ,  /* read it now */
    HPCBD_PASSED_OVER,  /* it is stored: ignore it */
    HPCBD_PASSED_LATER, /* this scan has read enough */
    HPCBD_PASSED_FULL   /* no more can be stored */
} hpcbd_passed_what_t;

/* Decide about a step that this scan finds.  file: as in hpcb_ranks_each. */
hpcbd_passed_what_t hpcbd_passed_ask(hpcbd_passed_t *passed, uint32_t job_id,
                                     const char *step, uint64_t file);

/* Store a step that has been read, so that it is ignored from now on; again: only for
 * some scans. */
void hpcbd_passed_add(hpcbd_passed_t *passed, uint32_t job_id, const char *step,
                      uint64_t file, bool again);

/* End a scan; all: it has found every present step, so that the others are dropped. */
void hpcbd_passed_end(hpcbd_passed_t *passed, bool all);

void hpcbd_passed_free(hpcbd_passed_t *passed);

#endif
