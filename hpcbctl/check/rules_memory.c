/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Source of guests' memory. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/live.h"
#include "hpcbctl/check/rule_tests.h"

#define AS_ALLOCATED "GuestMemory=unused works as allocated: "

/* CR_Core_Memory and the like, and CR_Memory. */
static bool counts_memory(const char *parameters)
{
    return strcasestr(parameters, "MEMORY") != NULL;
}

static size_t count_lenders(const hpcb_live_t *live)
{
    int64_t now = (int64_t)time(NULL);
    size_t lenders = 0;

    for (size_t i = 0; i < live->n_nodes; i++)
        lenders += live->nodes[i].protects && hpcb_live_is_fresh(&live->nodes[i], now);
    return lenders;
}

static void check_reports(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    hpcb_live_known_t known = {0};
    hpcb_live_t live = {0};
    hpcb_error_t err;
    size_t lenders;

    if (hpcb_live_read(facts->conf.collector_dir, &known, &live, &err) < 0) {
        hpcb_found(report, HPCB_VERDICT_WARN, facts->conf_path, AS_ALLOCATED "%s",
                   errno == ENOENT ? "no node has reported to the collector"
                                   : err.text);
        return;
    }
    lenders = count_lenders(&live);
    if (lenders > 0)
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "GuestMemory=unused: %zu of %zu nodes that report lend memory",
                   lenders, live.n_nodes);
    else
        hpcb_found(report, HPCB_VERDICT_WARN, facts->conf_path,
                   AS_ALLOCATED
                   "none of %zu nodes has reported in the last %d s that it "
                   "protects primaries",
                   live.n_nodes, HPCB_LIVE_STALE_SECONDS);
    hpcb_live_clear(&live);
}

/* Report the mode in force, and why. */
void hpcb_rule_guest_memory(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *parameters = hpcb_setting(facts, "SelectTypeParameters");

    if (!facts->conf.guest_memory_unused) {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "GuestMemory=allocated: guests wait for memory that Slurm has not "
                   "allocated");
    } else if (!counts_memory(parameters)) {
        hpcb_found(report, HPCB_VERDICT_WARN, hpcb_slurm_file(facts, "slurm.conf"),
                   "SelectTypeParameters=%s: Slurm does not count memory, and nothing "
                   "keeps guests from taking it all",
                   parameters);
        hpcb_mend(report, "SelectTypeParameters=CR_Core_Memory");
    } else if (!hpcb_has_select_plugin(facts)) {
        hpcb_found(report, HPCB_VERDICT_WARN, NULL,
                   AS_ALLOCATED "it is not available without our select plugin");
    } else if (*facts->conf.collector_hosts == '\0') {
        hpcb_found(report, HPCB_VERDICT_WARN, facts->conf_path,
                   AS_ALLOCATED "without CollectorHost nodes report nothing");
        hpcb_mend(report, "CollectorHost=%s", facts->host);
    } else {
        check_reports(facts, report);
    }
}

/* MiB that a job of all CPUs of this node gets if it names no memory, 0: not known. */
static uint64_t default_of_node(const hpcb_facts_t *facts)
{
    const hpcb_table_t *config = &facts->slurm.config;
    uint64_t whole = hpcb_table_number(config, "DefMemPerNode", 0);
    uint64_t cpus = hpcb_table_number(&facts->slurm.node, "CPUTot", 0);

    return whole ? whole : cpus * hpcb_table_number(config, "DefMemPerCPU", 0);
}

/* DefMemPerCPU is usually a CPU's share of RealMemory. */
void hpcb_rule_guest_default_memory(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *partition =
        hpcb_slurm_partition(&facts->slurm, facts->conf.guest_partition);
    const char *file = hpcb_slurm_file(facts, "slurm.conf");
    uint64_t real = hpcb_table_number(&facts->slurm.node, "RealMemory", 0);

    if (!partition || hpcb_table_number(partition, "DefMemPerNode", 0) > 0 ||
        hpcb_table_number(partition, "DefMemPerCPU", 0) > 0 || real == 0 ||
        default_of_node(facts) < real / 10 * 9) {
        hpcb_found(report, HPCB_VERDICT_OK, file,
                   "guests that request no memory leave memory for others");
        return;
    }
    hpcb_found(report, HPCB_VERDICT_WARN, file,
               "guests that name no memory get what primaries do, %" PRIu64
               " of %" PRIu64 " MiB for all CPUs",
               default_of_node(facts), real);
    hpcb_mend(report, "PartitionName=%s DefMemPerCPU=1000",
              facts->conf.guest_partition);
}
