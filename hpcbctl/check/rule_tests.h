/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Functions for the table in rules.c, and small helpers of the tests. */
#ifndef HPCB_HPCBCTL_CHECK_RULE_TESTS_H
#define HPCB_HPCBCTL_CHECK_RULE_TESTS_H

#include "hpcbctl/check/rules.h"

#define HPCB_RULE(name)                                                                \
    void hpcb_rule_##name(const hpcb_facts_t *facts, hpcb_report_t *report)

/* rules_sched.c: placement of jobs by slurmctld */
HPCB_RULE(select_type);
HPCB_RULE(select_parameters);
HPCB_RULE(default_memory);
HPCB_RULE(preempt_type);
HPCB_RULE(preempt_mode);
HPCB_RULE(scheduler_type);
HPCB_RULE(guests_never_reserve);
HPCB_RULE(primaries_reserve);
HPCB_RULE(queue_depth);
HPCB_RULE(released_guests);

/* rules_memory.c: source of guests' memory */
HPCB_RULE(guest_memory);
HPCB_RULE(guest_default_memory);

/* rules_partition.c: the two queues */
HPCB_RULE(guest_partition);
HPCB_RULE(guest_default);
HPCB_RULE(guest_tier);
HPCB_RULE(primary_tiers);
HPCB_RULE(oversubscribe);
HPCB_RULE(gang_nodes);
HPCB_RULE(gang_memory);
HPCB_RULE(exclusive_user);
HPCB_RULE(same_nodes);
HPCB_RULE(guest_job_factor);

/* rules_hooks.c: our plugins and scripts */
HPCB_RULE(job_submit);
HPCB_RULE(job_submit_plugin);
HPCB_RULE(select_plugin);
HPCB_RULE(primaries_apart);
HPCB_RULE(user_top);
HPCB_RULE(preempt_plugin);
HPCB_RULE(prolog);
HPCB_RULE(epilog);
HPCB_RULE(prolog_flags);
HPCB_RULE(plugstack);
HPCB_RULE(spank_plugin);
HPCB_RULE(mpi_library);

/* rules_node.c: confinement of jobs on a node */
HPCB_RULE(same_conf);
HPCB_RULE(configuration);
HPCB_RULE(memory_limit);
HPCB_RULE(core_limit);
HPCB_RULE(process_tracking);
HPCB_RULE(accounting);
HPCB_RULE(guest_accounting);
HPCB_RULE(isolation);
HPCB_RULE(sched_ext);
HPCB_RULE(meter);
HPCB_RULE(directories);
HPCB_RULE(experiment_key);
HPCB_RULE(munge);
HPCB_RULE(ssh_sessions);
HPCB_RULE(outside_jobs);

/* rules_charging.c: billing of guests' CPUs */
HPCB_RULE(charging);

/* rules_profile.c: input of guests' placement */
HPCB_RULE(profile_store);
HPCB_RULE(node_capacities);

/* Return whether two partitions of primaries of one tier have nodes in common, with
 * their names. */
bool hpcb_primaries_meet(const hpcb_facts_t *facts, const char **one, const char **two);

/* Return whether PluginDir of this host, the controller, contains our preempt
 * plugin. */
bool hpcb_preempt_installed(const hpcb_facts_t *facts);

/* Return whether slurmctld finds our select plugin before Slurm's own. */
bool hpcb_has_select_plugin(const hpcb_facts_t *facts);

/* Return the value of key in slurm.conf as slurmctld has it, "" for none. */
const char *hpcb_setting(const hpcb_facts_t *facts, const char *key);

/* Return the path of name in slurm.conf's directory; valid until the next call. */
const char *hpcb_slurm_file(const hpcb_facts_t *facts, const char *name);

#endif
