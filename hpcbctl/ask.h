/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Requests to this node's hpcbd (hpcbd/node/socket.h). */
#ifndef HPCB_HPCBCTL_ASK_H
#define HPCB_HPCBCTL_ASK_H

#include <json-c/json.h>
#include "common/error.h"

/* Send text and wait a second for one packet.  The caller frees it; NULL with err if no
 * hpcbd answers. */
json_object *hpcb_ask(const char *state_dir, const char *text, hpcb_error_t *err);

/* Get all pages of verb: all objects of a page but the last are appended to items, an
 * array.  Return the last object of the last page, which the caller frees; NULL with
 * err on failure. */
json_object *hpcb_ask_pages(const char *state_dir, const char *verb, json_object *items,
                            hpcb_error_t *err);

#endif
