/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record.h"
#include "common/text.h"
#include "hpcbd/records/spool.h"

#define REFUSED "refused"

/* Minimum number of files to remove, so that it is not done for every batch. */
#define PRUNE_SLACK 200

/* A file system is short of what it has less than this part of left. */
#define SHORT_PART 16

/* Writers rename such a file when it is whole (common/file.c).  One that is a day old
 * has no writer any more. */
#define TEMP_SUFFIX  ".json.tmpXXXXXX"
#define TEMP_LETTERS 6
#define TEMP_SECONDS 86400

static void make_dir(const char *dir, const char *place)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (snprintf(path, sizeof(path), "%s/%s", dir, place) < (int)sizeof(path) &&
        (hpcb_file_mkdirs(dir, 0755, &err) ||
         hpcb_file_mkdirs(path, HPCB_RECORD_DIR_MODE, &err)))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

void hpcbd_spool_open(hpcbd_spool_t *spool, const hpcb_conf_t *conf)
{
    *spool =
        (hpcbd_spool_t){.spool_dir = conf->spool_dir, .state_dir = conf->state_dir};
    make_dir(spool->spool_dir, HPCB_SPOOL_RECORDS);
    make_dir(spool->spool_dir, HPCB_SPOOL_SENT);
    make_dir(spool->spool_dir, REFUSED);
    make_dir(spool->state_dir, HPCB_SPOOL_RECORDS);
}

/* Temporary files of writers end in other letters. */
static bool is_record(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 5 && length < HPCBD_ID_MAX &&
           strcmp(name + length - 5, ".json") == 0;
}

static bool is_temp(const char *name)
{
    const char *suffix = strstr(name, ".json.");

    return suffix && strlen(suffix) == strlen(TEMP_SUFFIX) &&
           strncmp(suffix, TEMP_SUFFIX, strlen(TEMP_SUFFIX) - TEMP_LETTERS) == 0;
}

/* An epilog that was killed leaves it behind. */
static void remove_if_left(int dir, const char *name)
{
    struct stat st;

    if (is_temp(name) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > TEMP_SECONDS)
        unlinkat(dir, name, 0);
}

static int path_of(char *path, const char *dir, const char *place, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s/%s", dir, place, name) < PATH_MAX ? 0 : -1;
}

/* A file cannot be moved from StateDir: an empty one with its name shows that it was
 * sent. */
static void leave_name(const char *path)
{
    hpcb_autoclose int fd = open(
        path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, HPCB_RECORD_MODE);

    if (fd < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%.300s: %s", path, strerror(errno));
}

static void keep_sent(const hpcbd_spool_t *spool, const char *from, const char *name)
{
    char to[PATH_MAX];

    if (path_of(to, spool->spool_dir, HPCB_SPOOL_SENT, name) == 0) {
        if (rename(from, to) == 0)
            return;
        leave_name(to);
    }
    unlink(from);
}

/* A file cannot be moved from StateDir to another file system: there its name shows
 * that it is not a record any more. */
static void refuse(const hpcbd_spool_t *spool, const char *path, const char *name,
                   const char *why)
{
    char to[PATH_MAX];

    if (path_of(to, spool->spool_dir, REFUSED, name) == 0 && rename(path, to) == 0) {
        hpcb_log(HPCB_LOG_ERROR, "%.100s is put aside in %.200s/" REFUSED ": %s", name,
                 spool->spool_dir, why);
        return;
    }
    if (snprintf(to, sizeof(to), "%s." REFUSED, path) < (int)sizeof(to) &&
        rename(path, to) == 0)
        hpcb_log(HPCB_LOG_ERROR, "%.250s is put aside: %s", to, why);
    else
        hpcb_log(HPCB_LOG_ERROR, "%.250s is not sent: %s", path, why);
}

/* The content of a record's file, or NULL with errno. */
static char *read_record(const char *path, ino_t *inode, hpcb_error_t *err)
{
    char *text = malloc(HPCB_RECORD_BYTES + 1);
    struct stat st;

    if (text && lstat(path, &st) == 0 &&
        hpcb_file_read_trusted(path, text, HPCB_RECORD_BYTES + 1, err) > 0) {
        *inode = st.st_ino;
        return text;
    }
    if (!text)
        hpcb_error(err, "out of memory");
    hpcb_cleanup_free(&text);
    return NULL;
}

/* Return 1: added, 0: skipped, -1: the batch is full. */
static int add_record(hpcbd_spool_t *spool, const char *dir, const char *name,
                      hpcb_rjson_t *request, size_t *bytes)
{
    hpcb_error_t err = {"it is empty"};
    hpcb_autofree char *text = NULL;
    hpcbd_waiting_t *waiting = &spool->waiting[spool->count];
    char path[PATH_MAX];

    if (path_of(path, dir, HPCB_SPOOL_RECORDS, name))
        return 0;
    errno = 0;
    text = read_record(path, &waiting->inode, &err);
    if (!text) {
        if (errno == EFBIG || errno == EPERM || errno == EINVAL || errno == 0)
            refuse(spool, path, name, err.text);
        return 0;
    }
    if (spool->count > 0 && *bytes + strlen(text) > HPCBD_BATCH_BYTES)
        return -1;
    if (hpcbd_request_add(request, name, text, &err)) {
        if (errno == EINVAL)
            refuse(spool, path, name, err.text);
        return 0;
    }
    *bytes += strlen(text);
    waiting->dir = dir;
    (void)hpcb_text_copy(waiting->name, sizeof(waiting->name), name);
    return 1;
}

static int read_dir(hpcbd_spool_t *spool, const char *dir, hpcb_rjson_t *request,
                    size_t *bytes, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/" HPCB_SPOOL_RECORDS, dir) >=
        (int)sizeof(path))
        return hpcb_error(err, "%.200s is too long", dir);
    handle = opendir(path);
    if (!handle)
        return errno == ENOENT ? 0
                               : hpcb_error(err, "%.300s: %s", path, strerror(errno));
    while (spool->count < HPCBD_BATCH_RECORDS && (entry = readdir(handle))) {
        int added = 0;

        if (is_record(entry->d_name))
            added = add_record(spool, dir, entry->d_name, request, bytes);
        else
            remove_if_left(dirfd(handle), entry->d_name);
        if (added < 0)
            break;
        spool->count += (size_t)added;
    }
    return 0;
}

