/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* State of a step whose ranks on this node are balanced (unit.h). */
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
    bool ppr;              /* hardware threads have priorities (POWER) */
} hpcbd_balance_env_t;

/* Stage of a unit, which the next tick begins or continues. */
typedef enum {
    HPCBD_UNIT_WAITS, /* waits for its tasks to begin */
    HPCBD_UNIT_PLACES,
    HPCBD_UNIT_GATHERS, /* another process moves its ranks to groups */
    HPCBD_UNIT_TAKES,
    HPCBD_UNIT_LISTENS,
    HPCBD_UNIT_COLLECTS,
    HPCBD_UNIT_APPLIES,
    HPCBD_UNIT_ENDS,     /* everything is undone */
    HPCBD_UNIT_SCATTERS, /* another process removes groups */
    HPCBD_UNIT_RESTS     /* nothing */
} hpcbd_unit_stage_t;

/* CPUs of its ranks at its begin. */
typedef struct {
    hpcb_cpus_t all;
    bool single; /* each rank is bound to one CPU */
    bool same;   /* each one may use all of them */
    uint16_t cpu[HPCB_RANKS_MAX];
} hpcbd_bound_t;

/* Result of one scan of all ranks. */
typedef struct {
    bool speaking; /* a rank reports iterations */
    bool all_news; /* all ranks that report have completed an iteration */
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
    unsigned at;   /* rank with which the stage continues */
    pid_t mover;   /* 0: none */
    bool gathered; /* its ranks are in our groups */
    bool waits;    /* a task has not begun: check it again at the next scan */
    bool pins;     /* it has bound its ranks itself */
    bool acting;   /* it changes its ranks */
    bool weighs;   /* ranks share CPUs: weights have an effect */
    bool limits;   /* ranks are on threads of one core: quotas or PPR have an effect */
    bool hints;    /* each rank has a core: cpufreq gets hints */
    bool free;     /* ranks are not bound: they share all CPUs, which count as one */
    bool speaking; /* its ranks report the ends of iterations */
    bool spun;     /* one of them has spun in a wait since the last step */
    double usual;  /* seconds of an iteration before any change; 0: unknown */
    unsigned changed; /* by the last step of the policy */
    unsigned turn;    /* rank to scan next */
    bool lost;        /* its changes were undone by others: open it anew */
    bool found;       /* the file of its ranks still exists */
    bool leaves;      /* close it once it rests */
    hpcb_error_t why; /* why it is not or only partly balanced; "" */
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
