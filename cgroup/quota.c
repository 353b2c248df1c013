/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/quota.h"

const char *hpcb_quota_knob(int version)
{
    return version == 1 ? "cpu.cfs_quota_us" : "cpu.max";
}

int hpcb_quota_read(int version, const char *dir, hpcb_quota_t *quota,
                    hpcb_error_t *err)
{
    const char *knob = hpcb_quota_knob(version);
    char text[HPCB_QUOTA_TEXT_MAX], word[32];

    if (hpcb_knob_read(dir, knob, text, sizeof(text), err) < 0)
        return -1;
    if (version == 1) {
        if (hpcb_knob_number(dir, HPCB_QUOTA_PERIOD, &quota->period_us, err) < 0)
            return -1;
        snprintf(word, sizeof(word), "%.31s", text);
    } else if (sscanf(text, "%31s %" SCNu64, word, &quota->period_us) != 2) {
        errno = EINVAL;
        return hpcb_error(err, "%s/%s is \"%.40s\"", dir, knob, text);
    }
    quota->us = HPCB_QUOTA_NONE;
    if (strcmp(word, "max") != 0 && strcmp(word, "-1") != 0)
        quota->us = strtoull(word, NULL, 10);
    return 0;
}

void hpcb_quota_text(int version, const hpcb_quota_t *quota,
                     char text[HPCB_QUOTA_TEXT_MAX])
{
    char number[32];

    snprintf(number, sizeof(number), "%" PRIu64, quota->us);
    if (quota->us == HPCB_QUOTA_NONE)
        snprintf(number, sizeof(number), "%s", version == 1 ? "-1" : "max");
    if (version == 1)
        snprintf(text, HPCB_QUOTA_TEXT_MAX, "%s", number);
    else
        snprintf(text, HPCB_QUOTA_TEXT_MAX, "%s %" PRIu64, number, quota->period_us);
}
