/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/log.h"
#include "hpcbd/worker.h"

int hpcbd_worker_start(hpcbd_worker_t *worker, hpcbd_t *daemon, hpcb_error_t *err)
{
    if (!worker->wanted(&daemon->conf))
        return 0;
    worker->child =
        hpcbd_child_start(daemon->loop, worker->name, worker->work, &daemon->conf, err);
    return worker->child ? 0 : -1;
}

void hpcbd_worker_stop(hpcbd_worker_t *worker)
{
    hpcbd_child_stop(worker->child);
    worker->child = NULL;
}

void hpcbd_worker_reload(hpcbd_worker_t *worker, hpcbd_t *daemon)
{
    hpcb_error_t err;

    hpcbd_worker_stop(worker);
    if (hpcbd_worker_start(worker, daemon, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}
