/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Numbers and times in sacct's formats. */
#ifndef HPCB_SIM_MOMENT_H
#define HPCB_SIM_MOMENT_H

#include <stdbool.h>

/* Parse a decimal number below 10^15. */
bool hpcb_sim_decimal(const char *text, double *value);

/* Parse a date (2026-11-23), with or without a time (T10:00, T10:00:00), or seconds,
 * into seconds.  Dates are in UTC. */
bool hpcb_sim_moment(const char *text, double *seconds);

#endif
