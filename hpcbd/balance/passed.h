/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Steps that nobody balances: of one rank (a job may run thousands of `srun -n1`), or
 * that cannot be read.  They are remembered, so that a look at StateDir reads what is
 * new, and of that a few steps only.
 */
#ifndef HPCB_HPCBD_BALANCE_PASSED_H
#define HPCB_HPCBD_BALANCE_PASSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Further steps are not read at all. */
#define HPCBD_PASSED_MAX 16384

/* Steps that a look reads, at some hundredths of a millisecond each. */
#define HPCBD_PASSED_READS 64

/* Looks after which a step that could not be read is read again. */
#define HPCBD_PASSED_RETRY 5

typedef struct hpcbd_passed_step hpcbd_passed_step_t;

/* All zero: none is remembered. */
typedef struct {
    hpcbd_passed_step_t *steps;
    size_t count, room;
    size_t sorted;  /* of them; those behind are of this look */
    unsigned reads; /* in this look */
} hpcbd_passed_t;

typedef enum {
    HPCBD_PASSED_READ,  /* read it now */
    HPCBD_PASSED_OVER,  /* it is remembered: nothing is to be done */
    HPCBD_PASSED_LATER, /* this look has read enough */
    HPCBD_PASSED_FULL   /* no more can be remembered */
} hpcbd_passed_what_t;

/* What to do about a step that this look comes upon.  file: as in hpcb_ranks_each. */
hpcbd_passed_what_t hpcbd_passed_ask(hpcbd_passed_t *passed, uint32_t job_id,
                                     const char *step, uint64_t file);

/* It has been read, and is to be passed over from now on; again: but not for ever. */
void hpcbd_passed_add(hpcbd_passed_t *passed, uint32_t job_id, const char *step,
                      uint64_t file, bool again);

/* The look is over; all: it has come upon every step that there is, so that others are
 * forgotten. */
void hpcbd_passed_end(hpcbd_passed_t *passed, bool all);

void hpcbd_passed_free(hpcbd_passed_t *passed);

#endif
