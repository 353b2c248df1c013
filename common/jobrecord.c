/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/jobrecord.h"
#include "common/record_json.h"

/* Three digits after the point are enough for people. */
static int add_short(hpcb_rjson_t *object, const char *key, double value)
{
    char text[32];

    if (!(value >= 0 && value < 1e15))
        return 0;
    snprintf(text, sizeof(text), "%" PRIu64 ".%03u", (uint64_t)value,
             (unsigned)((value - (double)(uint64_t)value) * 1000));
    return hpcb_rjson_add(object, key, json_object_new_double_s(value, text));
}

static int add_bandwidth(hpcb_rjson_t *tag, const char *key, double value)
{
    return value >= 0 && value < 1e18 ? hpcb_rjson_add_u64(tag, key, (uint64_t)value)
                                      : 0;
}

static int add_used(hpcb_rjson_t *tag, const hpcb_run_t *run)
{
    if (run->guests_known && hpcb_rjson_add_u64(tag, "guests", run->guests))
        return -1;
    return (run->restart && hpcb_rjson_add_u64(tag, "run", run->restart)) ||
           add_short(tag, "eff", run->efficiency) ||
           add_short(tag, "stolen", run->stolen_fraction) ||
           add_short(tag, "cpu", run->cpu_seconds) ||
           add_short(tag, "wall", run->wall_seconds) ||
           add_bandwidth(tag, "mem", run->mem_bandwidth) ||
           add_bandwidth(tag, "net", run->net_bandwidth);
}

/* The object "hpcb" in outer, made where there is none (of a job that was submitted
 * while the plugin was not there). */
static hpcb_rjson_t *tag_in(hpcb_rjson_t *outer, const hpcb_run_t *run)
{
    hpcb_rjson_t *tag;

    if (json_object_object_get_ex(outer, "hpcb", &tag) &&
        json_object_is_type(tag, json_type_object))
        return tag;
    tag = json_object_new_object();
    if (hpcb_rjson_add(outer, "hpcb", tag) || hpcb_rjson_add_u64(tag, "v", 1) ||
        (run->klass != HPCB_CLASS_UNKNOWN &&
         hpcb_rjson_add_text(tag, "class", hpcb_class_name(run->klass))))
        return NULL;
    return tag;
}

static hpcb_rjson_t *start_comment(const char *before)
{
    hpcb_rjson_t *outer = before && *before ? hpcb_rjson_parse(before) : NULL;

    if (outer)
        return outer;
    outer = json_object_new_object();
    if (outer && before && *before && hpcb_rjson_add_text(outer, "comment", before)) {
        json_object_put(outer);
        return NULL;
    }
    return outer;
}

/* Return whether slurmdbd takes the text (hpcbd/collector/writer_slurm.h): its SQL is
 * made with neither quotes nor backslashes, and JSON writes a quotation mark as \". */
static bool slurmdbd_takes(const char *text)
{
    return strlen(text) < HPCB_COMMENT_MAX && !strpbrk(text, "'\\");
}

/* The name of the program, which the record has, makes room for figures, and goes if it
 * has characters that slurmdbd does not take. */
static char *print_comment(hpcb_rjson_t *outer, hpcb_rjson_t *tag, hpcb_error_t *err)
{
    char *text = hpcb_rjson_print(outer, "", err);

    if (!text || slurmdbd_takes(text))
        return text;
    free(text);
    json_object_object_del(tag, "program");
    text = hpcb_rjson_print(outer, "", err);
    if (!text || strlen(text) < HPCB_COMMENT_MAX)
        return text;
    free(text);
    errno = EMSGSIZE;
    hpcb_error(err, "what others wrote into AdminComment leaves no room");
    return NULL;
}

char *hpcb_run_comment(const hpcb_run_t *run, const char *before, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *outer = start_comment(before);
    hpcb_rjson_t *tag = outer ? tag_in(outer, run) : NULL;

    if (tag && add_used(tag, run) == 0)
        return print_comment(outer, tag, err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}
