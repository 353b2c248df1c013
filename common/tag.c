/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record_json.h"
#include "common/tag.h"
#include "common/text.h"

#define MEMBER      "hpcb"
#define TAG_VERSION 1
#define MILLION     1000000u

/* The tag in outer, or NULL. */
static hpcb_rjson_t *tag_of(hpcb_rjson_t *outer)
{
    hpcb_rjson_t *tag;

    return outer && json_object_object_get_ex(outer, MEMBER, &tag) &&
                   json_object_is_type(tag, json_type_object)
               ? tag
               : NULL;
}

static hpcb_rjson_t *new_tag(hpcb_rjson_t *outer, hpcb_class_t klass)
{
    hpcb_rjson_t *tag = json_object_new_object();

    if (hpcb_rjson_add(outer, MEMBER, tag) ||
        hpcb_rjson_add_u64(tag, "v", TAG_VERSION) ||
        (klass != HPCB_CLASS_UNKNOWN &&
         hpcb_rjson_add_text(tag, "class", hpcb_class_name(klass))))
        return NULL;
    return tag;
}

/* Prefixes of texts that another program reads back from AdminComment and that must
 * stay at its beginning: Jobstats' summary of a job. */
static const char *const foreign[] = {"JS1:"};

/* Return whether the text stays as it is, without a tag. */
static bool is_foreign(const char *text)
{
    for (size_t i = 0; text && i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strncmp(text, foreign[i], strlen(foreign[i])) == 0)
            return true;
    return false;
}

/* slurmctld accepts no such text, so it is not parsed. */
static bool is_too_long(const char *text)
{
    return text && strnlen(text, HPCB_COMMENT_MAX) == HPCB_COMMENT_MAX;
}

static char *no_room(hpcb_error_t *err)
{
    errno = EMSGSIZE;
    hpcb_error(err, "the existing AdminComment is too long for the tag");
    return NULL;
}

