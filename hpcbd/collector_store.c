/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A record goes this way:
 *
 *   add      into its run in memory: one that waits, else one that is read back from
 *            CollectorDir/records (a node that comes late), else a new one.  What a run
 *            knows already changes nothing.
 *   commit   runs that are complete, or have waited long enough, become a line in the
 *            file of the day of their end and leave memory; what was added to the
 * others becomes lines of the journal.  Everything is on disk when commit returns. open
 * reads the journal back into runs.
 *
 * The journal holds records of nodes, and runs as far as they had come when it was
 * written anew.  It may hold what is in a written run as well, after a crash between
 * the two writes of a commit: adding that again changes nothing.
 *
 * A commit that fails changes nothing in memory but for the runs of days that it has
 * written.  The next one that is tried, later and later, writes the rest.  Until one
 * has succeeded nothing is added, so that a full disk costs neither memory nor time;
 * nodes keep what was not acknowledged.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "hpcbd/collector_file.h"
#include "hpcbd/collector_index.h"
#include "hpcbd/collector_store.h"

#define JOURNAL "journal.jsonl"
#define BUCKETS 4096
#define JOURNAL_BYTES                                                                  \
    (4u * 1024 * 1024) /* a smaller one is not worth being rewritten */
#define DAY_BYTES 16

/* After a commit that failed. */
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS   30000

/* Lines that are to be appended somewhere. */
typedef struct {
    char *text;
    size_t used, room;
} lines_t;

typedef struct pending pending_t;

struct pending {
    pending_t *next;          /* of the bucket */
    pending_t *older, *newer; /* by first_ms */
    hpcb_run_t *run;
    uint64_t first_ms; /* 0 in front of all: to be written */
    bool due, touched; /* to be written; not yet in the journal */
    lines_t journal;   /* records since the last commit */
    size_t bytes;
};

struct hpcbd_store {
    char dir[PATH_MAX], journal[PATH_MAX];
    hpcbd_index_t *index;
    pending_t *buckets[BUCKETS];
    pending_t *oldest, *newest;
    size_t n_pending, bytes, journal_bytes;
    bool dirty;
    uint64_t backoff_ms; /* 0: the last commit did not fail */
    uint64_t retry_ms;   /* no commit is tried before */
    hpcbd_store_stats_t stats;
};

static int put_lines(lines_t *lines, const char *text, size_t length)
{
    if (!lines->text || lines->used + length + 1 > lines->room) {
        size_t room = 2 * (lines->used + length + 1);
        char *larger = realloc(lines->text, room);

        if (!larger)
            return -1;
        lines->text = larger;
        lines->room = room;
    }
    memcpy(lines->text + lines->used, text, length);
    lines->used += length;
    lines->text[lines->used] = '\0';
    return 0;
}

static void free_lines(lines_t *lines)
{
    free(lines->text);
    *lines = (lines_t){.text = NULL};
}

static pending_t **bucket_of(hpcbd_store_t *store, const hpcb_run_key_t *key)
{
    return &store->buckets[(key->job_id * 31u + key->restart) % BUCKETS];
}

static pending_t *find(hpcbd_store_t *store, const hpcb_run_key_t *key)
{
    pending_t *pending = *bucket_of(store, key);

    while (pending && memcmp(hpcb_run_key(pending->run), key, sizeof(*key)) != 0)
        pending = pending->next;
    return pending;
}

static void unlink_pending(hpcbd_store_t *store, pending_t *pending)
{
    pending_t **link = bucket_of(store, hpcb_run_key(pending->run));

    while (*link != pending)
        link = &(*link)->next;
    *link = pending->next;
    *(pending->older ? &pending->older->newer : &store->oldest) = pending->newer;
    *(pending->newer ? &pending->newer->older : &store->newest) = pending->older;
    store->n_pending--;
    store->bytes -= pending->bytes;
}

static void drop(hpcbd_store_t *store, pending_t *pending)
{
    unlink_pending(store, pending);
    hpcb_run_free(pending->run);
    free_lines(&pending->journal);
    free(pending);
}

static void weigh(hpcbd_store_t *store, pending_t *pending)
{
    store->bytes -= pending->bytes;
    pending->bytes =
        sizeof(*pending) + hpcb_run_bytes(pending->run) + pending->journal.room;
    store->bytes += pending->bytes;
}

