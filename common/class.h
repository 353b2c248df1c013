/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who is a guest.  Pure: text in, class out.  Two questions that must never be mixed:
 * what root records for the whole job (from slurmctld's word), and what a step is
 * taken for when no such record exists (hints, which can only lower).
 */
#ifndef HPCB_COMMON_CLASS_H
#define HPCB_COMMON_CLASS_H

#include <stdbool.h>
#include "common/conf.h"
#include "common/options.h"

typedef enum { HPCB_CLASS_UNKNOWN, HPCB_CLASS_PRIMARY, HPCB_CLASS_GUEST } hpcb_class_t;

const char *hpcb_class_name(hpcb_class_t klass);

/* The reverse, "unknown" included.  0, or -1 with klass untouched. */
int hpcb_class_from_name(const char *name, hpcb_class_t *klass);

/* What begins the label of a guest; the partition that it was sent to follows. */
#define HPCB_CLASS_LABEL_GUEST "guest@"

/*
 * The class to record, from the prolog's environment.  conf_read tells whether conf
 * was read from its file or holds the defaults; partition is SLURM_JOB_PARTITION
 * (from the credential) and label SPANK_HPCB_CLASS (last written by our job_submit
 * plugin); both may be NULL.  The node's file may be another than the one that
 * slurmctld has read, because that reads it when it is reconfigured: who was submitted
 * as a guest is one as long as the job is in that partition.  Otherwise label is
 * believed only when the configuration cannot be read: nothing that a user might have
 * written makes a primary of a guest.
 */
hpcb_class_t hpcb_class_of_job(const hpcb_conf_t *conf, bool conf_read,
                               const char *partition, const char *label);

/* The class of a step whose job has no record: GUEST when either hint says so, else
 * UNKNOWN.  Both hints come from the user; partition may be NULL. */
hpcb_class_t hpcb_class_of_hints(const hpcb_conf_t *conf, bool guest_option,
                                 const char *partition);

/* Whether a job's waits are turned into sleeps: a primary that asked for
 * --hpc-balance=auto or whose partition YieldWaits names; a guest only where YieldWaits
 * names its partition itself ("all" means all primaries). */
bool hpcb_class_yields(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, hpcb_policy_t policy);

/* The windows of a job: what it asked for (all zero: nothing), else what its partition
 * has, the favoured part cut to WindowMaxDuty; all zero for none, for a period of more
 * than WindowMaxPeriod, and for a job that is no primary. */
void hpcb_class_window(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, const hpcb_window_spec_t *asked,
                       hpcb_window_spec_t *window);

#endif
