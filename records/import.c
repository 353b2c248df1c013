/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record.h"
#include "common/record_fields.h"
#include "records/database.h"
#include "records/import.h"

/* Lines of a transaction: others that write wait no longer than that. */
#define LINES_AT_ONCE 2000

#define IMPORTED HPCB_DATABASE_DIR "/imported"
#define JOURNAL  "journal.jsonl"
#define SUFFIX   ".jsonl"
#define DAY      10 /* characters of 2026-01-31 */

/* As the store's callers count it. */
static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

typedef struct {
    hpcb_store_t *store;
    bool waits;
    hpcb_import_t totals;
} import_t;

/* 0; 1: it is no record; or -1 with err. */
static int add_node(import_t *import, hpcb_rjson_t *node, bool waits, hpcb_error_t *err)
{
    int changed = hpcb_store_add(import->store, node, now_ms(), err);

    if (changed < 0)
        return errno == EINVAL ? 1 : -1;
    import->totals.records += changed > 0;
    import->totals.known += changed == 0;
    return changed && !waits ? hpcb_store_publish_old(import->store, now_ms(), err) : 0;
}

/* A node's part has not what all nodes have in common.  Of a run that is not complete
 * with as many nodes as it names, nobody knew how many there are. */
static int put_in_common(hpcb_rjson_t *node, hpcb_rjson_t *run, bool nodes_known)
{
    json_object_object_foreach(run, key, value)
    {
        const hpcb_field_t *field = hpcb_field_of_record(key);
        bool wanted =
            (field && field->table == HPCB_FIELD_RUN) || strcmp(key, "version") == 0;

        if (!wanted || (strcmp(key, "nodes") == 0 && !nodes_known))
            continue;
        if (json_object_object_add(node, key, json_object_get(value)))
            return -1;
    }
    return 0;
}

static int add_run(import_t *import, hpcb_rjson_t *run, hpcb_error_t *err)
{
    hpcb_rjson_t *array = NULL, *complete = NULL;
    uint64_t nodes = 0;
    bool known;
    int status = 0;

    if (!json_object_object_get_ex(run, "node_records", &array) ||
        !json_object_is_type(array, json_type_array) ||
        json_object_array_length(array) == 0)
        return 1;
    json_object_object_get_ex(run, "complete", &complete);
    (void)hpcb_rjson_get_u64(run, "nodes", UINT32_MAX, &nodes);
    known =
        json_object_get_boolean(complete) || json_object_array_length(array) < nodes;
    for (size_t i = 0; status == 0 && i < json_object_array_length(array); i++) {
        hpcb_rjson_t *node = json_object_array_get_idx(array, i);

        if (!json_object_is_type(node, json_type_object))
            return 1;
        status = put_in_common(node, run, known) ? hpcb_error(err, "out of memory")
                                                 : add_node(import, node, false, err);
    }
    return status;
}

static int add_line(import_t *import, const char *line, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(line);
    const char *kind = object ? hpcb_rjson_get_text(object, "kind") : NULL;
    int status;

    if (!object)
        status = 1;
    else if (kind && strcmp(kind, "job") == 0)
        status = add_run(import, object, err);
    else
        status = add_node(import, object, import->waits, err);
    import->totals.refused += status > 0;
    return status < 0 ? -1 : 0;
}

/* The last line may have been cut short when it was written. */
static int read_lines(import_t *import, FILE *stream, hpcb_error_t *err)
{
    hpcb_autofree char *line = NULL;
    size_t room = 0;
    uint64_t lines = 0;
    ssize_t n;

    while ((n = getline(&line, &room, stream)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        else if (import->waits)
            break;
        if (*line && add_line(import, line, err))
            return -1;
        if (++lines % LINES_AT_ONCE == 0 &&
            hpcb_store_commit(import->store, now_ms(), err))
            return -1;
    }
    if (ferror(stream))
        return hpcb_error(err, "cannot be read: %s", strerror(errno));
    return hpcb_store_commit(import->store, now_ms(), err);
}

int hpcb_import_stream(hpcb_store_t *store, FILE *stream, bool waits,
                       hpcb_import_t *totals, hpcb_error_t *err)
{
    import_t import = {.store = store, .waits = waits, .totals = *totals};

    if (read_lines(&import, stream, err)) {
        hpcb_store_rollback(store);
        return -1;
    }
    *totals = import.totals;
    return 0;
}

static int is_day(const struct dirent *entry)
{
    return strlen(entry->d_name) == DAY + strlen(SUFFIX) &&
           strspn(entry->d_name, "0123456789-") == DAY &&
           strcmp(entry->d_name + DAY, SUFFIX) == 0;
}

/* Import dir/name and move it away.  1; 0: there is none; or -1 with err. */
static int take_over(hpcb_store_t *store, const char *dir, const char *name,
                     hpcb_import_t *totals, hpcb_error_t *err)
{
    char path[PATH_MAX], place[PATH_MAX], to[PATH_MAX];
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    hpcb_autofclose FILE *stream = NULL;
    int fd;

    if (snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX ||
        snprintf(place, PATH_MAX, "%s/" IMPORTED, dir) >= PATH_MAX ||
        snprintf(to, PATH_MAX, "%s/%s", place, base) >= PATH_MAX)
        return hpcb_error(err, "%.200s is too long", dir);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    stream = fd < 0 ? NULL : fdopen(fd, "r");
    if (!stream)
        return hpcb_error(err, "%.300s: %s", path, strerror(errno));
    if (hpcb_import_stream(store, stream, strcmp(name, JOURNAL) == 0, totals, err) ||
        hpcb_file_mkdirs(place, HPCB_RECORD_DIR_MODE, err))
        return -1;
    return rename(path, to) ? hpcb_error(err, "%.300s: %s", to, strerror(errno)) : 1;
}

/* Runs that are written come before the journal, which may have parts of them. */
int hpcb_import_old(hpcb_store_t *store, const char *dir, hpcb_import_t *totals,
                    hpcb_error_t *err)
{
    char records[PATH_MAX], name[PATH_MAX];
    struct dirent **days = NULL;
    int count, files = 0, status = 0;

    snprintf(records, sizeof(records), "%.*s/" HPCB_DATABASE_DIR, PATH_MAX - 16, dir);
    count = scandir(records, &days, is_day, alphasort);
    if (count < 0 && errno != ENOENT)
        return hpcb_error(err, "%.300s: %s", records, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), HPCB_DATABASE_DIR "/%s", days[i]->d_name);
        if (status >= 0)
            status = take_over(store, dir, name, totals, err);
        files += status > 0;
        free(days[i]);
    }
    free(days);
    if (status >= 0)
        status = take_over(store, dir, JOURNAL, totals, err);
    return status < 0 ? -1 : files + status;
}
