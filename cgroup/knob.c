/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "common/file.h"

#define ALL_FIRST 16384 /* bytes of hpcb_knob_read_all: 2000 processes */

static const hpcb_knob_ops_t kernel = {hpcb_file_read, hpcb_file_write, mkdir, rmdir};
static const hpcb_knob_ops_t *ops = &kernel;
static unsigned kept; /* files of hpcb_knob_write_kept */

const hpcb_knob_ops_t *hpcb_knob_set_ops(const hpcb_knob_ops_t *other)
{
    const hpcb_knob_ops_t *before = ops;

    ops = other ? other : &kernel;
    return before;
}

int hpcb_knob_path(const char *dir, const char *name, char *path, size_t size,
                   hpcb_error_t *err)
{
    int n = snprintf(path, size, "%s%s%s", dir, *name ? "/" : "", name);

    if (n < 0 || (size_t)n >= size) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "%s/%s: path too long", dir, name);
    }
    return 0;
}

int hpcb_knob_read(const char *dir, const char *name, char *buf, size_t size,
                   hpcb_error_t *err)
{
    char path[PATH_MAX];
    ssize_t n;

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    n = ops->read(path, buf, size, err);
    if (n < 0)
        return -1;
    if (n > 0 && buf[n - 1] == '\n')
        buf[n - 1] = '\0';
    return 0;
}

/* The kernel does not report the length of a list, so each attempt has twice the
 * size. */
char *hpcb_knob_read_all(const char *dir, const char *name, hpcb_error_t *err)
{
    for (size_t size = ALL_FIRST;; size *= 2) {
        char *text = malloc(size);

        if (!text) {
            hpcb_error(err, "%s/%s: out of memory", dir, name);
            return NULL;
        }
        if (hpcb_knob_read(dir, name, text, size, err) == 0)
            return text;
        free(text);
        if (errno != EFBIG || size >= HPCB_KNOB_ALL_MAX)
            return NULL;
    }
}

int hpcb_knob_number(const char *dir, const char *name, uint64_t *value,
                     hpcb_error_t *err)
{
    char text[32], *end;
    unsigned long long number;

    if (hpcb_knob_read(dir, name, text, sizeof(text), err) < 0)
        return -1;
    if (strcmp(text, "max") == 0) {
        *value = UINT64_MAX;
        return 0;
    }
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-') {
        errno = EINVAL;
        return hpcb_error(err, "%s/%s: \"%s\" is no number", dir, name, text);
    }
    *value = number;
    return 0;
}

int hpcb_knob_write(const char *dir, const char *name, const char *text,
                    hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    return ops->write(path, text, err);
}

void hpcb_knob_close(int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    kept--;
}

/* False: it is not open, or the group that it was of has gone. */
static bool write_open(int fd, const char *text)
{
    size_t length = strlen(text);

    return fd >= 0 && pwrite(fd, text, length, 0) == (ssize_t)length;
}

int hpcb_knob_write_kept(int *fd, const char *dir, const char *name, const char *text,
                         hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (ops == &kernel && write_open(*fd, text))
        return 0;
    hpcb_knob_close(fd);
    /* By name, for a new group, and for what is to say about errors. */
    if (hpcb_knob_write(dir, name, text, err) < 0)
        return -1;
    if (ops != &kernel || kept == HPCB_KNOB_KEPT_MAX ||
        hpcb_knob_path(dir, name, path, sizeof(path), NULL) < 0)
        return 0;
    *fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    kept += *fd >= 0;
    return 0;
}

int hpcb_knob_mkdir(const char *dir, const char *name, hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    if (ops->mkdir(path, 0755) == 0 || errno == EEXIST)
        return 0;
    return hpcb_error(err, "%s: %s", path, strerror(errno));
}

int hpcb_knob_rmdir(const char *dir, const char *name, hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    if (ops->rmdir(path) == 0)
        return 0;
    if (errno == ENOTEMPTY)
        errno = EBUSY;
    return hpcb_error(err, "%s: %s", path, strerror(errno));
}

bool hpcb_knob_exists(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return hpcb_knob_path(dir, name, path, sizeof(path), NULL) == 0 &&
           access(path, F_OK) == 0;
}

bool hpcb_knob_gone(int error)
{
    return error == ENOENT || error == ENODEV || error == ESRCH;
}
