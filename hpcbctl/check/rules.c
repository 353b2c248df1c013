/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Why the rules are what they are: doc/architecture.md; measured on Slurm 22.05. */
#include "config.h"

#include <stdio.h>

#include "hpcbctl/check/rule_tests.h"

#define ANY        HPCB_PLACE_ANY
#define HOST       HPCB_PLACE_HOST
#define NODE       HPCB_PLACE_NODE
#define CONTROLLER HPCB_PLACE_CONTROLLER

static void rule_slurmctld(const hpcb_facts_t *facts, hpcb_report_t *report);

static const hpcb_rule_t table[] = {
    {"slurmctld", HOST, "what the cluster really does is what its controller says",
     rule_slurmctld},
    {"configuration", HOST,
     "it contains classes and paths, and must be the same on slurmctld and all "
     "nodes",
     hpcb_rule_configuration},
    {"same-conf", ANY, "this host has the same configuration as slurmctld",
     hpcb_rule_same_conf},

    {"select-type", ANY, "only select/cons_tres lets partitions overlay each other",
     hpcb_rule_select_type},
    {"select-parameters", ANY,
     "cores and memory are both consumable: jobs of one partition share no core, and "
     "all fit into memory",
     hpcb_rule_select_parameters},
    {"default-memory", ANY,
     "a job that requests no memory gets all memory of a node, and no other job starts",
     hpcb_rule_default_memory},
    {"guest-default-memory", ANY,
     "a guest that requests no memory fits next to primaries",
     hpcb_rule_guest_default_memory},
    {"preempt-type", ANY,
     "preemption by partition or QOS would keep guests and primaries from sharing "
     "cores",
     hpcb_rule_preempt_type},
    {"preempt-mode", ANY, "Slurm's gang scheduling and suspension would stop primaries",
     hpcb_rule_preempt_mode},
    {"scheduler-type", ANY,
     "only the backfill scheduler keeps guests from reserving nodes",
     hpcb_rule_scheduler_type},
    {"guests-never-reserve", ANY,
     "a pending guest would reserve nodes that primaries need",
     hpcb_rule_guests_never_reserve},
    {"primaries-reserve", ANY,
     "smaller jobs overtake a primary below bf_min_prio_reserve forever",
     hpcb_rule_primaries_reserve},
    {"queue-depth", ANY, "slurmctld tests primaries however many guests are pending",
     hpcb_rule_queue_depth},
    {"released-guests", ANY,
     "hold and release recompute a guest's priority, which must stay low",
     hpcb_rule_released_guests},

    {"guest-partition", ANY, "guests have a partition of their own",
     hpcb_rule_guest_partition},
    {"guest-default", ANY, "jobs without a partition option are primaries",
     hpcb_rule_guest_default},
    {"guest-tier", ANY, "guests start while primaries are pending",
     hpcb_rule_guest_tier},
    {"primary-tiers", ANY,
     "partitions of different tiers overlay each other: two primaries would share "
     "cores",
     hpcb_rule_primary_tiers},
    {"oversubscribe", ANY,
     "FORCE:1: guests and primaries share cores, jobs of one partition never do; "
     "FORCE:n: they take turns",
     hpcb_rule_oversubscribe},
    {"gang-nodes", ANY,
     "jobs that take turns share cores with no job of their class that does not",
     hpcb_rule_gang_nodes},
    {"gang-memory", ANY, "all jobs that share a core are in memory at the same time",
     hpcb_rule_gang_memory},
    {"exclusive-user", ANY, "jobs of different users may share a node",
     hpcb_rule_exclusive_user},
    {"same-nodes", ANY, "guests can start on every node of primaries",
     hpcb_rule_same_nodes},
    {"guest-job-factor", ANY,
     "a guest's recomputed priority stays below bf_min_prio_reserve",
     hpcb_rule_guest_job_factor},

    {"job-submit", ANY,
     "guests are recognized, routed, tagged and checked at submission",
     hpcb_rule_job_submit},
    {"job-submit-plugin", CONTROLLER,
     "slurmctld fails to start with a plugin of another version",
     hpcb_rule_job_submit_plugin},
    {"select-plugin", CONTROLLER,
     "guests go where primaries leave bandwidth, and do not spread primaries",
     hpcb_rule_select_plugin},
    {"guest-memory", CONTROLLER,
     "guests may use memory that is allocated to primaries and not used",
     hpcb_rule_guest_memory},
    {"primaries-apart", CONTROLLER,
     "FORCE:1 lets jobs of two partitions share cores, which our select plugin "
     "prevents",
     hpcb_rule_primaries_apart},
    {"user-top", CONTROLLER,
     "users cannot raise the priority of their guests with scontrol top",
     hpcb_rule_user_top},
    {"preempt-plugin", CONTROLLER, "primaries preempt guests for memory and GRES",
     hpcb_rule_preempt_plugin},
    {"profile-store", CONTROLLER,
     "slurmctld can read the profiles of jobs, and only root can change them",
     hpcb_rule_profile_store},
    {"node-capacities", ANY, "NodeName lines name existing nodes",
     hpcb_rule_node_capacities},
    {"prolog", ANY, "the job's class is recorded before its first step starts",
     hpcb_rule_prolog},
    {"epilog", ANY, "the job's record is written and its state removed",
     hpcb_rule_epilog},
    {"prolog-flags", ANY, "the prolog runs at allocation, not with the first step",
     hpcb_rule_prolog_flags},
    {"plugstack", ANY, "guests are isolated at launch; --guest is an option of sbatch",
     hpcb_rule_plugstack},
    {"spank-plugin", ANY, "Slurm ignores a plugin of another release without a message",
     hpcb_rule_spank_plugin},
    {"mpi-library", NODE,
     "waits in MPI become sleeps, for --hpc-balance and YieldWaits",
     hpcb_rule_mpi_library},

    {"memory-limit", ANY, "a guest cannot use up a primary's memory",
     hpcb_rule_memory_limit},
    {"core-limit", ANY, "tasks stay on the cores of their job", hpcb_rule_core_limit},
    {"process-tracking", ANY, "processes that leave their session end with the job",
     hpcb_rule_process_tracking},
    {"accounting", ANY, "the memory peak of a job's record has a source",
     hpcb_rule_accounting},
    {"guest-accounting", NODE, "sacct has the CPU time of guests",
     hpcb_rule_guest_accounting},
    {"charging", ANY,
     "CPUs of a guest are also allocated to a primary, and should not count twice",
     hpcb_rule_charging},
    {"isolation", NODE, "a guest never runs next to a primary at full priority",
     hpcb_rule_isolation},
    {"sched-ext", NODE, "loaded schedulers of sched_ext ignore cpu.idle and weights",
     hpcb_rule_sched_ext},
    {"meter", NODE, "CPU time and run delay of a job's record have a source",
     hpcb_rule_meter},
    {"directories", NODE, "only root can change state and records",
     hpcb_rule_directories},
    {"experiment-key", NODE,
     "a guest that knows the times of experiments can hide its cost",
     hpcb_rule_experiment_key},
    {"munge", HOST, "MUNGE authenticates the messages of Slurm and of hpcbd",
     hpcb_rule_munge},
    {"ssh-sessions", NODE,
     "processes that a guest's owner starts through ssh are isolated, too",
     hpcb_rule_ssh_sessions},
    {"outside-jobs", NODE,
     "processes that a guest's owner starts are in the guest's job",
     hpcb_rule_outside_jobs},
    /* End of table */
};

