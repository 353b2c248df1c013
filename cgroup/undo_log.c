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
 * steps, a rank that starts processes all the time) loses the lines of tasks that have
 * ended when it is opened, and after some hundred notes.
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
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/parse.h"
#include "cgroup/undo_log.h"
#include "common/cleanup.h"
#include "common/file.h"

#define APPEND_TRIES 8 /* against compactions, one after the other */
#define LARGE_LOG    (256 * 1024)
#define COMPACT_MAX  (64 * 1024 * 1024)
#define CARRY_BYTES  (256 * 1024)
#define FIELDS       5
#define RECORD_MAX   (4 * (PATH_MAX + HPCB_TASK_TEXT_MAX) + 128)

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

static bool is_named(int fd, const char *path)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

int hpcb_undo_log_open(const char *path, hpcb_error_t *err)
{
    int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
             0600);

    return fd < 0 ? hpcb_error(err, "%s: %s", path, strerror(errno)) : fd;
}

bool hpcb_undo_log_named(int fd)
{
    struct stat opened;

    return fd >= 0 && fstat(fd, &opened) == 0 && opened.st_nlink > 0;
}

/* -1 with errno; 0 when it is written to what is the log now; 1: once more. */
static int append_once(const char *path, const char *text, size_t length)
{
    hpcb_autoclose int fd = hpcb_undo_log_open(path, NULL);
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

static int render(const hpcb_undo_entry_t *entry, char *record, size_t size)
{
    char name[PATH_MAX * 4], old[HPCB_TASK_TEXT_MAX * 4];
    int n;

    if (strlen(entry->name) >= PATH_MAX || strlen(entry->old) >= HPCB_TASK_TEXT_MAX)
        return -1;
    escape(entry->name, name, sizeof(name));
    escape(entry->old, old, sizeof(old));
    if (entry->pid)
        n = snprintf(record, size, "\ntask %d %" PRIu64 " %s %s\n", (int)entry->pid,
                     entry->start, name, old);
    else
        n = snprintf(record, size, "\nfile %s %s\n", name, old);
    return n < 0 || (size_t)n >= size ? -1 : 0;
}

int hpcb_undo_log_add(const char *path, const hpcb_undo_entry_t *entry,
                      hpcb_error_t *err)
{
    char record[RECORD_MAX];

    if (render(entry, record, sizeof(record)) == 0)
        return append(path, record, strlen(record), err);
    errno = ENAMETOOLONG;
    return hpcb_error(err, "undo log: entry for %s too long", entry->name);
}

bool hpcb_undo_log_lives(const hpcb_undo_entry_t *entry)
{
    uint64_t start;

    return hpcb_task_start(entry->pid, &start) == 0 && start == entry->start;
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

int hpcb_undo_log_parse(char *line, hpcb_undo_entry_t *entry)
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

char **hpcb_undo_log_lines(char *text, size_t *count)
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

char *hpcb_undo_log_read(const char *path, hpcb_error_t *err)
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
    size = (size_t)status.st_size + 65536;
    text = malloc(size);
    if (text && hpcb_file_read_trusted(path, text, size, err) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void leave_name(void *name)
{
    (void)name;
}

/* Of a file that an earlier line has named.  names: of such files (tsearch(3)). */
static bool seen(const hpcb_undo_entry_t *entry, void **names)
{
    char **node = entry->pid ? NULL : tsearch(entry->name, names, by_name);

    return node && *node != entry->name;
}

/* Write the lines that still matter: those of tasks that live, and of each file the
 * first. */
static char *compact_text(char *text)
{
    size_t count, used = 0, size = strlen(text) * 2 + RECORD_MAX;
    char **lines = hpcb_undo_log_lines(text, &count);
    char *kept = malloc(size);
    void *names = NULL;

    for (size_t i = 0; lines && kept && i < count; i++) {
        hpcb_undo_entry_t entry;

        if (hpcb_undo_log_parse(lines[i], &entry) < 0 ||
            (entry.pid && !hpcb_undo_log_lives(&entry)) || seen(&entry, &names) ||
            render(&entry, kept + used, size - used) < 0)
            continue;
        used += strlen(kept + used);
    }
    if (kept)
        kept[used] = '\0';
    if (!lines) {
        free(kept);
        kept = NULL;
    }
    tdestroy(names, leave_name);
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
    text = hpcb_undo_log_read(path, NULL);
    if (!text || !strrchr(text, '\n'))
        return;
    /* Each record ends with a newline: what follows the last one is half a record. */
    strrchr(text, '\n')[1] = '\0';
    offset = (off_t)strlen(text);
    kept = compact_text(text);
    if (kept && hpcb_file_replace(path, kept, strlen(kept), 0600, NULL) == 0)
        carry_over(fd, offset, path);
}

void hpcb_undo_log_compact(const char *path)
{
    hpcb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= LARGE_LOG &&
        status.st_size <= COMPACT_MAX)
        compact_open(fd, path);
}
