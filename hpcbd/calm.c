/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/knob.h"
#include "cgroup/undo.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbd/calm.h"

/* Files in all, guests and groups: what an edge writes is bounded. */
#define FILES_MAX 256

/* No job of Slurm's has this number (MAX_JOB_ID is below 2^26). */
#define NODE_LOG UINT32_MAX

typedef struct {
    char path[PATH_MAX];
    const char *calm;
    char normal[32];
    int fd;     /* hpcb_knob_write_kept */
    bool found; /* by the look that is going on */
} calm_file_t;

struct hpcbd_calm {
    const hpcb_node_t *node;
    hpcb_undo_t *undo;
    calm_file_t *files[FILES_MAX];
    size_t count;
    bool begun;
};

hpcbd_calm_t *hpcbd_calm_new(const hpcb_node_t *node, const char *state_dir)
{
    hpcbd_calm_t *calm = calloc(1, sizeof(*calm));
    hpcb_error_t err;

    if (!calm)
        return NULL;
    calm->node = node;
    if (hpcb_undo_open(state_dir, NODE_LOG, &calm->undo, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s; nothing but the jobs themselves is switched",
                 err.text);
        calm->undo = NULL;
    }
    return calm;
}

static void write_file(calm_file_t *file, bool calm)
{
    hpcb_knob_write_kept(&file->fd, file->path, "", calm ? file->calm : file->normal,
                         NULL);
}

static void forget(calm_file_t *file)
{
    hpcb_knob_close(&file->fd);
    free(file);
}

void hpcbd_calm_free(hpcbd_calm_t *calm)
{
    if (!calm)
        return;
    hpcbd_calm_end(calm);
    for (size_t i = 0; i < calm->count; i++)
        forget(calm->files[i]);
    hpcb_undo_close(calm->undo);
    free(calm);
}

static calm_file_t *known(hpcbd_calm_t *calm, const char *path)
{
    for (size_t i = 0; i < calm->count; i++)
        if (strcmp(calm->files[i]->path, path) == 0)
            return calm->files[i];
    return NULL;
}

/* A file that is not what it should be before we touch it is somebody else's affair. */
static void add(hpcbd_calm_t *calm, const char *dir, const char *name,
                const char *normal, const char *text)
{
    char path[PATH_MAX], now[32];
    calm_file_t *file;

    if (hpcb_knob_path(dir, name, path, sizeof(path), NULL) < 0)
        return;
    file = known(calm, path);
    if (file) {
        file->found = true;
        return;
    }
    if (calm->count == FILES_MAX ||
        hpcb_knob_read(dir, name, now, sizeof(now), NULL) < 0 ||
        strcmp(now, normal) != 0 ||
        hpcb_undo_note_file(calm->undo, path, now, NULL) < 0)
        return;
    file = calloc(1, sizeof(*file));
    if (!file)
        return;
    strcpy(file->path, path);
    strcpy(file->normal, now);
    file->calm = text;
    file->fd = -1;
    file->found = true;
    calm->files[calm->count++] = file;
}

/* Pure v2: of each step, as Slurm suspends jobs. */
static void add_steps(hpcbd_calm_t *calm, const char *dir)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    char step[PATH_MAX], name[NAME_MAX + 8];

    while (handle && (entry = readdir(handle))) {
        if (strncmp(entry->d_name, "step_", 5) != 0 ||
            strcmp(entry->d_name, "step_extern") == 0)
            continue;
        snprintf(name, sizeof(name), "%s/user", entry->d_name);
        if (hpcb_knob_path(dir, name, step, sizeof(step), NULL) == 0)
            add(calm, step, "cgroup.freeze", "0", "1");
    }
}

/* v1 with a cgroup2 mount beside it: the meter's group holds all of its tasks. */
static void add_guest(hpcbd_calm_t *calm, const hpcbd_job_t *job)
{
    const char *mount = hpcb_node_mount(calm->node, HPCB_CTL_UNIFIED);
    char name[64], dir[PATH_MAX];

    if (hpcb_node_version(calm->node, HPCB_CTL_CPU) == 2) {
        if (job->dir[0])
            add_steps(calm, job->dir);
        return;
    }
    snprintf(name, sizeof(name), HPCB_UNIFIED_GROUP "/job_%" PRIu32, job->state.job_id);
    if (mount && hpcb_knob_path(mount, name, dir, sizeof(dir), NULL) == 0)
        add(calm, dir, "cgroup.freeze", "0", "1");
}

/* True where a job with windows is below dir. */
static bool holds_job(const char *dir, const hpcbd_registry_t *registry)
{
    size_t length = strlen(dir);

    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->favour &&
            strncmp(registry->jobs[i]->dir, dir, length) == 0 &&
            registry->jobs[i]->dir[length] == '/')
            return true;
    return false;
}

/* cpu.idle=0 gives a group the default weight (Linux 5.15 to 6.18): one that has
 * another would lose it, and is left alone. */
static void add_group(hpcbd_calm_t *calm, const char *name,
                      const hpcbd_registry_t *registry)
{
    const char *mount = hpcb_node_mount(calm->node, HPCB_CTL_CPU);
    bool v1 = hpcb_node_version(calm->node, HPCB_CTL_CPU) == 1;
    char dir[PATH_MAX], weight[32], path[PATH_MAX];

    if (!mount || hpcb_knob_path(mount, name, dir, sizeof(dir), NULL) < 0 ||
        holds_job(dir, registry) ||
        hpcb_knob_path(dir, "cpu.idle", path, sizeof(path), NULL) < 0)
        return;
    if (!known(calm, path) && (hpcb_knob_read(dir, v1 ? "cpu.shares" : "cpu.weight",
                                              weight, sizeof(weight), NULL) < 0 ||
                               strcmp(weight, v1 ? "1024" : "100") != 0))
        return;
    add(calm, dir, "cpu.idle", "0", "1");
}

static void forget_gone(hpcbd_calm_t *calm)
{
    for (size_t i = calm->count; i-- > 0;) {
        if (calm->files[i]->found)
            continue;
        if (calm->begun)
            write_file(calm->files[i], false);
        forget(calm->files[i]);
        calm->files[i] = calm->files[--calm->count];
    }
}

void hpcbd_calm_look(hpcbd_calm_t *calm, const hpcb_conf_t *conf,
                     const hpcbd_registry_t *registry)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;
    size_t before = calm->count;

    if (!calm->undo)
        return;
    for (size_t i = 0; i < calm->count; i++)
        calm->files[i]->found = false;
    for (size_t i = 0; conf->window_freezes_guests && i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_GUEST)
            add_guest(calm, registry->jobs[i]);
    if (hpcb_text_copy(list, sizeof(list), conf->window_idle_groups) == 0)
        while (*list && (item = strsep(&rest, ",")))
            add_group(calm, item, registry);
    for (size_t i = before; calm->begun && i < calm->count; i++)
        write_file(calm->files[i], true);
    forget_gone(calm);
}

void hpcbd_calm_begin(hpcbd_calm_t *calm)
{
    if (calm->begun)
        return;
    calm->begun = true;
    for (size_t i = 0; i < calm->count; i++)
        write_file(calm->files[i], true);
}

void hpcbd_calm_end(hpcbd_calm_t *calm)
{
    if (!calm->begun)
        return;
    calm->begun = false;
    for (size_t i = 0; i < calm->count; i++)
        write_file(calm->files[i], false);
}
