/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Placement of jobs by slurmctld: slurm.conf without its partitions. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/hostlist.h"
#include "common/text.h"
#include "hpcbctl/check/rule_tests.h"

#define OUR_PREEMPT "preempt/hpc_balance"

/* SchedulerParameters in a line that is pasted. */
#define PARAMETERS_MAX 4096

static const char *slurm_conf(const hpcb_facts_t *facts)
{
    return hpcb_slurm_file(facts, "slurm.conf");
}

static void expect(const hpcb_facts_t *facts, hpcb_report_t *report, const char *key,
                   const char *wanted)
{
    const char *value = hpcb_setting(facts, key);
    bool good = strcasecmp(value, wanted) == 0;

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               "%s=%s", key, value);
    if (!good)
        hpcb_mend(report, "%s=%s", key, wanted);
}

void hpcb_rule_select_type(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    expect(facts, report, "SelectType", "select/cons_tres");
}

/* CR_Core_Memory and CR_Socket_Memory keep two jobs of one queue off a core; with
 * CR_CPU_Memory the CPUs are hardware threads wherever a core has several. */
void hpcb_rule_select_parameters(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *value = hpcb_setting(facts, "SelectTypeParameters");
    hpcb_verdict_t verdict = HPCB_VERDICT_FAIL;

    if (hpcb_list_has(value, "CR_CORE_MEMORY") ||
        hpcb_list_has(value, "CR_SOCKET_MEMORY"))
        verdict = HPCB_VERDICT_OK;
    else if (hpcb_list_has(value, "CR_CPU_MEMORY"))
        verdict = HPCB_VERDICT_WARN;
    hpcb_found(report, verdict, slurm_conf(facts), "SelectTypeParameters=%s%s", value,
               verdict == HPCB_VERDICT_WARN
                   ? " (two primaries may share a core's threads)"
                   : "");
    if (verdict != HPCB_VERDICT_OK)
        hpcb_mend(report, "SelectTypeParameters=CR_Core_Memory");
}

static bool has_default_memory(const hpcb_table_t *table)
{
    return hpcb_table_number(table, "DefMemPerNode", 0) > 0 ||
           hpcb_table_number(table, "DefMemPerCPU", 0) > 0;
}

/* Another job_submit plugin may set what is missing here. */
static bool is_set_at_submission(const char *plugins)
{
    return strpbrk(plugins, ",") != NULL;
}

void hpcb_rule_default_memory(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    bool maybe = is_set_at_submission(hpcb_setting(facts, "JobSubmitPlugins"));
    bool global = has_default_memory(&facts->slurm.config);

    for (size_t i = 0; i < facts->slurm.n_partitions; i++) {
        const hpcb_table_t *partition = &facts->slurm.partitions[i];

        if (global || has_default_memory(partition))
            continue;
        hpcb_found(report, maybe ? HPCB_VERDICT_WARN : HPCB_VERDICT_FAIL,
                   slurm_conf(facts),
                   "no DefMemPerCPU and no DefMemPerNode for partition %s",
                   hpcb_table_text(partition, "PartitionName"));
        hpcb_mend(report, "DefMemPerCPU=1000");
        return;
    }
    hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "a default is set");
}

/* Slurm before and after 24.05 calls "no preemption" differently. */
static bool is_no_preemption(const char *type)
{
    return *type == '\0' || strcasecmp(type, "preempt/none") == 0 ||
           strcasecmp(type, "none") == 0;
}

void hpcb_rule_preempt_type(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *type = hpcb_setting(facts, "PreemptType");
    bool good = is_no_preemption(type) || strcasecmp(type, OUR_PREEMPT) == 0;

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PreemptType=%s", *type ? type : "preempt/none");
    if (!good)
        hpcb_mend(report, "PreemptType=%s",
                  hpcb_preempt_installed(facts) ? OUR_PREEMPT : "preempt/none");
}

void hpcb_rule_preempt_mode(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *type = hpcb_setting(facts, "PreemptType");
    bool ours = strcasecmp(type, OUR_PREEMPT) == 0 ||
                (!is_no_preemption(type) && hpcb_preempt_installed(facts));
    const char *mode = hpcb_setting(facts, "PreemptMode");
    bool stops = hpcb_list_has(mode, "GANG") || hpcb_list_has(mode, "SUSPEND");
    bool good = ours ? strcasecmp(mode, "REQUEUE") == 0 : !stops;

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PreemptMode=%s", mode);
    if (!good)
        hpcb_mend(report, "PreemptMode=%s", ours ? "REQUEUE" : "OFF");
}

