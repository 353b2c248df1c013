/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/steps.h"
#include "common/file.h"
#include "hpcbd/memory/killed.h"
#include "hpcbd/requeue.h"

#define NOTE_BYTES (PATH_MAX + 64)

typedef struct {
    const hpcb_node_t *node;
    char *path;
    size_t size;
} search_t;

/* No path: what the kernel calls "pipe:[7]". */
static int find_output(pid_t pid, void *arg)
{
    search_t *search = arg;
    char name[64], link[PATH_MAX];
    ssize_t n;

    snprintf(name, sizeof(name), "proc/%d/fd/%d", (int)pid, STDERR_FILENO);
    if (hpcb_node_path(search->node, name, link, sizeof(link), NULL) < 0)
        return 0;
    n = readlink(link, search->path, search->size - 1);
    search->path[n > 0 ? n : 0] = '\0';
    if (search->path[0] == '/' && strcmp(search->path, "/dev/null") != 0)
        return 1;
    search->path[0] = '\0';
    return 0;
}

void hpcbd_killed_output(const hpcb_node_t *node, const char *steps, char *path,
                         size_t size)
{
    search_t search = {.node = node, .path = path, .size = size};

    path[0] = '\0';
    hpcb_steps_each(node, steps, find_output, &search);
}

int hpcbd_killed_note(const char *state_dir, const hpcbd_killed_t *killed,
                      hpcb_error_t *err)
{
    char path[PATH_MAX], text[NOTE_BYTES];
    int n = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu32 " %s\n", killed->used,
                     (uint32_t)killed->uid, killed->output);

    if (hpcbd_requeue_path(state_dir, killed->job_id, HPCBD_REQUEUE_KILLED, path,
                           sizeof(path), err) < 0)
        return -1;
    return hpcb_file_swap(path, text, (size_t)n, 0600, err);
}

int hpcbd_killed_read(const char *path, hpcbd_killed_t *killed)
{
    char text[NOTE_BYTES];
    uint64_t used;
    uint32_t uid;
    int start = 0;
    ssize_t n = hpcb_file_read_trusted(path, text, sizeof(text), NULL);

    if (n <= 0 || text[n - 1] != '\n')
        return -1;
    text[n - 1] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu32 "%n", &used, &uid, &start) != 2 ||
        text[start] != ' ' || strlen(text + start + 1) >= sizeof(killed->output))
        return -1;
    killed->used = used;
    killed->uid = (uid_t)uid;
    strcpy(killed->output, text + start + 1);
    return 0;
}
