/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/knob.h"
#include "cgroup/undo.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbd/windows/calm.h"

/* Maximum number of groups, so that the writes at a switch are bounded. */
#define GROUPS_MAX 64

/* No job of Slurm's has this number (MAX_JOB_ID is below 2^26). */
#define NODE_LOG UINT32_MAX

#define IDLE     "1"
#define NOT_IDLE "0"

typedef struct {
    char path[PATH_MAX]; /* of its cpu.idle */
    int fd;              /* hpcb_knob_write_kept */
    bool found;          /* by the present scan */
} idle_group_t;

struct hpcbd_calm {
    const hpcb_node_t *node;
    hpcbd_freeze_t *freeze;
    hpcb_undo_t *undo;
    idle_group_t *groups[GROUPS_MAX];
    size_t n_groups;
    uint32_t guests[HPCBD_JOBS_MAX]; /* to be stopped */
    size_t n_guests;
    bool begun;
};

hpcbd_calm_t *hpcbd_calm_new(const hpcb_node_t *node, hpcbd_freeze_t *freeze,
                             const char *log_dir)
{
    hpcbd_calm_t *calm = calloc(1, sizeof(*calm));
    hpcb_error_t err;

    if (!calm)
        return NULL;
    calm->node = node;
    calm->freeze = freeze;
    if (hpcb_undo_open(log_dir, NODE_LOG, &calm->undo, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s; no group is made idle", err.text);
        calm->undo = NULL;
    }
    return calm;
}

static void write_group(idle_group_t *group, bool idle)
{
    hpcb_knob_write_kept(&group->fd, group->path, "", idle ? IDLE : NOT_IDLE, NULL);
}

static void forget(idle_group_t *group)
{
    hpcb_knob_close(&group->fd);
    free(group);
}

void hpcbd_calm_free(hpcbd_calm_t *calm)
{
    if (!calm)
        return;
    hpcbd_calm_end(calm);
    for (size_t i = 0; i < calm->n_groups; i++)
        forget(calm->groups[i]);
    hpcb_undo_close(calm->undo);
    free(calm);
}

static idle_group_t *known(hpcbd_calm_t *calm, const char *path)
{
    for (size_t i = 0; i < calm->n_groups; i++)
        if (strcmp(calm->groups[i]->path, path) == 0)
            return calm->groups[i];
    return NULL;
}

/* A group that is idle before we change it is left alone. */
static void add_idle(hpcbd_calm_t *calm, const char *dir, const char *path)
{
    idle_group_t *group = known(calm, path);
    char now[32];

    if (group) {
        group->found = true;
        return;
    }
    if (calm->n_groups == GROUPS_MAX ||
        hpcb_knob_read(dir, HPCB_KNOB_IDLE, now, sizeof(now), NULL) < 0 ||
        strcmp(now, NOT_IDLE) != 0 ||
        hpcb_undo_note_file(calm->undo, path, now, NULL) < 0)
        return;
    group = calloc(1, sizeof(*group));
    if (!group)
        return;
    strcpy(group->path, path);
    group->fd = -1;
    group->found = true;
    calm->groups[calm->n_groups++] = group;
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
        hpcb_knob_path(dir, HPCB_KNOB_IDLE, path, sizeof(path), NULL) < 0)
        return;
    if (!known(calm, path) && (hpcb_knob_read(dir, v1 ? "cpu.shares" : "cpu.weight",
                                              weight, sizeof(weight), NULL) < 0 ||
                               strcmp(weight, v1 ? "1024" : "100") != 0))
        return;
    add_idle(calm, dir, path);
}

static void forget_gone(hpcbd_calm_t *calm)
{
    for (size_t i = calm->n_groups; i-- > 0;) {
        if (calm->groups[i]->found)
            continue;
        if (calm->begun)
            write_group(calm->groups[i], false);
        forget(calm->groups[i]);
        calm->groups[i] = calm->groups[--calm->n_groups];
    }
}

static void look_at_groups(hpcbd_calm_t *calm, const char *names,
                           const hpcbd_registry_t *registry)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;
    size_t before = calm->n_groups;

    if (!calm->undo)
        return;
    for (size_t i = 0; i < calm->n_groups; i++)
        calm->groups[i]->found = false;
    if (hpcb_text_copy(list, sizeof(list), names) == 0)
        while (*list && (item = strsep(&rest, ",")))
            add_group(calm, item, registry);
    for (size_t i = before; calm->begun && i < calm->n_groups; i++)
        write_group(calm->groups[i], true);
    forget_gone(calm);
}

static void stop_guests(hpcbd_calm_t *calm)
{
    for (size_t i = 0; i < calm->n_guests; i++)
        hpcbd_freeze_stop(calm->freeze, calm->guests[i], HPCBD_FREEZE_WINDOW);
}

static void let_guests_go(hpcbd_calm_t *calm)
{
    for (size_t i = 0; i < calm->n_guests; i++)
        hpcbd_freeze_go(calm->freeze, calm->guests[i], HPCBD_FREEZE_WINDOW);
}

static void look_at_guests(hpcbd_calm_t *calm, const hpcbd_registry_t *registry)
{
    calm->n_guests = 0;
    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_GUEST)
            calm->guests[calm->n_guests++] = registry->jobs[i]->state.job_id;
    if (calm->begun)
        stop_guests(calm);
}

void hpcbd_calm_look(hpcbd_calm_t *calm, const hpcb_conf_t *conf,
                     const hpcbd_registry_t *registry)
{
    if (conf->window_freezes_guests) {
        look_at_guests(calm, registry);
    } else {
        let_guests_go(calm);
        calm->n_guests = 0;
    }
    look_at_groups(calm, conf->window_idle_groups, registry);
}

/* A group that is not in the log is not made idle; if the log was removed meanwhile and
 * cannot be written again, nothing stays idle. */
static void make_idle(hpcbd_calm_t *calm)
{
    if (calm->n_groups == 0 || hpcb_undo_renew(calm->undo, NULL) < 0)
        return;
    for (size_t i = 0; i < calm->n_groups; i++)
        write_group(calm->groups[i], true);
    if (hpcb_undo_renew(calm->undo, NULL) == 0)
        return;
    for (size_t i = 0; i < calm->n_groups; i++)
        write_group(calm->groups[i], false);
}

void hpcbd_calm_begin(hpcbd_calm_t *calm)
{
    if (calm->begun)
        return;
    calm->begun = true;
    stop_guests(calm);
    make_idle(calm);
}

void hpcbd_calm_end(hpcbd_calm_t *calm)
{
    if (!calm->begun)
        return;
    calm->begun = false;
    let_guests_go(calm);
    for (size_t i = 0; i < calm->n_groups; i++)
        write_group(calm->groups[i], false);
}