void hpcb_rule_scheduler_type(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    expect(facts, report, "SchedulerType", "sched/backfill");
}

/* A number of SchedulerParameters. */
static uint64_t parameter(const hpcb_facts_t *facts, const char *key, uint64_t fallback)
{
    const char *parameters = hpcb_setting(facts, "SchedulerParameters");
    char text[32];
    uint64_t number = fallback;

    if (hpcb_list_value(parameters, key, text, sizeof(text)))
        hpcb_text_u64(text, UINT32_MAX, &number);
    return number;
}

/* 0 for none. */
static uint64_t backfill_limit(const hpcb_facts_t *facts)
{
    return parameter(facts, "bf_min_prio_reserve", 0);
}

/* MinPrioThreshold of the guests' QOS applies if limits are enforced, and then replaces
 * bf_min_prio_reserve, whether it is higher or lower (source of Slurm 22.05). */
static bool qos_decides(const hpcb_facts_t *facts)
{
    return facts->qos_threshold != UINT64_MAX && facts->qos_threshold != 0 &&
           hpcb_list_has(hpcb_setting(facts, "AccountingStorageEnforce"), "limits");
}

/* SchedulerParameters as they are, less what sets key.  False where they do not fit. */
static bool without(const char *list, const char *key, char *out, size_t size)
{
    size_t used = 0, length = strlen(key);

    out[0] = '\0';
    while (*list) {
        size_t word = strcspn(list, ",");

        if (word > 0 && (strncasecmp(list, key, length) != 0 || list[length] != '=')) {
            int n = snprintf(out + used, size - used, "%.*s,", (int)word, list);

            if (n < 0 || (size_t)n >= size - used)
                return false;
            used += (size_t)n;
        }
        list += word + (list[word] == ',');
    }
    return true;
}

/* A queue of guests alone cannot use up a cycle of the scheduler. */
static bool has_depths(const hpcb_facts_t *facts)
{
    uint64_t all = parameter(facts, "default_queue_depth", 100);
    uint64_t part = parameter(facts, "partition_job_depth", 0);

    return part > 0 && part < all && parameter(facts, "bf_max_job_part", 0) > 0;
}

static bool reserves_above_guests(const hpcb_facts_t *facts)
{
    uint64_t limit = qos_decides(facts) ? facts->qos_threshold : backfill_limit(facts);

    return limit > facts->conf.guest_priority;
}

static uint64_t wanted_limit(const hpcb_facts_t *facts)
{
    return facts->conf.guest_priority < 1000 ? 1000
                                             : (uint64_t)facts->conf.guest_priority + 1;
}

/* Set key in list.  Return false if it does not fit. */
static bool set_parameter(char *list, size_t size, const char *key, uint64_t value)
{
    char rest[PARAMETERS_MAX];
    size_t used;

    if (!without(list, key, rest, sizeof(rest)))
        return false;
    used = strlen(rest);
    return snprintf(list, size, "%s%s=%" PRIu64, rest, key, value) < (int)size &&
           used < size;
}

/* The whole list as all rules want it, so that no line undoes another; key and value
 * alone if it is too long. */
static void mend_parameters(const hpcb_facts_t *facts, hpcb_report_t *report,
                            const char *alone)
{
    const char *now = hpcb_setting(facts, "SchedulerParameters");
    char list[PARAMETERS_MAX];
    bool whole = strlen(now) < sizeof(list);

    hpcb_text_copy(list, sizeof(list), strcmp(now, "(null)") == 0 ? "" : now);
    if (!qos_decides(facts) && !reserves_above_guests(facts))
        whole = whole && set_parameter(list, sizeof(list), "bf_min_prio_reserve",
                                       wanted_limit(facts));
    if (!has_depths(facts))
        whole = whole &&
                set_parameter(list, sizeof(list), "default_queue_depth", 1000) &&
                set_parameter(list, sizeof(list), "partition_job_depth", 100) &&
                set_parameter(list, sizeof(list), "bf_max_job_part", 100);
    if (whole)
        hpcb_mend(report, "SchedulerParameters=%s", list);
    else
        hpcb_mend(report, "%s (in SchedulerParameters)", alone);
}

static void mend_reserve(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char alone[64];

    snprintf(alone, sizeof(alone), "bf_min_prio_reserve=%" PRIu64, wanted_limit(facts));
    if (qos_decides(facts))
        hpcb_mend(report, "sacctmgr modify qos %s set MinPrioThreshold=%" PRIu64,
                  facts->conf.guest_qos, wanted_limit(facts));
    else
        mend_parameters(facts, report, alone);
}

