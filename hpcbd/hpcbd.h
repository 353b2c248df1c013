/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Common interface of the parts of the daemon.  A mode (node, collector) is a list of
 * parts; each part has files of its own and is only named in hpcbd/main.c.
 */
#ifndef HPCB_HPCBD_HPCBD_H
#define HPCB_HPCBD_HPCBD_H

#include "common/conf.h"
#include "hpcbd/loop.h"

typedef struct {
    hpcb_loop_t *loop;
    hpcb_conf_t conf;
    char conf_path[PATH_MAX];
} hpcbd_t;

typedef struct {
    const char *name;

    /* Add sources to daemon->loop; daemon is valid until the process ends.  Return -1
     * with err to end the daemon, which systemd restarts; conditions that can be
     * retried must not fail. */
    int (*start)(hpcbd_t *daemon, hpcb_error_t *err);

    /* daemon->conf has been read again (SIGHUP).  May be NULL. */
    void (*reload)(hpcbd_t *daemon);

    /* Leave everything in a state that needs no daemon.  Called for parts that have
     * started, the last one first.  May be NULL. */
    void (*stop)(hpcbd_t *daemon);

    /* Instead of all three: a child process (hpcbd/worker.h). */
    struct hpcbd_worker *worker;
} hpcbd_part_t;

/* hpcbd/records/ship.c: sends the node's records to the collector. */
extern const hpcbd_part_t hpcbd_ship;

/* hpcbd/collector/collector.c: merges them. */
extern const hpcbd_part_t hpcbd_collector;

/* hpcbd/collector/writer.c: writes jobs' figures to AdminComment. */
extern const hpcbd_part_t hpcbd_writer;

/* hpcbd/collector/learner.c: adds records to the profile store. */
extern const hpcbd_part_t hpcbd_learner;

#endif