/* Takes run over, also on failure. */
static pending_t *insert(hpcbd_store_t *store, hpcb_run_t *run, uint64_t now_ms)
{
    pending_t *pending = run ? calloc(1, sizeof(*pending)) : NULL;
    pending_t **bucket;

    if (!pending) {
        hpcb_run_free(run);
        return NULL;
    }
    pending->run = run;
    pending->first_ms = now_ms;
    bucket = bucket_of(store, hpcb_run_key(run));
    pending->next = *bucket;
    *bucket = pending;
    pending->older = store->newest;
    *(store->newest ? &store->newest->newer : &store->oldest) = pending;
    store->newest = pending;
    store->n_pending++;
    weigh(store, pending);
    return pending;
}

static int out_of_memory(hpcb_error_t *err)
{
    errno = ENOMEM;
    return hpcb_error(err, "out of memory");
}

/* The run that waits, or was written, or is new. */
static int get_run(hpcbd_store_t *store, const hpcb_run_key_t *key, uint64_t now_ms,
                   pending_t **found, hpcb_error_t *err)
{
    hpcb_run_t *run;

    *found = find(store, key);
    if (*found)
        return 0;
    if (hpcbd_index_get(store->index, key, &run, err)) {
        errno = EIO;
        return -1;
    }
    *found = insert(store, run ? run : hpcb_run_new(key), now_ms);
    return *found ? 0 : out_of_memory(err);
}

/* Add record to the run, and a copy of its text to what the next commit appends to the
 * journal: both or neither.  As hpcb_run_add. */
static int add_to_run(hpcbd_store_t *store, pending_t *pending, hpcb_rjson_t *record,
                      hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_rjson_print(record, "\n", NULL);
    size_t used = pending->journal.used;
    int changed;

    if (!line || put_lines(&pending->journal, line, strlen(line)))
        return out_of_memory(err);
    changed = hpcb_run_add(pending->run, record, err);
    if (changed > 0) {
        pending->touched = true;
        pending->due |= hpcb_run_complete(pending->run);
    } else {
        pending->journal.used = used;
        pending->journal.text[used] = '\0';
    }
    weigh(store, pending);
    return changed;
}

/* Nothing that was added is needed: it was read back for a duplicate, or is new and
 * empty. */
static void drop_unneeded(hpcbd_store_t *store, pending_t *pending, bool was_there)
{
    if (!was_there && !pending->touched)
        drop(store, pending);
}

static int add(hpcbd_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
               hpcb_error_t *err)
{
    hpcb_record_t parsed;
    hpcb_run_key_t key;
    pending_t *pending;
    bool was_there;
    int changed;

    if (hpcb_record_from_json(record, &parsed, err)) {
        errno = EINVAL;
        return -1;
    }
    hpcb_run_key_of(&parsed, &key);
    was_there = find(store, &key) != NULL;
    if (get_run(store, &key, now_ms, &pending, err))
        return -1;
    changed = add_to_run(store, pending, record, err);
    drop_unneeded(store, pending, was_there);
    return changed;
}

int hpcbd_store_add(hpcbd_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
                    hpcb_error_t *err)
{
    int changed;

    if (store->backoff_ms) {
        errno = EAGAIN;
        return hpcb_error(err, "%.300s is not written", store->dir);
    }
    changed = add(store, record, now_ms, err);
    if (changed < 0)
        return -1;
    store->stats.records += changed > 0;
    store->stats.duplicates += changed == 0;
    store->dirty |= changed > 0;
    return 0;
}

void hpcbd_store_expire(hpcbd_store_t *store, uint64_t now_ms, uint64_t wait_ms)
{
    size_t bytes = store->bytes;

    for (pending_t *pending = store->oldest; pending; pending = pending->newer) {
        if (now_ms - pending->first_ms < wait_ms && bytes <= HPCBD_PENDING_BYTES)
            break;
        pending->due = true;
        store->dirty = true;
        bytes -= pending->bytes;
    }
}

bool hpcbd_store_dirty(const hpcbd_store_t *store)
{
    return store->dirty;
}

size_t hpcbd_store_pending(const hpcbd_store_t *store)
{
    return store->n_pending;
}

const hpcbd_store_stats_t *hpcbd_store_stats(const hpcbd_store_t *store)
{
    return &store->stats;
}

static void day_of(const hpcb_run_t *run, char day[DAY_BYTES])
{
    uint64_t end = hpcb_run_end(run);
    time_t when = (time_t)end;
    struct tm utc;

    /* A clock that is far off has a day of its own, not a longer name. */
    if (end > UINT64_C(253402300799) || !gmtime_r(&when, &utc) ||
        strftime(day, DAY_BYTES, "%Y-%m-%d", &utc) != 10)
        snprintf(day, DAY_BYTES, "9999-12-31");
}

