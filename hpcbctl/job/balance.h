/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output and release of balanced steps (hpcbd/balance/balance.h). */
#ifndef HPCB_HPCBCTL_JOB_BALANCE_H
#define HPCB_HPCBCTL_JOB_BALANCE_H

#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/* Print a table of the steps of jobs, in the format of hpcb_windows_ask; nothing if
 * there are none. */
void hpcb_balance_text(json_object *jobs, FILE *out);

/* Undo what a killed hpcbd has left.  Return the number of changes undone, or -1 with
 * err. */
int hpcb_balance_release(const hpcb_node_t *node, const hpcb_conf_t *conf,
                         hpcb_error_t *err);

#endif
