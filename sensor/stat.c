/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "sensor/stat.h"

#define STAT_MAX 4096

int hpcb_stat_open(const char *dir, const char *name, hpcb_error_t *err)
{
    char path[PATH_MAX];
    int fd;

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? hpcb_error(err, "%s: %s", path, strerror(errno)) : fd;
}

int hpcb_stat_number(int fd, const char *key, uint64_t *value, hpcb_error_t *err)
{
    char text[STAT_MAX];
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    const char *found;

    if (length < 0)
        return hpcb_error(err, "cannot read \"%s\": %s", key, strerror(errno));
    text[length] = '\0';
    found = strstr(text, key);
    if (!found || !isdigit((unsigned char)found[strlen(key)])) {
        errno = ENODATA;
        return hpcb_error(err, "the kernel's file has no \"%s\"", key);
    }
    *value = strtoull(found + strlen(key), NULL, 10);
    return 0;
}

static size_t taken;

int hpcb_stat_take(size_t n, hpcb_error_t *err)
{
    if (n <= HPCB_STAT_FILES_MAX - taken) {
        taken += n;
        return 0;
    }
    errno = EMFILE;
    return hpcb_error(err, "the jobs of this node have started too many tasks");
}

void hpcb_stat_give(size_t n)
{
    taken -= n;
}
