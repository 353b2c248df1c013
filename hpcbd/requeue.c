/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/file.h"
#include "common/text.h"
#include "hpcbd/requeue.h"

#define DIGITS_MAX 10

static const struct {
    const char *suffix, *text;
} reasons[HPCBD_REQUEUE_REASONS] = {
    [HPCBD_REQUEUE_MEMORY] = {"", HPCBD_MEMORY_TEXT},
    [HPCBD_REQUEUE_STARVED] = {".starved", HPCBD_STARVED_TEXT},
    [HPCBD_REQUEUE_HARM] = {".harm", HPCBD_HARM_TEXT},
    [HPCBD_REQUEUE_LARGE] = {".large", HPCBD_LARGE_TEXT},
    [HPCBD_REQUEUE_KILLED] = {".killed", HPCBD_MEMORY_TEXT},
};

int hpcbd_requeue_path(const char *state_dir, uint32_t job_id, hpcbd_requeue_t reason,
                       char *path, size_t size, hpcb_error_t *err)
{
    int n = snprintf(path, size, "%s/" HPCBD_REQUEUE_DIR "/%" PRIu32 "%s", state_dir,
                     job_id, reasons[reason].suffix);

    return n >= 0 && (size_t)n < size
               ? 0
               : hpcb_error(err, "%.200s is too long", state_dir);
}

int hpcbd_requeue_note(const char *state_dir, uint32_t job_id, hpcbd_requeue_t reason,
                       uint64_t figure, hpcb_error_t *err)
{
    char path[PATH_MAX], text[64];
    int n;

    if (hpcbd_requeue_path(state_dir, job_id, reason, path, sizeof(path), err) < 0)
        return -1;
    n = snprintf(text, sizeof(text), "%" PRIu64 "\n", figure);
    return hpcb_file_swap(path, text, (size_t)n, 0600, err);
}

int hpcbd_requeue_parse(const char *name, uint32_t *job_id, hpcbd_requeue_t *reason)
{
    size_t length = strspn(name, "0123456789");
    char digits[DIGITS_MAX + 1];
    uint64_t id;

    if (length > DIGITS_MAX)
        return -1;
    memcpy(digits, name, length);
    digits[length] = '\0';
    if (hpcb_text_u64(digits, UINT32_MAX, &id) || id == 0)
        return -1;
    for (unsigned i = 0; i < HPCBD_REQUEUE_REASONS; i++) {
        if (strcmp(name + length, reasons[i].suffix) != 0)
            continue;
        *job_id = (uint32_t)id;
        *reason = (hpcbd_requeue_t)i;
        return 0;
    }
    return -1;
}

const char *hpcbd_requeue_text(hpcbd_requeue_t reason)
{
    return reasons[reason].text;
}
