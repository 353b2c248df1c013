/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A node's report of bad company (policy/company.h), sent to the collector when the
 * guard has requeued guests, and again each minute for an hour: one frame of
 * hpcbd/records/wire.h with a MUNGE credential of
 *
 *   {"version":1,"type":"company","pairs":"hpcb-company 1\n…"}
 *
 * The collector closes the connection without an answer.  A repeated report has no
 * effect.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_COMPANY_H
#define HPCB_HPCBD_RECORDS_WIRE_COMPANY_H

#include "common/error.h"
#include "policy/company.h"

/* Return the report as text, to be encoded by MUNGE; the caller frees it.  NULL with
 * err if memory is short. */
char *hpcbd_company_report(const hpcb_company_t *company, hpcb_error_t *err);

/* Recognize a report by its first bytes. */
bool hpcbd_company_is_report(const char *text);

/* Parse a report.  Return 0, or -1 with company undefined. */
int hpcbd_company_read(const char *text, hpcb_company_t *company);

#endif
