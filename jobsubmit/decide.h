/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmctld's decisions about a submission or a change of a job: primary or guest, and
 * the one-line rejection that says what to do instead.  Pure; jobsubmit/slurm_glue.c
 * collects the input and acts.
 */
#ifndef HPCB_JOBSUBMIT_DECIDE_H
#define HPCB_JOBSUBMIT_DECIDE_H

#include <stdbool.h>
#include "common/conf.h"
#include "common/error.h"
#include "common/options.h"
#include "common/state.h"

/* Requests of a job that cannot be combined with another job on a node. */
typedef struct {
    bool exclusive;  /* whole nodes, in any spelling */
    bool all_memory; /* --mem=0 or --mem-per-cpu=0: all memory of a node */
    bool gres;
} hpcb_claims_t;

typedef struct {
    const char *partition; /* as given, may be a list; NULL: the default partition */
    const char *qos;       /* as given, may be a list; NULL: the default QOS */
    hpcb_options_t options;
    hpcb_claims_t claims;
    bool login_shell;         /* slurmd is to run one before a batch job */
    bool crontab;             /* an entry of scrontab */
    bool later_component;     /* of a heterogeneous job, not the first */
    hpcb_class_t first_class; /* class of the first one in that case */
} hpcb_request_t;

/*
 * Decide the class of a submission.  A job is a guest if it has --guest, the guest
 * partition (the only way without SPANK: REST, plain -p), or the guest QOS.  Return 0,
 * or -1 with err and klass unchanged if the submission is rejected.
 *
 * Heterogeneous jobs: slurmctld asks for one component after the other.  The SPANK
 * options of earlier components are also sent with later ones (22.05 ... 26.05), so
 * "--guest : ..." makes every component a guest, as intended.  A later component in
 * another partition is rejected like any guest, and a later component of another class
 * than the first is a mixture.
 */
int hpcb_decide_submit(const hpcb_conf_t *conf, const hpcb_request_t *request,
                       hpcb_class_t *klass, hpcb_error_t *err);

/*
 * Write the message about --bw-spread for the user of an accepted job to line; options
 * as in the tag.  has_layout: the job sets its own number of tasks per node.  The
 * select plugin decides when the job starts (select/spread.c).  Return whether the job
 * may be spread.
 */
bool hpcb_tell_spread(const hpcb_conf_t *conf, const hpcb_options_t *options,
                      bool has_layout, hpcb_error_t *line);

typedef struct {
    hpcb_class_t klass;    /* present class of the job; UNKNOWN if undetermined */
    bool privileged;       /* requested by an operator, SlurmUser or root */
    const char *partition; /* new value; NULL: unchanged */
    const char *qos;
    bool priority; /* sets a number; hold and release do not */
    bool nice;
    hpcb_claims_t claims;
} hpcb_change_t;

/* Return true if a change requires hpcb_decide_modify; other changes are always
 * allowed. */
bool hpcb_change_matters(const hpcb_change_t *change);

/*
 * Decide whether a job may be changed; klass_after is its class then.  Only privileged
 * users may move a job between the classes or change a guest's priority; for others,
 * changes of a job of unknown class are rejected unless they are harmless.  A change of
 * a guest may not request what its submission may not, whoever makes it.  Return 0, or
 * -1 with err and klass_after unchanged.
 */
int hpcb_decide_modify(const hpcb_conf_t *conf, const hpcb_change_t *change,
                       hpcb_class_t *klass_after, hpcb_error_t *err);

/* Return the class of a job in partition (a list, for a pending job with several). */
hpcb_class_t hpcb_partition_class(const hpcb_conf_t *conf, const char *partition);

/* Return true if a primary gets whole nodes in one of the partitions (a list). */
bool hpcb_partition_is_exclusive(const hpcb_conf_t *conf, const char *partitions);

/*
 * Return true if a TRES request contains a GRES: "gres:gpu:1", "gres/gpu=2", "gpu"
 * (Slurm accepts it without prefix).  CPUs and licenses, which newer clients put into
 * the same field, and "none" are not GRES.  NULL and "" contain none.
 */
bool hpcb_names_gres(const char *tres);

#endif
