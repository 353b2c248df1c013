/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Verbs of hpcb-sim(1). */
#ifndef HPCB_SIM_SIM_H
#define HPCB_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#define HPCB_SIM_USAGE     2
#define HPCB_SIM_SEEDS_MAX 10000

typedef enum { HPCB_SIM_TABLE, HPCB_SIM_JSON, HPCB_SIM_CSV } hpcb_sim_format_t;

/* Verbs take the arguments after their name, and return an exit code. */
int hpcb_sim_run(int argc, char *argv[]);
int hpcb_sim_replay(int argc, char *argv[]);

/* Parse an integer from min to max as the value of an option.  Return 0, or -1 after
 * one line on stderr. */
int hpcb_sim_number(const char *option, const char *text, int64_t min, int64_t max,
                    int64_t *value);

#endif
