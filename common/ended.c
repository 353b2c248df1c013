/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/ended.h"
#include "common/file.h"

static int path_of(const char *state_dir, uint32_t job_id, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/jobs/%" PRIu32 ".ended", state_dir, job_id);

    return n >= 0 && (size_t)n < size ? 0 : -1;
}

int hpcb_ended_save(const char *state_dir, uint32_t job_id, const char *why,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[HPCB_ENDED_MAX + 1];
    int n = snprintf(text, sizeof(text), "%s\n", why);

    if (path_of(state_dir, job_id, path, sizeof(path)) < 0)
        return hpcb_error(err, "%.200s is too long", state_dir);
    return hpcb_file_swap(path, text, (size_t)n, 0644, err);
}

void hpcb_ended_load(const char *state_dir, uint32_t job_id, char why[HPCB_ENDED_MAX])
{
    char path[PATH_MAX], text[HPCB_ENDED_MAX + 1];
    size_t length;

    why[0] = '\0';
    if (path_of(state_dir, job_id, path, sizeof(path)) < 0 ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return;
    length = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    if (length > 0 && length < HPCB_ENDED_MAX && strcmp(text + length, "\n") == 0) {
        memcpy(why, text, length);
        why[length] = '\0';
    }
}
