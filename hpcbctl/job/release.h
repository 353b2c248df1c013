/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Work of hpcb_release, separate so that it can be run on a snapshot. */
#ifndef HPCB_HPCBCTL_JOB_RELEASE_H
#define HPCB_HPCBCTL_JOB_RELEASE_H

#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * Undo everything on node, and return the output of `hpcbctl release --json`; the
 * caller puts it.  Each failure is logged and counted in *problems; the rest is undone
 * anyway.  Return NULL if memory is short: run it again then.  boot is CLOCK_REALTIME
 * in seconds: jobs with only older files are removed.
 */
json_object *hpcb_release_all(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              int64_t boot, unsigned *problems);

#endif
