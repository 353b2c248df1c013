/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/jobrecord.h"
#include "common/text.h"
#include "hpcbd/collector_file.h"
#include "hpcbd/collector_index.h"
#include "hpcbd/writer_lines.h"

#define DAY_LENGTH 10
#define FILE_BYTES (1024 * 1024)

typedef struct {
    char day[DAY_LENGTH + 1];
    uint64_t offset;
    bool there; /* the file still is */
} position_t;

struct hpcbd_positions {
    char dir[PATH_MAX], path[PATH_MAX];
    position_t *days;
    size_t count;
};

static position_t *find(hpcbd_positions_t *positions, const char *day)
{
    position_t *larger;

    for (size_t i = 0; i < positions->count; i++)
        if (strncmp(positions->days[i].day, day, DAY_LENGTH) == 0)
            return &positions->days[i];
    larger = reallocarray(positions->days, positions->count + 1, sizeof(*larger));
    if (!larger)
        return NULL;
    positions->days = larger;
    larger += positions->count++;
    *larger = (position_t){.offset = 0};
    memcpy(larger->day, day, DAY_LENGTH);
    return larger;
}

/* "2026-01-31 4711"; what is no such line is passed over, and what it said is done
 * again. */
static int read_position(const char *line, size_t length, uint64_t offset, void *arg)
{
    position_t *position;
    uint64_t number;

    (void)offset;
    if (length < DAY_LENGTH + 2 || line[DAY_LENGTH] != ' ' ||
        hpcb_text_u64(line + DAY_LENGTH + 1, INT64_MAX, &number))
        return 0;
    position = find(arg, line);
    if (!position)
        return -1;
    position->offset = number;
    return 0;
}

hpcbd_positions_t *hpcbd_positions_open(const char *dir, hpcb_error_t *err)
{
    hpcbd_positions_t *positions = calloc(1, sizeof(*positions));

    if (!positions) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    snprintf(positions->dir, PATH_MAX, "%s", dir);
    if (snprintf(positions->path, PATH_MAX, "%s/writer.pos", dir) < PATH_MAX &&
        hpcbd_file_each(positions->path, 0, read_position, positions, err) == 0)
        return positions;
    hpcbd_positions_close(positions);
    return NULL;
}

void hpcbd_positions_close(hpcbd_positions_t *positions)
{
    if (!positions)
        return;
    free(positions->days);
    free(positions);
}

static int save(const hpcbd_positions_t *positions, hpcb_error_t *err)
{
    size_t room = (positions->count + 1) * 40, used = 0;
    hpcb_autofree char *text = malloc(room);

    if (!text)
        return hpcb_error(err, "out of memory");
    for (size_t i = 0; i < positions->count; i++)
        if (positions->days[i].there)
            used += (size_t)snprintf(text + used, room - used, "%s %" PRIu64 "\n",
                                     positions->days[i].day, positions->days[i].offset);
    return hpcb_file_replace(positions->path, text, used, 0644, err);
}

typedef struct {
    char *lines[HPCBD_LINES_MAX];
    hpcb_run_key_t keys[HPCBD_LINES_MAX];
    size_t count;
    uint64_t end;
} chunk_t;

static int keep_line(const char *line, size_t length, uint64_t offset, void *arg)
{
    chunk_t *chunk = arg;

    if (chunk->count == HPCBD_LINES_MAX)
        return -1;
    chunk->end = offset + length + 1;
    if (hpcb_run_key_of_line(line, length, &chunk->keys[chunk->count]))
        return 0;
    chunk->lines[chunk->count] = strdup(line);
    return chunk->lines[chunk->count++] ? 0 : -1;
}

static bool is_last(const chunk_t *chunk, size_t i)
{
    for (size_t k = i + 1; k < chunk->count; k++)
        if (memcmp(&chunk->keys[k], &chunk->keys[i], sizeof(chunk->keys[i])) == 0)
            return false;
    return true;
}

static void visit_lines(chunk_t *chunk, void (*visit)(const char *line, void *arg),
                        void *arg)
{
    for (size_t i = 0; i < chunk->count; i++) {
        if (is_last(chunk, i))
            visit(chunk->lines[i], arg);
        free(chunk->lines[i]);
    }
}

/* How many bytes of it have not been read.  A site may have put a shorter file there.
 */
static uint64_t news_of(hpcbd_positions_t *positions, position_t *position)
{
    char path[PATH_MAX];
    struct stat st;

    if (hpcbd_index_path(positions->dir, position->day, path) || stat(path, &st))
        return 0;
    position->there = true;
    if ((uint64_t)st.st_size < position->offset)
        position->offset = (uint64_t)st.st_size;
    return (uint64_t)st.st_size - position->offset;
}

/* A day with lines that have not been read, or NULL. */
static position_t *find_news(hpcbd_positions_t *positions, DIR *dir)
{
    struct dirent *entry;
    position_t *position;
    char found[DAY_LENGTH + 1] = "";

    for (size_t i = 0; i < positions->count; i++)
        positions->days[i].there = false;
    while ((entry = readdir(dir))) {
        if (strlen(entry->d_name) != DAY_LENGTH + strlen(".jsonl") ||
            strspn(entry->d_name, "0123456789-") != DAY_LENGTH)
            continue;
        position = find(positions, entry->d_name);
        if (position && news_of(positions, position) > 0)
            memcpy(found, position->day, sizeof(found));
    }
    return *found ? find(positions, found) : NULL;
}

long hpcbd_positions_next(hpcbd_positions_t *positions,
                          void (*visit)(const char *line, void *arg), void *arg,
                          hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = NULL;
    chunk_t chunk = {.count = 0};
    position_t *position;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.*s/records", PATH_MAX - 16, positions->dir);
    dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0
                               : hpcb_error(err, "%.300s: %s", path, strerror(errno));
    position = find_news(positions, dir);
    if (!position || hpcbd_index_path(positions->dir, position->day, path))
        return 0;
    chunk.end = position->offset;
    (void)hpcbd_file_each(path, position->offset, keep_line, &chunk, NULL);
    if (chunk.end == position->offset)
        return 0;
    visit_lines(&chunk, visit, arg);
    position->offset = chunk.end;
    return save(positions, err) ? -1 : (long)(chunk.count ? chunk.count : 1);
}
