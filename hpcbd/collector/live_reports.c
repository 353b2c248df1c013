/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "hpcbd/collector/live_reports.h"
#include "hpcbd/records/wire_live.h"

#define SECOND_NS UINT64_C(1000000000)

/* Nodes that have been silent for so long are not in the file any more. */
#define KEEP_SECONDS 3600

struct hpcbd_live {
    const char *dir;
    hpcb_live_table_t *table;
    hpcb_source_t *timer;
    bool waiting; /* for the timer, to write */
    bool trouble;
};

static void write_file(hpcbd_live_t *live)
{
    hpcb_error_t err;

    live->waiting = false;
    hpcb_live_drop(live->table, (int64_t)time(NULL) - KEEP_SECONDS);
    if (hpcb_live_write(live->table, live->dir, &err))
        hpcb_log_once(&live->trouble, HPCB_LOG_ERROR, "%s", err.text);
    else
        live->trouble = false;
}

static void on_timer(void *arg, uint64_t count)
{
    (void)count;
    write_file(arg);
}

/* What the collector before this one knew is as old as it says. */
static void read_file(hpcbd_live_t *live)
{
    hpcb_live_known_t known = {0};
    hpcb_live_t before = {0};

    if (hpcb_live_read(live->dir, &known, &before, NULL) < 0)
        return;
    for (size_t i = 0; i < before.n_nodes; i++)
        (void)hpcb_live_put(live->table, &before.nodes[i]);
    hpcb_live_clear(&before);
}

hpcbd_live_t *hpcbd_live_open(hpcb_loop_t *loop, const char *dir, hpcb_error_t *err)
{
    hpcbd_live_t *live = calloc(1, sizeof(*live));

    if (live)
        live->table = hpcb_live_table_new();
    if (!live || !live->table) {
        free(live);
        hpcb_error(err, "out of memory");
        return NULL;
    }
    live->dir = dir;
    live->timer = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_timer, live, err);
    if (!live->timer) {
        hpcbd_live_close(live);
        return NULL;
    }
    read_file(live);
    return live;
}

void hpcbd_live_close(hpcbd_live_t *live)
{
    if (!live)
        return;
    if (live->waiting)
        write_file(live);
    hpcb_source_remove(live->timer);
    hpcb_live_table_free(live->table);
    free(live);
}

int hpcbd_live_take(hpcbd_live_t *live, const char *text)
{
    int64_t now = (int64_t)time(NULL);
    hpcb_live_node_t node;
    int status, saved;

    if (hpcbd_live_parse(text, &node, NULL))
        return -1;
    if (node.time > now)
        node.time = now;
    status = hpcb_live_put(live->table, &node);
    saved = errno;
    free(node.jobs);
    errno = saved;
    if (status == 0 && !live->waiting)
        live->waiting = hpcb_timer_in(live->timer, SECOND_NS, 0) == 0;
    return status;
}

size_t hpcbd_live_count(const hpcbd_live_t *live)
{
    return hpcb_live_count(live->table);
}
