/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Remembers which guests the guard has sent away from which primary, as pairs of
 * programs (policy/company.h): in StateDir/company, for an hour, from where they are
 * sent to the collector (hpcbd/memory/report.c).
 */
#ifndef HPCB_HPCBD_HARM_COMPANY_H
#define HPCB_HPCBD_HARM_COMPANY_H

#include "hpcbd/node/registry.h"
#include "policy/company.h"

/* The job's program and user, as placement knows them; 0: not known.  Reads a file. */
uint64_t hpcbd_company_program(const char *state_dir, const hpcb_job_state_t *job);

/* These guests leave because of the primary.  Which of several it was nobody knows:
 * each is guilty in part.  Jobs whose program is not known are left out. */
void hpcbd_company_remember(const char *state_dir, const hpcbd_job_t *primary,
                            const hpcbd_job_t *const *guests, size_t count);

/* What is remembered of the hour before now, seconds of CLOCK_REALTIME.  0, or -1: that
 * is nothing, and company is undefined. */
int hpcbd_company_load(const char *state_dir, int64_t now, hpcb_company_t *company);

#endif
