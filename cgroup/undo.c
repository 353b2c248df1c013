/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview.  The log is text, one entry a line:
 *
 *     file <path> <old content>
 *     task <pid> <start time> <attribute> <old value>
 *
 * with blanks, control and non-ASCII bytes and backslashes as \ooo, and "-" for an
 * empty field.  Each record is written as "\n<entry>\n" in one write, so that a record
 * cut off by a full disk spoils nothing but itself.
 *
 * Replaying is idempotent and ends, for every knob and attribute, with what its first
 * line says: entries that are reverted or noted twice may stay.  That is why nothing
 * is ever taken out of the log, except that a log grown large (a job of thousands of
 * steps) loses the lines of tasks that have ended when it is opened.
 *
 * No writer ever waits for another, a guest's start must not hang on another step.  A
 * compaction writes the lines that matter to a new file, puts it in the log's place,
 * and then appends what was written to the old file meanwhile; a writer whose line went
 * to a file that is no longer the log writes it again.  So a line may be there twice,
 * but is never lost.  Two compactions are kept apart by flock.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/parse.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"

#define APPEND_TRIES 8 /* against compactions, one after the other */
#define LARGE_LOG    (256 * 1024)
#define LOG_MAX      (64 * 1024 * 1024)
#define CARRY_BYTES  (256 * 1024)
#define FIELDS       5
#define ENTRY_MAX    (4 * (PATH_MAX + HPCB_TASK_TEXT_MAX) + 128)

typedef struct {
    pid_t pid; /* 0: a file */
    uint64_t start;
    char *name; /* path or attribute */
    char *old;
    const char *mechanism;
    pid_t target;
    bool active; /* not reverted */
} entry_t;

struct hpcb_undo {
    char path[PATH_MAX]; /* "" = memory only */
    entry_t *entries;
    size_t count;
    size_t room;
    const char *mechanism;
    pid_t target;
    bool broken;
};

static void escape(const char *text, char *out, size_t size)
{
    size_t used = 0;

    if (text[0] == '\0' || strcmp(text, "-") == 0) {
        snprintf(out, size, "%s", text[0] ? "\\055" : "-");
        return;
    }
    for (; *text && used + 5 <= size; text++) {
        unsigned char c = (unsigned char)*text;

        if (c <= ' ' || c == '\\' || c >= 0x7f)
            used += (size_t)sprintf(out + used, "\\%03o", c);
        else
            out[used++] = (char)c;
    }
    out[used] = '\0';
}

static void unescape(char *text)
{
    if (strcmp(text, "-") == 0)
        text[0] = '\0';
    hpcb_parse_unescape(text);
}

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

static bool is_named(int fd, const char *path)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* -1 with errno; 0 when it is written to what is the log now; 1: once more. */
static int append_once(const char *path, const char *text, size_t length)
{
    hpcb_autoclose int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
             0600);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = write(fd, text, length);
    if (n >= 0 && (size_t)n < length)
        errno = ENOSPC;
    if (n < 0 || (size_t)n < length)
        return -1;
    return is_named(fd, path) ? 0 : 1;
}

static int append(const char *path, const char *text, size_t length, hpcb_error_t *err)
{
    int rc = 1;

    errno = EAGAIN;
    for (int i = 0; i < APPEND_TRIES && rc > 0; i++)
        rc = append_once(path, text, length);
    return rc ? hpcb_error(err, "%s: %s", path, strerror(errno)) : 0;
}

static void free_entry(entry_t *entry)
{
    free(entry->name);
    free(entry->old);
}

static int render(const entry_t *entry, char *record, size_t size)
{
    char name[PATH_MAX * 4], old[HPCB_TASK_TEXT_MAX * 4];
    int n;

    escape(entry->name, name, sizeof(name));
    escape(entry->old, old, sizeof(old));
    if (entry->pid)
        n = snprintf(record, size, "\ntask %d %" PRIu64 " %s %s\n", (int)entry->pid,
                     entry->start, name, old);
    else
        n = snprintf(record, size, "\nfile %s %s\n", name, old);
    return n < 0 || (size_t)n >= size ? -1 : 0;
}

static bool same(const entry_t *a, const entry_t *b)
{
    return a->pid == b->pid && a->start == b->start && strcmp(a->name, b->name) == 0 &&
           strcmp(a->old, b->old) == 0;
}

/* The log has the line already (a daemon that freezes and thaws for days must not make
 * it grow): move it to the end of what revert goes through. */
static bool renew(hpcb_undo_t *undo, const entry_t *entry)
{
    for (size_t i = 0; i < undo->count; i++) {
        entry_t old = undo->entries[i];

        if (!same(&old, entry))
            continue;
        if (old.active)
            return true;
        memmove(&undo->entries[i], &undo->entries[i + 1],
                (undo->count - i - 1) * sizeof(old));
        old.mechanism = undo->mechanism;
        old.target = undo->target;
        old.active = true;
        undo->entries[undo->count - 1] = old;
        return true;
    }
    return false;
}

