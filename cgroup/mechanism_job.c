/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rows that set a knob of Slurm's own directory of the guest's job: memory-high and
 * io-weight.  Nothing is created, and nothing above the job is written (a site's
 * systemd owns slurmstepd.scope and what is above it).
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"

/* v1 shows "no limit" as the largest page-aligned number below 2^63. */
#define NO_LIMIT  (UINT64_C(1) << 62)
#define LOWEST_IO "default 1"

typedef struct {
    const char *limit;
    const char *high;
} memory_names_t;

static const memory_names_t memory_names[] = {
    {"memory.limit_in_bytes", "memory.soft_limit_in_bytes"},
    {"memory.max", "memory.high"},
};

static const memory_names_t *memory_of(const hpcb_node_t *node)
{
    return &memory_names[hpcb_node_version(node, HPCB_CTL_MEMORY) == 2];
}

int hpcb_memory_high_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_MEMORY);

    if (!mount)
        return hpcb_error(err, "no memory controller is mounted");
    /* PREEMPT_RT kernels have no soft limit since Linux 6.12. */
    if (hpcb_node_version(node, HPCB_CTL_MEMORY) == 1 &&
        !hpcb_knob_exists(mount, memory_of(node)->high))
        return hpcb_error(err, "this kernel has no %s", memory_of(node)->high);
    return 0;
}

/* Get the value for memory.high, in whole pages as the kernel shows it. */
static int wanted_high(const hpcb_target_t *target, const char *dir, uint64_t *bytes,
                       hpcb_error_t *err)
{
    const char *name = memory_of(target->node)->limit;
    uint64_t limit, page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (hpcb_knob_number(dir, name, &limit, err) < 0)
        return -1;
    if (limit >= NO_LIMIT) {
        errno = ENODATA;
        hpcb_error(err, "%s/%s: the job has no memory limit", dir, name);
        return -1;
    }
    *bytes =
        (limit / 100 * target->memory_high + limit % 100 * target->memory_high / 100) /
        page * page;
    return 0;
}

static int memory_dir(const hpcb_target_t *target, char *dir, size_t size,
                      uint64_t *wanted, uint64_t *now, hpcb_error_t *err)
{
    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_MEMORY, dir, size, err) <
            0 ||
        wanted_high(target, dir, wanted, err) < 0)
        return -1;
    return hpcb_knob_number(dir, memory_of(target->node)->high, now, err);
}

int hpcb_memory_high_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], text[32];
    uint64_t wanted, now;

    hpcb_row_begin(target, "memory-high");
    if (target->memory_high == 0)
        return 0;
    if (memory_dir(target, dir, sizeof(dir), &wanted, &now, err) < 0)
        return -1;
    if (now <= wanted)
        return 0;
    snprintf(text, sizeof(text), "%" PRIu64, wanted);
    return hpcb_row_write(target, dir, memory_of(target->node)->high, text, err);
}

int hpcb_memory_high_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];
    uint64_t wanted, now;

    if (target->memory_high == 0)
        return 0;
    if (memory_dir(target, dir, sizeof(dir), &wanted, &now, err) < 0)
        return -1;
    if (now <= wanted)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s/%s is %" PRIu64, dir, memory_of(target->node)->high,
                      now);
}

/* v1: Slurm makes no directory of a job in blkio, and moving the task into one of ours
 * would gain little: the idle I/O class does the same there. */
int hpcb_io_weight_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_node_version(node, HPCB_CTL_IO) == 2)
        return 0;
    return hpcb_error(err, "the io controller is not in cgroup v2");
}

/* io.weight is a table: "default <N>", then lines for single devices, left alone. */
static int read_default(const hpcb_target_t *target, char *dir, size_t dir_size,
                        char *line, size_t size, hpcb_error_t *err)
{
    char text[HPCB_ERROR_MAX * 8];

    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_IO, dir, dir_size, err) <
            0 ||
        hpcb_knob_read(dir, "io.weight", text, sizeof(text), err) < 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "default ", 8) != 0 || strlen(text) >= size) {
        errno = EINVAL;
        return hpcb_error(err, "%s/io.weight does not begin with a default", dir);
    }
    strcpy(line, text);
    return 0;
}

int hpcb_io_weight_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], path[PATH_MAX], old[64];

    hpcb_row_begin(target, "io-weight");
    if (read_default(target, dir, sizeof(dir), old, sizeof(old), err) < 0 ||
        hpcb_knob_path(dir, "io.weight", path, sizeof(path), err) < 0)
        return -1;
    if (strcmp(old, LOWEST_IO) == 0)
        return 0;
    if (target->undo && hpcb_undo_note_file(target->undo, path, old, err) < 0)
        return -1;
    return hpcb_knob_write(dir, "io.weight", LOWEST_IO, err);
}

int hpcb_io_weight_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX], now[64];

    if (read_default(target, dir, sizeof(dir), now, sizeof(now), err) < 0)
        return -1;
    if (strcmp(now, LOWEST_IO) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s/io.weight is \"%s\"", dir, now);
}
