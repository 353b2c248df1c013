/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What this node's hpcbd says about windows (hpcbd/node/socket.h). */
#ifndef HPCB_HPCBCTL_JOB_WINDOWS_H
#define HPCB_HPCBCTL_JOB_WINDOWS_H

#include <stdio.h>
#include <json-c/json.h>
#include "common/error.h"
#include "hpcbctl/verbs.h"

/* Its last message with "jobs": an array, in place of their number.  Waits for a second
 * at most.  The caller frees it; NULL with err where no hpcbd answers. */
json_object *hpcb_windows_ask(const char *state_dir, hpcb_error_t *err);

/* The windows and the balanced steps of "jobs"; nothing if there are none. */
void hpcb_windows_jobs_text(json_object *jobs, FILE *out);

/* Print hpcbd's message: 0; 1 with a line where no hpcbd answers. */
int hpcb_windows_json(const hpcb_ctl_t *ctl);

/* hpcbd NULL: there is none. */
void hpcb_windows_text(json_object *hpcbd, FILE *out);

#endif
