/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cgroup/undo.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "hpcbd/memory/memory.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/memory/guard.h"
#include "hpcbd/memory/report.h"
#include "hpcbd/records/wire_live.h"
#include "hpcbd/node/saturation.h"
#include "hpcbd/requeue.h"
#include "hpcbd/worker.h"

static bool always(const hpcb_conf_t *conf)
{
    (void)conf;
    return true;
}

static hpcbd_worker_t guard = {
    .name = "hpcbd: memory", .wanted = always, .work = hpcbd_memory_guard};
static hpcbd_worker_t reporter = {
    .name = "hpcbd: report", .wanted = always, .work = hpcbd_memory_report};

static const hpcb_conf_t *settings;

static int make_dir(const char *name, hpcb_error_t *err)
{
    char dir[PATH_MAX];

    if (snprintf(dir, sizeof(dir), "%s/%s", settings->state_dir, name) >=
        (int)sizeof(dir))
        return hpcb_error(err, "StateDir=%.200s is too long", settings->state_dir);
    return hpcb_file_mkdirs(dir, 0755, err);
}

/* Both directories are watched from the beginning. */
static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    settings = &daemon->conf;
    if (make_dir(HPCBD_REQUEUE_DIR, err) < 0 || make_dir("jobs", err) < 0 ||
        hpcbd_worker_start(&guard, daemon, err) < 0)
        return -1;
    return hpcbd_worker_start(&reporter, daemon, err);
}

static void reload(hpcbd_t *daemon)
{
    hpcbd_worker_reload(&guard, daemon);
    hpcbd_worker_reload(&reporter, daemon);
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_worker_stop(&reporter);
    hpcbd_worker_stop(&guard);
    hpcb_undo_replay_lent(settings->state_dir, NULL);
}

static void add_count(json_object *object, const char *key, uint64_t value)
{
    json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

static uint64_t sum_used(const hpcb_live_node_t *node, bool guests)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < node->n_jobs; i++)
        if (node->jobs[i].guest == guests)
            bytes += node->jobs[i].used;
    return bytes;
}

json_object *hpcbd_memory_status(void)
{
    json_object *object = json_object_new_object();
    hpcb_live_node_t node;
    uint64_t primaries, reserve;

    if (!object || hpcbd_memory_read(settings, &node) < 0) {
        json_object_put(object);
        return NULL;
    }
    primaries = sum_used(&node, false);
    reserve = hpcbd_memory_reserve(settings, node.memory);
    add_count(object, "real", node.memory);
    add_count(object, "reserve", reserve);
    add_count(object, "primaries_expected", primaries);
    add_count(object, "lent",
              hpcb_live_is_fresh(&node, (int64_t)time(NULL)) &&
                      node.memory > reserve + primaries
                  ? node.memory - reserve - primaries
                  : 0);
    add_count(object, "guests", sum_used(&node, true));
    free(node.jobs);
    return object;
}

static void add_part(json_object *object, const char *key, uint32_t thousandths)
{
    json_object_object_add(object, key, json_object_new_double(thousandths * 1e-3));
}

json_object *hpcbd_memory_saturation(void)
{
    json_object *object = settings->memory_probe ? json_object_new_object() : NULL;
    hpcbd_saturation_t found;
    const hpcb_saturation_t *verdict = &found.verdict;

    if (!object)
        return NULL;
    hpcbd_saturation_load(settings->state_dir, (int64_t)time(NULL), &found);
    json_object_object_add(
        object, "level", json_object_new_string(hpcb_saturation_name(verdict->level)));
    json_object_object_add(object, "why", json_object_new_string(found.why));
    if (verdict->part > 0) {
        add_part(object, "part", verdict->part);
        add_part(object, "low", verdict->low);
        add_part(object, "high", verdict->high);
    }
    add_count(object, "bursts", verdict->bursts);
    add_count(object, "dropped", verdict->dropped);
    return object;
}

const hpcbd_part_t hpcbd_memory = {
    .name = "memory", .start = start, .reload = reload, .stop = stop};
