/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Distribution of a node's CPUs among the ranks of one job: the ranks that the others
 * wait for run faster (Boneti, chapters 3 (static), 4.3.2 (uniform, adaptive) and 5.2
 * (DLRB)).  Pure: the input is the compute and wait time of each rank in its last
 * iteration, the output the place and priority of each rank.  No clock and no
 * allocation; the caller owns all state.  Not thread-safe.
 *
 *   balance.c            set-up, one step, code that all policies share
 *   balance_conf.c       parameters and their text form
 *   balance_heuristic.c  uniform and adaptive: by the utilization of each rank alone
 *   balance_load.c       DLRB's load balancer: places of ranks
 *   balance_resource.c   DLRB's resource balancer: priorities within a core
 *   balance_predict.c    predicted effect of priorities, if shares follow the weights
 *   balance_dlrb.c       DLRB: phases, and which of the two balancers acts when
 *   balance_auto.c       auto: chooses a policy, and stops if none gains
 *   balance_lever.c      meaning of a rank's priority for each lever
 *
 * Only differences of priorities count: policy/share.h turns the difference between
 * ranks of one core into shares.  The range of 4 to 6 is that of section 4.3.2.
 *
 * Ranks that compete for the same resource are a *group*: the hardware threads of a
 * core if the core has several, otherwise the ranks of one CPU.  A rank that has a core
 * to itself is alone in its group, and no priority makes it faster.
 */
#ifndef HPCB_POLICY_BALANCE_H
#define HPCB_POLICY_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HPCB_BALANCE_RANKS 256
#define HPCB_BALANCE_CPUS  1024

typedef enum {
    HPCB_BALANCE_NONE,
    HPCB_BALANCE_STATIC,
    HPCB_BALANCE_UNIFORM,
    HPCB_BALANCE_ADAPTIVE,
    HPCB_BALANCE_DLRB,
    HPCB_BALANCE_AUTO
} hpcb_balance_kind_t;

/* Utilizations and their differences are in percent. */
typedef struct {
    hpcb_balance_kind_t kind;
    unsigned high_util; /* uniform, adaptive: a utilization above this is high */
    unsigned low_util;  /* uniform, adaptive: a utilization below this is low */
    unsigned global; /* adaptive: weight of earlier steps; the last step has the rest */
    unsigned busy;   /* dlrb: the others wait for a rank above this */
    unsigned threshold;    /* dlrb: smaller differences within a core are ignored */
    unsigned move_gain;    /* dlrb: ranks move only if loads come closer by this */
    unsigned priority_min; /* initial priority of each rank */
    unsigned priority_max;
    /* Shares follow the weights of policy/share.h, so that the effect of a priority can
     * be predicted.  True for tasks on one CPU, false for hardware threads. */
    bool linear;
    unsigned n_fixed; /* static: number of priorities; further ranks get the last one */
    unsigned char fixed[HPCB_BALANCE_RANKS];
} hpcb_balance_conf_t;

/* A hardware thread that the job may use. */
typedef struct {
    uint16_t cpu;
    uint16_t core;
    uint16_t package;
} hpcb_balance_place_t;

/* All hardware threads of the job, sorted by package, core and CPU. */
typedef struct {
    unsigned n;
    hpcb_balance_place_t place[HPCB_BALANCE_CPUS];
} hpcb_balance_places_t;

/* Return whether two places (indices) are hardware threads of the same core.  A place
 * shares its core with itself. */
bool hpcb_balance_same_core(const hpcb_balance_places_t *places, unsigned a,
                            unsigned b);

/* Wall time of a rank's last iteration.  Both are 0 if it is not known. */
typedef struct {
    uint64_t compute_ns;
    uint64_t wait_ns;
} hpcb_balance_sample_t;

/* Callers read place and priority. */
typedef struct {
    uint16_t place;              /* index into places */
    uint8_t priority;            /* conf.priority_min to priority_max */
    bool busy;                   /* its bit in DLRB's bitmap */
    bool known;                  /* the sample of this step is known */
    double util;                 /* in this step, 0..1 */
    double compute;              /* in this step, seconds */
    double elapsed;              /* in this step, seconds, waits included */
    double total_compute, total; /* in all steps */
    double smooth; /* adaptive: the utilization that decides; -1: none yet */
} hpcb_balance_rank_t;

typedef enum {
    HPCB_BALANCE_BLIND,   /* nothing is known yet */
    HPCB_BALANCE_NEUTRAL, /* measured without priorities */
    HPCB_BALANCE_STEADY
} hpcb_balance_stage_t;

/* Time in seconds that the slower rank of a pair took with the priorities tried so far,
 * by difference -2..2.  0: not tried. */
#define HPCB_BALANCE_TRIED 16