#define ROWS (sizeof(table) / sizeof(table[0]))

const hpcb_rule_t *hpcb_rules(size_t *count)
{
    *count = ROWS;
    return table;
}

const char *hpcb_setting(const hpcb_facts_t *facts, const char *key)
{
    return hpcb_table_text(&facts->slurm.config, key);
}

const char *hpcb_slurm_file(const hpcb_facts_t *facts, const char *name)
{
    static char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", facts->etc, name) >= (int)sizeof(path))
        return name;
    return path;
}

static bool is_here(const hpcb_rule_t *rule, const hpcb_facts_t *facts)
{
    switch (rule->place) {
    case HPCB_PLACE_NODE:
        return facts->on_node || !facts->answered;
    case HPCB_PLACE_CONTROLLER:
        return facts->on_controller;
    case HPCB_PLACE_ANY:
    case HPCB_PLACE_HOST:
        break;
    }
    return true;
}

static bool must_ask(const hpcb_rule_t *rule)
{
    return rule->place == ANY || rule->place == CONTROLLER;
}

static void rule_slurmctld(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    if (facts->answered)
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "it answers, Slurm %s",
                   hpcb_setting(facts, "SLURM_VERSION"));
    else
        hpcb_found(report, HPCB_VERDICT_FAIL, NULL, "it does not answer: %s",
                   facts->cluster_error.text);
}

static void run_rule(const hpcb_rule_t *rule, const hpcb_facts_t *facts,
                     hpcb_report_t *report)
{
    report->rule = rule;
    if (!facts->answered && must_ask(rule))
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL, "slurmctld does not answer");
    else if (is_here(rule, facts))
        rule->test(facts, report);
    else
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "not here: run hpcbctl check %s",
                   rule->place == NODE ? "on a node" : "where slurmctld runs");
}

void hpcb_rules_run(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    size_t count;
    const hpcb_rule_t *rules = hpcb_rules(&count);

    *report = (hpcb_report_t){0};
    for (size_t i = 0; i < count; i++)
        run_rule(&rules[i], facts, report);
}
