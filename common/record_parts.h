/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the record of a node and that of a job (common/tag.h) have in common. */
#ifndef HPCB_COMMON_RECORD_PARTS_H
#define HPCB_COMMON_RECORD_PARTS_H

#include "common/record.h"
#include "common/record_json.h"

/* hpcb_record_parse of JSON that has been read (NULL: of none). */
int hpcb_record_from_json(hpcb_rjson_t *object, hpcb_record_t *record,
                          hpcb_error_t *err);

/* Members of a job, but nodes.  0, or -1 when memory runs out. */
int hpcb_record_add_about(hpcb_rjson_t *object, const hpcb_about_t *about);

/* The member tasks, up to HPCB_TASKS_MAX. */
int hpcb_record_add_tasks(hpcb_rjson_t *object, const hpcb_task_usage_t *tasks,
                          size_t count);

/* The members guests_beside and guest_cpu_seconds, null where they are not known. */
int hpcb_record_add_beside(hpcb_rjson_t *object, const hpcb_beside_t *beside);

/* The reverse, nodes included; what is missing or null is not known.  NULL, or the key
 * of what cannot be. */
const char *hpcb_record_get_about(hpcb_rjson_t *object, hpcb_about_t *about);

/* The number of tasks, which the caller frees where it is not 0; or -1 with tasks
 * untouched. */
long hpcb_record_get_tasks(hpcb_rjson_t *object, hpcb_task_usage_t **tasks);

/* The guests, whose list the caller frees; not known where the members are missing or
 * null.  0, or -1 with beside untouched. */
int hpcb_record_get_beside(hpcb_rjson_t *object, hpcb_beside_t *beside);

#endif
