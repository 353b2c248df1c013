/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What hpcb_status prints, made apart from it so that snapshots can be looked at. */
#ifndef HPCB_HPCBCTL_STATUS_STATUS_H
#define HPCB_HPCBCTL_STATUS_STATUS_H

#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * Everything that `hpcbctl status --json` says; the caller puts it.  synthetic as for
 * hpcb_topology_read.  *problems is raised by one for each thing that is wrong, which
 * is logged.  NULL when memory runs out.
 */
json_object *hpcb_status_collect(const hpcb_conf_t *conf, const hpcb_node_t *node,
                                 const char *synthetic, unsigned *problems);

/* Its member "jobs" alone, likewise. */
json_object *hpcb_status_jobs(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              unsigned *problems);

/* What the column MECHANISM says of one of these jobs. */
const char *hpcb_status_mechanism(json_object *job);

/* All of it for people. */
void hpcb_status_text(json_object *status, FILE *out);

#endif
