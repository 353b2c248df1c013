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
     "classes and paths are taken from it; slurmctld and all "
     "nodes must agree",
     hpcb_rule_configuration},
    {"same-conf", ANY, "this host works with the configuration that slurmctld has",
     hpcb_rule_same_conf},

    {"select-type", ANY, "only select/cons_tres lets partitions overlay each other",
     hpcb_rule_select_type},
    {"select-parameters", ANY,
     "cores and memory are both counted: jobs of one queue share no core, all of "
     "them fit into memory",
     hpcb_rule_select_parameters},
    {"default-memory", ANY,
     "a job that names no memory takes all of a node's, and nothing can run beside it",
     hpcb_rule_default_memory},
    {"guest-default-memory", ANY, "a guest that names no memory fits beside primaries",
     hpcb_rule_guest_default_memory},
    {"preempt-type", ANY, "preemption by partition or QOS takes the overlay apart",
     hpcb_rule_preempt_type},
    {"preempt-mode", ANY, "Slurm's gang scheduling and suspension would stop primaries",
     hpcb_rule_preempt_mode},
    {"scheduler-type", ANY,
     "guests are kept from reserving nodes by the backfill scheduler only",
     hpcb_rule_scheduler_type},
    {"guests-never-reserve", ANY,
     "a waiting guest would hold nodes back from primaries",
     hpcb_rule_guests_never_reserve},
    {"primaries-reserve", ANY,
     "a waiting primary below bf_min_prio_reserve is passed by smaller ones for ever",
     hpcb_rule_primaries_reserve},
    {"queue-depth", ANY, "primaries are looked at however many guests wait",
     hpcb_rule_queue_depth},
    {"released-guests", ANY,
     "a guest that is held and released gets a new priority, which must stay low",
     hpcb_rule_released_guests},

    {"guest-partition", ANY, "guests have a queue of their own",
     hpcb_rule_guest_partition},
    {"guest-default", ANY, "jobs that name no partition are primaries",
     hpcb_rule_guest_default},
    {"guest-tier", ANY, "guests start behind a queue of waiting primaries",
     hpcb_rule_guest_tier},
    {"primary-tiers", ANY,
     "partitions of different tiers overlay each other: two primaries would share "
     "cores",
     hpcb_rule_primary_tiers},
    {"oversubscribe", ANY,
     "FORCE:1: guests and primaries share cores, jobs of one queue never do; FORCE:n: "
     "they take turns",
     hpcb_rule_oversubscribe},
    {"gang-nodes", ANY,
     "who takes turns shares cores with nobody of its class that does not",
     hpcb_rule_gang_nodes},
    {"gang-memory", ANY, "what shares a core is in memory together, whoever runs",
     hpcb_rule_gang_memory},
    {"exclusive-user", ANY, "users' jobs may meet on a node", hpcb_rule_exclusive_user},
    {"same-nodes", ANY, "guests reach every node that primaries use",
     hpcb_rule_same_nodes},
    {"guest-job-factor", ANY,
     "a guest's recomputed priority stays below bf_min_prio_reserve",
     hpcb_rule_guest_job_factor},

    {"job-submit", ANY,
     "guests are recognised, routed, tagged and checked at submission",
     hpcb_rule_job_submit},
    {"job-submit-plugin", CONTROLLER,
     "slurmctld does not start with a plugin of another version",
     hpcb_rule_job_submit_plugin},
    {"select-plugin", CONTROLLER,
     "guests go where primaries leave room, and do not spread primaries",
     hpcb_rule_select_plugin},
    {"guest-memory", CONTROLLER,
     "guests start where primaries hold memory only on paper", hpcb_rule_guest_memory},
    {"primaries-apart", CONTROLLER,
     "FORCE:1 lets jobs of two partitions share cores, which our select plugin "
     "prevents",
     hpcb_rule_primaries_apart},
    {"user-top", CONTROLLER,
     "users cannot raise the priority of their guests with scontrol top",
     hpcb_rule_user_top},
    {"preempt-plugin", CONTROLLER, "primaries take memory and GRES back from guests",
     hpcb_rule_preempt_plugin},
    {"profile-store", CONTROLLER,
     "slurmctld can read what jobs have used, and nobody but root can change it",
     hpcb_rule_profile_store},
    {"node-capacities", ANY, "the nodes of NodeName lines are those that were meant",
     hpcb_rule_node_capacities},
    {"prolog", ANY, "the job's class is on record before its first step starts",
     hpcb_rule_prolog},
    {"epilog", ANY, "the job's record is written and every trace of it removed",
     hpcb_rule_epilog},
    {"prolog-flags", ANY, "the prolog runs at allocation, not with the first step",
     hpcb_rule_prolog_flags},
    {"plugstack", ANY, "guests are lowered at launch; --guest is an option of sbatch",
     hpcb_rule_plugstack},
    {"spank-plugin", ANY, "Slurm ignores a plugin of another release without a word",
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
     "CPUs that a guest holds are a primary's, and should not count twice",
     hpcb_rule_charging},
    {"isolation", NODE, "a guest never runs beside a primary at full priority",
     hpcb_rule_isolation},
    {"sched-ext", NODE, "loaded schedulers of sched_ext ignore cpu.idle and weights",
     hpcb_rule_sched_ext},
    {"meter", NODE, "CPU time and run delay of a job's record have a source",
     hpcb_rule_meter},
    {"directories", NODE, "state and records are root's alone", hpcb_rule_directories},
    {"experiment-key", NODE,
     "a guest that knows when experiments are can hide what it costs",
     hpcb_rule_experiment_key},
    {"munge", HOST, "Slurm's messages, and later our own, are signed by MUNGE",
     hpcb_rule_munge},
    {"ssh-sessions", NODE, "what a guest's owner starts through ssh is lowered too",
     hpcb_rule_ssh_sessions},
    {"outside-jobs", NODE, "what a guest's owner starts is in the guest's job",
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
