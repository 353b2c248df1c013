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

#include "common/cleanup.h"
#include "common/record.h"
#include "hpcbd/collector_file.h"

#define TAIL_BYTES 65536

static int fail(hpcb_error_t *err, const char *path)
{
    return hpcb_error(err, "%.300s: %s", path, strerror(errno));
}

/* The offset behind the last newline before size; -1 on failure. */
static int64_t whole_lines(int fd, int64_t size)
{
    char tail[TAIL_BYTES];

    while (size > 0) {
        int64_t start = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
        ssize_t n = pread(fd, tail, (size_t)(size - start), start);
        const char *newline = n > 0 ? memrchr(tail, '\n', (size_t)n) : NULL;

        if (n != size - start)
            return -1;
        if (newline)
            return start + (newline - tail) + 1;
        size = start;
    }
    return 0;
}

/* Where to append; -1 on failure. */
static int64_t mend(int fd)
{
    struct stat st;
    int64_t end;

    if (fstat(fd, &st))
        return -1;
    end = whole_lines(fd, st.st_size);
    if (end >= 0 && end < st.st_size && ftruncate(fd, end))
        return -1;
    return end;
}

static int write_at(int fd, const char *text, size_t length, int64_t offset)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, text, length, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        text += n;
        offset += n;
        length -= (size_t)n;
    }
    return 0;
}

static int sync_dir(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    hpcb_autoclose int fd = -1;

    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

static int64_t append(int fd, const char *path, const char *text, size_t length)
{
    int64_t offset = mend(fd);
    int saved;

    if (offset < 0)
        return -1;
    if (write_at(fd, text, length, offset) == 0 && fsync(fd) == 0 &&
        (offset > 0 || sync_dir(path) == 0))
        return offset;
    saved = errno;
    if (ftruncate(fd, offset))
        (void)0; /* the next append does it */
    errno = saved;
    return -1;
}

int64_t hpcbd_file_append(const char *path, const char *text, size_t length,
                          hpcb_error_t *err)
{
    hpcb_autoclose int fd =
        open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, HPCB_RECORD_MODE);
    int64_t offset = fd < 0 ? -1 : append(fd, path, text, length);

    return offset < 0 ? fail(err, path) : offset;
}

static FILE *open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");

    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

int hpcbd_file_each(const char *path, uint64_t start,
                    int (*visit)(const char *line, size_t length, uint64_t offset,
                                 void *arg),
                    void *arg, hpcb_error_t *err)
{
    hpcb_autofclose FILE *stream = open_file(path);
    hpcb_autofree char *line = NULL;
    uint64_t offset = start;
    size_t room = 0;
    ssize_t n;

    if (!stream)
        return errno == ENOENT ? 0 : fail(err, path);
    if (fseeko(stream, (off_t)start, SEEK_SET))
        return fail(err, path);
    while ((n = getline(&line, &room, stream)) > 0 && line[n - 1] == '\n') {
        line[n - 1] = '\0';
        if (visit(line, (size_t)n - 1, offset, arg))
            return hpcb_error(err, "%.300s: not read to its end", path);
        offset += (uint64_t)n;
    }
    return ferror(stream) ? fail(err, path) : 0;
}

char *hpcbd_file_line(const char *path, uint64_t offset, hpcb_error_t *err)
{
    hpcb_autofclose FILE *stream = open_file(path);
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    errno = stream ? 0 : errno;
    n = stream && fseeko(stream, (off_t)offset, SEEK_SET) == 0
            ? getline(&line, &room, stream)
            : -1;
    if (n > 0 && line[n - 1] == '\n') {
        line[n - 1] = '\0';
        return line;
    }
    free(line);
    hpcb_error(err, "%.300s has no line at %llu%s%s", path, (unsigned long long)offset,
               errno ? ": " : "", errno ? strerror(errno) : "");
    return NULL;
}
