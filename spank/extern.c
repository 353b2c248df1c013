/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include "common/file.h"
#include "common/log.h"
#include "spank/extern.h"

/* Pids, each followed by a blank, in the order in which they were forked. */
static pid_t last_pid(const char *list)
{
    pid_t pid = 0;
    char *end;

    for (;;) {
        long value = strtol(list, &end, 10);

        if (end == list)
            return pid;
        pid = (pid_t)value;
        list = end;
    }
}

pid_t hpcb_spank_extern_pid(void)
{
    char list[4096];
    hpcb_error_t err;

    if (hpcb_file_read("/proc/thread-self/children", list, sizeof(list), &err) < 0) {
        hpcb_log(HPCB_LOG_DEBUG, "extern step: %s", err.text);
        return 0;
    }
    return last_pid(list);
}
