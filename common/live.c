/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/live.h"
#include "common/text.h"

#define FILE_VERSION 1

/* A file of another byte order has another magic. */
#define MAGIC UINT64_C(0x314556494c425048) /* "HPBLIVE1" */

/* Records of later versions may be longer, up to this. */
#define RECORD_MAX 4096

#define PROTECTS 1u
#define GUEST    1u
#define CPUS     2u

/* Format of the file.  No padding, which would contain bytes of our memory. */
typedef struct {
    uint64_t magic;
    uint32_t version, header_size, node_size, job_size, n_nodes, n_jobs;
} header_t;

typedef struct {
    char name[HPCB_NAME_MAX];
    int64_t time;
    uint64_t memory, available;
    uint32_t flags, n_jobs; /* whose records follow those of the node before */
    uint64_t mem_bandwidth, net_bandwidth;
    uint32_t saturation, memory_part;
} node_record_t;

/* Of the first release: without bandwidths. */
#define NODE_RECORD_LEAST offsetof(node_record_t, mem_bandwidth)

typedef struct {
    uint32_t job_id, flags;
    uint64_t used, growth, peak;
    uint64_t cpus;
} job_record_t;

/* Without CPUs. */
#define JOB_RECORD_LEAST offsetof(job_record_t, cpus)

static_assert(sizeof(header_t) == 32 && sizeof(node_record_t) == 120 &&
                  sizeof(job_record_t) == 40,
              "records have no padding");

bool hpcb_live_is_fresh(const hpcb_live_node_t *node, int64_t now)
{
    return node->time <= now && node->time > now - HPCB_LIVE_STALE_SECONDS;
}

void hpcb_live_clear(hpcb_live_t *live)
{
    free(live->nodes);
    free(live->jobs);
    *live = (hpcb_live_t){.n_nodes = 0};
}

/* Position in a file. */
typedef struct {
    const unsigned char *next;
    header_t header;
} reader_t;

/* Take a record of size bytes into the size_known bytes of record. */
static void take_record(reader_t *reader, void *record, size_t size_known, size_t size)
{
    memset(record, 0, size_known);
    memcpy(record, reader->next, size < size_known ? size : size_known);
    reader->next += size;
}

static bool is_record_size(uint32_t size, size_t least)
{
    return size >= least && size <= RECORD_MAX;
}

/* The header of a file of that length. */
static int take_header(reader_t *reader, size_t length)
{
    header_t *header = &reader->header;
    uint64_t total;

    if (length < sizeof(*header))
        return -1;
    memcpy(header, reader->next, sizeof(*header));
    if (header->magic != MAGIC || header->version != FILE_VERSION ||
        !is_record_size(header->header_size, sizeof(*header)) ||
        !is_record_size(header->node_size, NODE_RECORD_LEAST) ||
        !is_record_size(header->job_size, JOB_RECORD_LEAST) ||
        header->n_nodes > HPCB_LIVE_NODES_MAX || header->n_jobs > HPCB_LIVE_JOBS_MAX)
        return -1;
    total = header->header_size + (uint64_t)header->n_nodes * header->node_size +
            (uint64_t)header->n_jobs * header->job_size;
    if (total != length)
        return -1;
    reader->next += header->header_size;
    return 0;
}

static int take_node(reader_t *reader, hpcb_live_node_t *node)
{
    node_record_t record;

    take_record(reader, &record, sizeof(record), reader->header.node_size);
    if (!memchr(record.name, '\0', sizeof(record.name)) ||
        !hpcb_text_is_name(record.name, sizeof(record.name)) ||
        record.n_jobs > HPCB_LIVE_NODE_JOBS_MAX)
        return -1;
    *node = (hpcb_live_node_t){
        .time = record.time,
        .memory = record.memory,
        .available = record.available,
        .protects = record.flags & PROTECTS,
        .mem_bandwidth = record.mem_bandwidth,
        .net_bandwidth = record.net_bandwidth,
        .saturation = record.saturation,
        .memory_part = record.memory_part,
        .n_jobs = record.n_jobs,
    };
    memcpy(node->name, record.name, sizeof(node->name));
    return 0;
}

static int take_nodes(reader_t *reader, hpcb_live_t *live)
{
    size_t jobs = 0;

    for (size_t i = 0; i < reader->header.n_nodes; i++) {
        hpcb_live_node_t *node = &live->nodes[i];

        if (take_node(reader, node))
            return -1;
        if (node->n_jobs > 0)
            node->jobs = live->jobs + jobs;
        jobs += node->n_jobs;
        if (jobs > reader->header.n_jobs)
            return -1;
    }
    live->n_nodes = reader->header.n_nodes;
    return jobs == reader->header.n_jobs ? 0 : -1;
}

