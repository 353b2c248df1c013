/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the parts of the daemon share.  A mode (node, collector) is a list of parts;
 * each lives in files of its own and is named in hpcbd/main.c only.
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

    /* Set up sources on daemon->loop; daemon lives as long as the process.  -1 with
     * err: the daemon ends and systemd restarts it, so what can be retried is no
     * failure. */
    int (*start)(hpcbd_t *daemon, hpcb_error_t *err);

    /* daemon->conf has been read anew (SIGHUP).  NULL: nothing to do. */
    void (*reload)(hpcbd_t *daemon);

    /* Leave things as they are without a daemon.  Called for parts that have started,
     * the last one first.  NULL: nothing to do. */
    void (*stop)(hpcbd_t *daemon);

    /* In the place of all three: a child at work (hpcbd/worker.h). */
    struct hpcbd_worker *worker;
} hpcbd_part_t;

/* hpcbd/records/ship.c: sends the node's records to the collector. */
extern const hpcbd_part_t hpcbd_ship;

/* hpcbd/collector/collector.c: merges them. */
extern const hpcbd_part_t hpcbd_collector;

/* hpcbd/collector/writer.c: gives jobs their figures in AdminComment. */
extern const hpcbd_part_t hpcbd_writer;

/* hpcbd/collector/learner.c: folds records into the profile store. */
extern const hpcbd_part_t hpcbd_learner;

#endif
