/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Pairs of programs of primaries and guests that the guard separated
 * (policy/company.h): stored in StateDir/company for an hour, from which they are sent
 * to the collector (hpcbd/memory/report.c).
 */
#ifndef HPCB_HPCBD_HARM_COMPANY_H
#define HPCB_HPCBD_HARM_COMPANY_H

#include "hpcbd/node/registry.h"
#include "policy/company.h"

/* Return the job's program for its user, as placement computes it; 0: not known.  Reads
 * a file. */
uint64_t hpcbd_company_program(const char *state_dir, const hpcb_job_state_t *job);

/* Store that these guests leave because of the primary.  Each of several has a part of
 * the weight, because it is not known which one is the cause.  Jobs of unknown programs
 * are skipped. */
void hpcbd_company_remember(const char *state_dir, const hpcbd_job_t *primary,
                            const hpcbd_job_t *const *guests, size_t count);

/* Load the entries of the hour before now, seconds of CLOCK_REALTIME.  Return 0, or -1
 * with company undefined if there are none. */
int hpcbd_company_load(const char *state_dir, int64_t now, hpcb_company_t *company);

#endif
