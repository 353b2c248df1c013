/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The tasks in the record of a node. */
#include "config.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/record_codec.h"
#include "common/record_parts.h"

static int add_task(hpcb_rjson_t *array, const hpcb_task_usage_t *task)
{
    hpcb_rjson_t *object = json_object_new_object();

    return hpcb_rjson_append(array, object) ||
           hpcb_rjson_add_text(object, "step", task->step) ||
           hpcb_rjson_add_u64(object, "task", task->task) ||
           hpcb_rjson_add_millionths(object, "cpu_seconds", task->cpu_us) ||
           hpcb_rjson_add_millionths(object, "run_delay_seconds", task->run_delay_us);
}

/* Up to HPCB_TASKS_MAX. */
static int write_tasks(hpcb_rjson_t *object, const hpcb_field_t *field,
                       const hpcb_record_t *record)
{
    hpcb_rjson_t *array = json_object_new_array();

    if (hpcb_rjson_add(object, field->name, array))
        return -1;
    for (size_t i = 0; i < record->n_tasks && i < HPCB_TASKS_MAX; i++)
        if (add_task(array, &record->tasks[i]))
            return -1;
    return 0;
}

const hpcb_codec_t hpcb_codec_tasks = {sizeof(hpcb_task_usage_t *), write_tasks, NULL,
                                       NULL};

static int get_task(hpcb_rjson_t *object, hpcb_task_usage_t *task)
{
    uint64_t number;

    if (!json_object_is_type(object, json_type_object) ||
        hpcb_rjson_get_word(object, "step", task->step, sizeof(task->step)) ||
        hpcb_rjson_get_u64(object, "task", UINT32_MAX, &number) ||
        hpcb_rjson_get_seconds(object, "cpu_seconds", &task->cpu_us) ||
        hpcb_rjson_get_seconds(object, "run_delay_seconds", &task->run_delay_us))
        return -1;
    task->task = (uint32_t)number;
    return 0;
}

long hpcb_record_get_tasks(hpcb_rjson_t *object, hpcb_task_usage_t **tasks)
{
    hpcb_autofree hpcb_task_usage_t *read = NULL;
    hpcb_rjson_t *array;
    size_t count;

    if (!json_object_object_get_ex(object, "tasks", &array) || !array)
        return 0;
    if (!json_object_is_type(array, json_type_array))
        return -1;
    count = json_object_array_length(array);
    if (count == 0)
        return 0;
    read = count <= HPCB_TASKS_MAX ? calloc(count, sizeof(*read)) : NULL;
    for (size_t i = 0; read && i < count; i++)
        if (get_task(json_object_array_get_idx(array, i), &read[i]))
            return -1;
    if (!read)
        return -1;
    *tasks = read;
    read = NULL;
    return (long)count;
}
