/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What hpcb_release does, apart from it so that it can be tried on a snapshot. */
#ifndef HPCB_HPCBCTL_JOB_RELEASE_H
#define HPCB_HPCBCTL_JOB_RELEASE_H

#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * Undo everything on node, and return what `hpcbctl release --json` says; the caller
 * puts it.  What could not be undone is logged and raises *problems by one each; the
 * rest is done all the same.  NULL when memory runs out: another run then goes on.
 * boot is CLOCK_REALTIME in seconds: jobs all of whose files are older are forgotten.
 */
json_object *hpcb_release_all(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              int64_t boot, unsigned *problems);

#endif
