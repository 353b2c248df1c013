/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A scenario: a JSON file (json-c), whose members the models read one by one.  Each
 * getter returns 0, or -1 with one line in err that names the file's member, its value
 * and what is allowed; outputs are unchanged then.  "source", "title" and "note" are
 * comments and allowed in every object; other unknown members are errors.
 */
#ifndef HPCB_SIM_SCENARIO_H
#define HPCB_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/error.h"
#include "sim/random.h"

#define HPCB_SIM_FILE_MAX  (64 << 20) /* bytes */
#define HPCB_SIM_TRACE_MAX 1000000
#define HPCB_SIM_NS_MAX    (INT64_C(1) << 55) /* more than a year */

/* Read path.  The caller puts the result; NULL with err on failure. */
json_object *hpcb_sim_scenario_read(const char *path, hpcb_error_t *err);

/* Return the path of a file that the scenario names: in the scenario's directory unless
 * name contains one.  The caller frees it; NULL with err. */
char *hpcb_sim_scenario_file(json_object *scenario, const char *name,
                             hpcb_error_t *err);

/* Replace one member before a run, "job.level_ns=300": its value is JSON, or a string
 * if it is not valid JSON. */
int hpcb_sim_scenario_set(json_object *scenario, const char *setting,
                          hpcb_error_t *err);

/* where: name of the object in messages.  known: names, terminated by NULL. */
int hpcb_sim_known(json_object *object, const char *where, const char *const known[],
                   hpcb_error_t *err);

bool hpcb_sim_has(json_object *object, const char *key);
int hpcb_sim_int(json_object *object, const char *where, const char *key, int64_t min,
                 int64_t max, int64_t *value, hpcb_error_t *err);
int hpcb_sim_real(json_object *object, const char *where, const char *key, double min,
                  double max, double *value, hpcb_error_t *err);
int hpcb_sim_bool(json_object *object, const char *where, const char *key, bool *value,
                  hpcb_error_t *err);

/* *value belongs to object. */
int hpcb_sim_text(json_object *object, const char *where, const char *key,
                  const char **value, hpcb_error_t *err);

/* A list of 1 to max, or an object. */
int hpcb_sim_list(json_object *object, const char *where, const char *key, size_t max,
                  json_object **value, hpcb_error_t *err);
int hpcb_sim_object(json_object *object, const char *where, const char *key,
                    json_object **value, hpcb_error_t *err);

/* Read one number of a list, or all of them. */
int hpcb_sim_int_at(json_object *list, size_t i, const char *where, const char *key,
                    int64_t min, int64_t max, int64_t *value, hpcb_error_t *err);
int hpcb_sim_ints(json_object *list, const char *where, const char *key, int64_t min,
                  int64_t max, int64_t *values, hpcb_error_t *err);
int hpcb_sim_reals(json_object *list, const char *where, const char *key, double min,
                   double max, double *values, hpcb_error_t *err);

/*
 * Read {"constant": NS}, {"uniform": [NS, NS]}, {"exponential": MEAN} or {"trace": [NS,
 * ...]}, each value from min to HPCB_SIM_NS_MAX.  The caller frees *value.
 */
int hpcb_sim_dist(json_object *object, const char *where, const char *key, int64_t min,
                  hpcb_sim_dist_t *value, hpcb_error_t *err);

#endif
