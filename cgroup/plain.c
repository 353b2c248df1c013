/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/plain.h"
#include "common/cleanup.h"
#include "common/file.h"

#define DEPTH_MAX 16

static bool is_dir(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Take pid out of the list in path. */
static int strike(const char *path, const char *pid)
{
    hpcb_autofree char *text = hpcb_knob_read_all(path, "", NULL);
    hpcb_autofree char *kept = text ? calloc(1, strlen(text) + 2) : NULL;
    char *save = NULL, *end = kept;
    bool found = false;

    if (!kept)
        return -1;
    for (char *one = strtok_r(text, "\n", &save); one;
         one = strtok_r(NULL, "\n", &save)) {
        if (strcmp(one, pid) == 0)
            found = true;
        else
            end += sprintf(end, "%s\n", one);
    }
    return found ? hpcb_file_write(path, kept, NULL) : 0;
}

static void strike_below(const char *dir, const char *pid, int depth)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX];

    if (hpcb_knob_path(dir, "cgroup.procs", path, sizeof(path), NULL) == 0)
        strike(path, pid);
    while (handle && depth > 0 && (entry = readdir(handle))) {
        if (entry->d_name[0] != '.' &&
            hpcb_knob_path(dir, entry->d_name, path, sizeof(path), NULL) == 0 &&
            is_dir(path))
            strike_below(path, pid, depth - 1);
    }
}

/* The top of the hierarchy that dir is in: as far up as there are groups. */
static void go_to_top(char *dir)
{
    for (;;) {
        char *slash = strrchr(dir, '/');

        if (!slash || slash == dir)
            return;
        *slash = '\0';
        if (!hpcb_knob_exists(dir, "cgroup.procs")) {
            *slash = '/';
            return;
        }
    }
}

static int plain_write(const char *path, const char *text, hpcb_error_t *err)
{
    static const char procs[] = "/cgroup.procs";
    size_t length = strlen(path), tail = sizeof(procs) - 1;
    char top[PATH_MAX], line[32];

    if (length < tail || length >= sizeof(top) ||
        strcmp(path + length - tail, procs) != 0)
        return hpcb_file_write(path, text, err);
    if (access(path, F_OK) < 0)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    snprintf(top, sizeof(top), "%.*s", (int)(length - tail), path);
    go_to_top(top);
    strike_below(top, text, DEPTH_MAX);
    snprintf(line, sizeof(line), "%s\n", text);
    return hpcb_file_append(path, line, 0644, err);
}

static int plain_mkdir(const char *path, mode_t mode)
{
    char procs[PATH_MAX];
    int fd;

    if (mkdir(path, mode) < 0)
        return -1;
    if (hpcb_knob_path(path, "cgroup.procs", procs, sizeof(procs), NULL) < 0)
        return -1;
    fd = open(procs, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static bool in_use(const char *path)
{
    hpcb_autoclosedir DIR *handle = opendir(path);
    struct dirent *entry;
    char child[PATH_MAX];
    struct stat status;

    if (hpcb_knob_path(path, "cgroup.procs", child, sizeof(child), NULL) < 0 ||
        (stat(child, &status) == 0 && status.st_size > 0))
        return true;
    while (handle && (entry = readdir(handle))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            hpcb_knob_path(path, entry->d_name, child, sizeof(child), NULL) == 0 &&
            is_dir(child))
            return true;
    }
    return false;
}

static int plain_rmdir(const char *path)
{
    hpcb_autoclosedir DIR *handle = opendir(path);
    struct dirent *entry;

    if (!handle)
        return -1;
    if (in_use(path)) {
        errno = EBUSY;
        return -1;
    }
    while ((entry = readdir(handle))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(handle), entry->d_name, 0) < 0)
            return -1;
    }
    return rmdir(path);
}

const hpcb_knob_ops_t hpcb_plain_ops = {
    hpcb_file_read,
    plain_write,
    plain_mkdir,
    plain_rmdir,
};
