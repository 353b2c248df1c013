/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Status of windows from this node's hpcbd (hpcbd/node/socket.h). */
#ifndef HPCB_HPCBCTL_JOB_WINDOWS_H
#define HPCB_HPCBCTL_JOB_WINDOWS_H

#include <stdio.h>
#include <json-c/json.h>
#include "common/error.h"
#include "hpcbctl/verbs.h"

/* Get its last message with "jobs" as an array instead of their number.  Waits for a
 * second at most.  The caller frees it; NULL with err if no hpcbd answers. */
json_object *hpcb_windows_ask(const char *state_dir, hpcb_error_t *err);

/* Print windows and balanced steps of "jobs"; nothing if there are none. */
void hpcb_windows_jobs_text(json_object *jobs, FILE *out);

/* Print hpcbd's message and return 0, or print a line and return 1 if no hpcbd
 * answers. */
int hpcb_windows_json(const hpcb_ctl_t *ctl);

/* hpcbd NULL: it does not answer. */
void hpcb_windows_text(json_object *hpcbd, FILE *out);

#endif
