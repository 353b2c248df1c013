/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A hash table with open addressing; a run is told by 64 bits of its key's hash, and by
 * the line itself when it is read back.  When the table is full it is made anew from
 * the files, newest first, half as full: so nothing is ever removed from it.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "hpcbd/collector_file.h"
#include "hpcbd/collector_index.h"

#define DAY_MAX     16
#define FIRST_SLOTS 1024
#define SUFFIX      ".jsonl"

typedef struct {
    uint64_t hash; /* 0: free */
    uint64_t offset;
    uint32_t day;
} slot_t;

struct hpcbd_index {
    char dir[PATH_MAX];
    slot_t *slots;
    size_t n_slots, used, limit;
    char (*days)[DAY_MAX];
    size_t n_days;
    uint32_t reading; /* the day whose file is being read */
};

/* FNV-1a; job ids are slurmctld's, nobody chooses them to collide. */
static uint64_t hash_of(const hpcb_run_key_t *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const unsigned char *parts[] = {(const unsigned char *)key->cluster,
                                    (const unsigned char *)&key->job_id,
                                    (const unsigned char *)&key->restart};
    const size_t lengths[] = {strlen(key->cluster), sizeof(key->job_id),
                              sizeof(key->restart)};

    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < lengths[i]; k++)
            hash = (hash ^ parts[i][k]) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

static slot_t *find(slot_t *slots, size_t n_slots, uint64_t hash)
{
    size_t i = (size_t)(hash ^ (hash >> 32)) & (n_slots - 1);

    while (slots[i].hash && slots[i].hash != hash)
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static int grow(hpcbd_index_t *index)
{
    size_t n_slots = index->n_slots ? 2 * index->n_slots : FIRST_SLOTS;
    slot_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return -1;
    for (size_t i = 0; i < index->n_slots; i++)
        if (index->slots[i].hash)
            *find(slots, n_slots, index->slots[i].hash) = index->slots[i];
    free(index->slots);
    index->slots = slots;
    index->n_slots = n_slots;
    return 0;
}

static int put(hpcbd_index_t *index, uint64_t hash, uint32_t day, uint64_t offset,
               bool replace)
{
    slot_t *slot;

    if (index->used * 4 >= index->n_slots * 3 && grow(index))
        return -1;
    slot = find(index->slots, index->n_slots, hash);
    if (slot->hash && !replace)
        return 0;
    index->used += slot->hash == 0;
    *slot = (slot_t){.hash = hash, .offset = offset, .day = day};
    return 0;
}

int hpcbd_index_path(const char *dir, const char *day, char path[static PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/records/%s" SUFFIX, dir, day) < PATH_MAX ? 0
                                                                                 : -1;
}

static int64_t day_number(hpcbd_index_t *index, const char *day)
{
    void *larger;

    for (size_t i = index->n_days; i > 0; i--)
        if (strcmp(index->days[i - 1], day) == 0)
            return (int64_t)i - 1;
    larger = reallocarray(index->days, index->n_days + 1, sizeof(*index->days));
    if (!larger)
        return -1;
    index->days = larger;
    snprintf(index->days[index->n_days], DAY_MAX, "%s", day);
    return (int64_t)index->n_days++;
}

/* Of the lines of one run in one file the last one counts; files are read newest first,
 * but a run that was found in a newer file stays. */
static int visit(const char *line, size_t length, uint64_t offset, void *arg)
{
    hpcbd_index_t *index = arg;
    hpcb_run_key_t key;
    slot_t *slot;
    uint64_t hash;

    if (hpcb_run_key_of_line(line, length, &key))
        return 0;
    hash = hash_of(&key);
    slot = index->n_slots ? find(index->slots, index->n_slots, hash) : NULL;
    return put(index, hash, index->reading, offset,
               !slot || !slot->hash || slot->day == index->reading);
}

static int is_day_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length == 10 + strlen(SUFFIX) && strcmp(entry->d_name + 10, SUFFIX) == 0 &&
           strspn(entry->d_name, "0123456789-") == 10;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

static int read_day(hpcbd_index_t *index, const char *name, hpcb_error_t *err)
{
    char day[DAY_MAX], path[PATH_MAX];
    int64_t number;

    snprintf(day, sizeof(day), "%.10s", name);
    number = day_number(index, day);
    if (number < 0 || hpcbd_index_path(index->dir, day, path))
        return hpcb_error(err, "out of memory");
    index->reading = (uint32_t)number;
    return hpcbd_file_each(path, 0, visit, index, err);
}

/* Newest first, until there are enough. */
static int read_days(hpcbd_index_t *index, size_t enough, hpcb_error_t *err)
{
    char path[PATH_MAX];
    struct dirent **list = NULL;
    int n, status = 0;

    snprintf(path, sizeof(path), "%.*s/records", PATH_MAX - 16, index->dir);
    n = scandir(path, &list, is_day_file, newest_first);
    if (n < 0)
        return errno == ENOENT ? 0
                               : hpcb_error(err, "%.300s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (status == 0 && index->used < enough)
            status = read_day(index, list[i]->d_name, err);
        free(list[i]);
    }
    free(list);
    return status;
}

hpcbd_index_t *hpcbd_index_open(const char *dir, hpcb_error_t *err)
{
    hpcbd_index_t *index = calloc(1, sizeof(*index));

    if (!index) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    index->limit = HPCBD_INDEX_MAX;
    snprintf(index->dir, sizeof(index->dir), "%s", dir);
    if (grow(index) == 0 && read_days(index, index->limit, err) == 0)
        return index;
    hpcbd_index_free(index);
    return NULL;
}

void hpcbd_index_free(hpcbd_index_t *index)
{
    if (!index)
        return;
    free(index->slots);
    free(index->days);
    free(index);
}

static int start_over(hpcbd_index_t *index)
{
    memset(index->slots, 0, index->n_slots * sizeof(*index->slots));
    index->used = 0;
    if (read_days(index, index->limit / 2, NULL))
        return -1;
    /* So many in the newest file alone. */
    if (index->used > index->limit / 4 * 3)
        index->limit *= 2;
    return 0;
}

int hpcbd_index_put(hpcbd_index_t *index, const hpcb_run_key_t *key, const char *day,
                    uint64_t offset)
{
    int64_t number;

    if (index->used >= index->limit && start_over(index))
        return -1;
    number = day_number(index, day);
    return number < 0 ? -1 : put(index, hash_of(key), (uint32_t)number, offset, true);
}

/* The line as a run, or NULL: a site has rotated what was there. */
static hpcb_run_t *parse_run(const char *line, const hpcb_run_key_t *key)
{
    hpcb_run_t *run = hpcb_run_parse(line, NULL);

    if (run && memcmp(hpcb_run_key(run), key, sizeof(*key)) == 0)
        return run;
    hpcb_run_free(run);
    return NULL;
}

int hpcbd_index_get(const hpcbd_index_t *index, const hpcb_run_key_t *key,
                    hpcb_run_t **run, hpcb_error_t *err)
{
    const slot_t *slot = find(index->slots, index->n_slots, hash_of(key));
    hpcb_autofree char *line = NULL;
    char path[PATH_MAX];

    *run = NULL;
    if (!slot->hash || hpcbd_index_path(index->dir, index->days[slot->day], path))
        return 0;
    line = hpcbd_file_line(path, slot->offset, err);
    if (line)
        *run = parse_run(line, key);
    return line || errno == 0 || errno == ENOENT ? 0 : -1;
}

size_t hpcbd_index_count(const hpcbd_index_t *index)
{
    return index->used;
}
