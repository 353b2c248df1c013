/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Quiescing of everything else on a node while one of its jobs is boosted: guests are
 * stopped (WindowGuests=freeze; hpcbd/windows/freeze.h), and groups of the system
 * become idle (WindowIdleGroups), with one write per switch and group.
 */
#ifndef HPCB_HPCBD_WINDOWS_CALM_H
#define HPCB_HPCBD_WINDOWS_CALM_H

#include "cgroup/node.h"
#include "common/conf.h"
#include "hpcbd/windows/freeze.h"
#include "hpcbd/node/registry.h"

typedef struct hpcbd_calm hpcbd_calm_t;

/* node and freeze must outlive the handle; log_dir: directory of the undo log of
 * groups.  Return NULL if memory is short. */
hpcbd_calm_t *hpcbd_calm_new(const hpcb_node_t *node, hpcbd_freeze_t *freeze,
                             const char *log_dir);
/* End it and free it. */
void hpcbd_calm_free(hpcbd_calm_t *calm);

/* Scan the present guests and groups; after hpcbd_freeze_look. */
void hpcbd_calm_look(hpcbd_calm_t *calm, const hpcb_conf_t *conf,
                     const hpcbd_registry_t *registry);

void hpcbd_calm_begin(hpcbd_calm_t *calm);
void hpcbd_calm_end(hpcbd_calm_t *calm);

#endif
