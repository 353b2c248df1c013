/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's part of bad company (policy/company.h): what nodes have reported, in
 * CollectorDir/company.  Not durable: after a crash of the machine the list may be
 * empty, and what is bad proves so again.
 */
#ifndef HPCB_HPCBD_COLLECTOR_COMPANY_H
#define HPCB_HPCBD_COLLECTOR_COMPANY_H

#include "common/error.h"

typedef struct hpcbd_company hpcbd_company_t;

/* Begin with what the file in dir (CollectorDir, the caller's) has.  NULL with err if
 * memory runs out; a file that is none is replaced by the next report. */
hpcbd_company_t *hpcbd_company_open(const char *dir, hpcb_error_t *err);
/* NULL is fine. */
void hpcbd_company_close(hpcbd_company_t *company);

/* Take a report of text, and replace the file if there is news in it.  A time
 * up to five minutes in the future counts as now, a later one is ignored, and one
 * experience weighs HPCB_COMPANY_ONE at most.  0, or -1:
 * it is no report. */
int hpcbd_company_take(hpcbd_company_t *company, const char *text);

#endif
