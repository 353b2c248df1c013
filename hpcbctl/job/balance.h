/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What this node's hpcbd says about balanced steps (hpcbd/balance/balance.h). */
#ifndef HPCB_HPCBCTL_JOB_BALANCE_H
#define HPCB_HPCBCTL_JOB_BALANCE_H

#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"

/* A table of the steps of jobs, as hpcb_windows_ask has them; nothing where there is
 * none. */
void hpcb_balance_text(json_object *jobs, FILE *out);

/* Undo what hpcbd, if one was killed, has left of it.  The number of things undone, or
 * -1 with err. */
int hpcb_balance_release(const hpcb_node_t *node, const hpcb_conf_t *conf,
                         hpcb_error_t *err);

#endif
