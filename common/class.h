/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Classification of jobs as guests.  Pure.  Two questions must never be mixed: the
 * class that root records for the whole job (from slurmctld's data), and the class of a
 * step if there is no such record (hints, which can only lower).
 */
#ifndef HPCB_COMMON_CLASS_H
#define HPCB_COMMON_CLASS_H

#include <stdbool.h>
#include "common/conf.h"
#include "common/options.h"

typedef enum { HPCB_CLASS_UNKNOWN, HPCB_CLASS_PRIMARY, HPCB_CLASS_GUEST } hpcb_class_t;

const char *hpcb_class_name(hpcb_class_t klass);

/* Parse a name, "unknown" included.  Return 0, or -1 with klass unchanged. */
int hpcb_class_from_name(const char *name, hpcb_class_t *klass);

/* Prefix of a guest's label; its partition follows. */
#define HPCB_CLASS_LABEL_GUEST "guest@"

/*
 * Return the class to record, from the prolog's environment.  conf_read: conf was read
 * from its file and is not the defaults; partition is SLURM_JOB_PARTITION (from the
 * credential) and label SPANK_HPCB_CLASS (last written by our job_submit plugin); both
 * may be NULL.  The node's file may differ from the one that slurmctld has read,
 * because slurmctld reads it when it is reconfigured: a job that was submitted as a
 * guest is one as long as it is in that partition.  Otherwise label counts only if the
 * configuration cannot be read.  No text of a user makes a guest a primary.
 */
hpcb_class_t hpcb_class_of_job(const hpcb_conf_t *conf, bool conf_read,
                               const char *partition, const char *label);

/* Return the class of a step whose job has no record: GUEST if either hint says so,
 * otherwise UNKNOWN.  Both hints come from the user; partition may be NULL. */
hpcb_class_t hpcb_class_of_hints(const hpcb_conf_t *conf, bool guest_option,
                                 const char *partition);

/* Return whether a job's waits become sleeps: for a primary with --hpc-balance=auto or
 * in a partition of YieldWaits; for a guest only if YieldWaits names its partition
 * ("all" means all primaries). */
bool hpcb_class_yields(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, hpcb_policy_t policy);

/* Get the windows of a job: those it asked for (all zero: none), otherwise those of its
 * partition, with the boosted part limited to WindowMaxDuty.  All zero for none, for a
 * period longer than WindowMaxPeriod, and for a job that is not a primary. */
void hpcb_class_window(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, const hpcb_window_spec_t *asked,
                       hpcb_window_spec_t *window);

#endif
