/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/error.h"
#include "common/text.h"

int hpcb_error(hpcb_error_t *err, const char *fmt, ...)
{
    int saved = errno;
    va_list args;

    if (err) {
        va_start(args, fmt);
        if (vsnprintf(err->text, sizeof(err->text), fmt, args) < 0)
            err->text[0] = '\0';
        va_end(args);
        hpcb_text_clean(err->text);
    }
    errno = saved;
    return -1;
}