static int grow(hpcb_undo_t *undo)
{
    size_t room = undo->room ? undo->room * 2 : 8;
    entry_t *larger;

    if (undo->count < undo->room)
        return 0;
    larger = reallocarray(undo->entries, room, sizeof(*larger));
    if (!larger)
        return -1;
    undo->entries = larger;
    undo->room = room;
    return 0;
}

/* Write entry to the log; 1 when it is the handle's from here on, 0 when it was there
 * already, -1 with err. */
static int note(hpcb_undo_t *undo, const entry_t *entry, hpcb_error_t *err)
{
    char record[ENTRY_MAX];

    if (!entry->name || !entry->old || grow(undo) < 0)
        return hpcb_error(err, "undo log: out of memory");
    if (renew(undo, entry))
        return 0;
    if (strlen(entry->old) >= HPCB_TASK_TEXT_MAX || strlen(entry->name) >= PATH_MAX ||
        render(entry, record, sizeof(record)) < 0)
        return hpcb_error(err, "undo log: entry for %s too long", entry->name);
    if (undo->path[0] && append(undo->path, record, strlen(record), err) < 0) {
        undo->broken = true;
        return -1;
    }
    undo->entries[undo->count++] = *entry;
    return 1;
}

static int note_copy(hpcb_undo_t *undo, entry_t entry, const char *name,
                     const char *old, hpcb_error_t *err)
{
    int rc;

    entry.name = strdup(name);
    entry.old = strdup(old);
    entry.mechanism = undo->mechanism;
    entry.target = undo->target;
    entry.active = true;
    rc = note(undo, &entry, err);
    if (rc != 1)
        free_entry(&entry);
    return rc < 0 ? -1 : 0;
}

int hpcb_undo_note_file(hpcb_undo_t *undo, const char *path, const char *old,
                        hpcb_error_t *err)
{
    return note_copy(undo, (entry_t){.pid = 0}, path, old, err);
}

int hpcb_undo_note_task(hpcb_undo_t *undo, pid_t pid, const char *attribute,
                        const char *old, hpcb_error_t *err)
{
    entry_t entry = {.pid = pid};

    if (hpcb_task_start(pid, &entry.start) < 0)
        return hpcb_error(err, "task %d: %s", (int)pid, strerror(errno));
    return note_copy(undo, entry, attribute, old, err);
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

static bool task_lives(const entry_t *entry)
{
    uint64_t start;

    return hpcb_task_start(entry->pid, &start) == 0 && start == entry->start;
}

/* 1 when put back, 0 when it has gone, -1 with err. */
static int restore(const entry_t *entry, hpcb_error_t *err)
{
    int rc;

    if (entry->pid && !task_lives(entry))
        return 0;
    if (entry->pid)
        rc = hpcb_task_set(entry->pid, entry->name, entry->old, err);
    else
        rc = hpcb_knob_write(entry->name, "", entry->old, err);
    if (rc == 0)
        return 1;
    return hpcb_knob_gone(errno) ? 0 : -1;
}

static bool belongs(const entry_t *entry, const char *mechanism, pid_t pid)
{
    return entry->active && entry->target == pid && entry->mechanism &&
           strcmp(entry->mechanism, mechanism) == 0;
}

int hpcb_undo_revert(hpcb_undo_t *undo, const char *mechanism, pid_t pid,
                     hpcb_error_t *err)
{
    int rc = 0;

    for (size_t i = undo->count; i-- > 0;) {
        entry_t *entry = &undo->entries[i];

        if (!belongs(entry, mechanism, pid))
            continue;
        /* Read-only: noted, but then never written. */
        if (restore(entry, rc ? NULL : err) < 0 && errno != EROFS)
            rc = -1;
        entry->active = false;
    }
    return rc;
}

static int parse_number(const char *text, uint64_t limit, uint64_t *value)
{
    char *end;
    unsigned long long number;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || number > limit)
        return -1;
    *value = number;
    return 0;
}

/* Take line apart in place; the entry's texts point into it. */
static int parse_line(char *line, entry_t *entry)
{
    char *field[FIELDS + 1], *save = NULL;
    uint64_t pid;
    int n = 0;

    memset(entry, 0, sizeof(*entry));
    while (n <= FIELDS && (field[n] = strtok_r(n ? NULL : line, " ", &save)))
        n++;
    if (n != (n && strcmp(field[0], "task") == 0 ? 5 : 3))
        return -1;
    entry->name = field[n - 2];
    entry->old = field[n - 1];
    unescape(entry->name);
    unescape(entry->old);
    if (n == 3)
        return strcmp(field[0], "file") == 0 && entry->name[0] == '/' ? 0 : -1;
    if (parse_number(field[1], INT_MAX, &pid) < 0 || pid == 0)
        return -1;
    entry->pid = (pid_t)pid;
    return parse_number(field[2], UINT64_MAX, &entry->start);
}

/* The non-empty lines of text; the caller frees the array. */
static char **split_lines(char *text, size_t *count)
{
    size_t room = 1;
    char **lines, *save = NULL;

    for (const char *p = text; *p; p++)
        room += *p == '\n';
    lines = calloc(room, sizeof(*lines));
    *count = 0;
    for (char *line = strtok_r(text, "\n", &save); lines && line;
         line = strtok_r(NULL, "\n", &save))
        lines[(*count)++] = line;
    return lines;
}

