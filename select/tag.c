/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "select/tag.h"

#define SLOTS     16384u
#define DEPTH_MAX 16 /* deeper JSON is none of ours */

typedef struct {
    uint32_t id; /* 0: empty */
    uint32_t uid;
    uint64_t hash;
    hpcb_demand_t demand;
} slot_t;

static slot_t slots[SLOTS];

static void put_object(json_object **object)
{
    json_object_put(*object);
}

static void free_tokener(json_tokener **tokener)
{
    if (*tokener)
        json_tokener_free(*tokener);
}

#define AUTO_OBJECT  __attribute__((cleanup(put_object)))
#define AUTO_TOKENER __attribute__((cleanup(free_tokener)))

static json_object *parse(const char *text)
{
    AUTO_TOKENER json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    AUTO_OBJECT json_object *object = NULL;
    size_t length = strlen(text);

    if (!tokener || length >= INT_MAX)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    object = json_tokener_parse_ex(tokener, text, (int)length + 1);
    if (json_tokener_get_error(tokener) != json_tokener_success)
        return NULL;
    return json_object_get(object);
}

static json_object *member(json_object *object, const char *key, json_type type)
{
    json_object *value;

    if (!object || !json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, key, &value) ||
        !json_object_is_type(value, type))
        return NULL;
    return value;
}

static bool read_bandwidth(json_object *bw, const char *key, uint64_t *bandwidth)
{
    json_object *value = member(bw, key, json_type_int);

    if (!value || json_object_get_int64(value) <= 0)
        return false;
    *bandwidth = (uint64_t)json_object_get_int64(value);
    return true;
}

hpcb_demand_t hpcb_tag_read(uint32_t uid, const char *comment)
{
    AUTO_OBJECT json_object *outer = comment && *comment ? parse(comment) : NULL;
    json_object *tag = member(outer, "hpcb", json_type_object);
    json_object *bw = member(tag, "bw", json_type_object);
    json_object *program = member(tag, "program", json_type_string);
    hpcb_demand_t demand = {.mem_known = false};

    demand.mem_known = read_bandwidth(bw, "mem", &demand.use.mem);
    demand.net_known = read_bandwidth(bw, "net", &demand.use.net);
    if (program)
        demand.program = hpcb_fit_program(uid, json_object_get_string(program));
    return demand;
}

/* FNV-1a */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

const hpcb_demand_t *hpcb_tag_demand(uint32_t id, uint32_t uid, const char *comment)
{
    slot_t *slot = &slots[id % SLOTS];
    uint64_t hash = hash_text(comment);

    if (slot->id != id || slot->uid != uid || slot->hash != hash)
        *slot = (slot_t){id, uid, hash, hpcb_tag_read(uid, comment)};
    return &slot->demand;
}
