/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/key.h"

#define KEY_FILE "hpc-balance.key"

int hpcb_key_path(const char *conf_path, char *path)
{
    const char *slash = strrchr(conf_path, '/');
    int n = snprintf(path, PATH_MAX, "%.*s%s", slash ? (int)(slash - conf_path) + 1 : 0,
                     conf_path, KEY_FILE);

    return n >= 0 && n < PATH_MAX ? 0 : -1;
}

static int refuse(int why, const char *path, const char *what, hpcb_error_t *err)
{
    hpcb_error(err, "%.300s %s", path, what);
    errno = why;
    return -1;
}

static ssize_t read_key(int fd, const char *path, unsigned char *secret,
                        hpcb_error_t *err)
{
    struct stat st;
    ssize_t length;

    if (fstat(fd, &st) < 0)
        return refuse(errno, path, "cannot be looked at", err);
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return refuse(EPERM, path, "is for others than its owner, too", err);
    if (st.st_size < HPCB_KEY_MIN || st.st_size > HPCB_KEY_MAX)
        return refuse(ERANGE, path, "does not have 16 to 1024 bytes", err);
    length = read(fd, secret, HPCB_KEY_MAX);
    if (length < HPCB_KEY_MIN)
        return refuse(length < 0 ? errno : ERANGE, path, "cannot be read", err);
    return length;
}

ssize_t hpcb_key_read(const char *conf_path, unsigned char secret[static HPCB_KEY_MAX],
                      hpcb_error_t *err)
{
    hpcb_autoclose int fd = -1;
    char path[PATH_MAX];

    if (hpcb_key_path(conf_path, path) < 0)
        return refuse(ENAMETOOLONG, conf_path, "has too long a name", err);
    fd = hpcb_file_open_trusted(path, err);
    return fd < 0 ? -1 : read_key(fd, path, secret, err);
}