/* The log's text, "" where there is none; the caller frees it. */
static char *read_log(const char *path, hpcb_error_t *err)
{
    struct stat status;
    char *text;
    size_t size;

    if (lstat(path, &status) < 0) {
        if (errno == ENOENT)
            return strdup("");
        hpcb_error(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (hpcb_file_trusted(path, err) < 0)
        return NULL;
    if (status.st_size > LOG_MAX) {
        hpcb_error(err, "%s: more than %d bytes", path, LOG_MAX);
        return NULL;
    }
    size = (size_t)status.st_size + 65536;
    text = malloc(size);
    if (text && hpcb_file_read(path, text, size, err) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool seen(const entry_t *entry, const char *kept)
{
    char record[ENTRY_MAX], *end;

    if (entry->pid || render(entry, record, sizeof(record)) < 0)
        return false;
    end = strrchr(record, ' ');
    end[1] = '\0';
    return strstr(kept, record) != NULL;
}

/* Write the lines that still matter: those of tasks that live, and of each file the
 * first. */
static char *compact_text(char *text)
{
    size_t count, used = 0, size = strlen(text) * 2 + ENTRY_MAX;
    char **lines = split_lines(text, &count);
    char *kept = malloc(size);

    if (kept)
        kept[0] = '\0'; /* seen() looks at it */
    for (size_t i = 0; lines && kept && i < count; i++) {
        entry_t entry;

        if (parse_line(lines[i], &entry) < 0 || (entry.pid && !task_lives(&entry)) ||
            seen(&entry, kept) || render(&entry, kept + used, size - used) < 0)
            continue;
        used += strlen(kept + used);
    }
    if (kept)
        kept[used] = '\0';
    if (!lines) {
        free(kept);
        kept = NULL;
    }
    free(lines);
    return kept;
}

/*
 * Append to the log, in whole lines, what was appended to the old one after its first
 * read.  Half a line at its end is still being written: its writer will find that the
 * log has been replaced.
 */
static void carry_over(int fd, off_t offset, const char *path)
{
    hpcb_autofree char *text = malloc(CARRY_BYTES);
    ssize_t n;

    while (text && (n = pread(fd, text, CARRY_BYTES, offset)) > 0) {
        while (n > 0 && text[n - 1] != '\n')
            n--;
        if (n == 0 || append(path, text, (size_t)n, NULL) < 0)
            return;
        offset += n;
    }
}

static void compact_open(int fd, const char *path)
{
    hpcb_autofree char *text = NULL, *kept = NULL;
    off_t offset;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_named(fd, path))
        return;
    text = read_log(path, NULL);
    if (!text || !strrchr(text, '\n'))
        return;
    /* Each record ends with a newline: what follows the last one is half a record. */
    strrchr(text, '\n')[1] = '\0';
    offset = (off_t)strlen(text);
    kept = compact_text(text);
    if (kept && hpcb_file_replace(path, kept, strlen(kept), 0600, NULL) == 0)
        carry_over(fd, offset, path);
}

static void compact(const char *path)
{
    hpcb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= LARGE_LOG)
        compact_open(fd, path);
}

static int prepare(hpcb_undo_t *undo, const char *state_dir, uint32_t job_id,
                   hpcb_error_t *err)
{
    char dir[PATH_MAX];

    if (hpcb_knob_path(state_dir, "jobs", dir, sizeof(dir), err) < 0 ||
        log_path(state_dir, job_id, undo->path, sizeof(undo->path), err) < 0 ||
        hpcb_file_mkdirs(dir, 0755, err) < 0)
        return -1;
    compact(undo->path);
    return 0;
}

int hpcb_undo_open(const char *state_dir, uint32_t job_id, hpcb_undo_t **undo,
                   hpcb_error_t *err)
{
    hpcb_undo_t *made = calloc(1, sizeof(*made));

    if (!made)
        return hpcb_error(err, "undo log: out of memory");
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
        free_entry(&undo->entries[i]);
    free(undo->entries);
    free(undo);
}

/* Replay lines, last first.  The number undone; *failed says whether any was not. */
static int replay_lines(char **lines, size_t count, const char *path, bool *failed,
                        hpcb_error_t *err)
{
    int undone = 0;

    for (size_t i = count; i-- > 0;) {
        entry_t entry;
        int rc;

        if (parse_line(lines[i], &entry) < 0) {
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
    char path[PATH_MAX], *text, **lines;
    bool failed = false;
    size_t count;
    int undone;

    if (log_path(state_dir, job_id, path, sizeof(path), err) < 0)
        return -1;
    text = read_log(path, err);
    if (!text)
        return -1;
    lines = split_lines(text, &count);
    undone = lines ? replay_lines(lines, count, path, &failed, err) : -1;
    free(lines);
    free(text);
    if (undone < 0)
        return hpcb_error(err, "%s: out of memory", path);
    if (failed)
        return -1;
    if (unlink(path) < 0 && errno != ENOENT)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    return undone;
}
