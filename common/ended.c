/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ended.h"
#include "common/file.h"
#include "common/text.h"

#define SUFFIX ".ended"

static int path_of(const char *state_dir, uint32_t job_id, const char *suffix,
                   char *path, size_t size)
{
    int n = snprintf(path, size, "%s/jobs/%" PRIu32 "%s", state_dir, job_id, suffix);

    return n >= 0 && (size_t)n < size ? 0 : -1;
}

/* Its other files go with the record, and nothing that comes later. */
static bool has_record(const char *state_dir, uint32_t job_id)
{
    char path[PATH_MAX];
    struct stat status;

    return path_of(state_dir, job_id, "", path, sizeof(path)) == 0 &&
           lstat(path, &status) == 0;
}

static int is_over(uint32_t job_id, hpcb_error_t *err)
{
    errno = ENOENT;
    return hpcb_error(err, "job %" PRIu32 " is over", job_id);
}

int hpcb_ended_save(const char *state_dir, uint32_t job_id, const char *why,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[HPCB_ENDED_MAX + 1];
    int n = snprintf(text, sizeof(text), "%s\n", why);

    if (path_of(state_dir, job_id, SUFFIX, path, sizeof(path)) < 0)
        return hpcb_error(err, "%.200s is too long", state_dir);
    if (!has_record(state_dir, job_id))
        return is_over(job_id, err);
    if (hpcb_file_swap(path, text, (size_t)n, 0644, err) < 0)
        return -1;
    /* It may have ended in between: who removes its files did not see this one. */
    if (has_record(state_dir, job_id))
        return 0;
    unlink(path);
    return is_over(job_id, err);
}

void hpcb_ended_load(const char *state_dir, uint32_t job_id, char why[HPCB_ENDED_MAX])
{
    char path[PATH_MAX], text[HPCB_ENDED_MAX + 1];
    size_t length;

    why[0] = '\0';
    if (path_of(state_dir, job_id, SUFFIX, path, sizeof(path)) < 0 ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return;
    length = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    if (length > 0 && length < HPCB_ENDED_MAX && strcmp(text + length, "\n") == 0) {
        memcpy(why, text, length);
        why[length] = '\0';
    }
}

/* The job whose word this file has, or 0. */
static uint32_t job_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    char number[16];
    uint64_t id;

    if (digits >= sizeof(number) || strcmp(name + digits, SUFFIX) != 0)
        return 0;
    memcpy(number, name, digits);
    number[digits] = '\0';
    return hpcb_text_u64(number, UINT32_MAX, &id) == 0 ? (uint32_t)id : 0;
}

unsigned hpcb_ended_sweep(const char *state_dir, unsigned max)
{
    char path[PATH_MAX];
    hpcb_autoclosedir DIR *dir = NULL;
    struct dirent *entry;
    unsigned removed = 0;

    if (snprintf(path, sizeof(path), "%s/jobs", state_dir) >= (int)sizeof(path))
        return 0;
    dir = opendir(path);
    while (dir && removed < max && (entry = readdir(dir))) {
        uint32_t job_id = job_of(entry->d_name);

        if (job_id && !has_record(state_dir, job_id))
            removed += unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    }
    return removed;
}