void hpcb_rule_guests_never_reserve(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    uint64_t limit = qos_decides(facts) ? facts->qos_threshold : backfill_limit(facts);
    bool good = reserves_above_guests(facts);

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               limit ? "jobs below priority %" PRIu64
                       " do not reserve, guests have %" PRIu32
                     : "no bf_min_prio_reserve in SchedulerParameters",
               limit, facts->conf.guest_priority);
    if (!good)
        mend_reserve(facts, report);
}

/*
 * Guests precede primaries in the queue, and each job of a blocked partition still
 * counts: if more than default_queue_depth guests wait, primaries are not considered
 * when a job ends, but only every sched_interval, and likewise by the backfill
 * scheduler (job_scheduler.c and backfill.c of Slurm 22.05 to 26.05).  Jobs beyond a
 * partition's own limit are skipped before they count.
 */
void hpcb_rule_queue_depth(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    uint64_t all = parameter(facts, "default_queue_depth", 100);
    uint64_t part = parameter(facts, "partition_job_depth", 0);
    uint64_t backfill = parameter(facts, "bf_max_job_part", 0);
    bool good = has_depths(facts);

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_WARN, slurm_conf(facts),
               "default_queue_depth=%" PRIu64 ", partition_job_depth=%" PRIu64
               ", bf_max_job_part=%" PRIu64 "%s",
               all, part, backfill,
               good ? "" : " (0: guests alone may use up a cycle of the scheduler)");
    if (!good)
        mend_parameters(facts, report,
                        "default_queue_depth=1000,partition_job_depth=100,"
                        "bf_max_job_part=100");
}

static bool is_multifactor(const hpcb_facts_t *facts)
{
    return strcasecmp(hpcb_setting(facts, "PriorityType"), "priority/multifactor") == 0;
}

static uint64_t highest_factor(const hpcb_facts_t *facts)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < facts->slurm.n_partitions; i++) {
        uint64_t factor =
            hpcb_table_number(&facts->slurm.partitions[i], "PriorityJobFactor", 1);

        highest = factor > highest ? factor : highest;
    }
    return highest;
}

/* Return the priority of a job for being in the partition alone: the other factors may
 * be 0 (a new job has no age, its owner may have no fair share). */
static uint64_t priority_floor(const hpcb_facts_t *facts, const hpcb_table_t *partition)
{
    uint64_t weight =
        hpcb_table_number(&facts->slurm.config, "PriorityWeightPartition", 0);
    uint64_t factor = hpcb_table_number(partition, "PriorityJobFactor", 1);
    uint64_t highest = highest_factor(facts);

    return highest ? (uint64_t)((double)weight * (double)factor / (double)highest) : 0;
}

/* priority/basic counts down from 4294901760. */
void hpcb_rule_primaries_reserve(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    /* As it is after what the rule above asks for. */
    uint64_t limit =
        reserves_above_guests(facts) ? backfill_limit(facts) : wanted_limit(facts);

    for (size_t i = 0; is_multifactor(facts) && i < facts->slurm.n_partitions; i++) {
        const hpcb_table_t *partition = &facts->slurm.partitions[i];
        const char *name = hpcb_table_text(partition, "PartitionName");
        uint64_t floor = priority_floor(facts, partition);

        if (hpcb_conf_is_guest(&facts->conf, name) || floor >= limit)
            continue;
        hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                   "PriorityWeightPartition=%s gives a job in partition %s a priority "
                   "of only %" PRIu64 ", bf_min_prio_reserve is %" PRIu64,
                   hpcb_setting(facts, "PriorityWeightPartition"), name, floor, limit);
        hpcb_mend(report,
                  "PriorityWeightPartition=%" PRIu64
                  " (and PriorityJobFactor=1 or more for each partition of primaries)",
                  limit * 10);
        return;
    }
    hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "PriorityType=%s",
               hpcb_setting(facts, "PriorityType"));
}

/* With priority/multifactor our job_submit plugin gives guests the lowest site factor,
 * which a recomputed priority keeps; priority/basic knows no factors. */
void hpcb_rule_released_guests(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    bool good = is_multifactor(facts);

    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PriorityType=%s%s", hpcb_setting(facts, "PriorityType"),
               good ? "" : " (a guest that was held and released reserves nodes)");
    if (!good)
        hpcb_mend(report, "PriorityType=priority/multifactor (with "
                          "PriorityWeightPartition=100000)");
}
