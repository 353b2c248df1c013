/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Numbers and times as sacct prints them. */
#ifndef HPCB_SIM_MOMENT_H
#define HPCB_SIM_MOMENT_H

#include <stdbool.h>

/* A decimal number below 10^15, with nothing around it. */
bool hpcb_sim_decimal(const char *text, double *value);

/* A date (2026-11-23), with or without a time (T10:00, T10:00:00), or seconds: seconds.
 * A date is taken as one of UTC. */
bool hpcb_sim_moment(const char *text, double *seconds);

#endif
