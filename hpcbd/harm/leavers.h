/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that were to be requeued because they harm a primary.  Some stay: those with
 * --no-requeue, interactive ones, or all while slurmctld does not answer.
 */
#ifndef HPCB_HPCBD_HARM_LEAVERS_H
#define HPCB_HPCBD_HARM_LEAVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hpcbd/node/registry.h"

/* Maximum number for one primary; the first ones are dropped. */
#define HPCBD_LEAVERS_MAX 64

/* All zero: none. */
typedef struct {
    size_t count;
    struct {
        uint32_t job_id;
        uint64_t begin_us; /* of the job, to recognize a requeued one */
    } of[HPCBD_LEAVERS_MAX];
} hpcbd_leavers_t;

/* Add a guest; return false if it is there already. */
bool hpcbd_leavers_add(hpcbd_leavers_t *leavers, const hpcbd_job_t *guest);

bool hpcbd_leavers_has(const hpcbd_leavers_t *leavers, const hpcbd_job_t *guest);

/* Drop guests that have ended. */
void hpcbd_leavers_clean(hpcbd_leavers_t *leavers, const hpcbd_registry_t *registry);

#endif
