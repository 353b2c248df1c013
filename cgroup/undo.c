/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Entries of a handle, and their reversal; the text format is undo_log.c's. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/undo.h"
#include "cgroup/undo_log.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/text.h"

#define MANY_NOTES 512

typedef struct {
    hpcb_undo_entry_t entry; /* its texts are ours */
    const char *mechanism;
    pid_t target;
    bool active; /* not reverted */
} note_t;

struct hpcb_undo {
    char path[PATH_MAX]; /* "" = memory only */
    note_t *notes;
    size_t count;
    size_t room;
    size_t many; /* number of entries at which those of ended tasks are dropped */
    const char *mechanism;
    pid_t target;
    int fd; /* of the log that has all of notes; -1: none has */
    bool broken;
};

static int log_path(const char *state_dir, uint32_t job_id, char *path, size_t size,
                    hpcb_error_t *err)
{
    int n = snprintf(path, size, "%s/jobs/%" PRIu32 ".undo", state_dir, job_id);

    if (n < 0 || (size_t)n >= size) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "%s: path too long", state_dir);
    }
    return 0;
}

static void free_entry(hpcb_undo_entry_t *entry)
{
    free(entry->name);
    free(entry->old);
}

static bool same(const hpcb_undo_entry_t *a, const hpcb_undo_entry_t *b)
{
    return a->pid == b->pid && a->start == b->start && strcmp(a->name, b->name) == 0 &&
           strcmp(a->old, b->old) == 0;
}

/* The log has the line already (a daemon that freezes and thaws for days must not make
 * it grow): move it to the end of what revert goes through. */
static bool reuse(hpcb_undo_t *undo, const note_t *note)
{
    for (size_t i = 0; i < undo->count; i++) {
        note_t old = undo->notes[i];

        if (!same(&old.entry, &note->entry))
            continue;
        if (old.active)
            return true;
        memmove(&undo->notes[i], &undo->notes[i + 1],
                (undo->count - i - 1) * sizeof(old));
        old.mechanism = note->mechanism;
        old.target = note->target;
        old.active = true;
        undo->notes[undo->count - 1] = old;
        return true;
    }
    return false;
}

static int grow(hpcb_undo_t *undo)
{
    size_t room = undo->room ? undo->room * 2 : 8;
    note_t *larger;

    if (undo->count < undo->room)
        return 0;
    larger = reallocarray(undo->notes, room, sizeof(*larger));
    if (!larger)
        return -1;
    undo->notes = larger;
    undo->room = room;
    return 0;
}

/* Write every entry to the log again, also reverted ones, because they may be logged
 * once more.  The log is opened first: if it is replaced meanwhile, the next call
 * detects that. */
static int write_all(hpcb_undo_t *undo, hpcb_error_t *err)
{
    int fd = hpcb_undo_log_open(undo->path, err);

    if (fd < 0)
        return -1;
    for (size_t i = 0; i < undo->count; i++) {
        if (hpcb_undo_log_add(undo->path, &undo->notes[i].entry, err) < 0) {
            hpcb_cleanup_close(&fd);
            return -1;
        }
    }
    hpcb_cleanup_close(&undo->fd);
    undo->fd = fd;
    return 0;
}

static int ensure_log(hpcb_undo_t *undo, hpcb_error_t *err)
{
    if (!undo->path[0] || hpcb_undo_log_named(undo->fd) || write_all(undo, err) == 0)
        return 0;
    undo->broken = true;
    return -1;
}

int hpcb_undo_renew(hpcb_undo_t *undo, hpcb_error_t *err)
{
    return undo->count ? ensure_log(undo, err) : 0;
}

/* A job may start any number of processes.  The next scan is at twice the number of
 * remaining entries or more. */
static void forget_ended(hpcb_undo_t *undo)
{
    size_t kept = 0;

    if (undo->count < undo->many)
        return;
    for (size_t i = 0; i < undo->count; i++) {
        note_t *note = &undo->notes[i];

        if (note->entry.pid && !hpcb_undo_log_lives(&note->entry))
            free_entry(&note->entry);
        else
            undo->notes[kept++] = *note;
    }
    undo->count = kept;
    undo->many = 2 * kept > MANY_NOTES ? 2 * kept : MANY_NOTES;
    if (undo->path[0])
        hpcb_undo_log_compact(undo->path);
}

/* 1 when note is the handle's from here on, 0 when it was there already, -1 with err.
 */
