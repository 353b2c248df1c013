/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bad company in the collector (policy/company.h): reports of nodes, stored in
 * CollectorDir/company.  Not durable: after a crash of the machine the list may be
 * empty, and bad pairs are found again.
 */
#ifndef HPCB_HPCBD_COLLECTOR_COMPANY_H
#define HPCB_HPCBD_COLLECTOR_COMPANY_H

#include "common/error.h"

typedef struct hpcbd_company hpcbd_company_t;

/* Start with the content of the file in dir (CollectorDir, owned by the caller).
 * Return NULL with err if memory is short; an invalid file is replaced at the next
 * report. */
hpcbd_company_t *hpcbd_company_open(const char *dir, hpcb_error_t *err);
/* company may be NULL. */
void hpcbd_company_close(hpcbd_company_t *company);

/* Add a report, and replace the file if it contains news.  A time up to five minutes in
 * the future counts as now, a later one is ignored, and one experience has the weight
 * HPCB_COMPANY_ONE at most.  Return 0, or -1 if text is no report. */
int hpcbd_company_take(hpcbd_company_t *company, const char *text);

#endif
