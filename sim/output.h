/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output of rows as a table, JSON or CSV. */
#ifndef HPCB_SIM_OUTPUT_H
#define HPCB_SIM_OUTPUT_H

#include <stdio.h>

#include <json-c/json.h>

#include "sim/sim.h"

/*
 * Write rows[0..seeds), lists of flat objects with the same members, of the runs with
 * seed, seed + 1, ...  Return 0, or -1 with errno.
 */
int hpcb_sim_output(FILE *stream, hpcb_sim_format_t format, const char *title,
                    uint64_t seed, json_object *const rows[], uint64_t seeds);

#endif
