/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "hpcbd/log.h"

static bool with_debug;

static const char *const journal_levels[] = {
    [HPCB_LOG_ERROR] = "<3>",
    [HPCB_LOG_INFO] = "<6>",
    [HPCB_LOG_DEBUG] = "<7>",
};

static const char *const words[] = {
    [HPCB_LOG_ERROR] = "error: ",
    [HPCB_LOG_INFO] = "",
    [HPCB_LOG_DEBUG] = "debug: ",
};

static void to_journal(hpcb_log_level_t level, const char *line)
{
    if (level != HPCB_LOG_DEBUG || with_debug)
        fprintf(stderr, "%s%s\n", journal_levels[level], line);
}

static void to_stderr(hpcb_log_level_t level, const char *line)
{
    time_t now = time(NULL);
    char stamp[32] = "";
    struct tm utc;

    if (level == HPCB_LOG_DEBUG && !with_debug)
        return;
    if (gmtime_r(&now, &utc))
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(stderr, "%s hpcbd: %s%s\n", stamp, words[level], line);
}

void hpcbd_log_open(bool debug)
{
    with_debug = debug;
    hpcb_log_set_sink(getenv("JOURNAL_STREAM") ? to_journal : to_stderr);
}