static int keep(hpcb_undo_t *undo, const note_t *note, hpcb_error_t *err)
{
    forget_ended(undo);
    if (!note->entry.name || !note->entry.old || grow(undo) < 0)
        return hpcb_error(err, "undo log: out of memory");
    if (reuse(undo, note))
        return ensure_log(undo, err);
    if (ensure_log(undo, err) < 0)
        return -1;
    if (undo->path[0] && hpcb_undo_log_add(undo->path, &note->entry, err) < 0) {
        undo->broken = true;
        return -1;
    }
    undo->notes[undo->count++] = *note;
    return 1;
}

static int keep_copy(hpcb_undo_t *undo, pid_t pid, uint64_t start, const char *name,
                     const char *old, hpcb_error_t *err)
{
    note_t note = {.entry = {pid, start, strdup(name), strdup(old)},
                   .mechanism = undo->mechanism,
                   .target = undo->target,
                   .active = true};
    int rc = keep(undo, &note, err);

    if (rc != 1)
        free_entry(&note.entry);
    return rc < 0 ? -1 : 0;
}

int hpcb_undo_note_file(hpcb_undo_t *undo, const char *path, const char *old,
                        hpcb_error_t *err)
{
    return keep_copy(undo, 0, 0, path, old, err);
}

int hpcb_undo_note_task(hpcb_undo_t *undo, pid_t pid, const char *attribute,
                        const char *old, hpcb_error_t *err)
{
    uint64_t start;

    if (hpcb_task_start(pid, &start) < 0)
        return hpcb_error(err, "task %d: %s", (int)pid, strerror(errno));
    return keep_copy(undo, pid, start, attribute, old, err);
}

bool hpcb_undo_broken(const hpcb_undo_t *undo)
{
    return undo->broken;
}

void hpcb_undo_scope(hpcb_undo_t *undo, const char *mechanism, pid_t pid)
{
    undo->mechanism = mechanism;
    undo->target = pid;
}

bool hpcb_undo_empty(const hpcb_undo_t *undo)
{
    for (size_t i = 0; i < undo->count; i++) {
        if (undo->notes[i].active)
            return false;
    }
    return true;
}

int hpcb_undo_hand_over(const hpcb_undo_t *undo, hpcb_undo_t *to, hpcb_error_t *err)
{
    for (size_t i = 0; i < undo->count; i++) {
        const note_t *note = &undo->notes[i];

        if (!note->active)
            continue;
        hpcb_undo_scope(to, note->mechanism, note->target);
        if (keep_copy(to, note->entry.pid, note->entry.start, note->entry.name,
                      note->entry.old, err) < 0)
            return -1;
    }
    return 0;
}

/* 1 when put back, 0 when it has gone, -1 with err. */
static int restore(const hpcb_undo_entry_t *entry, hpcb_error_t *err)
{
    int rc;

    if (entry->pid && !hpcb_undo_log_lives(entry))
        return 0;
    if (entry->pid)
        rc = hpcb_task_set(entry->pid, entry->name, entry->old, err);
    else
        rc = hpcb_knob_write(entry->name, "", entry->old, err);
    if (rc == 0)
        return 1;
    return hpcb_knob_gone(errno) ? 0 : -1;
}

static bool belongs(const note_t *note, const char *mechanism, pid_t pid)
{
    return note->active && note->target == pid && note->mechanism &&
           strcmp(note->mechanism, mechanism) == 0;
}

int hpcb_undo_revert(hpcb_undo_t *undo, const char *mechanism, pid_t pid,
                     hpcb_error_t *err)
{
    int rc = 0;

    for (size_t i = undo->count; i-- > 0;) {
        note_t *note = &undo->notes[i];

        if (!belongs(note, mechanism, pid))
            continue;
        /* Read-only: noted, but then never written. */
        if (restore(&note->entry, rc ? NULL : err) < 0 && errno != EROFS)
            rc = -1;
        note->active = false;
    }
    return rc;
}

static int prepare(hpcb_undo_t *undo, const char *state_dir, uint32_t job_id,
                   hpcb_error_t *err)
{
    char dir[PATH_MAX];

    if (hpcb_knob_path(state_dir, "jobs", dir, sizeof(dir), err) < 0 ||
        log_path(state_dir, job_id, undo->path, sizeof(undo->path), err) < 0 ||
        hpcb_file_mkdirs(dir, 0755, err) < 0)
        return -1;
    hpcb_undo_log_compact(undo->path);
    return 0;
}

