/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One openat(2) per component with O_NOFOLLOW: openat2(2) with RESOLVE_NO_SYMLINKS does
 * it in one, but came with Linux 5.6, and nodes with 4.18 are in use.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "hpcbctl/snapshot/intree.h"

#define DIR_FLAGS  (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define DEPTH_MAX  64

static int step_into(int dir, const char *name, bool make)
{
    int next;

    if (make && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -1;
    next = openat(dir, name, DIR_FLAGS);
    return next;
}

/* Open the directory of path's last component, which is copied to name; the caller
 * closes it. */
static int open_above(int tree, const char *path, bool make, char *name)
{
    int dir = openat(tree, ".", DIR_FLAGS);

    while (dir >= 0) {
        size_t length = strcspn(path, "/");
        bool last = path[length] == '\0';
        int next;

        errno = EINVAL;
        if (length == 0 || length > NAME_MAX || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            break;
        memcpy(name, path, length);
        name[length] = '\0';
        if (last)
            return dir;
        next = step_into(dir, name, make);
        hpcb_cleanup_close(&dir);
        dir = next;
        path += length + 1;
    }
    hpcb_cleanup_close(&dir);
    return -1;
}

static int open_file(int tree, const char *path)
{
    char name[NAME_MAX + 1];
    hpcb_autoclose int dir = open_above(tree, path, false, name);
    struct stat status;
    int fd;

    if (dir < 0)
        return -1;
    fd = openat(dir, name, O_RDONLY | FILE_FLAGS);
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

ssize_t hpcb_intree_read(int tree, const char *path, char *buf, size_t size)
{
    hpcb_autoclose int fd = open_file(tree, path);
    size_t used = 0;
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && used < size) {
        n = read(fd, buf + used, size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || n < 0)
        return -1;
    if (used == size) {
        errno = EFBIG;
        return -1;
    }
    buf[used] = '\0';
    return (ssize_t)used;
}

bool hpcb_intree_exists(int tree, const char *path)
{
    char name[NAME_MAX + 1];
    hpcb_autoclose int dir = open_above(tree, path, false, name);
    struct stat status;

    return dir >= 0 && fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode);
}

static DIR *open_dir(int tree, const char *path)
{
    char name[NAME_MAX + 1];
    hpcb_autoclose int above = open_above(tree, path, false, name);
    int fd = above < 0
                 ? -1
                 : openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        hpcb_cleanup_close(&fd);
    return dir;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int hpcb_intree_list(int tree, const char *path,
                     int (*visit)(const char *name, void *arg), void *arg)
{
    hpcb_autoclosedir DIR *dir = open_dir(tree, path);
    struct dirent *entry;

    if (!dir)
        return -1;
    while ((entry = readdir(dir)))
        if (!is_dots(entry->d_name) && visit(entry->d_name, arg))
            break;
    return 0;
}

int hpcb_intree_write(int tree, const char *path, const char *text, size_t length)
{
    char name[NAME_MAX + 1];
    hpcb_autoclose int dir = open_above(tree, path, true, name);
    hpcb_autoclose int fd = -1;

    if (dir < 0)
        return -1;
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | FILE_FLAGS, 0600);
    while (fd >= 0 && length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno != EINTR)
            return -1;
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return fd < 0 ? -1 : 0;
}

static int remove_in(int tree, const char *name, int depth)
{
    int fd = openat(tree, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    hpcb_autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir)
        hpcb_cleanup_close(&fd);
    if (!dir || depth == 0)
        return -1;
    while ((entry = readdir(dir))) {
        if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        if (errno != EISDIR || remove_in(fd, entry->d_name, depth - 1) < 0)
            return -1;
    }
    return unlinkat(tree, name, AT_REMOVEDIR);
}

int hpcb_intree_remove(int tree, const char *name)
{
    return remove_in(tree, name, DEPTH_MAX);
}
