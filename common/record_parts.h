/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A record as parsed JSON, and the lists in it that hpcb_record_parse leaves out. */
#ifndef HPCB_COMMON_RECORD_PARTS_H
#define HPCB_COMMON_RECORD_PARTS_H

#include "common/record.h"
#include "common/record_json.h"

/* hpcb_record_parse of JSON that has been read (NULL: of none). */
int hpcb_record_from_json(hpcb_rjson_t *object, hpcb_record_t *record,
                          hpcb_error_t *err);

/* The number of tasks, which the caller frees where it is not 0; or -1 with tasks
 * untouched. */
long hpcb_record_get_tasks(hpcb_rjson_t *object, hpcb_task_usage_t **tasks);

/* The guests, whose list the caller frees; not known where the members are missing or
 * null.  0, or -1 with beside untouched. */
int hpcb_record_get_beside(hpcb_rjson_t *object, hpcb_beside_t *beside);

#endif
