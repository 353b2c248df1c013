/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm counts the CPUs allocated to a job, and those of a guest are allocated to a
 * primary as well.  UsageFactor of the guests' QOS and TRESBillingWeights of their
 * partition determine how much of it is usage (Slurm 22.05, priority/multifactor and
 * acct_policy.c).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hpcbctl/check/rule_tests.h"

static bool has_fairshare(const hpcb_facts_t *facts)
{
    return hpcb_table_number(&facts->slurm.config, "PriorityWeightFairShare", 0) > 0;
}

static bool has_limits(const hpcb_facts_t *facts)
{
    const char *enforced = hpcb_setting(facts, "AccountingStorageEnforce");

    return hpcb_list_has(enforced, "limits") || hpcb_list_has(enforced, "safe");
}

/* "CPU=0.0,Mem=0": nothing but zeros.  Limits of CPU minutes do not ask for it. */
static bool is_free(const hpcb_facts_t *facts)
{
    const hpcb_table_t *partition =
        hpcb_slurm_partition(&facts->slurm, facts->conf.guest_partition);
    const char *weights =
        partition ? hpcb_table_text(partition, "TRESBillingWeights") : "";
    const char *value = strchr(weights, '=');

    for (; value; value = strchr(value + 1, '='))
        if (strtod(value + 1, NULL) > 0)
            return false;
    return strchr(weights, '=') != NULL;
}

static void mend_charging(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    if (*facts->conf.guest_qos)
        hpcb_mend(report, "sacctmgr -i modify qos %s set UsageFactor=0",
                  facts->conf.guest_qos);
    else
        hpcb_mend(report, "GuestQOS=guest (after sacctmgr -i add qos guest "
                          "UsageFactor=0, and for users: sacctmgr -i modify user "
                          "NAME set qos+=guest)");
}

void hpcb_rule_charging(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *qos = facts->conf.guest_qos;

    if (!has_fairshare(facts) && !has_limits(facts)) {
        hpcb_found(report, HPCB_VERDICT_OK, NULL,
                   "no fairshare and no limits: usage counts for nothing");
    } else if (!has_limits(facts) && is_free(facts)) {
        hpcb_found(report, HPCB_VERDICT_OK, hpcb_slurm_file(facts, "slurm.conf"),
                   "TRESBillingWeights of the guests' partition are 0");
    } else if (*qos && facts->qos_usage_factor == 0) {
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "QOS %s has UsageFactor=0", qos);
    } else if (*qos && facts->qos_usage_factor < 0) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "slurmdbd does not say what UsageFactor QOS %s has", qos);
    } else {
        hpcb_found(report, HPCB_VERDICT_WARN, *qos ? NULL : facts->conf_path,
                   "the CPUs of guests count as usage of their users, in fairshare and "
                   "limits");
        mend_charging(facts, report);
    }
}
