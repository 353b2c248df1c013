/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Models that a scenario can name.  A model reads its members, runs, and returns rows:
 * a list of flat objects of figures, all with the same members in the same order.
 */
#ifndef HPCB_SIM_MODEL_H
#define HPCB_SIM_MODEL_H

#include <json-c/json.h>

#include "common/error.h"
#include "sim/progress.h"

/* rows is an empty list.  Return 0, or -1 with err. */
typedef int (*hpcb_sim_model_t)(json_object *scenario, uint64_t seed,
                                hpcb_sim_progress_t *progress, json_object *rows,
                                hpcb_error_t *err);

/* Return the model of that name, or NULL. */
hpcb_sim_model_t hpcb_sim_model(const char *name);

/* Return their names, for messages: "noise, queue". */
const char *hpcb_sim_models(void);

int hpcb_sim_cpus_model(json_object *scenario, uint64_t seed,
                        hpcb_sim_progress_t *progress, json_object *rows,
                        hpcb_error_t *err);
int hpcb_sim_gang_model(json_object *scenario, uint64_t seed,
                        hpcb_sim_progress_t *progress, json_object *rows,
                        hpcb_error_t *err);
int hpcb_sim_memory_model(json_object *scenario, uint64_t seed,
                          hpcb_sim_progress_t *progress, json_object *rows,
                          hpcb_error_t *err);
int hpcb_sim_noise_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err);
int hpcb_sim_pairs_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err);
int hpcb_sim_queue_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err);
int hpcb_sim_threads_model(json_object *scenario, uint64_t seed,
                           hpcb_sim_progress_t *progress, json_object *rows,
                           hpcb_error_t *err);

/* Add a figure to a row, or a row to rows.  It is missing if memory is short. */
void hpcb_sim_put_text(json_object *row, const char *name, const char *value);
void hpcb_sim_put_int(json_object *row, const char *name, int64_t value);
void hpcb_sim_put_real(json_object *row, const char *name, double value);
json_object *hpcb_sim_row(json_object *rows);

#endif
