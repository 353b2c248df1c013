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
#include "hpcbd/collector/position.h"
#include "records/database.h"

static int path_of(const char *dir, const char *name, char path[static PATH_MAX],
                   hpcb_error_t *err)
{
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX
               ? 0
               : hpcb_error(err, "%.200s is too long", dir);
}

int hpcbd_position_load(const char *dir, const char *name, int64_t *position,
                        hpcb_error_t *err)
{
    char path[PATH_MAX], text[64];
    uint64_t number = 0;
    ssize_t n;

    if (path_of(dir, name, path, err))
        return -1;
    n = hpcb_file_read(path, text, sizeof(text), NULL);
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = '\0';
    if (n <= 0 || hpcb_text_u64(text, INT64_MAX, &number))
        number = 0;
    *position = (int64_t)number;
    return 0;
}

int hpcbd_position_save(const char *dir, const char *name, int64_t position,
                        hpcb_error_t *err)
{
    char path[PATH_MAX], text[32];

    if (path_of(dir, name, path, err))
        return -1;
    snprintf(text, sizeof(text), "%" PRId64 "\n", position);
    return hpcb_file_replace(path, text, strlen(text), 0644, err);
}

void hpcbd_position_check(sqlite3 *db, int64_t *position)
{
    int64_t last;

    if (hpcb_database_number(db, "SELECT max(0, max(seq)) FROM run", &last, NULL) ==
            0 &&
        last < *position)
        *position = last;
}
