/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "hpcbd/node/saturation.h"

#define FILE_BYTES 1024

static int path_of(const char *state_dir, const char *name, char path[static PATH_MAX],
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/%s", state_dir, name) < PATH_MAX)
        return 0;
    return hpcb_error(err, "%.200s is too long", state_dir);
}

static int read_text(const char *state_dir, const char *name,
                     char text[static FILE_BYTES])
{
    char path[PATH_MAX];

    return path_of(state_dir, name, path, NULL) < 0
               ? -1
               : hpcb_file_read_trusted(path, text, FILE_BYTES, NULL);
}

static int write_text(const char *state_dir, const char *name, const char *text,
                      hpcb_error_t *err)
{
    char path[PATH_MAX];

    return path_of(state_dir, name, path, err) < 0
               ? -1
               : hpcb_file_swap(path, text, strlen(text), 0644, err);
}

static int parse(const char *text, hpcbd_saturation_t *found)
{
    hpcb_saturation_t *verdict = &found->verdict;
    unsigned level;
    int end = 0;

    if (sscanf(text,
               "time %" SCNd64 " level %u part %" SCNu32 " low %" SCNu32
               " high %" SCNu32 " bursts %" SCNu32 " dropped %" SCNu32 "%n",
               &found->time, &level, &verdict->part, &verdict->low, &verdict->high,
               &verdict->bursts, &verdict->dropped, &end) != 7 ||
        level >= HPCB_SATURATION_LEVELS || verdict->high > 1000)
        return -1;
    verdict->level = level;
    text += end + strspn(text + end, " \n");
    snprintf(found->why, sizeof(found->why), "%.*s", (int)strcspn(text, "\n"), text);
    return 0;
}

void hpcbd_saturation_load(const char *state_dir, int64_t now,
                           hpcbd_saturation_t *saturation)
{
    hpcbd_saturation_t found = {.time = 0};
    char text[FILE_BYTES];
    int status = read_text(state_dir, "saturation", text);

    if (status >= 0 && parse(text, &found) == 0 && found.time <= now &&
        found.time > now - HPCBD_SATURATION_STALE_SECONDS) {
        *saturation = found;
        return;
    }
    *saturation = (hpcbd_saturation_t){.time = now};
    strcpy(saturation->why, "hpcbd has not probed memory lately");
}

int hpcbd_saturation_save(const char *state_dir, const hpcbd_saturation_t *saturation,
                          hpcb_error_t *err)
{
    const hpcb_saturation_t *verdict = &saturation->verdict;
    char text[FILE_BYTES];

    snprintf(text, sizeof(text),
             "time %" PRId64 " level %u part %" PRIu32 " low %" PRIu32 " high %" PRIu32
             " bursts %" PRIu32 " dropped %" PRIu32 " %s\n",
             saturation->time, (unsigned)verdict->level, verdict->part, verdict->low,
             verdict->high, verdict->bursts, verdict->dropped, saturation->why);
    return write_text(state_dir, "saturation", text, err);
}

/* "cpus 2 pages 6170930 memory 26000000000 cache 10000000000 memory ..." */
static int parse_idle(const char *text, hpcb_saturation_idle_t *idle, size_t n)
{
    long cpus, pages;
    int end = 0;

    if (sscanf(text, "cpus %ld pages %ld%n", &cpus, &pages, &end) != 2 ||
        cpus != sysconf(_SC_NPROCESSORS_ONLN) || pages != sysconf(_SC_PHYS_PAGES))
        return -1;
    for (size_t i = 0; i < n; i++) {
        text += end;
        if (sscanf(text, " memory %" SCNu64 " cache %" SCNu64 "%n", &idle[i].memory,
                   &idle[i].cache, &end) != 2)
            return -1;
    }
    return 0;
}

void hpcbd_saturation_idle_load(const char *state_dir, hpcb_saturation_idle_t *idle,
                                size_t n)
{
    char text[FILE_BYTES];

    if (read_text(state_dir, "saturation.idle", text) < 0 ||
        parse_idle(text, idle, n) < 0)
        memset(idle, 0, n * sizeof(*idle));
}

int hpcbd_saturation_idle_save(const char *state_dir,
                               const hpcb_saturation_idle_t *idle, size_t n,
                               hpcb_error_t *err)
{
    char text[FILE_BYTES];
    int used = snprintf(text, sizeof(text), "cpus %ld pages %ld",
                        sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PHYS_PAGES));

    /* Of at most 8 NUMA nodes: 60 bytes each. */
    for (size_t i = 0; i < n && i < HPCBD_SATURATION_DOMAINS_MAX; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         " memory %" PRIu64 " cache %" PRIu64, idle[i].memory,
                         idle[i].cache);
    snprintf(text + used, sizeof(text) - (size_t)used, "\n");
    return write_text(state_dir, "saturation.idle", text, err);
}
