/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    pid_t writer; /* 0: none runs */
};

/* 0 or -1; the log says once that it does not work. */
static int write_file(const hpcbd_live_t *live)
{
    hpcb_error_t err;

    if (hpcb_live_write(live->table, live->dir, &err) == 0)
        return 0;
    if (!live->trouble)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return -1;
}

/* False if the writer still runs. */
static bool reap(hpcbd_live_t *live, bool wait)
{
    int status = 0;
    pid_t pid;

    if (live->writer == 0)
        return true;
    do
        pid = waitpid(live->writer, &status, wait ? 0 : WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    live->trouble = !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS;
    live->writer = 0;
    return true;
}

/* Another process writes what there is now: of 10,000 nodes that takes 20 ms, and a
 * disk may take any time. */
static void start_writer(hpcbd_live_t *live)
{
    live->writer = fork();
    if (live->writer == 0)
        _exit(write_file(live) ? EXIT_FAILURE : EXIT_SUCCESS);
    if (live->writer > 0)
        return;
    live->writer = 0;
    live->trouble = write_file(live) < 0;
}

static void drop_silent(hpcbd_live_t *live)
{
    hpcb_live_drop(live->table, (int64_t)time(NULL) - KEEP_SECONDS);
}

static void on_timer(void *arg, uint64_t count)
{
    hpcbd_live_t *live = arg;

    (void)count;
    if (!reap(live, false)) {
        hpcb_timer_in(live->timer, SECOND_NS, 0);
        return;
    }
    live->waiting = false;
    drop_silent(live);
    start_writer(live);
}

/* State of the previous collector keeps its time. */
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
    (void)reap(live, true);
    drop_silent(live);
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
