/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Several epilogs and hpcbd may work on StateDir/records at the same time.  A record
 * that two of them take is sent twice at worst, and the collector counts it once.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbctl/job/kept.h"

/* A record that was sent may have given its content up (hpcbd_spool_prune). */
static bool is_written_to(const char *dir, const char *place,
                          const hpcb_record_t *record)
{
    static char text[HPCB_RECORD_BYTES];
    char path[PATH_MAX];
    hpcb_record_t old;
    ssize_t length;

    if (hpcb_record_path(dir, place, record, path, NULL))
        return false;
    length = hpcb_file_read_trusted(path, text, sizeof(text), NULL);
    if (length == 0)
        return strcmp(place, HPCB_SPOOL_SENT) == 0;
    return length > 0 && hpcb_record_parse(text, &old, NULL) == 0 &&
           old.job.uid == record->job.uid;
}

bool hpcb_kept_is_written(const hpcb_conf_t *conf, const hpcb_record_t *record)
{
    return is_written_to(conf->state_dir, HPCB_SPOOL_RECORDS, record) ||
           is_written_to(conf->spool_dir, HPCB_SPOOL_RECORDS, record) ||
           is_written_to(conf->spool_dir, HPCB_SPOOL_SENT, record);
}

/* Return whether a site uses one directory for both, by any names. */
static bool is_one_place(const hpcb_conf_t *conf)
{
    struct stat state, spool;

    return stat(conf->state_dir, &state) == 0 && stat(conf->spool_dir, &spool) == 0 &&
           state.st_dev == spool.st_dev && state.st_ino == spool.st_ino;
}

/* The file that a killed epilog has left in memory knows less than the spool now. */
static void forget(const hpcb_conf_t *conf, const hpcb_record_t *record)
{
    char path[PATH_MAX];

    if (!is_one_place(conf) &&
        hpcb_record_path(conf->state_dir, HPCB_SPOOL_RECORDS, record, path, NULL) == 0)
        unlink(path);
}

void hpcb_kept_add(const hpcb_conf_t *conf, const hpcb_record_t *record)
{
    hpcb_error_t err, second;

    if (hpcb_record_write(conf->state_dir, record, &err) == 0)
        return;
    if (hpcb_record_write(conf->spool_dir, record, &second))
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": its record is lost: %.200s; %.200s",
                 record->job.job_id, err.text, second.text);
    else
        forget(conf, record);
}

/* DIR/records, or a file in it if name is not "". */
static int path_of(const char *dir, const char *name, char path[static PATH_MAX],
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/" HPCB_SPOOL_RECORDS "%s%s", dir, *name ? "/" : "",
                 name) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "%.200s: the path is too long", dir);
}

/* Temporary files of writers end in other letters. */
static bool is_record(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* -1 with err if the spool does not take it.  What cannot be read stays: it is for
 * hpcbd to put it aside. */
static int move_record(const hpcb_conf_t *conf, const char *name, hpcb_error_t *err)
{
    static char text[HPCB_RECORD_BYTES + 1];
    char from[PATH_MAX], to[PATH_MAX];
    hpcb_file_stamp_t stamp = {0};
    ssize_t length;

    if (path_of(conf->state_dir, name, from, err) ||
        path_of(conf->spool_dir, name, to, err))
        return -1;
    (void)hpcb_file_changed(from, &stamp);
    length = hpcb_file_read_trusted(from, text, sizeof(text), NULL);
    if (length <= 0)
        return 0;
    if (hpcb_file_replace(to, text, (size_t)length, HPCB_RECORD_MODE, err))
        return -1;
    /* Another epilog may have replaced it meanwhile. */
    if (!hpcb_file_changed(from, &stamp))
        unlink(from);
    return 0;
}

static int make_spool(const hpcb_conf_t *conf, hpcb_error_t *err)
{
    char place[PATH_MAX];

    if (path_of(conf->spool_dir, "", place, err) ||
        hpcb_file_mkdirs(conf->spool_dir, 0755, err))
        return -1;
    return hpcb_file_mkdirs(place, HPCB_RECORD_DIR_MODE, err);
}

void hpcb_kept_spool(const hpcb_conf_t *conf)
{
    hpcb_autoclosedir DIR *dir = NULL;
    const struct dirent *entry;
    char place[PATH_MAX];
    hpcb_error_t err;

    if (path_of(conf->state_dir, "", place, &err) || is_one_place(conf))
        return;
    dir = opendir(place);
    while (dir && (entry = readdir(dir))) {
        if (!is_record(entry->d_name))
            continue;
        if (make_spool(conf, &err) || move_record(conf, entry->d_name, &err)) {
            hpcb_log(HPCB_LOG_ERROR, "records stay in %.200s: %s", place, err.text);
            break;
        }
    }
}
