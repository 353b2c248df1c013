/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records of nodes as JSON, along the table of fields. */
#include "config.h"

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

int hpcb_record_path(const char *dir, const char *place, const hpcb_record_t *record,
                     char path[static PATH_MAX], hpcb_error_t *err)
{
    char restart[16] = "";

    if (record->about.restart)
        snprintf(restart, sizeof(restart), "+%" PRIu32, record->about.restart);
    if (snprintf(path, PATH_MAX, "%s/%s/%" PRIu32 "%s.%s.json", dir, place,
                 record->job.job_id, restart, record->node) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the spool directory's name is too long");
}

int hpcb_record_write(const char *dir, const hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_record_render(record, err);
    char path[PATH_MAX], place[PATH_MAX];

    if (!line || hpcb_record_path(dir, HPCB_SPOOL_RECORDS, record, path, err))
        return -1;
    snprintf(place, sizeof(place), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (hpcb_file_mkdirs(dir, 0755, err) ||
        hpcb_file_mkdirs(place, HPCB_RECORD_DIR_MODE, err))
        return -1;
    return hpcb_file_replace(path, line, strlen(line), HPCB_RECORD_MODE, err);
}
