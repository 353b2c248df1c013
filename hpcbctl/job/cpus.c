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
#include "hpcbctl/job/cpus.h"

static int path_of(const char *state_dir, uint32_t job_id, char path[static PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 ".cpus", state_dir, job_id);

    return n < PATH_MAX ? 0 : -1;
}

int hpcb_cpus_save(const char *state_dir, uint32_t job_id, unsigned cpus,
                   hpcb_error_t *err)
{
    char path[PATH_MAX], text[16];

    if (path_of(state_dir, job_id, path))
        return hpcb_error(err, "%.200s is too long", state_dir);
    snprintf(text, sizeof(text), "%u\n", cpus);
    return hpcb_file_replace(path, text, strlen(text), 0644, err);
}

unsigned hpcb_cpus_load(const char *state_dir, uint32_t job_id)
{
    char path[PATH_MAX], text[16];
    uint64_t cpus;

    if (path_of(state_dir, job_id, path) ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return hpcb_text_u64(text, UINT_MAX, &cpus) ? 0 : (unsigned)cpus;
}
