/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A node's report of bad company (policy/company.h), as it goes to the collector when
 * the guard has sent guests away, and again each minute for an hour: one frame of
 * hpcbd/records/wire.h with a MUNGE credential around
 *
 *   {"version":1,"type":"company","pairs":"hpcb-company 1\n…"}
 *
 * The collector closes the connection, without an answer.  What it has already changes
 * nothing.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_COMPANY_H
#define HPCB_HPCBD_RECORDS_WIRE_COMPANY_H

#include "common/error.h"
#include "policy/company.h"

/* The report as text, to be sealed; the caller frees it.  NULL with err when memory
 * runs out. */
char *hpcbd_company_report(const hpcb_company_t *company, hpcb_error_t *err);

/* Tell a report from other messages by its first bytes. */
bool hpcbd_company_is_report(const char *text);

/* Read a report.  0, or -1 with company undefined. */
int hpcbd_company_read(const char *text, hpcb_company_t *company);

#endif
