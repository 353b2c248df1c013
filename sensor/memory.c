/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "sensor/memory.h"

#define TEXT_BYTES 16384 /* memory.stat and meminfo are below 4 KiB today */

/* The number behind name at the beginning of a line; kB is 1024 bytes. */
static bool field(const char *text, const char *name, uint64_t *value)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        char unit[3] = "";

        line += *line == '\n';
        if (strncmp(line, name, length) != 0 ||
            sscanf(line + length, "%*[: \t]%" SCNu64 " %2s", value, unit) < 1)
            continue;
        if (strcmp(unit, "kB") == 0)
            *value *= 1024;
        return true;
    }
    return false;
}

static uint64_t field_or_0(const char *text, const char *name)
{
    uint64_t value;

    return field(text, name, &value) ? value : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

int hpcb_memory_parse(const char *meminfo, hpcb_memory_node_t *memory)
{
    hpcb_memory_node_t read = {.huge_pages = field_or_0(meminfo, "HugePages_Total"),
                               .swap_free = field_or_0(meminfo, "SwapFree")};

    if (!field(meminfo, "MemTotal", &read.total) ||
        !field(meminfo, "MemAvailable", &read.available))
        return -1;
    *memory = read;
    return 0;
}

int hpcb_memory_node(const hpcb_node_t *node, hpcb_memory_node_t *memory,
                     hpcb_error_t *err)
{
    char text[TEXT_BYTES];

    if (hpcb_node_read(node, "proc/meminfo", text, sizeof(text), err) < 0)
        return -1;
    if (hpcb_memory_parse(text, memory) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "/proc/meminfo does not say what is available");
}

/* v2 counts the group and all below it in every file, v1 in total_*. */
static int read_group(const char *dir, int version, hpcb_memory_t *memory,
                      hpcb_error_t *err)
{
    bool v1 = version == 1;
    uint64_t charged, inactive, active, dirty;
    char text[TEXT_BYTES];

    if (hpcb_knob_number(dir, v1 ? "memory.usage_in_bytes" : "memory.current", &charged,
                         err) < 0 ||
        hpcb_knob_read(dir, "memory.stat", text, sizeof(text), err) < 0)
        return -1;
    inactive = field_or_0(text, v1 ? "total_inactive_file" : "inactive_file");
    dirty = field_or_0(text, v1 ? "total_dirty" : "file_dirty") +
            field_or_0(text, v1 ? "total_writeback" : "file_writeback");
    memory->cache = less(inactive, dirty);
    memory->used = less(charged, memory->cache);
    active = field_or_0(text, v1 ? "total_active_file" : "active_file");
    memory->reclaimable = less(inactive + active, memory->cache);
    memory->peak = 0;
    hpcb_knob_number(dir, v1 ? "memory.max_usage_in_bytes" : "memory.peak",
                     &memory->peak, NULL);
    return 0;
}

/* Processes that are asked for the job's group. */
#define ASKED_MAX 64

typedef struct {
    const hpcb_node_t *node;
    char dir[PATH_MAX]; /* the job's group, "" until it is found */
    unsigned asked;
    pid_t pid;       /* whose memory is added */
    uint64_t mapped; /* anonymous and shared memory, with what is shared once */
    uint64_t huge;
} scan_t;

/* All processes of a job have the same group, except that on v1 an exiting process has
 * none, while its memory is still charged to the job. */
static int find_group(pid_t pid, void *arg)
{
    scan_t *scan = arg;

    if (hpcb_node_job_dir(scan->node, pid, HPCB_CTL_MEMORY, scan->dir,
                          sizeof(scan->dir), NULL) == 0)
        return 1;
    scan->dir[0] = '\0';
    return ++scan->asked == ASKED_MAX;
}

static void add_rollup(const char *text, scan_t *scan)
{
    uint64_t anon, shmem, locked;

    scan->huge +=
        field_or_0(text, "Private_Hugetlb") + field_or_0(text, "Shared_Hugetlb");
    locked = field_or_0(text, "Locked");
    shmem = field_or_0(text, "Pss_Shmem");
    /* Linux before 5.9 has one sum for all kinds. */
    if (!field(text, "Pss_Anon", &anon))
        anon = field_or_0(text, "Pss");
    scan->mapped += anon + shmem > locked ? anon + shmem : locked;
}

static int add_thread(pid_t tid, void *arg)
{
    scan_t *scan = arg;
    char name[64], text[TEXT_BYTES];

    snprintf(name, sizeof(name), "proc/%d/task/%d/smaps_rollup", (int)scan->pid,
             (int)tid);
    if (hpcb_node_read(scan->node, name, text, sizeof(text), NULL) < 0 || !text[0])
        return 0;
    add_rollup(text, scan);
    return 1;
}

/* All threads share it, so one that lives will do.  A process that has gone meanwhile
 * uses nothing. */
static int add_process(pid_t pid, void *arg)
{
    scan_t *scan = arg;

    scan->pid = pid;
    if (!add_thread(pid, scan))
        hpcb_node_threads(scan->node, pid, add_thread, scan);
    return 0;
}

int hpcb_memory_job(const hpcb_node_t *node, const char *steps, const char *before,
                    bool huge, hpcb_memory_t *memory, hpcb_error_t *err)
{
    scan_t scan = {.node = node};
    char last[PATH_MAX];

    snprintf(last, sizeof(last), "%s", before);
    *memory = (hpcb_memory_t){.huge = huge};
    if (hpcb_steps_each(node, steps, find_group, &scan) < 0)
        return hpcb_knob_gone(errno)
                   ? 0
                   : hpcb_error(err, "%s: %s", steps, strerror(errno));
    memory->exiting = !scan.dir[0] && scan.asked > 0;
    if (memory->exiting)
        strcpy(scan.dir, last);
    if (scan.dir[0] && read_group(scan.dir, hpcb_node_version(node, HPCB_CTL_MEMORY),
                                  memory, NULL) == 0)
        strcpy(memory->dir, scan.dir);
    if (memory->dir[0] && !huge)
        return 0;
    hpcb_steps_each(node, steps, add_process, &scan);
    if (!memory->dir[0])
        memory->used = scan.mapped;
    memory->used += scan.huge;
    return 0;
}

unsigned hpcb_memory_stalled(const hpcb_node_t *node, uint64_t elapsed_us,
                             uint64_t *total_us)
{
    uint64_t before = *total_us, stalled;
    char text[256];
    const char *total;

    if (hpcb_node_read(node, "proc/pressure/memory", text, sizeof(text), NULL) < 0)
        return 0;
    total = strstr(text, "total=");
    if (!total || sscanf(total, "total=%" SCNu64, total_us) != 1)
        return 0;
    stalled = before ? less(*total_us, before) : 0;
    if (!elapsed_us)
        return 0;
    return stalled >= elapsed_us ? 1000 : (unsigned)(stalled * 1000 / elapsed_us);
}