int hpcbd_spool_read(hpcbd_spool_t *spool, hpcb_rjson_t *request, hpcb_error_t *err)
{
    size_t bytes = 0;

    spool->count = 0;
    if (read_dir(spool, spool->spool_dir, request, &bytes, err) ||
        (strcmp(spool->spool_dir, spool->state_dir) != 0 &&
         read_dir(spool, spool->state_dir, request, &bytes, err)))
        return -1;
    return (int)spool->count;
}

void hpcbd_spool_settle(hpcbd_spool_t *spool, const char *id, hpcbd_verdict_t verdict)
{
    for (size_t i = 0; i < spool->count; i++) {
        const hpcbd_waiting_t *waiting = &spool->waiting[i];
        char path[PATH_MAX];
        struct stat st;

        if (strcmp(waiting->name, id) != 0 ||
            path_of(path, waiting->dir, HPCB_SPOOL_RECORDS, id))
            continue;
        if (lstat(path, &st) || st.st_ino != waiting->inode)
            continue;
        if (verdict == HPCBD_KEPT)
            keep_sent(spool, path, id);
        else
            refuse(spool, path, id, "the collector finds no record in it");
    }
}

typedef struct {
    char name[HPCBD_ID_MAX];
    struct timespec when;
    bool emptied;
} sent_t;

static int by_age(const void *a, const void *b)
{
    const struct timespec *left = &((const sent_t *)a)->when;
    const struct timespec *right = &((const sent_t *)b)->when;

    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

/* All files of dir, which the caller frees; their number, or -1. */
static long list(DIR *dir, sent_t **files)
{
    struct dirent *entry;
    size_t count = 0;

    *files = NULL;
    while ((entry = readdir(dir))) {
        struct stat st;
        sent_t *larger;

        if (!is_record(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        larger = reallocarray(*files, count + 1, sizeof(**files));
        if (!larger)
            return -1;
        *files = larger;
        larger[count].when = st.st_ctim;
        larger[count].emptied = st.st_size == 0;
        (void)hpcb_text_copy(larger[count++].name, HPCBD_ID_MAX, entry->d_name);
    }
    return (long)count;
}

static void empty_file(int dir, const char *name)
{
    hpcb_autoclose int fd =
        openat(dir, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%.100s: %s", name, strerror(errno));
}

/* Some file systems do not say how many inodes they have. */
static bool is_short(fsfilcnt_t left, fsfilcnt_t all)
{
    return all > 0 && left < all / SHORT_PART;
}

/* Return how many of the files may stay. */
static long kept_of(long count, const struct statvfs *fs)
{
    if (is_short(fs->f_ffree, fs->f_files))
        return 0;
    return count < HPCBD_SENT_KEPT + PRUNE_SLACK ? count : HPCBD_SENT_KEPT;
}

void hpcbd_spool_prune(const hpcbd_spool_t *spool)
{
    hpcb_autoclosedir DIR *dir = NULL;
    hpcb_autofree sent_t *files = NULL;
    struct statvfs fs = {.f_files = 0};
    char path[PATH_MAX];
    long count, surplus;

    if (snprintf(path, sizeof(path), "%s/" HPCB_SPOOL_SENT, spool->spool_dir) >=
        (int)sizeof(path))
        return;
    dir = opendir(path);
    count = dir ? list(dir, &files) : 0;
    if (count <= 0 || fstatvfs(dirfd(dir), &fs))
        return;
    surplus = count - kept_of(count, &fs);
    if (surplus > 0)
        qsort(files, (size_t)count, sizeof(*files), by_age);
    for (long i = 0; i < count; i++) {
        if (i < surplus)
            unlinkat(dirfd(dir), files[i].name, 0);
        else if (is_short(fs.f_bfree, fs.f_blocks) && !files[i].emptied)
            empty_file(dirfd(dir), files[i].name);
    }
}