static int take_jobs(reader_t *reader, hpcb_live_t *live)
{
    for (size_t i = 0; i < reader->header.n_jobs; i++) {
        job_record_t record;

        take_record(reader, &record, sizeof(record), reader->header.job_size);
        if (record.job_id == 0)
            return -1;
        live->jobs[i] = (hpcb_live_job_t){
            .job_id = record.job_id,
            .guest = record.flags & GUEST,
            .used = record.used,
            .growth = record.growth,
            .peak = record.peak,
            .cpus_known = record.flags & CPUS,
            .cpus = record.cpus,
        };
    }
    return 0;
}

static int no_live_state(hpcb_error_t *err)
{
    errno = EINVAL;
    return hpcb_error(err, "not the live state of nodes, or of another version");
}

int hpcb_live_parse(const void *data, size_t length, hpcb_live_t *live,
                    hpcb_error_t *err)
{
    reader_t reader = {.next = data};
    hpcb_live_t read = {.n_nodes = 0};

    if (take_header(&reader, length))
        return no_live_state(err);
    read.nodes = calloc((size_t)reader.header.n_nodes + 1, sizeof(*read.nodes));
    read.jobs = calloc((size_t)reader.header.n_jobs + 1, sizeof(*read.jobs));
    if (!read.nodes || !read.jobs) {
        hpcb_live_clear(&read);
        errno = ENOMEM;
        return hpcb_error(err, "out of memory");
    }
    if (take_nodes(&reader, &read) || take_jobs(&reader, &read)) {
        hpcb_live_clear(&read);
        return no_live_state(err);
    }
    *live = read;
    return 0;
}

static int live_path(const char *dir, char path[static PATH_MAX], hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/" HPCB_LIVE_FILE, dir) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "%.200s: %s", dir, strerror(errno));
}

/* Read exactly length bytes. */
static int read_whole(int fd, char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = read(fd, data, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

static int read_file(int fd, size_t length, hpcb_live_t *live, hpcb_error_t *err)
{
    hpcb_autofree char *data = NULL;
    hpcb_live_t read;

    if (length > HPCB_LIVE_BYTES_MAX)
        return no_live_state(err);
    data = malloc(length + 1);
    if (!data || read_whole(fd, data, length))
        return hpcb_error(err, "the live state of nodes cannot be read");
    if (hpcb_live_parse(data, length, &read, err))
        return -1;
    hpcb_live_clear(live);
    *live = read;
    return 1;
}

static bool is_known(const hpcb_live_known_t *known, const hpcb_live_known_t *found)
{
    return known->device == found->device && known->inode == found->inode &&
           known->seconds == found->seconds && known->nanoseconds == found->nanoseconds;
}

int hpcb_live_read(const char *dir, hpcb_live_known_t *known, hpcb_live_t *live,
                   hpcb_error_t *err)
{
    char path[PATH_MAX];
    hpcb_autoclose int fd =
        live_path(dir, path, err) ? -1 : hpcb_file_open_trusted(path, err);
    hpcb_live_known_t found;
    struct stat st;
    int status;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st))
        return hpcb_error(err, "%.200s: %s", path, strerror(errno));
    found = (hpcb_live_known_t){
        .device = st.st_dev,
        .inode = st.st_ino,
        .seconds = st.st_mtim.tv_sec,
        .nanoseconds = st.st_mtim.tv_nsec,
    };
    if (is_known(known, &found))
        return 0;
    status = read_file(fd, (size_t)st.st_size, live, err);
    if (status > 0)
        *known = found;
    return status;
}

/* A node of the table, with its jobs. */
typedef struct {
    hpcb_live_node_t node;
    hpcb_live_job_t jobs[];
} entry_t;

struct hpcb_live_table {
    size_t n_entries, room, n_jobs;
    entry_t **entries; /* sorted by name */
};

hpcb_live_table_t *hpcb_live_table_new(void)
{
    return calloc(1, sizeof(hpcb_live_table_t));
}

void hpcb_live_table_free(hpcb_live_table_t *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_entries; i++)
        free(table->entries[i]);
    free(table->entries);
    free(table);
}

size_t hpcb_live_count(const hpcb_live_table_t *table)
{
    return table->n_entries;
}

