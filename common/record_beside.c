/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The guests next to a primary in the record of a node: null if they are not known. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/record_codec.h"
#include "common/record_parts.h"

#define GUESTS "guests_beside"
#define CPU    "guest_cpu_seconds"

static int write_guests(hpcb_rjson_t *object, const hpcb_field_t *field,
                        const hpcb_record_t *record)
{
    const hpcb_beside_t *beside = &record->beside;
    hpcb_rjson_t *array;

    if (!beside->known)
        return hpcb_rjson_add_null(object, field->name);
    array = json_object_new_array();
    if (hpcb_rjson_add(object, field->name, array))
        return -1;
    for (size_t i = 0; i < beside->count; i++)
        if (hpcb_rjson_append(array, json_object_new_int64(beside->guests[i])))
            return -1;
    return 0;
}

static int write_guest_cpu(hpcb_rjson_t *object, const hpcb_field_t *field,
                           const hpcb_record_t *record)
{
    const hpcb_beside_t *beside = &record->beside;

    return beside->known
               ? hpcb_rjson_add_millionths(object, field->name, beside->cpu_us)
               : hpcb_rjson_add_null(object, field->name);
}

const hpcb_codec_t hpcb_codec_guests = {sizeof(hpcb_beside_t), write_guests, NULL,
                                        NULL};
const hpcb_codec_t hpcb_codec_guest_cpu = {sizeof(hpcb_beside_t), write_guest_cpu, NULL,
                                           NULL};

static int get_guest(hpcb_rjson_t *value, uint32_t *guest)
{
    int64_t number = json_object_get_int64(value);

    if (!json_object_is_type(value, json_type_int) || number <= 0 ||
        number > UINT32_MAX)
        return -1;
    *guest = (uint32_t)number;
    return 0;
}

int hpcb_record_get_beside(hpcb_rjson_t *object, hpcb_beside_t *beside)
{
    hpcb_autofree uint32_t *guests = NULL;
    hpcb_rjson_t *array;
    uint64_t cpu_us;
    size_t count;

    if (!json_object_object_get_ex(object, GUESTS, &array) || !array) {
        *beside = (hpcb_beside_t){.known = false};
        return 0;
    }
    if (!json_object_is_type(array, json_type_array) ||
        hpcb_rjson_get_seconds(object, CPU, &cpu_us))
        return -1;
    count = json_object_array_length(array);
    guests = count <= HPCB_BESIDE_MAX ? calloc(count + 1, sizeof(*guests)) : NULL;
    if (!guests)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (get_guest(json_object_array_get_idx(array, i), &guests[i]))
            return -1;
    *beside = (hpcb_beside_t){
        .known = true, .cpu_us = cpu_us, .count = count, .guests = guests};
    guests = NULL;
    return 0;
}
