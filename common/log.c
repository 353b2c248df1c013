/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"
#include "common/text.h"

#define LINE_MAX_BYTES 1024

static void default_sink(hpcb_log_level_t level, const char *line)
{
    if (level != HPCB_LOG_DEBUG)
        fprintf(stderr, "%s\n", line);
}

static hpcb_log_sink_t current_sink = default_sink;

void hpcb_log_set_sink(hpcb_log_sink_t sink)
{
    current_sink = sink ? sink : default_sink;
}

static void log_args(hpcb_log_level_t level, const char *fmt, va_list args)
{
    char line[LINE_MAX_BYTES];
    int saved = errno;

    if (vsnprintf(line, sizeof(line), fmt, args) >= 0)
        current_sink(level, hpcb_text_clean(line));
    errno = saved;
}

void hpcb_log(hpcb_log_level_t level, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    log_args(level, fmt, args);
    va_end(args);
}

void hpcb_log_once(bool *once, hpcb_log_level_t level, const char *fmt, ...)
{
    va_list args;

    if (*once)
        return;
    *once = true;
    va_start(args, fmt);
    log_args(level, fmt, args);
    va_end(args);
}
