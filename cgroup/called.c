/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/called.h"
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/file.h"

/* <GuestCgroup>/job_<id>/<step>.<task> */
#define DEPTH_MAX 2

#define BIT(signal) (UINT64_C(1) << ((signal)-1))

static const uint64_t calls = BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGTERM) |
                              BIT(SIGUSR1) | BIT(SIGUSR2) | BIT(SIGXCPU);

/* Of /proc/PID/status. */
static uint64_t mask(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static bool is_called(const char *pid)
{
    char path[64], status[8192];
    uint64_t waits;

    snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
    if (hpcb_file_read(path, status, sizeof(status), NULL) < 0)
        return false;
    waits = mask(status, "\nShdPnd:") | mask(status, "\nSigPnd:");
    return waits & calls & ~mask(status, "\nSigIgn:");
}

/* As much of the group as the budget allows: it may have thousands of processes. */
static bool one_is_called(const char *group, unsigned *budget)
{
    hpcb_autofclose FILE *procs = NULL;
    char path[PATH_MAX], pid[16];

    if (hpcb_knob_path(group, "cgroup.procs", path, sizeof(path), NULL) < 0)
        return false;
    procs = fopen(path, "re");
    for (; procs && *budget && fscanf(procs, "%15s", pid) == 1; --*budget)
        if (is_called(pid))
            return true;
    return false;
}

static bool look(const char *group, int depth, unsigned *budget)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char child[PATH_MAX];

    if (!*budget)
        return false;
    --*budget;
    if (one_is_called(group, budget))
        return true;
    if (depth < DEPTH_MAX)
        handle = opendir(group);
    while (handle && (entry = readdir(handle)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            hpcb_knob_path(group, entry->d_name, child, sizeof(child), NULL) == 0 &&
            look(child, depth + 1, budget))
            return true;
    return false;
}

bool hpcb_called(const char *group, unsigned *budget)
{
    return look(group, 0, budget);
}
