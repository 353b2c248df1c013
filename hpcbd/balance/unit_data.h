/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What hpcbd knows of one step whose ranks on this node are balanced (unit.h). */
#ifndef HPCB_HPCBD_BALANCE_UNIT_DATA_H
#define HPCB_HPCBD_BALANCE_UNIT_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"
#include "common/conf.h"
#include "common/ranks.h"
#include "hpcbd/balance/rank.h"
#include "policy/balance.h"

typedef struct {
    const hpcb_node_t *node;
    const hpcb_conf_t *conf;
    const char *state_dir; /* of undo logs */
    bool ppr;              /* hardware threads have priorities: POWER */
} hpcbd_balance_env_t;

/* What is done to a unit in the next tick, or gone on with. */
typedef enum {
    HPCBD_UNIT_WAITS, /* have its tasks begun? */
    HPCBD_UNIT_PLACES,
    HPCBD_UNIT_GATHERS, /* another process moves its ranks to groups */
    HPCBD_UNIT_TAKES,
    HPCBD_UNIT_LISTENS,
    HPCBD_UNIT_COLLECTS,
    HPCBD_UNIT_APPLIES,
    HPCBD_UNIT_ENDS,     /* all is undone */
    HPCBD_UNIT_SCATTERS, /* another process removes groups */
    HPCBD_UNIT_RESTS     /* nothing */
} hpcbd_unit_stage_t;

/* Where its ranks may run when it begins. */
typedef struct {
    hpcb_cpus_t all;
    bool single; /* each rank is bound to one CPU */
    bool same;   /* each one may use all of them */
    uint16_t cpu[HPCB_RANKS_MAX];
} hpcbd_bound_t;

/* What one time of asking all ranks has brought. */
typedef struct {
    bool speaking; /* one of them does */
    bool all_news; /* all that do have ended an iteration */
    uint64_t total_ns;
    unsigned heard;
} hpcbd_round_t;

typedef struct {
    const hpcbd_balance_env_t *env;
    uint32_t job_id;
    char step[HPCB_STEP_MAX];
    char policy[HPCB_BALANCE_TEXT_MAX];
    char page[PATH_MAX]; /* as in common/ranks.h */
    uid_t uid;
    uint32_t job_cpus; /* of the job on this node */
    unsigned n;
    unsigned n_cpus; /* that they share */
    hpcbd_unit_stage_t stage;
    unsigned at;      /* the rank at which the stage goes on */
    pid_t mover;      /* 0: none */
    bool gathered;    /* its ranks are in groups of ours */
    bool waits;       /* a task has not begun: to be asked again at the next look */
    bool pins;        /* it has bound its ranks itself */
    bool acting;      /* something is done to it */
    bool weighs;      /* ranks share CPUs: weights are among it */
    bool limits;      /* ranks are on threads of one core: quotas or PPR are */
    bool hints;       /* ranks have a core each: cpufreq is told what they need */
    bool free;        /* ranks are not bound: they share all CPUs, and count as one */
    bool speaking;    /* its ranks say when iterations end */
    bool spun;        /* one of them has spun in a wait since the last step */
    double usual;     /* seconds of an iteration before anything was done, 0: unknown */
    unsigned changed; /* by the last step of the policy */
    unsigned turn;    /* whose look is next */
    bool lost;        /* somebody has undone it: to be opened anew */
    bool found;       /* the file of its ranks is still there */
    bool leaves;      /* to be closed once it rests */
    hpcb_error_t why; /* why not, or not all; "" */
    unsigned changes, last_change;
    int64_t now_ns, stepped_ns;
    hpcb_undo_t *undo;
    hpcb_balance_conf_t conf;
    hpcbd_bound_t bound;
    hpcb_balance_places_t places;
    hpcb_balance_t balance;
    hpcbd_round_t round;
    hpcb_balance_sample_t sample[HPCB_RANKS_MAX];
    hpcbd_rank_t rank[HPCB_RANKS_MAX];
} hpcbd_unit_t;

#endif
