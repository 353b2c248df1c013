/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>

#include "common/file.h"
#include "common/log.h"
#include "hpcbd/windows/guard.h"

static void on_gone(void *arg, uint64_t what)
{
    hpcbd_guard_t *guard = arg;

    (void)what;
    hpcb_log(HPCB_LOG_ERROR, "the watchdog of %s has gone; starting another",
             guard->name);
    hpcbd_guard_stop(guard);
    guard->gone();
}

int hpcbd_guard_start(hpcb_loop_t *loop, hpcbd_guard_t *guard, hpcb_error_t *err)
{
    if (hpcbd_watchdog_start(&guard->watchdog, guard->release, NULL, err) < 0)
        return -1;
    guard->source = hpcb_loop_fd(loop, guard->watchdog.fd, 0, on_gone, guard, err);
    if (!guard->source)
        hpcbd_watchdog_stop(&guard->watchdog);
    return guard->source ? 0 : -1;
}

void hpcbd_guard_stop(hpcbd_guard_t *guard)
{
    if (!guard->source)
        return;
    hpcb_source_remove(guard->source);
    guard->source = NULL;
    hpcbd_watchdog_stop(&guard->watchdog);
}

int hpcbd_guard_dir(const char *state_dir, const char *name, char dir[static PATH_MAX],
                    hpcb_error_t *err)
{
    char jobs[PATH_MAX];

    if (snprintf(dir, PATH_MAX, "%s/%s", state_dir, name) >= PATH_MAX ||
        snprintf(jobs, sizeof(jobs), "%s/jobs", dir) >= (int)sizeof(jobs))
        return hpcb_error(err, "%.200s is too long", state_dir);
    return hpcb_file_mkdirs(jobs, 0755, err);
}