int hpcb_undo_open(const char *state_dir, uint32_t job_id, hpcb_undo_t **undo,
                   hpcb_error_t *err)
{
    hpcb_undo_t *made = calloc(1, sizeof(*made));

    if (!made)
        return hpcb_error(err, "undo log: out of memory");
    made->fd = -1;
    made->many = MANY_NOTES;
    if (state_dir && prepare(made, state_dir, job_id, err) < 0) {
        free(made);
        return -1;
    }
    *undo = made;
    return 0;
}

void hpcb_undo_close(hpcb_undo_t *undo)
{
    if (!undo)
        return;
    for (size_t i = 0; i < undo->count; i++)
        free_entry(&undo->notes[i].entry);
    free(undo->notes);
    hpcb_cleanup_close(&undo->fd);
    free(undo);
}

/* Replay lines, last first.  The number undone; *failed says whether any was not. */
static int replay_lines(char **lines, size_t count, const char *path, bool *failed,
                        hpcb_error_t *err)
{
    int undone = 0;

    for (size_t i = count; i-- > 0;) {
        hpcb_undo_entry_t entry;
        int rc;

        if (hpcb_undo_log_parse(lines[i], &entry) < 0) {
            hpcb_log(HPCB_LOG_ERROR, "%s: malformed line %zu skipped", path, i + 1);
            continue;
        }
        rc = restore(&entry, *failed ? NULL : err);
        undone += rc > 0;
        *failed |= rc < 0;
    }
    return undone;
}

int hpcb_undo_replay(const char *state_dir, uint32_t job_id, hpcb_error_t *err)
{
    hpcb_autofree char *text = NULL;
    hpcb_autofree char **lines = NULL;
    char path[PATH_MAX];
    bool failed = false;
    size_t count;
    int undone;

    if (log_path(state_dir, job_id, path, sizeof(path), err) < 0)
        return -1;
    text = hpcb_undo_log_read(path, err);
    if (!text)
        return -1;
    lines = hpcb_undo_log_lines(text, &count);
    if (!lines)
        return hpcb_error(err, "%s: out of memory", path);
    undone = replay_lines(lines, count, path, &failed, err);
    if (failed)
        return -1;
    if (unlink(path) < 0 && errno != ENOENT)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    return undone;
}

/* Return 1 with the old value if line is an entry for attribute of a task; otherwise
 * 0. */
static int old_value(char *line, const char *attribute, char *old, size_t size)
{
    hpcb_undo_entry_t entry;

    return hpcb_undo_log_parse(line, &entry) == 0 && entry.pid &&
           strcmp(entry.name, attribute) == 0 &&
           hpcb_text_copy(old, size, entry.old) == 0;
}

int hpcb_undo_first(const char *state_dir, uint32_t job_id, const char *attribute,
                    char *old, size_t size, hpcb_error_t *err)
{
    hpcb_autofree char *text = NULL;
    hpcb_autofree char **lines = NULL;
    char path[PATH_MAX];
    size_t count;

    if (log_path(state_dir, job_id, path, sizeof(path), err) < 0)
        return -1;
    text = hpcb_undo_log_read(path, err);
    if (!text)
        return -1;
    lines = hpcb_undo_log_lines(text, &count);
    if (!lines)
        return hpcb_error(err, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++)
        if (old_value(lines[i], attribute, old, size))
            return 1;
    return 0;
}

/* The job that a file in jobs/ is the log of, or 0. */
static uint32_t job_of_log(const char *name)
{
    size_t length = strcspn(name, ".");
    char id[16];
    uint64_t job;

    if (length >= sizeof(id) || strcmp(name + length, ".undo") != 0)
        return 0;
    memcpy(id, name, length);
    id[length] = '\0';
    return hpcb_text_u64(id, UINT32_MAX, &job) == 0 ? (uint32_t)job : 0;
}

int hpcb_undo_replay_all(const char *state_dir, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char jobs[PATH_MAX];
    int undone = 0;
    bool failed = false;

    if (hpcb_knob_path(state_dir, "jobs", jobs, sizeof(jobs), err) < 0)
        return -1;
    handle = opendir(jobs);
    while (handle && (entry = readdir(handle))) {
        uint32_t job = job_of_log(entry->d_name);
        int n = job ? hpcb_undo_replay(state_dir, job, failed ? NULL : err) : 0;

        failed |= n < 0;
        undone += n > 0 ? n : 0;
    }
    return failed ? -1 : undone;
}

int hpcb_undo_replay_lent(const char *state_dir, hpcb_error_t *err)
{
    char lent[PATH_MAX];

    if (hpcb_knob_path(state_dir, HPCB_UNDO_LENT, lent, sizeof(lent), err) < 0)
        return -1;
    return hpcb_undo_replay_all(lent, err);
}
