/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How the ranks of one job on one node share its CPUs, so that those that the others
 * wait for run faster: Boneti's thesis, chapters 3 (static), 4.3.2 (uniform, adaptive)
 * and 5.2 (DLRB).  Pure: what each rank computed and waited in its last iteration goes
 * in, where each rank runs and its priority come out; no clock, no allocation, all
 * state is the caller's.  Not locked.
 *
 *   balance.c            set-up, one step, what all policies need
 *   balance_conf.c       parameters and their text form
 *   balance_heuristic.c  uniform and adaptive: a rank's own utilization decides
 *   balance_load.c       DLRB's load balancer: which rank runs where
 *   balance_resource.c   DLRB's resource balancer: priorities within a core
 *   balance_predict.c    what priorities would do, where shares follow the weights
 *   balance_dlrb.c       DLRB: phases, and when which of the two balancers acts
 *   balance_auto.c       auto: chooses among them, and gives up where nothing is won
 *   balance_lever.c      what a rank's priority means for each lever
 *
 * A priority says nothing by itself: policy/share.h turns the difference between ranks
 * of one core into shares.  The thesis' range of 4 to 6 is kept (section 4.3.2).
 *
 * What shares something with whom, a *group*: the hardware threads of a core, if it has
 * several; else the ranks of a CPU.  A rank that has a core to itself is in no group of
 * two, and no priority makes it faster.
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

/* Utilizations and their differences in percent. */
typedef struct {
    hpcb_balance_kind_t kind;
    unsigned high_util; /* more is a high utilization (uniform, adaptive) */
    unsigned low_util;  /* less is a low one */
    unsigned global;    /* adaptive: weight of what was before; the rest is the last */
    unsigned busy;      /* dlrb: more is a rank that others wait for */
    unsigned threshold; /* dlrb: difference within a core that is left alone */
    unsigned move_gain; /* dlrb: ranks move only where loads come closer by this */
    unsigned priority_min; /* where every rank begins */
    unsigned priority_max;
    /* Shares follow the weights of policy/share.h, as those of tasks on a CPU do and
     * hardware threads do not: what a priority would do can be worked out. */
    bool linear;
    unsigned
        n_fixed; /* static: priorities of the first ranks, the others have the last */
    unsigned char fixed[HPCB_BALANCE_RANKS];
} hpcb_balance_conf_t;

/* A hardware thread that the job may use. */
typedef struct {
    uint16_t cpu;
    uint16_t core;
    uint16_t package;
} hpcb_balance_place_t;

/* All of them, in the order of package, core and cpu. */
typedef struct {
    unsigned n;
    hpcb_balance_place_t place[HPCB_BALANCE_CPUS];
} hpcb_balance_places_t;

/* Two places, by index, are hardware threads of one core; a place is of its own. */
bool hpcb_balance_same_core(const hpcb_balance_places_t *places, unsigned a,
                            unsigned b);

/* A rank's last iteration, in wall time; both 0: not known. */
typedef struct {
    uint64_t compute_ns;
    uint64_t wait_ns;
} hpcb_balance_sample_t;

/* For the caller to read: place and priority. */
typedef struct {
    uint16_t place;              /* index into places */
    uint8_t priority;            /* conf.priority_min to priority_max */
    bool busy;                   /* its bit of DLRB's bitmap */
    bool known;                  /* of this step */
    double util;                 /* of this step, 0..1 */
    double compute;              /* seconds, of this step */
    double elapsed;              /* the same with waits */
    double total_compute, total; /* over all steps */
    double smooth; /* adaptive: the utilization that decides, -1: none yet */
} hpcb_balance_rank_t;

typedef enum {
    HPCB_BALANCE_BLIND,   /* nothing is known yet */
    HPCB_BALANCE_NEUTRAL, /* measured without priorities */
    HPCB_BALANCE_STEADY
} hpcb_balance_stage_t;

/* Priorities of a pair that have been tried, by difference -2..2: the seconds that its
 * slower one took, 0: not tried. */
#define HPCB_BALANCE_TRIED 16

