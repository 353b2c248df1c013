/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What rules.c puts into its table, and small things that its tests share. */
#ifndef HPCB_HPCBCTL_CHECK_RULE_TESTS_H
#define HPCB_HPCBCTL_CHECK_RULE_TESTS_H

#include "hpcbctl/check/rules.h"

#define HPCB_RULE(name)                                                                \
    void hpcb_rule_##name(const hpcb_facts_t *facts, hpcb_report_t *report)

/* rules_sched.c: how slurmctld places jobs */
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

/* rules_memory.c: where guests' memory comes from */
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

/* rules_hooks.c: where we are called */
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

/* rules_node.c: what holds a job on a node */
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

/* rules_charging.c: what guests' CPUs count for */
HPCB_RULE(charging);

/* rules_profile.c: what decides where guests go */
HPCB_RULE(profile_store);
HPCB_RULE(node_capacities);

/* Do two partitions of primaries of one tier have nodes in common?  Their names. */
bool hpcb_primaries_meet(const hpcb_facts_t *facts, const char **one, const char **two);

/* Whether PluginDir of this host, the controller, has our preempt plugin. */
bool hpcb_preempt_installed(const hpcb_facts_t *facts);

/* Does slurmctld find our select plugin before Slurm's own? */
bool hpcb_has_select_plugin(const hpcb_facts_t *facts);

/* The value of key in slurm.conf as slurmctld has it, "" for none. */
const char *hpcb_setting(const hpcb_facts_t *facts, const char *key);

/* name beside slurm.conf; valid until the next call. */
const char *hpcb_slurm_file(const hpcb_facts_t *facts, const char *name);

#endif