/* A run in the lines of a commit. */
typedef struct {
    pending_t *pending;
    char day[DAY_BYTES];
    size_t offset; /* in what is appended to that day */
} due_t;

static int by_day(const void *a, const void *b)
{
    return strcmp(((const due_t *)a)->day, ((const due_t *)b)->day);
}

/* All runs that are due; the caller frees the list. */
static due_t *list_due(hpcbd_store_t *store, size_t *count)
{
    due_t *list = malloc((store->n_pending + 1) * sizeof(*list));

    *count = 0;
    for (pending_t *pending = store->oldest; list && pending;
         pending = pending->newer) {
        if (!pending->due)
            continue;
        list[*count].pending = pending;
        day_of(pending->run, list[(*count)++].day);
    }
    if (list)
        qsort(list, *count, sizeof(*list), by_day);
    return list;
}

static int render_due(due_t *due, lines_t *lines, hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_run_render(due->pending->run, err);

    due->offset = lines->used;
    if (!line)
        return -1;
    return put_lines(lines, line, strlen(line)) ? out_of_memory(err) : 0;
}

/* Write the runs of one day, and find them there from now on. */
static int write_day(hpcbd_store_t *store, due_t *due, size_t count, hpcb_error_t *err)
{
    char path[PATH_MAX];
    lines_t lines = {.text = NULL};
    int64_t start = -1;
    int status = hpcbd_index_path(store->dir, due->day, path);

    for (size_t i = 0; status == 0 && i < count; i++)
        status = render_due(&due[i], &lines, err);
    if (status == 0)
        start = hpcbd_file_append(path, lines.text, lines.used, err);
    free_lines(&lines);
    for (size_t i = 0; start >= 0 && i < count; i++)
        if (hpcbd_index_put(store->index, hpcb_run_key(due[i].pending->run), due->day,
                            (uint64_t)start + due[i].offset))
            return out_of_memory(err);
    return start < 0 ? -1 : 0;
}

static void count_due(hpcbd_store_t *store, const due_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store->stats.runs++;
        store->stats.incomplete += !hpcb_run_complete(list[i].pending->run);
        drop(store, list[i].pending);
    }
}

static int write_due(hpcbd_store_t *store, due_t *list, size_t count, hpcb_error_t *err)
{
    size_t first = 0;

    for (size_t i = 1; i <= count; i++) {
        if (i < count && strcmp(list[i].day, list[first].day) == 0)
            continue;
        if (write_day(store, &list[first], i - first, err))
            return -1;
        count_due(store, &list[first], i - first);
        first = i;
    }
    return 0;
}

static int write_runs(hpcbd_store_t *store, hpcb_error_t *err)
{
    size_t count;
    hpcb_autofree due_t *list = list_due(store, &count);

    if (!list)
        return out_of_memory(err);
    return count > 0 ? write_due(store, list, count, err) : 0;
}

static int write_journal(hpcbd_store_t *store, hpcb_error_t *err)
{
    lines_t lines = {.text = NULL};
    int64_t offset = 0;

    for (pending_t *pending = store->newest; pending; pending = pending->older) {
        if (pending->touched &&
            put_lines(&lines, pending->journal.text, pending->journal.used)) {
            free_lines(&lines);
            return out_of_memory(err);
        }
    }
    if (lines.used > 0)
        offset = hpcbd_file_append(store->journal, lines.text, lines.used, err);
    if (offset >= 0)
        store->journal_bytes += lines.used;
    free_lines(&lines);
    if (offset < 0)
        return -1;
    for (pending_t *pending = store->newest; pending; pending = pending->older) {
        pending->touched = false;
        free_lines(&pending->journal);
        weigh(store, pending);
    }
    return 0;
}

/* The runs that wait, as far as they have come, instead of all that was noted. */
static int rewrite_journal(hpcbd_store_t *store, hpcb_error_t *err)
{
    lines_t lines = {.text = NULL};
    int status = 0;

    for (pending_t *pending = store->oldest; status == 0 && pending;
         pending = pending->newer) {
        hpcb_autofree char *line = hpcb_run_render(pending->run, err);

        status = line && put_lines(&lines, line, strlen(line)) == 0 ? 0 : -1;
    }
    if (status == 0)
        status = hpcb_file_replace(store->journal, lines.used ? lines.text : "",
                                   lines.used, HPCB_RECORD_MODE, err);
    if (status == 0)
        store->journal_bytes = lines.used;
    free_lines(&lines);
    return status;
}

