/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A line begins with a newline and ends with "end", as those of common/state.c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/text.h"

/* Two newlines, two words, three numbers, the end. */
#define LINE_BYTES 80
#define FILE_BYTES (2 * HPCB_BESIDE_MAX * LINE_BYTES)
#define FILE_MODE  0600

static int path_of(char *path, const char *state_dir, uint32_t primary,
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 ".beside", state_dir, primary) <
        PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the state directory's name is too long");
}

int hpcb_beside_open(const char *state_dir, uint32_t primary, hpcb_error_t *err)
{
    char path[PATH_MAX];

    return path_of(path, state_dir, primary, err)
               ? -1
               : hpcb_file_append(path, "\n", FILE_MODE, err);
}

/* Of a primary that goes at this moment nothing must be left. */
static int append_existing(const char *path, const char *line, hpcb_error_t *err)
{
    hpcb_autoclose int fd =
        open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    size_t length = strlen(line);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st))
        return hpcb_error(err, "cannot append to %.300s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES)
        return 0;
    if (write(fd, line, length) == (ssize_t)length)
        return 0;
    return hpcb_error(err, "cannot append to %.300s: %s", path, strerror(errno));
}

int hpcb_beside_note(const char *state_dir, uint32_t primary,
                     const hpcb_beside_reading_t *reading, hpcb_error_t *err)
{
    char path[PATH_MAX], line[LINE_BYTES];

    if (path_of(path, state_dir, primary, err))
        return -1;
    snprintf(line, sizeof(line), "\n%s %" PRIu32 " %" PRIu64 " %" PRIu64 " end\n",
             reading->before ? "before" : "now", reading->guest, reading->begin_us,
             reading->cpu_us);
    return append_existing(path, line, err);
}

/* The next word of *rest as a number. */
static int take_number(char **rest, uint64_t max, uint64_t *value)
{
    const char *word = strsep(rest, " ");

    return word ? hpcb_text_u64(word, max, value) : -1;
}

static int read_line(char *line, hpcb_beside_reading_t *reading)
{
    hpcb_beside_reading_t read = {.guest = 0};
    const char *kind = strsep(&line, " ");
    uint64_t guest;

    read.before = strcmp(kind, "before") == 0;
    if ((!read.before && strcmp(kind, "now") != 0) ||
        take_number(&line, UINT32_MAX, &guest) ||
        take_number(&line, UINT64_MAX, &read.begin_us) ||
        take_number(&line, UINT64_MAX, &read.cpu_us) || !line ||
        strcmp(line, "end") != 0)
        return -1;
    read.guest = (uint32_t)guest;
    *reading = read;
    return 0;
}

/* The file's text; NULL with errno and err. */
static char *load(const char *state_dir, uint32_t primary, hpcb_error_t *err)
{
    char *text = malloc(FILE_BYTES + 1);
    char path[PATH_MAX];

    if (!text) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    if (path_of(path, state_dir, primary, err) == 0 &&
        hpcb_file_read_trusted(path, text, FILE_BYTES + 1, err) >= 0)
        return text;
    hpcb_cleanup_free(&text);
    return NULL;
}

/* By guest, run of it, and the reading at the primary's beginning first. */
static int compare(const void *a, const void *b)
{
    const hpcb_beside_reading_t *left = a, *right = b;

    if (left->guest != right->guest)
        return left->guest < right->guest ? -1 : 1;
    if (left->begin_us != right->begin_us)
        return left->begin_us < right->begin_us ? -1 : 1;
    if (left->before != right->before)
        return left->before ? -1 : 1;
    return left->cpu_us < right->cpu_us ? -1 : left->cpu_us > right->cpu_us;
}

static bool is_same_run(const hpcb_beside_reading_t *a, const hpcb_beside_reading_t *b)
{
    return a->guest == b->guest && a->begin_us == b->begin_us;
}

/*
 * One run of a guest: the readings from first to last.  A guest that was there before
 * the primary, and was not read then (it started and ended while the primary's prolog
 * ran), has no known usage.  One that was only read then had ended.
 */
static void add_run(hpcb_beside_t *beside, const hpcb_beside_reading_t *first,
                    const hpcb_beside_reading_t *last, uint64_t begin_us)
{
    uint64_t since = first->before ? first->cpu_us : 0;

    if (last->before)
        return;
    if (beside->count == 0 || beside->guests[beside->count - 1] != last->guest)
        beside->guests[beside->count++] = last->guest;
    if (!first->before && first->begin_us < begin_us)
        return;
    if (last->cpu_us > since)
        beside->cpu_us += last->cpu_us - since;
}

static void add_up(hpcb_beside_t *beside, hpcb_beside_reading_t *readings, size_t count,
                   uint64_t begin_us)
{
    size_t first = 0;

    qsort(readings, count, sizeof(*readings), compare);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && is_same_run(&readings[i], &readings[i + 1]))
            continue;
        add_run(beside, &readings[first], &readings[i], begin_us);
        first = i + 1;
    }
}

/* All readings; the caller frees them.  NULL when memory runs out. */
static hpcb_beside_reading_t *gather(char *text, const hpcb_beside_reading_t *now,
                                     size_t n_now, size_t *count)
{
    size_t lines = 1;
    hpcb_beside_reading_t *all;
    char *line;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    all = calloc(lines + n_now, sizeof(*all));
    *count = 0;
    if (!all)
        return NULL;
    while ((line = strsep(&text, "\n")))
        *count += read_line(line, &all[*count]) == 0;
    for (size_t i = 0; i < n_now; i++)
        all[(*count)++] = now[i];
    return all;
}

int hpcb_beside_sum(const char *state_dir, uint32_t primary, uint64_t begin_us,
                    const hpcb_beside_reading_t *now, size_t count,
                    hpcb_beside_t *beside, hpcb_error_t *err)
{
    hpcb_autofree char *text = load(state_dir, primary, err);
    hpcb_autofree hpcb_beside_reading_t *all = NULL;
    hpcb_beside_t sum = {.known = true};

    if (!text && (errno == EFBIG || errno == ENOENT)) {
        *beside = (hpcb_beside_t){.known = false};
        return 0;
    }
    if (!text)
        return -1;
    all = gather(text, now, count, &count);
    sum.guests = calloc(count + 1, sizeof(*sum.guests));
    if (!all || !sum.guests) {
        free(sum.guests);
        return hpcb_error(err, "out of memory");
    }
    add_up(&sum, all, count, begin_us);
    if (sum.count > HPCB_BESIDE_MAX) {
        free(sum.guests);
        sum = (hpcb_beside_t){.known = false};
    }
    *beside = sum;
    return 0;
}
