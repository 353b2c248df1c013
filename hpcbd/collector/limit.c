/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "hpcbd/collector/limit.h"

static size_t find_origin(const hpcbd_limit_t *limit, const hpcbd_origin_t *origin)
{
    size_t i = 0;

    while (i < limit->count &&
           memcmp(&limit->of[i].origin, origin, sizeof(*origin)) != 0)
        i++;
    return i;
}

void hpcbd_limit_note(hpcbd_limit_t *limit, const hpcbd_origin_t *origin,
                      uint64_t now_ms)
{
    size_t i;

    if (limit->second != now_ms / 1000)
        limit->count = 0;
    limit->second = now_ms / 1000;
    i = find_origin(limit, origin);
    if (i == HPCBD_LIMIT_ORIGINS)
        return;
    if (i == limit->count) {
        limit->of[i].origin = *origin;
        limit->of[i].refused = 0;
        limit->count++;
    }
    limit->of[i].refused++;
}

bool hpcbd_limit_reached(const hpcbd_limit_t *limit, const hpcbd_origin_t *origin,
                         uint64_t now_ms)
{
    size_t i =
        limit->second == now_ms / 1000 ? find_origin(limit, origin) : limit->count;

    return i < limit->count && limit->of[i].refused >= HPCBD_LIMIT_REFUSED;
}