typedef struct {
    hpcb_balance_stage_t stage;
    bool changed;     /* at the last step: what is seen now is our own doing */
    bool pending;     /* something is to be done if the next iteration says so too */
    uint32_t history; /* a bit a step, the latest lowest: something was changed */
    unsigned phases;
    float tried[HPCB_BALANCE_CPUS][HPCB_BALANCE_TRIED]; /* by a group's first place */
} hpcb_balance_dlrb_t;

typedef struct {
    hpcb_balance_kind_t kind; /* in force now */
    uint32_t phases;          /* a bit a step, the latest lowest: a phase has begun */
    uint32_t changes;         /* the same: priorities have changed */
    double spins;             /* in waits: -1, none has of late, to 1, always one */
    unsigned calm;            /* steps since the last change */
    double before;            /* seconds that the iteration before it took, 0: none */
    double since;             /* of all iterations since */
    double neutral;           /* of one where nothing is done, 0: not known */
    double mean;              /* of all since the last rest */
    double lost;              /* the same, less what it should take, in iterations */
    unsigned run;             /* steps since the last rest */
    unsigned resting;         /* steps for which nothing is tried any more */
    unsigned rest;            /* the length of the last rest, 0: none yet */
} hpcb_balance_auto_t;

typedef struct {
    unsigned n; /* ranks */
    unsigned steps;
    hpcb_balance_rank_t rank[HPCB_BALANCE_RANKS];
    hpcb_balance_dlrb_t dlrb;
    hpcb_balance_auto_t automatic;
} hpcb_balance_t;

/* What a step has changed, or'ed. */
#define HPCB_BALANCE_MOVED         1U
#define HPCB_BALANCE_REPRIORITIZED 2U

/* The thesis' parameters for kind. */
hpcb_balance_conf_t hpcb_balance_conf(hpcb_balance_kind_t kind);

/*
 * Read "POLICY[:NAME=VALUE,...]", or "static:P0,P1,...".  Names: high, low, global,
 * busy, threshold, move (whole percents), min, max (priorities, 1 to 6).  0, or -1 with
 * conf untouched and *bad at the first thing in text that is wrong.
 */
int hpcb_balance_conf_parse(const char *text, hpcb_balance_conf_t *conf,
                            const char **bad);

/*
 * What an iteration takes where nothing is done, in seconds, for auto to compare with:
 * between hpcb_balance_begin() and the first step.
 */
void hpcb_balance_usual(hpcb_balance_t *balance, double seconds);

/* Before a step: whether a rank has spun in a wait since the last one, for auto to know
 * what it may lose. */
void hpcb_balance_spun(hpcb_balance_t *balance, bool spun);

/* auto has given up for now: nothing is to be done about who spins, either. */
bool hpcb_balance_rests(const hpcb_balance_conf_t *conf, const hpcb_balance_t *balance);

/* Whether the policy says where ranks run, and not only how fast: ranks that may run
 * anywhere are otherwise better placed by the kernel. */
bool hpcb_balance_places_ranks(const hpcb_balance_conf_t *conf);

/* Whether places are in order, none twice, and as many as can be. */
bool hpcb_balance_places_ok(const hpcb_balance_places_t *places);

/*
 * Begin with n ranks.  at: the place each one has now; or NULL, then they are
 * distributed by number alone (section 5.2.2).  0, or -1: too many, none, or a place
 * that is none, with balance untouched.
 */
int hpcb_balance_begin(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_places_t *places, unsigned n,
                       const uint16_t *at, hpcb_balance_t *balance);

/*
 * Every rank has ended an iteration, of which samples[rank] says how it went (for
 * uniform and adaptive also an interval of time).  What has changed; place and priority
 * of every rank hold for the next iteration.
 */
unsigned hpcb_balance_step(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places,
                           const hpcb_balance_sample_t *samples,
                           hpcb_balance_t *balance);

/* Groups of two and more, as ranks are placed now: 0 means that priorities change
 * nothing. */
unsigned hpcb_balance_groups(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance);

/*
 * What a rank's priority means, by lever (policy/share.h):
 *  - its weight among the ranks of its CPU, of whom the highest has top;
 *  - the part of the time, in millionths, that it may run beside the highest one on the
 *    other threads of its core, where threads have no priorities: a quota;
 *  - the level of POWER's PPR that it may set for itself;
 *  - by how much it is below the highest of all, for ranks that share a node's power
 *    and nothing else.
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
