/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Interface between the files of the model "gang".  gang_setting.c reads a scenario,
 * and gang_mix.c places jobs on CPUs of nodes.  Each regime then runs the same mix:
 * gang_stock.c, gang_paper.c, gang_slurm.c, and gang_turns.c with gang_dealer.c, which
 * run the product's code.  gang.c calls them and writes the rows.
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

/* Maximum for a mix that is a list. */
#define HPCB_SIM_GANG_APPS 4

/* Maximum number of CPUs of a node. */
#define HPCB_SIM_GANG_CPUS_MAX 64

/* Maximum number of simulated nodes, about 8 KB each. */
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
    double memory, network;             /* MB/s of a node */
    double known_memory, known_network; /* as hpcbd knows them; 0: not known */
    bool senses_memory, senses_network; /* there is a sensor for a job's traffic */
    int64_t processors, quantum_ns, linux_quantum_ns, slurm_quantum_ns, window;
    unsigned regimes;       /* bits */
    double seconds, settle; /* progress counts from settle on, for so long */
    size_t arrangement[HPCB_SIM_GANG_APPS]; /* order in which a list is submitted */
    json_object *applications;
} hpcb_sim_gang_setting_t;

typedef struct {
    const char *name;       /* the scenario's */
    double memory, network; /* MB/s of one process */
    double cpu;             /* of a CPU, at full speed */
    bool polls;             /* while the network accepts nothing */
} hpcb_sim_gang_app_t;

/* Each returns 0, or -1 with err. */
int hpcb_sim_gang_read(json_object *scenario, hpcb_sim_gang_setting_t *setting,
                       hpcb_error_t *err);
int hpcb_sim_gang_read_app(const hpcb_sim_gang_setting_t *setting, json_object *name,
                           hpcb_sim_gang_app_t *app, hpcb_error_t *err);

/* ---- placement ---- */

/* A job on one of its nodes: one process for all its CPUs there. */
typedef struct {
    uint32_t job, node;
    uint64_t cpus; /* bits */
} hpcb_sim_gang_seat_t;

typedef struct {
    hpcb_sim_gang_app_t app;
    uint32_t nodes;        /* that it runs on */
    uint32_t first, count; /* range in by_job: on simulated nodes */
} hpcb_sim_gang_job_t;

/* Jobs are in the order of their submission. */
typedef struct {
    char name[128];
    bool listed; /* four applications, each on all nodes, which are alike, so that one
                    node is simulated for all */
    uint32_t nodes; /* of the cluster */
    uint32_t n_nodes, n_jobs, n_seats;
    hpcb_sim_gang_job_t *job;
    hpcb_sim_gang_seat_t *seat; /* sorted by node, then by job */
    uint32_t *node_first;       /* in seat, of n_nodes + 1 */
    uint32_t *by_job;           /* indices in seat */
} hpcb_sim_gang_mix_t;

/* Free mix with hpcb_sim_gang_mix_free, also on failure.  Return 0, or -1 with err. */
int hpcb_sim_gang_place(const hpcb_sim_gang_setting_t *setting, json_object *object,
                        uint32_t nodes, uint64_t seed, hpcb_sim_gang_mix_t *mix,
                        hpcb_error_t *err);
void hpcb_sim_gang_mix_free(hpcb_sim_gang_mix_t *mix);

/* ---- results ---- */

/* Members after progress are only for regimes with turns. */
typedef struct {
    double *progress;   /* of each job: seconds of its run alone */
    double cpu_seconds; /* of all CPUs that have jobs */
    double idle, split; /* of these: without a turn; of a job whose turn was not on all
                           of its nodes */
    double wide_turns;  /* seconds on all their nodes, of all jobs of several nodes */
    double wait, wide_wait; /* seconds: longest time without a turn on a node */
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

/* Return the number of steps of that length in settle + seconds. */
int64_t hpcb_sim_gang_steps(const hpcb_sim_gang_setting_t *setting, int64_t step_ns);

/* Return the seconds of the step with that number that count; 0 before settle. */
double hpcb_sim_gang_counted(const hpcb_sim_gang_setting_t *setting, int64_t step_ns,
                             int64_t number);

/* Demand of the processes that run at a time, and the speed of one of them relative to
 * its run alone: they share in proportion to their demand. */
typedef struct {
    double memory, network;
} hpcb_sim_gang_load_t;

void hpcb_sim_gang_add(hpcb_sim_gang_load_t *load, const hpcb_sim_gang_app_t *app);
double hpcb_sim_gang_rate(const hpcb_sim_gang_setting_t *setting,
                          const hpcb_sim_gang_load_t *load,
                          const hpcb_sim_gang_app_t *app);

/* Take a step of a regime with turns: runs, by seat, has the turns.  rate is written,
 * by job: 0 without a turn on one of its nodes. */
void hpcb_sim_gang_step(const hpcb_sim_gang_run_t *run, const bool *runs, double *rate);

/* Count such a step, of which so many seconds count. */
void hpcb_sim_gang_count(hpcb_sim_gang_run_t *run, const bool *runs, const double *rate,
                         double seconds);

/* ---- regimes ---- */

/* Only for mixes that are lists. */
void hpcb_sim_gang_run_linux(hpcb_sim_gang_run_t *run);
void hpcb_sim_gang_run_shared(hpcb_sim_gang_run_t *run);
void hpcb_sim_gang_run_paper(hpcb_sim_gang_run_t *run);

/* For all mixes.  Return 0, or -1 if memory is short. */
int hpcb_sim_gang_run_slurm(hpcb_sim_gang_run_t *run);
int hpcb_sim_gang_run_turns(hpcb_sim_gang_run_t *run);

/* ---- the collector ---- */

typedef struct hpcb_sim_gang_dealer hpcb_sim_gang_dealer_t;

/* first: number of the quantum at time 0.  Return NULL if memory is short. */
hpcb_sim_gang_dealer_t *hpcb_sim_gang_dealer_new(const hpcb_sim_gang_run_t *run,
                                                 uint64_t first);
void hpcb_sim_gang_dealer_free(hpcb_sim_gang_dealer_t *dealer);

/* Before the election of that quantum: set the slots of seats that are valid from then
 * on; gang: of the nodes. */
void hpcb_sim_gang_deal(hpcb_sim_gang_dealer_t *dealer, uint64_t number,
                        const hpcb_gang_t *gang, hpcb_gang_job_t *seats);

#endif
