/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Storage of findings; rules.c has the rules. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "hpcbctl/check/rules.h"

#define TEXT_MAX 8192

static char *format(hpcb_report_t *report, const char *fmt, va_list args)
{
    char *text = malloc(TEXT_MAX);

    if (!text) {
        report->broken = true;
        return NULL;
    }
    vsnprintf(text, TEXT_MAX, fmt, args);
    return hpcb_text_clean(text);
}

void hpcb_found(hpcb_report_t *report, hpcb_verdict_t verdict, const char *file,
                const char *fmt, ...)
{
    hpcb_finding_t *larger =
        reallocarray(report->findings, report->count + 1, sizeof(*larger));
    va_list args;

    if (!larger) {
        report->broken = true;
        return;
    }
    report->findings = larger;
    va_start(args, fmt);
    report->findings[report->count++] = (hpcb_finding_t){
        .rule = report->rule,
        .verdict = verdict,
        .file = file ? strdup(file) : NULL,
        .found = format(report, fmt, args),
    };
    va_end(args);
}

void hpcb_mend(hpcb_report_t *report, const char *fmt, ...)
{
    va_list args;

    if (report->count == 0 || report->findings[report->count - 1].mend)
        return;
    va_start(args, fmt);
    report->findings[report->count - 1].mend = format(report, fmt, args);
    va_end(args);
}

size_t hpcb_report_count(const hpcb_report_t *report, hpcb_verdict_t verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < report->count; i++)
        count += report->findings[i].verdict == verdict;
    return count;
}

void hpcb_report_free(hpcb_report_t *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].file);
        free(report->findings[i].found);
        free(report->findings[i].mend);
    }
    free(report->findings);
    *report = (hpcb_report_t){0};
}
