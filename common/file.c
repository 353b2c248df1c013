/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Small files.  open_regular is the only function that opens files that others may have
 * created; write_temp creates a complete file next to the target, which rename(2)
 * (replace) or link(2) (create) then publishes, so that a crash leaves at most a
 * TARGET.tmpXXXXXX.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/text.h"

/* A FIFO without a peer must not hold us, a terminal must not become ours. */
#define SAFE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Maximum length of a path in a message, so that the reason still fits. */
#define PATH_SHOWN 300
#define KNOB_SHOWN 60

static int fail(hpcb_error_t *err, const char *verb, const char *path)
{
    return hpcb_error(err, "cannot %s %.*s: %s", verb, PATH_SHOWN, path,
                      strerror(errno));
}

/* Returns an open regular file, or -1 with errno and err. */
static int open_regular(const char *path, int flags, mode_t mode, const char *verb,
                        hpcb_error_t *err)
{
    struct stat st;
    int fd = open(path, flags | SAFE_FLAGS, mode);

    if (fd < 0)
        return fail(err, verb, path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return hpcb_error(err, "cannot %s %.*s: not a regular file", verb, PATH_SHOWN,
                      path);
}

static ssize_t read_some(int fd, char *buf, size_t size)
{
    ssize_t n;

    do {
        n = read(fd, buf, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Fill buf up to the end of the file; -1 with EFBIG if it does not fit. */
static ssize_t read_whole(int fd, char *buf, size_t size)
{
    size_t used = 0;
    ssize_t n = 1;

    while (used < size && n > 0) {
        n = read_some(fd, buf + used, size - used);
        if (n < 0)
            return -1;
        used += (size_t)n;
    }
    if (used >= size) {
        errno = EFBIG;
        return -1;
    }
    buf[used] = '\0';
    return (ssize_t)used;
}

static int write_whole(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text += n;
        length -= (size_t)n;
    }
    return 0;
}

/* One write(2): a kernel knob takes its value whole, a reader of a log sees lines. */
static int write_once(int fd, const char *text)
{
    size_t length = strlen(text);
    ssize_t n;

    do {
        n = write(fd, text, length);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n < length)
        errno = EIO;
    return n == (ssize_t)length ? 0 : -1;
}

ssize_t hpcb_file_read(const char *path, char *buf, size_t size, hpcb_error_t *err)
{
    hpcb_autoclose int fd = open_regular(path, O_RDONLY, 0, "read", err);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read_whole(fd, buf, size);
    return n < 0 ? fail(err, "read", path) : n;
}

static int knob_shown(const char *text)
{
    size_t length = strcspn(text, "\n");

    return length < KNOB_SHOWN ? (int)length : KNOB_SHOWN;
}

int hpcb_file_write(const char *path, const char *text, hpcb_error_t *err)
{
    /* O_TRUNC means nothing to the kernel's knobs, but the trees of plain files that
     * stand for them in tests need it. */
    hpcb_autoclose int fd = open_regular(path, O_WRONLY | O_TRUNC, 0, "write", err);

    if (fd < 0)
        return -1;
    if (write_once(fd, text))
        return hpcb_error(err, "cannot write \"%.*s\" to %.*s: %s", knob_shown(text),
                          text, PATH_SHOWN, path, strerror(errno));
    return 0;
}

/* Makes temp (which ends in XXXXXX) a file with that content. */
static int write_temp(char *temp, const char *text, size_t length, mode_t mode,
                      bool durable)
{
    int fd = mkostemp(temp, O_CLOEXEC);
    int status;

    if (fd < 0)
        return -1;
    status =
        write_whole(fd, text, length) || fchmod(fd, mode) || (durable && fsync(fd));
    if (close(fd) || status) {
        int saved = errno;

        unlink(temp);
        errno = saved;
        return -1;
    }
    return 0;
}

/* A rename or a link is durable only once its directory is. */
static int sync_parent(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    hpcb_autoclose int fd = -1;

    if (!slash)
        strcpy(dir, ".");
    else
        snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path),
                 path);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

static int temp_name(char *temp, size_t size, const char *path)
{
    if (snprintf(temp, size, "%s.tmpXXXXXX", path) < (int)size)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static int replace(const char *path, const char *text, size_t length, mode_t mode,
                   bool durable, hpcb_error_t *err)
{
    char temp[PATH_MAX];

    if (temp_name(temp, sizeof(temp), path) ||
        write_temp(temp, text, length, mode, durable))
        return fail(err, "write", path);
    if (rename(temp, path)) {
        fail(err, "write", path);
        unlink(temp);
        return -1;
    }
    return durable && sync_parent(path) ? fail(err, "write", path) : 0;
}

int hpcb_file_replace(const char *path, const char *text, size_t length, mode_t mode,
                      hpcb_error_t *err)
{
    return replace(path, text, length, mode, true, err);
}

int hpcb_file_swap(const char *path, const char *text, size_t length, mode_t mode,
                   hpcb_error_t *err)
{
    return replace(path, text, length, mode, false, err);
}

int hpcb_file_create(const char *path, const char *text, size_t length, mode_t mode,
                     hpcb_error_t *err)
{
    char temp[PATH_MAX];
    int status, saved;

    if (temp_name(temp, sizeof(temp), path) ||
        write_temp(temp, text, length, mode, true))
        return fail(err, "create", path);
    /* link(2), unlike rename(2), refuses to take the place of another file. */
    status = link(temp, path);
    saved = errno;
    unlink(temp);
    errno = saved;
    if (status || sync_parent(path))
        return fail(err, "create", path);
    return 0;
}

int hpcb_file_append(const char *path, const char *text, mode_t mode, hpcb_error_t *err)
{
    hpcb_autoclose int fd =
        open_regular(path, O_WRONLY | O_APPEND | O_CREAT, mode, "append to", err);

    if (fd < 0)
        return -1;
    return write_once(fd, text) ? fail(err, "append to", path) : 0;
}

/* mkdir with the mode whatever the umask is (which is the process', not ours to
 * change in a threaded daemon). */
static int make_dir(const char *path, mode_t mode)
{
    hpcb_autoclose int fd = -1;

    if (mkdir(path, mode))
        return errno == EEXIST ? 0 : -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : fchmod(fd, mode);
}

int hpcb_file_mkdirs(const char *path, mode_t mode, hpcb_error_t *err)
{
    char part[PATH_MAX];
    struct stat st;

    if (hpcb_text_copy(part, sizeof(part), path)) {
        errno = ENAMETOOLONG;
        return fail(err, "make directory", path);
    }
    for (char *p = part; *p; p++) {
        if (*p != '/' || p == part)
            continue;
        *p = '\0';
        if (make_dir(part, mode))
            return fail(err, "make directory", part);
        *p = '/';
    }
    if (make_dir(part, mode) || stat(part, &st))
        return fail(err, "make directory", path);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return fail(err, "make directory", path);
    }
    return 0;
}

bool hpcb_file_changed(const char *path, hpcb_file_stamp_t *stamp)
{
    hpcb_file_stamp_t old = *stamp;
    struct stat st;

    *stamp = (hpcb_file_stamp_t){0};
    if (stat(path, &st))
        return true;
    *stamp = (hpcb_file_stamp_t){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
    return stamp->device != old.device || stamp->inode != old.inode ||
           stamp->size != old.size || stamp->written.tv_sec != old.written.tv_sec ||
           stamp->written.tv_nsec != old.written.tv_nsec;
}

static int check_owner(const char *path, const struct stat *st, hpcb_error_t *err)
{
    const char *why = NULL;

    if (S_ISLNK(st->st_mode))
        why = "it is a symbolic link";
    else if (st->st_uid != 0 && st->st_uid != geteuid())
        why = "it belongs to another user";
    else if (st->st_mode & (S_IWGRP | S_IWOTH))
        why = "others may write to it";
    if (!why)
        return 0;
    errno = EPERM;
    return hpcb_error(err, "%.*s is not trusted: %s", PATH_SHOWN, path, why);
}

int hpcb_file_trusted(const char *path, hpcb_error_t *err)
{
    struct stat st;

    if (lstat(path, &st))
        return fail(err, "check", path);
    return check_owner(path, &st, err);
}

int hpcb_file_open_trusted(const char *path, hpcb_error_t *err)
{
    int fd = open_regular(path, O_RDONLY, 0, "read", err);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && check_owner(path, &st, err) == 0)
        return fd;
    hpcb_cleanup_close(&fd);
    return -1;
}

ssize_t hpcb_file_read_trusted(const char *path, char *buf, size_t size,
                               hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_file_open_trusted(path, err);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read_whole(fd, buf, size);
    return n < 0 ? fail(err, "read", path) : n;
}
