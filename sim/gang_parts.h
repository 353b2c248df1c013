/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the files of the model "gang" share.  gang_setting.c reads a scenario, and
 * gang_mix.c who has which CPUs of which nodes.  Each regime then runs the same mix:
 * gang_stock.c, gang_paper.c, gang_slurm.c, and gang_turns.c with gang_dealer.c, which
 * are the product's.  gang.c calls them and writes the rows.
 */
#ifndef HPCB_SIM_GANG_PARTS_H
#define HPCB_SIM_GANG_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/error.h"
#include "policy/gang.h"
#include "sim/progress.h"

/* Of a mix that is a list. */
#define HPCB_SIM_GANG_APPS 4

/* CPUs of a node. */
#define HPCB_SIM_GANG_CPUS_MAX 64

/* Nodes that are simulated one by one: some 8 KB each. */
#define HPCB_SIM_GANG_NODES_MAX 65536

/* Bytes. */
#define HPCB_SIM_GANG_MB UINT64_C(1000000)

typedef enum {
    HPCB_SIM_GANG_LINUX,
    HPCB_SIM_GANG_LINUX_POLLING,
    HPCB_SIM_GANG_PAPER,
    HPCB_SIM_GANG_OURS,
    HPCB_SIM_GANG_NO_DEAL,
    HPCB_SIM_GANG_ORDER,
    HPCB_SIM_GANG_SLURM,
    HPCB_SIM_GANG_SHARED,
    HPCB_SIM_GANG_REGIMES
} hpcb_sim_gang_regime_t;

const char *hpcb_sim_gang_regime_name(hpcb_sim_gang_regime_t regime);

/* ---- the scenario ---- */

typedef struct {
    double memory, network;             /* MB/s that a node has */
    double known_memory, known_network; /* what hpcbd takes for that; 0: not known */
    bool senses_memory, senses_network; /* there is a sensor of what a job moves */
    int64_t processors, quantum_ns, linux_quantum_ns, slurm_quantum_ns, window;
    unsigned regimes;       /* bits */
    double seconds, settle; /* progress counts from settle on, for so long */
    size_t arrangement[HPCB_SIM_GANG_APPS]; /* in which order a list is submitted */
    json_object *applications;
} hpcb_sim_gang_setting_t;

typedef struct {
    const char *name;       /* the scenario's */
    double memory, network; /* MB/s of one process */
    double cpu;             /* of a CPU, at full speed */
    bool polls;             /* while the network takes nothing */
} hpcb_sim_gang_app_t;

/* Each: 0, or -1 with err. */
int hpcb_sim_gang_read(json_object *scenario, hpcb_sim_gang_setting_t *setting,
                       hpcb_error_t *err);
int hpcb_sim_gang_read_app(const hpcb_sim_gang_setting_t *setting, json_object *name,
                           hpcb_sim_gang_app_t *app, hpcb_error_t *err);

/* ---- who is where ---- */

/* A job on one of its nodes: one process for all CPUs that it has there. */
typedef struct {
    uint32_t job, node;
    uint64_t cpus; /* bits */
} hpcb_sim_gang_seat_t;

typedef struct {
    hpcb_sim_gang_app_t app;
    uint32_t nodes;        /* that it runs on */
    uint32_t first, count; /* in by_job: on nodes that are simulated */
} hpcb_sim_gang_job_t;

/* Jobs are in the order in which they were submitted. */
typedef struct {
    char name[128];
    bool listed; /* four applications, each on all nodes, which are alike: one node is
                    simulated for all of them */
    uint32_t nodes; /* of the cluster */
    uint32_t n_nodes, n_jobs, n_seats;
    hpcb_sim_gang_job_t *job;
    hpcb_sim_gang_seat_t *seat; /* node by node, and there in the order of jobs */
    uint32_t *node_first;       /* in seat, of n_nodes + 1 */
    uint32_t *by_job;           /* places in seat */
} hpcb_sim_gang_mix_t;