/* Find the position of the name, or where it would be inserted. */
static size_t find_place(const hpcb_live_table_t *table, const char *name, bool *found)
{
    size_t low = 0, high = table->n_entries;

    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(table->entries[middle]->node.name, name);

        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

static entry_t *copy_node(const hpcb_live_node_t *node)
{
    entry_t *entry = calloc(1, sizeof(*entry) + node->n_jobs * sizeof(node->jobs[0]));

    if (!entry)
        return NULL;
    entry->node = *node;
    entry->node.jobs = entry->jobs;
    if (node->n_jobs > 0)
        memcpy(entry->jobs, node->jobs, node->n_jobs * sizeof(node->jobs[0]));
    return entry;
}

static int make_place(hpcb_live_table_t *table, size_t place)
{
    entry_t **entries = table->entries;
    size_t room = table->room ? 2 * table->room : 64;

    if (table->n_entries == table->room) {
        entries = realloc(table->entries, room * sizeof(entry_t *));
        if (!entries)
            return -1;
        table->entries = entries;
        table->room = room;
    }
    memmove(entries + place + 1, entries + place,
            (table->n_entries - place) * sizeof(entry_t *));
    entries[place] = NULL;
    table->n_entries++;
    return 0;
}

static bool is_node(const hpcb_live_node_t *node)
{
    return memchr(node->name, '\0', sizeof(node->name)) &&
           hpcb_text_is_name(node->name, sizeof(node->name)) &&
           node->n_jobs <= HPCB_LIVE_NODE_JOBS_MAX;
}

static bool has_room(const hpcb_live_table_t *table, const entry_t *old,
                     const hpcb_live_node_t *node)
{
    return table->n_jobs - (old ? old->node.n_jobs : 0) + node->n_jobs <=
               HPCB_LIVE_JOBS_MAX &&
           (old || table->n_entries < HPCB_LIVE_NODES_MAX);
}

int hpcb_live_put(hpcb_live_table_t *table, const hpcb_live_node_t *node)
{
    bool found;
    size_t place;
    entry_t *entry, *old;

    errno = EINVAL;
    if (!is_node(node))
        return -1;
    place = find_place(table, node->name, &found);
    old = found ? table->entries[place] : NULL;
    errno = ENOSPC;
    if (!has_room(table, old, node))
        return -1;
    entry = copy_node(node);
    if (!entry || (!found && make_place(table, place))) {
        free(entry);
        errno = ENOMEM;
        return -1;
    }
    table->n_jobs += node->n_jobs;
    table->n_jobs -= old ? old->node.n_jobs : 0;
    table->entries[place] = entry;
    free(old);
    return 0;
}

void hpcb_live_drop(hpcb_live_table_t *table, int64_t then)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->n_entries; i++) {
        entry_t *entry = table->entries[i];

        if (entry->node.time >= then) {
            table->entries[kept++] = entry;
            continue;
        }
        table->n_jobs -= entry->node.n_jobs;
        free(entry);
    }
    table->n_entries = kept;
}

static node_record_t node_record(const hpcb_live_node_t *node)
{
    node_record_t record = {
        .time = node->time,
        .memory = node->memory,
        .available = node->available,
        .flags = node->protects ? PROTECTS : 0,
        .mem_bandwidth = node->mem_bandwidth,
        .net_bandwidth = node->net_bandwidth,
        .saturation = node->saturation,
        .memory_part = node->memory_part,
        .n_jobs = node->n_jobs,
    };

    strcpy(record.name, node->name);
    return record;
}

static job_record_t job_record(const hpcb_live_job_t *job)
{
    return (job_record_t){
        .job_id = job->job_id,
        .flags = (job->guest ? GUEST : 0) | (job->cpus_known ? CPUS : 0),
        .used = job->used,
        .growth = job->growth,
        .peak = job->peak,
        .cpus = job->cpus,
    };
}

static char *put(char *next, const void *record, size_t size)
{
    memcpy(next, record, size);
    return next + size;
}

static void render(const hpcb_live_table_t *table, const header_t *header, char *next)
{
    next = put(next, header, sizeof(*header));
    for (size_t i = 0; i < table->n_entries; i++) {
        node_record_t record = node_record(&table->entries[i]->node);

        next = put(next, &record, sizeof(record));
    }
    for (size_t i = 0; i < table->n_entries; i++) {
        const entry_t *entry = table->entries[i];

        for (size_t k = 0; k < entry->node.n_jobs; k++) {
            job_record_t record = job_record(&entry->jobs[k]);

            next = put(next, &record, sizeof(record));
        }
    }
}

void *hpcb_live_render(const hpcb_live_table_t *table, size_t *length)
{
    const header_t header = {
        .magic = MAGIC,
        .version = FILE_VERSION,
        .header_size = sizeof(header_t),
        .node_size = sizeof(node_record_t),
        .job_size = sizeof(job_record_t),
        .n_nodes = (uint32_t)table->n_entries,
        .n_jobs = (uint32_t)table->n_jobs,
    };
    size_t total = sizeof(header) + table->n_entries * sizeof(node_record_t) +
                   table->n_jobs * sizeof(job_record_t);
    char *data = malloc(total);

    if (!data)
        return NULL;
    render(table, &header, data);
    *length = total;
    return data;
}

int hpcb_live_write(const hpcb_live_table_t *table, const char *dir, hpcb_error_t *err)
{
    char path[PATH_MAX];
    size_t length;
    hpcb_autofree void *data = NULL;

    if (live_path(dir, path, err))
        return -1;
    data = hpcb_live_render(table, &length);
    if (!data) {
        errno = ENOMEM;
        return hpcb_error(err, "out of memory");
    }
    return hpcb_file_swap(path, data, length, 0644, err);
}