/* What the journal says of runs that are written is not needed any more; it costs
 * nothing but time at the next start, so that failing here is no failure. */
static void tidy_journal(hpcbd_store_t *store)
{
    if (store->journal_bytes == 0)
        return;
    if (store->n_pending == 0 && truncate(store->journal, 0) == 0)
        store->journal_bytes = 0;
    else if (store->journal_bytes > JOURNAL_BYTES &&
             store->journal_bytes > 4 * store->bytes)
        (void)rewrite_journal(store, NULL);
}

static void put_off(hpcbd_store_t *store, uint64_t now_ms)
{
    store->stats.failures++;
    store->backoff_ms = store->backoff_ms ? 2 * store->backoff_ms : RETRY_FIRST_MS;
    if (store->backoff_ms > RETRY_MAX_MS)
        store->backoff_ms = RETRY_MAX_MS;
    store->retry_ms = now_ms + store->backoff_ms;
}

int hpcbd_store_commit(hpcbd_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    if (!store->dirty)
        return 0;
    if (store->backoff_ms && now_ms < store->retry_ms)
        return hpcb_error(err, "%.300s is not written", store->dir);
    if (write_runs(store, err) || write_journal(store, err)) {
        put_off(store, now_ms);
        return -1;
    }
    store->dirty = false;
    store->backoff_ms = 0;
    tidy_journal(store);
    return 0;
}

typedef struct {
    hpcbd_store_t *store;
    uint64_t now_ms;
} replay_t;

/* A run as it was when the journal was written anew: nothing else is known of it yet,
 * unless it has been written since. */
static int replay_run(const replay_t *replay, hpcb_run_t *run)
{
    hpcbd_store_t *store = replay->store;
    hpcb_run_t *written = NULL;

    if (find(store, hpcb_run_key(run)) ||
        hpcbd_index_get(store->index, hpcb_run_key(run), &written, NULL) || written) {
        hpcb_run_free(written);
        hpcb_run_free(run);
        return 0;
    }
    return insert(store, run, replay->now_ms) ? 0 : -1;
}

static int replay_line(const char *line, size_t length, uint64_t offset, void *arg)
{
    const replay_t *replay = arg;
    hpcbd_store_t *store = replay->store;
    hpcb_rjson_auto hpcb_rjson_t *object = NULL;
    hpcb_run_key_t key;
    hpcb_run_t *run;

    store->journal_bytes = offset + length + 1;
    if (hpcb_run_key_of_line(line, length, &key) == 0) {
        run = hpcb_run_parse(line, NULL);
        return run ? replay_run(replay, run) : 0;
    }
    object = hpcb_rjson_parse(line);
    if (object && add(store, object, replay->now_ms, NULL) < 0 && errno != EINVAL)
        return -1;
    return 0;
}

/* What was read from the journal need not go there again. */
static void settle(hpcbd_store_t *store)
{
    for (pending_t *pending = store->oldest; pending; pending = pending->newer) {
        pending->touched = false;
        free_lines(&pending->journal);
        weigh(store, pending);
        store->dirty |= pending->due;
    }
}

static int load(hpcbd_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    replay_t replay = {.store = store, .now_ms = now_ms};

    store->index = hpcbd_index_open(store->dir, err);
    if (!store->index || hpcbd_file_each(store->journal, 0, replay_line, &replay, err))
        return -1;
    settle(store);
    return 0;
}

hpcbd_store_t *hpcbd_store_open(const char *dir, uint64_t now_ms, hpcb_error_t *err)
{
    hpcbd_store_t *store = calloc(1, sizeof(*store));
    char records[PATH_MAX];

    if (!store) {
        out_of_memory(err);
        return NULL;
    }
    snprintf(store->dir, sizeof(store->dir), "%s", dir);
    if (snprintf(store->journal, PATH_MAX, "%s/" JOURNAL, dir) < PATH_MAX &&
        snprintf(records, PATH_MAX, "%s/records", dir) < PATH_MAX &&
        hpcb_file_mkdirs(dir, 0755, err) == 0 &&
        hpcb_file_mkdirs(records, HPCB_RECORD_DIR_MODE, err) == 0 &&
        load(store, now_ms, err) == 0)
        return store;
    hpcbd_store_close(store);
    return NULL;
}

void hpcbd_store_close(hpcbd_store_t *store)
{
    if (!store)
        return;
    while (store->oldest)
        drop(store, store->oldest);
    hpcbd_index_free(store->index);
    free(store);
}