typedef struct {
    hpcb_balance_stage_t stage;
    bool changed;     /* by the last step: the next sample shows its effect */
    bool pending;     /* a change is made if the next iteration confirms it */
    uint32_t history; /* one bit per step, the latest lowest: something changed */
    unsigned phases;
    /* by first place of the group */
    float tried[HPCB_BALANCE_CPUS][HPCB_BALANCE_TRIED];
} hpcb_balance_dlrb_t;

typedef struct {
    hpcb_balance_kind_t kind; /* in force */
    uint32_t phases;  /* one bit per step, the latest is the lowest: a phase began */
    uint32_t changes; /* one bit per step, the latest lowest: priorities changed */
    double spins;     /* waits: -1, no recent one spins, to 1, all spin */
    unsigned calm;    /* steps since the last change */
    double before;    /* seconds of the iteration before the last change; 0: none */
    double since;     /* seconds of all iterations since that change */
    double neutral;   /* seconds of an iteration without intervention; 0: not known */
    double mean;      /* mean of all iterations since the last rest */
    double lost;      /* excess of these over the expected time, in iterations */
    unsigned run;     /* steps since the last rest */
    unsigned resting; /* steps left in which nothing is tried */
    unsigned rest;    /* length of the last rest; 0: none yet */
} hpcb_balance_auto_t;

typedef struct {
    unsigned n; /* number of ranks */
    unsigned steps;
    hpcb_balance_rank_t rank[HPCB_BALANCE_RANKS];
    hpcb_balance_dlrb_t dlrb;
    hpcb_balance_auto_t automatic;
} hpcb_balance_t;

/* Changes made by a step, or'ed. */
#define HPCB_BALANCE_MOVED         1U
#define HPCB_BALANCE_REPRIORITIZED 2U

/* Return the parameters of Boneti's work for kind. */
hpcb_balance_conf_t hpcb_balance_conf(hpcb_balance_kind_t kind);

/*
 * Read "POLICY[:NAME=VALUE,...]" or "static:P0,P1,...".  Names: high, low, global,
 * busy, threshold, move (whole percents), min, max (priorities, 1 to 6).  Return 0, or
 * -1 with conf unchanged and *bad at the first invalid part of text.
 */
int hpcb_balance_conf_parse(const char *text, hpcb_balance_conf_t *conf,
                            const char **bad);

/*
 * Set the time of an iteration without intervention, in seconds, to which auto
 * compares.  Call it between hpcb_balance_begin() and the first step.
 */
void hpcb_balance_usual(hpcb_balance_t *balance, double seconds);

/* Report whether a rank has spun in a wait since the last step.  auto estimates from it
 * how much time there is to lose.  Call it before a step. */
void hpcb_balance_spun(hpcb_balance_t *balance, bool spun);

/* Return whether auto has stopped for now.  Ranks that spin are then left alone,
 * too. */
bool hpcb_balance_rests(const hpcb_balance_conf_t *conf, const hpcb_balance_t *balance);

/* Return whether the policy sets places as well as priorities.  Otherwise ranks that
 * may run anywhere are placed better by the kernel. */
bool hpcb_balance_places_ranks(const hpcb_balance_conf_t *conf);

/* Return whether places are sorted, unique, and not more than the maximum. */
bool hpcb_balance_places_ok(const hpcb_balance_places_t *places);

/*
 * Begin with n ranks.  at: the present place of each rank; NULL: ranks are distributed
 * by number (section 5.2.2).  Return 0, or -1 with balance unchanged if n is 0 or too
 * large or a place does not exist.
 */
int hpcb_balance_begin(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, unsigned n,
                       const uint16_t *at, hpcb_balance_t *balance);

/*
 * Take a step after each rank has completed an iteration, described by samples[rank]
 * (for uniform and adaptive also an interval of time).  Return the changes.  Place and
 * priority of each rank apply to the next iteration.
 */
unsigned hpcb_balance_step(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           const hpcb_balance_sample_t *samples,
                           hpcb_balance_t *balance);

/* Return the number of groups of at least two ranks at their present places.  0:
 * priorities have no effect. */
unsigned hpcb_balance_groups(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance);

/*
 * Meaning of a rank's priority for each lever (policy/share.h):
 *  - weight: among the ranks of its CPU, of which the highest has top;
 *  - time: part of the time, in millionths, that it may run next to the highest rank on
 *    the other threads of its core if threads have no priorities (a quota);
 *  - ppr: level of POWER's PPR that it may set for itself;
 *  - lag: difference to the highest priority of all, for ranks that share only the
 *    power of a node.
 */
unsigned hpcb_balance_lag(const hpcb_balance_t *balance, unsigned rank);
uint32_t hpcb_balance_weight(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance, unsigned rank,
                             uint32_t top);
uint32_t hpcb_balance_time(const hpcb_balance_places_t *places,
                           const hpcb_balance_t *balance, unsigned rank);
unsigned hpcb_balance_ppr(const hpcb_balance_places_t *places,
                          const hpcb_balance_t *balance, unsigned rank);

#endif
