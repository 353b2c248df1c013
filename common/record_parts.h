/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A record as parsed JSON, and the lists in it that hpcb_record_parse skips. */
#ifndef HPCB_COMMON_RECORD_PARTS_H
#define HPCB_COMMON_RECORD_PARTS_H

#include "common/record.h"
#include "common/record_json.h"

/* Do what hpcb_record_parse does for parsed JSON (NULL: fail). */
int hpcb_record_from_json(hpcb_rjson_t *object, hpcb_record_t *record,
                          hpcb_error_t *err);

/* Return the number of tasks; the caller frees tasks unless it is 0.  Return -1 with
 * tasks unchanged on failure. */
long hpcb_record_get_tasks(hpcb_rjson_t *object, hpcb_task_usage_t **tasks);

/* Get the guests; the caller frees their list.  They are unknown if the members are
 * missing or null.  Return 0, or -1 with beside unchanged. */
int hpcb_record_get_beside(hpcb_rjson_t *object, hpcb_beside_t *beside);

#endif