static char *copy(const char *text, hpcb_error_t *err)
{
    char *same = strdup(text);

    if (!same)
        hpcb_error(err, "out of memory");
    return same;
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

static int add_bandwidth(hpcb_rjson_t *object, const hpcb_tag_t *tag)
{
    const hpcb_options_t *options = tag->options;
    hpcb_rjson_t *bw;

    if (options->bw_mem == 0 && options->bw_net == 0 && !(options->bw_cpu > 0))
        return 0;
    bw = json_object_new_object();
    if (hpcb_rjson_add(object, "bw", bw))
        return -1;
    if ((options->bw_mem && hpcb_rjson_add_u64(bw, "mem", options->bw_mem)) ||
        (options->bw_net && hpcb_rjson_add_u64(bw, "net", options->bw_net)))
        return -1;
    if (options->bw_cpu > 0 &&
        hpcb_rjson_add_millionths(bw, "cpu",
                                  (uint64_t)(options->bw_cpu * MILLION + 0.5)))
        return -1;
    return hpcb_rjson_add_text(bw, "source", tag->learned ? "learned" : "given");
}

/* A quotation mark or a backslash takes two bytes. */
static int add_program(hpcb_rjson_t *object, const char *program)
{
    if (!program || !*program || !hpcb_rjson_is_ascii(program) ||
        strlen(program) >= HPCB_TAG_PROGRAM_MAX)
        return 0;
    return hpcb_rjson_add_text(object, "program", program);
}

/* Replaces one that is there: who submits may have written it. */
static int add_tag(hpcb_rjson_t *outer, const hpcb_tag_t *tag)
{
    hpcb_policy_t policy = tag->options->policy;
    hpcb_rjson_t *object = new_tag(outer, tag->klass);

    if (!object)
        return -1;
    if (policy != HPCB_POLICY_NONE &&
        hpcb_rjson_add_text(object, "policy", hpcb_policy_name(policy)))
        return -1;
    if (tag->peak && hpcb_rjson_add_u64(object, "peak", tag->peak))
        return -1;
    if (tag->options->spread && hpcb_rjson_add_bool(object, "spread", true))
        return -1;
    return add_bandwidth(object, tag) || add_program(object, tag->program);
}

/* The name of the program, which the record has, goes if the text does not fit. */
static char *print_comment(hpcb_rjson_t *outer, bool (*fits)(const char *text),
                           hpcb_error_t *err)
{
    char *text = hpcb_rjson_print(outer, "", err);

    if (!text || fits(text))
        return text;
    free(text);
    json_object_object_del(tag_of(outer), "program");
    text = hpcb_rjson_print(outer, "", err);
    if (!text || !is_too_long(text))
        return text;
    free(text);
    return no_room(err);
}

static bool slurmctld_takes(const char *text)
{
    return !is_too_long(text);
}

char *hpcb_tag_add(const char *before, const hpcb_tag_t *tag, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *outer = NULL;

    if (is_foreign(before))
        return copy(before, err);
    if (is_too_long(before))
        return no_room(err);
    outer = start_comment(before);
    if (outer && add_tag(outer, tag) == 0)
        return print_comment(outer, slurmctld_takes, err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}

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

static int add_mean(hpcb_rjson_t *tag, const char *key, double bandwidth)
{
    return bandwidth >= 0 && bandwidth < 1e18
               ? hpcb_rjson_add_u64(tag, key, (uint64_t)bandwidth)
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
           add_mean(tag, "mem", run->mem_bandwidth) ||
           add_mean(tag, "net", run->net_bandwidth);
}

/* Return whether slurmdbd takes the text (hpcbd/collector/writer_slurm.h): its SQL is
 * made with neither quotes nor backslashes, and JSON writes a quotation mark as \".  A
 * program with such characters goes. */
static bool slurmdbd_takes(const char *text)
{
    return !is_too_long(text) && !strpbrk(text, "'\\");
}

char *hpcb_tag_add_run(const char *before, const hpcb_run_t *run, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *outer = NULL;
    hpcb_rjson_t *tag;

    if (is_foreign(before))
        return copy(before, err);
    if (is_too_long(before))
        return no_room(err);
    outer = start_comment(before);
    tag = tag_of(outer);
    /* Of a job that was submitted while the plugin was not there. */
    if (outer && !tag)
        tag = new_tag(outer, run->klass);
    if (tag && add_used(tag, run) == 0)
        return print_comment(outer, slurmdbd_takes, err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}

/* Millionths. */
static uint32_t read_part(hpcb_rjson_t *bw, const char *key)
{
    hpcb_rjson_t *value;
    double part = 0;

    if (json_object_object_get_ex(bw, key, &value) &&
        (json_object_is_type(value, json_type_double) ||
         json_object_is_type(value, json_type_int)))
        part = json_object_get_double(value);
    return part > 0 && part <= 1 ? (uint32_t)(part * MILLION + 0.5) : 0;
}

static uint64_t read_figure(hpcb_rjson_t *object, const char *key)
{
    uint64_t value = 0;

    (void)hpcb_rjson_get_u64(object, key, INT64_MAX, &value);
    return value;
}

static bool is_learned(hpcb_rjson_t *bw)
{
    char source[sizeof("learned")];

    return hpcb_rjson_get_word(bw, "source", source, sizeof(source)) == 0 &&
           strcmp(source, "learned") == 0;
}

void hpcb_tag_read(const char *comment, hpcb_tag_demand_t *demand)
{
    hpcb_rjson_auto hpcb_rjson_t *outer =
        comment && !is_too_long(comment) ? hpcb_rjson_parse(comment) : NULL;
    hpcb_rjson_t *tag = tag_of(outer), *bw, *spread;

    *demand = (hpcb_tag_demand_t){0};
    if (!tag)
        return;
    demand->peak = read_figure(tag, "peak");
    if (json_object_object_get_ex(tag, "bw", &bw) &&
        json_object_is_type(bw, json_type_object)) {
        demand->mem = read_figure(bw, "mem");
        demand->net = read_figure(bw, "net");
        demand->cpu = read_part(bw, "cpu");
        demand->learned = is_learned(bw);
    }
    demand->spread = json_object_object_get_ex(tag, "spread", &spread) &&
                     json_object_is_type(spread, json_type_boolean) &&
                     json_object_get_boolean(spread);
    if (hpcb_rjson_get_word(tag, "program", demand->program, sizeof(demand->program)))
        demand->program[0] = '\0';
}
