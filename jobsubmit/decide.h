/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What slurmctld answers to a submission or a change of a job: primary or guest, and
 * the one line that refuses what cannot work and says what to do instead.  Pure
 * decisions over plain facts; jobsubmit/slurm_glue.c gathers the facts and acts.
 */
#ifndef HPCB_JOBSUBMIT_DECIDE_H
#define HPCB_JOBSUBMIT_DECIDE_H

#include <stdbool.h>
#include "common/conf.h"
#include "common/error.h"
#include "common/options.h"
#include "common/state.h"

/* What a job asks of its nodes that cannot be had beside another job. */
typedef struct {
    bool exclusive;  /* whole nodes, in whatever spelling */
    bool all_memory; /* --mem=0 and --mem-per-cpu=0: all memory of a node */
    bool gres;
} hpcb_claims_t;

typedef struct {
    const char *partition; /* as named, may be a list; NULL: the default partition */
    const char *qos;       /* as named, may be a list; NULL: the default QOS */
    hpcb_options_t options;
    hpcb_claims_t claims;
    bool login_shell;         /* slurmd is to run one before a batch job */
    bool crontab;             /* an entry of scrontab */
    bool later_component;     /* of a heterogeneous job, not its first */
    hpcb_class_t first_class; /* then: the class of the first */
} hpcb_request_t;

/*
 * Decide the class of a submission.  A guest is who says --guest, names the guest
 * partition (all that a submission without SPANK can do: REST, plain -p), or names
 * the guest QOS.  0, or -1 with err: the submission is refused; klass is then
 * untouched.
 *
 * Heterogeneous jobs: slurmctld asks for one component after the other.  The SPANK
 * options of earlier components are sent with later ones too (22.05 ... 26.05), so
 * that "--guest : ..." makes every component a guest, which is well; a later
 * component that names another partition is refused like any guest that does, and a
 * later component that turns out to be of another class than the first is a mix.
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
    hpcb_class_t klass;    /* of the job as it is; UNKNOWN where it cannot be seen */
    bool privileged;       /* asked for by an operator, SlurmUser or root */
    const char *partition; /* new value, NULL: stays */
    const char *qos;
    bool priority; /* sets a number; hold and release are none */
    bool nice;
    hpcb_claims_t claims;
} hpcb_change_t;

/* True where a change needs hpcb_decide_modify at all: everything else about a job is
 * the user's own affair. */
bool hpcb_change_matters(const hpcb_change_t *change);

/*
 * Decide whether a job may be changed so; klass_after is its class then.  Only the
 * privileged move a job across the border or touch a guest's priority; for others,
 * what cannot be shown to be harmless is refused (a job of unknown class).  A guest
 * may not claim by a change what it could not claim at submission, whoever asks.  0,
 * or -1 with err; klass_after is then untouched.
 */
int hpcb_decide_modify(const hpcb_conf_t *conf, const hpcb_change_t *change,
                       hpcb_class_t *klass_after, hpcb_error_t *err);

/* The class of a job that is in partition (a list, for a pending job of several). */
hpcb_class_t hpcb_partition_class(const hpcb_conf_t *conf, const char *partition);

/* True where a primary gets whole nodes for one of the partitions (a list). */
bool hpcb_partition_is_exclusive(const hpcb_conf_t *conf, const char *partitions);

/*
 * True where a TRES request names a GRES: "gres:gpu:1", "gres/gpu=2", "gpu" (Slurm
 * takes it without prefix).  CPUs and licenses, which newer clients put into the same
 * field, and "none" are no GRES.  NULL and "" name none.
 */
bool hpcb_names_gres(const char *tres);

#endif
