/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records of nodes as JSON, along the table of fields. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record.h"
#include "common/record_codec.h"
#include "common/record_parts.h"
#include "common/text.h"

#define MILLION 1000000u

/* Seconds that a node's clock may be behind slurmctld's. */
#define CLOCKS_APART 60

static int check_names(const hpcb_record_t *record, hpcb_error_t *err)
{
    const hpcb_field_t *field;

    for (unsigned place = 1; (field = hpcb_field_of_place(place)); place++) {
        const hpcb_member_t *member = &field->member;

        if (!member->codec->fits ||
            member->codec->fits((const char *)record + member->offset))
            continue;
        errno = EINVAL;
        return hpcb_error(err, "a record's %s is not a name", field->name);
    }
    return 0;
}

static int add_members(hpcb_rjson_t *object, const hpcb_record_t *record)
{
    const hpcb_field_t *field;

    if (hpcb_rjson_add_u64(object, "version", HPCB_RECORD_VERSION))
        return -1;
    for (unsigned place = 1; (field = hpcb_field_of_place(place)); place++)
        if (field->member.codec->write(object, field, record))
            return -1;
    return 0;
}

char *hpcb_record_render(const hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = NULL;

    if (check_names(record, err))
        return NULL;
    object = json_object_new_object();
    if (!object || add_members(object, record)) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return hpcb_rjson_print(object, "\n", err);
}

/* Returns the key that is missing or cannot be, or NULL. */
static const char *get_members(hpcb_rjson_t *object, hpcb_record_t *record)
{
    const hpcb_field_t *field;

    for (unsigned place = 1; (field = hpcb_field_of_place(place)); place++)
        if (field->member.codec->read &&
            field->member.codec->read(object, field, record))
            return field->name;
    return NULL;
}

static int parse(hpcb_rjson_t *object, hpcb_record_t *record, hpcb_error_t *err)
{
    const char *bad;
    uint64_t version;

    if (!object)
        return hpcb_error(err, "not a record: not one JSON object");
    if (hpcb_rjson_get_u64(object, "version", UINT64_MAX, &version))
        return hpcb_error(err, "not a record: no version");
    if (version != HPCB_RECORD_VERSION)
        return hpcb_error(err, "a record of version %" PRIu64 "; this release reads %d",
                          version, HPCB_RECORD_VERSION);
    bad = get_members(object, record);
    if (bad)
        return hpcb_error(err, "a record's %s is missing or cannot be", bad);
    return 0;
}

int hpcb_record_from_json(hpcb_rjson_t *object, hpcb_record_t *record,
                          hpcb_error_t *err)
{
    hpcb_record_t read = {0};

    if (parse(object, &read, err)) {
        errno = EINVAL; /* json-c 0.19 sets it to 0 when it reads a number */
        return -1;
    }
    *record = read;
    return 0;
}

int hpcb_record_parse(const char *text, hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(text);

    return hpcb_record_from_json(object, record, err);
}

/* Print the first part of the names of a run's records. */
static void print_job(const hpcb_record_t *record, char text[static HPCB_NAME_MAX])
{
    int length = snprintf(text, HPCB_NAME_MAX, "%" PRIu32, record->job.job_id);

    if (record->about.restart)
        snprintf(text + length, HPCB_NAME_MAX - (size_t)length, "+%" PRIu32,
                 record->about.restart);
}

static int path_of(const char *dir, const char *place, const hpcb_record_t *record,
                   uint64_t begin, char path[static PATH_MAX], hpcb_error_t *err)
{
    char job[HPCB_NAME_MAX];

    print_job(record, job);
    if (snprintf(path, PATH_MAX, "%s/%s/%s.%" PRIu64 ".%s.json", dir, place, job, begin,
                 record->node) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the spool directory's name is too long");
}

/* Return whether name is JOB.<begin>.NODE.json. */
static bool has_begin(const char *name, const char *job, const char *node,
                      uint64_t *begin)
{
    size_t length = strlen(job), digits;
    char number[24], rest[HPCB_NAME_MAX + 8];

    if (strncmp(name, job, length) != 0 || name[length] != '.')
        return false;
    name += length + 1;
    digits = strspn(name, "0123456789");
    snprintf(rest, sizeof(rest), ".%s.json", node);
    if (digits >= sizeof(number) || strcmp(name + digits, rest) != 0)
        return false;
    memcpy(number, name, digits);
    number[digits] = '\0';
    return hpcb_text_u64(number, UINT64_MAX, begin) == 0;
}

/* The begin of the last record of the run in DIR/PLACE; false if none is there.  What
 * began before the job was submitted is of another job with this id. */
static bool find_last(const char *dir, const char *place, const hpcb_record_t *record,
                      uint64_t *last)
{
    hpcb_autoclosedir DIR *handle = NULL;
    char path[PATH_MAX], job[HPCB_NAME_MAX];
    const struct dirent *entry;
    bool found = false;
    uint64_t begin;

    print_job(record, job);
    if (snprintf(path, sizeof(path), "%s/%s", dir, place) >= (int)sizeof(path))
        return false;
    handle = opendir(path);
    while (handle && (entry = readdir(handle))) {
        if (!has_begin(entry->d_name, job, record->node, &begin) ||
            begin + CLOCKS_APART < record->about.submit || (found && begin < *last))
            continue;
        found = true;
        *last = begin;
    }
    return found;
}

int hpcb_record_path(const char *dir, const char *place, const hpcb_record_t *record,
                     char path[static PATH_MAX], hpcb_error_t *err)
{
    uint64_t begin;

    if (record->job.begin_us == record->end_us && find_last(dir, place, record, &begin))
        return path_of(dir, place, record, begin, path, err);
    return path_of(dir, place, record, record->job.begin_us / MILLION, path, err);
}

int hpcb_record_write(const char *dir, const hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_record_render(record, err);
    char path[PATH_MAX], place[PATH_MAX];

    if (!line || path_of(dir, HPCB_SPOOL_RECORDS, record,
                         record->job.begin_us / MILLION, path, err))
        return -1;
    snprintf(place, sizeof(place), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (hpcb_file_mkdirs(dir, 0755, err) ||
        hpcb_file_mkdirs(place, HPCB_RECORD_DIR_MODE, err))
        return -1;
    return hpcb_file_replace(path, line, strlen(line), HPCB_RECORD_MODE, err);
}
