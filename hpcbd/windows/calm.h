/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What else is quiet on a node while a job of it is favoured: guests are stopped
 * (WindowGuests=freeze; hpcbd/windows/freeze.h), groups of the system are idle
 * (WindowIdleGroups), with one write an edge and group.
 */
#ifndef HPCB_HPCBD_WINDOWS_CALM_H
#define HPCB_HPCBD_WINDOWS_CALM_H

#include "cgroup/node.h"
#include "common/conf.h"
#include "hpcbd/windows/freeze.h"
#include "hpcbd/node/registry.h"

typedef struct hpcbd_calm hpcbd_calm_t;

/* node and freeze outlive the handle; log_dir: of the undo log of groups.  NULL when
 * memory runs out. */
hpcbd_calm_t *hpcbd_calm_new(const hpcb_node_t *node, hpcbd_freeze_t *freeze,
                             const char *log_dir);
/* Ends it first. */
void hpcbd_calm_free(hpcbd_calm_t *calm);

/* Which guests and groups there are now; after hpcbd_freeze_look. */
void hpcbd_calm_look(hpcbd_calm_t *calm, const hpcb_conf_t *conf,
                     const hpcbd_registry_t *registry);

void hpcbd_calm_begin(hpcbd_calm_t *calm);
void hpcbd_calm_end(hpcbd_calm_t *calm);

#endif
