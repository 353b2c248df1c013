/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/text.h"
#include "hpcbctl/status/totals.h"

#define TOTALS     "totals"
#define SHOWN      "shown"
#define N_FIGURES  5
#define TEXT_MAX   1024
#define LOCK_TRIES 100
#define LOCK_NAP   10000000 /* ns */

static void figures_of(hpcb_totals_t *totals, uint64_t *figures[N_FIGURES])
{
    figures[0] = &totals->jobs;
    figures[1] = &totals->cpu_us;
    figures[2] = &totals->wall_us;
    figures[3] = &totals->run_delay_us;
    figures[4] = &totals->evictions;
}

static int path_of(char path[PATH_MAX], const char *spool_dir, const char *name,
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/%s", spool_dir, name) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    hpcb_error(err, "%s: the path is too long", spool_dir);
    return -1;
}

/* "class jobs cpu wall delay evictions" */
static int parse_line(char *line, hpcb_totals_t totals[HPCB_N_CLASSES])
{
    uint64_t *figures[N_FIGURES];
    hpcb_totals_t read = {0};
    hpcb_class_t klass;
    char *word = strsep(&line, " ");

    if (hpcb_class_from_name(word, &klass) < 0)
        return -1;
    figures_of(&read, figures);
    for (size_t i = 0; i < N_FIGURES; i++) {
        word = strsep(&line, " ");
        if (!word || hpcb_text_u64(word, UINT64_MAX, figures[i]) < 0)
            return -1;
    }
    totals[klass] = read;
    return line ? -1 : 0;
}

static int parse(char *text, hpcb_totals_t totals[HPCB_N_CLASSES])
{
    char *line;

    while ((line = strsep(&text, "\n")) && text)
        if (parse_line(line, totals) < 0)
            return -1;
    return line && *line ? -1 : 0;
}

static int read_file(const char *spool_dir, const char *name,
                     hpcb_totals_t totals[HPCB_N_CLASSES], hpcb_error_t *err)
{
    hpcb_totals_t read[HPCB_N_CLASSES] = {0};
    char path[PATH_MAX], text[TEXT_MAX];

    if (path_of(path, spool_dir, name, err) < 0)
        return -1;
    if (hpcb_file_read_trusted(path, text, sizeof(text), err) < 0) {
        if (errno != ENOENT)
            return -1;
    } else if (parse(text, read) < 0) {
        errno = EINVAL;
        hpcb_error(err, "%s: damaged; remove it to begin anew", path);
        return -1;
    }
    memcpy(totals, read, sizeof(read));
    return 0;
}

int hpcb_totals_read(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     hpcb_error_t *err)
{
    return read_file(spool_dir, TOTALS, totals, err);
}

static int write_file(const char *spool_dir, const char *name,
                      hpcb_totals_t totals[HPCB_N_CLASSES], hpcb_error_t *err)
{
    char path[PATH_MAX], text[TEXT_MAX];
    size_t length = 0;

    if (path_of(path, spool_dir, name, err) < 0)
        return -1;
    for (int klass = 0; klass < HPCB_N_CLASSES; klass++) {
        const hpcb_totals_t *row = &totals[klass];

        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                                   " %" PRIu64 "\n",
                                   hpcb_class_name(klass), row->jobs, row->cpu_us,
                                   row->wall_us, row->run_delay_us, row->evictions);
    }
    return hpcb_file_replace(path, text, length, 0644, err);
}

/* Descriptor that holds the lock until it is closed, or -1. */
static int lock(const char *spool_dir, hpcb_error_t *err)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP};
    char path[PATH_MAX];
    int fd;

    if (path_of(path, spool_dir, "totals.lock", err) < 0 ||
        hpcb_file_mkdirs(spool_dir, 0755, err) < 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        hpcb_error(err, "%s: %s", path, strerror(errno));
        return -1;
    }
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        nanosleep(&nap, NULL);
    }
    hpcb_error(err, "%s: held by others for a second", path);
    close(fd);
    errno = EAGAIN;
    return -1;
}

int hpcb_totals_add(const char *spool_dir, hpcb_class_t klass,
                    const hpcb_totals_t *figures, hpcb_error_t *err)
{
    hpcb_totals_t totals[HPCB_N_CLASSES], more = *figures;
    uint64_t *sums[N_FIGURES], *addends[N_FIGURES];
    hpcb_autoclose int fd = lock(spool_dir, err);

    if (fd < 0 || hpcb_totals_read(spool_dir, totals, err) < 0)
        return -1;
    figures_of(&totals[klass], sums);
    figures_of(&more, addends);
    for (size_t i = 0; i < N_FIGURES; i++)
        *sums[i] += *addends[i];
    return write_file(spool_dir, TOTALS, totals, err);
}

static bool began_anew(const hpcb_totals_t totals[HPCB_N_CLASSES],
                       const hpcb_totals_t shown[HPCB_N_CLASSES])
{
    for (int klass = 0; klass < HPCB_N_CLASSES; klass++)
        if (totals[klass].jobs < shown[klass].jobs)
            return true;
    return false;
}

static void raise_to(hpcb_totals_t *totals, hpcb_totals_t *shown)
{
    uint64_t *now[N_FIGURES], *before[N_FIGURES];

    figures_of(totals, now);
    figures_of(shown, before);
    for (size_t i = 0; i < N_FIGURES; i++)
        if (*now[i] < *before[i])
            *now[i] = *before[i];
}

int hpcb_totals_show(const char *spool_dir, hpcb_totals_t totals[HPCB_N_CLASSES],
                     bool note, hpcb_error_t *err)
{
    hpcb_totals_t shown[HPCB_N_CLASSES] = {0};

    if (read_file(spool_dir, SHOWN, shown, err) == 0 && !began_anew(totals, shown))
        for (int klass = 0; klass < HPCB_N_CLASSES; klass++)
            raise_to(&totals[klass], &shown[klass]);
    if (!note)
        return 0;
    return hpcb_file_mkdirs(spool_dir, 0755, err) < 0
               ? -1
               : write_file(spool_dir, SHOWN, totals, err);
}
