/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output of `hpcbctl status`, separate so that it can be run on snapshots. */
#ifndef HPCB_HPCBCTL_STATUS_STATUS_H
#define HPCB_HPCBCTL_STATUS_STATUS_H

#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * Return the output of `hpcbctl status --json`; the caller puts it.  synthetic as in
 * hpcb_topology_read.  Each problem is logged and counted in *problems.  Return NULL if
 * memory is short.
 */
json_object *hpcb_status_collect(const hpcb_conf_t *conf, const hpcb_node_t *node,
                                 const char *synthetic, unsigned *problems);

/* Return its member "jobs" alone; ownership, *problems and NULL as above. */
json_object *hpcb_status_jobs(const hpcb_conf_t *conf, const hpcb_node_t *node,
                              unsigned *problems);

/* Return the text of column MECHANISM for one of these jobs. */
const char *hpcb_status_mechanism(json_object *job);

/* Print all of it for users. */
void hpcb_status_text(json_object *status, FILE *out);

#endif