/* Free mix with hpcb_sim_gang_mix_free also on failure.  0, or -1 with err. */
int hpcb_sim_gang_place(const hpcb_sim_gang_setting_t *setting, json_object *object,
                        uint32_t nodes, uint64_t seed, hpcb_sim_gang_mix_t *mix,
                        hpcb_error_t *err);
void hpcb_sim_gang_mix_free(hpcb_sim_gang_mix_t *mix);

/* ---- what comes out ---- */

/* What is behind progress is of regimes with turns only. */
typedef struct {
    double *progress;   /* of each job: seconds alone */
    double cpu_seconds; /* of all CPUs that have jobs */
    double idle, split; /* of these: nobody had a turn there; a job had one that did
                           not have it on all of its nodes */
    double wide_turns;  /* seconds, of all jobs of several nodes, on all their nodes */
    double wait, wide_wait; /* seconds: the longest without a turn on a node */
    double wide_gap;        /* the same on all nodes of a job at once */
    double *waits;          /* of each seat: since its last turn */
    double *gaps;           /* of each job: since its last turn on all nodes */
} hpcb_sim_gang_figures_t;

typedef struct {
    const hpcb_sim_gang_setting_t *setting;
    const hpcb_sim_gang_mix_t *mix;
    hpcb_sim_gang_regime_t regime;
    uint64_t seed;
    hpcb_sim_progress_t *progress;
    hpcb_sim_gang_figures_t figures;
} hpcb_sim_gang_run_t;

/* Steps of that length in settle + seconds. */
int64_t hpcb_sim_gang_steps(const hpcb_sim_gang_setting_t *setting, int64_t step_ns);

/* Of the step with that number: seconds that count, 0 before settle. */
double hpcb_sim_gang_counted(const hpcb_sim_gang_setting_t *setting, int64_t step_ns,
                             int64_t number);

/* What those that run at a time ask for, and how fast one of them is, alone 1: they
 * share in proportion to what they ask for. */
typedef struct {
    double memory, network;
} hpcb_sim_gang_load_t;

void hpcb_sim_gang_add(hpcb_sim_gang_load_t *load, const hpcb_sim_gang_app_t *app);
double hpcb_sim_gang_rate(const hpcb_sim_gang_setting_t *setting,
                          const hpcb_sim_gang_load_t *load,
                          const hpcb_sim_gang_app_t *app);

/* A step of a regime that has turns: runs, of seats, is who has one there.  rate is
 * written, of jobs: 0 if it has no turn on one of its nodes. */
void hpcb_sim_gang_step(const hpcb_sim_gang_run_t *run, const bool *runs, double *rate);

/* Such a step has ended, of which so many seconds count. */
void hpcb_sim_gang_count(hpcb_sim_gang_run_t *run, const bool *runs, const double *rate,
                         double seconds);

/* ---- regimes ---- */

/* Only of mixes that are lists. */
void hpcb_sim_gang_run_linux(hpcb_sim_gang_run_t *run);
void hpcb_sim_gang_run_shared(hpcb_sim_gang_run_t *run);
void hpcb_sim_gang_run_paper(hpcb_sim_gang_run_t *run);

/* Of all.  0, or -1: there is no memory. */
int hpcb_sim_gang_run_slurm(hpcb_sim_gang_run_t *run);
int hpcb_sim_gang_run_turns(hpcb_sim_gang_run_t *run);

/* ---- the collector ---- */

typedef struct hpcb_sim_gang_dealer hpcb_sim_gang_dealer_t;

/* first: the number of the quantum that begins at time 0.  NULL: there is no memory. */
hpcb_sim_gang_dealer_t *hpcb_sim_gang_dealer_new(const hpcb_sim_gang_run_t *run,
                                                 uint64_t first);
void hpcb_sim_gang_dealer_free(hpcb_sim_gang_dealer_t *dealer);

/* Before the election of that quantum: seats, of the mix, get the slots that count from
 * then on; gang: of the nodes. */
void hpcb_sim_gang_deal(hpcb_sim_gang_dealer_t *dealer, uint64_t number,
                        const hpcb_gang_t *gang, hpcb_gang_job_t *seats);

#endif
