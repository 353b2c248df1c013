/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bad company (policy/company.h): nodes on which a guest's program has harmed
 * that of a primary running there now.
 *
 * Called with slurmctld's job and node write locks held.
 */
#include "select/shadow.h"

#include "common/log.h"
#include "select/reader.h"

static hpcb_company_t *company = NULL;	/* NULL: no bad company */
static bool complained = false;

/* The primaries that the guest of this test is to be kept off. */
static hpcb_company_bad_t bad[HPCB_COMPANY_USER_MAX];
static size_t n_bad = 0;

static void _take_new(void)
{
	hpcb_error_t err = { "" };

	if (!hpcb_reader_company(&company, &err))
		return;
	if (err.text[0])
		hpcb_log_once(&complained, HPCB_LOG_ERROR,
			      "bad company is not avoided: %s", err.text);
	else
		complained = false;
}

extern void hpcb_company_begin(uint64_t program, time_t now)
{
	hpcb_reports_refresh(now);
	_take_new();
	n_bad = (company && program) ? hpcb_company_of(company, program, now, bad) : 0;
}

extern hpcb_company_verdict_t hpcb_company_on(const hpcb_usage_t *usage, int node_inx)
{
	hpcb_company_verdict_t worst = HPCB_COMPANY_FINE;
	size_t i;

	for (i = 0; i < n_bad; i++) {
		if ((bad[i].verdict > worst) &&
		    hpcb_usage_has_primary(usage, node_inx, bad[i].primary))
			worst = bad[i].verdict;
	}
	return worst;
}
