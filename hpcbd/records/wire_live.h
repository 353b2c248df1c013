/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A node's report of its live state (common/live.h), sent to the collector every
 * HPCB_LIVE_REPORT_SECONDS: one frame of hpcbd/records/wire.h with a MUNGE credential
 * of
 *
 *   {"version":1,"type":"live","node":{"name":N,"time":T,"memory":B,"available":B,
 *    "protects":true,"jobs":[{"job_id":I,"guest":false,"used":B,"growth":B,"peak":B},…]}}
 *
 * with version and type first, so that reports can be recognized without parsing the
 * rest.  The collector closes the connection without an answer.  The last report of a
 * node counts; the next one replaces a lost one.  Unknown members are skipped.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_LIVE_H
#define HPCB_HPCBD_RECORDS_WIRE_LIVE_H

#include "common/live.h"

/* Return the report as text, to be encoded by MUNGE; the caller frees it.  NULL with
 * err (errno EINVAL: invalid name, or too many jobs). */
char *hpcbd_live_print(const hpcb_live_node_t *node, hpcb_error_t *err);

/* Recognize a report by its first bytes. */
bool hpcbd_live_is_report(const char *text);

/* Parse a report; the caller frees node->jobs.  Return 0, or -1 with err and node
 * unchanged. */
int hpcbd_live_parse(const char *text, hpcb_live_node_t *node, hpcb_error_t *err);

#endif
