/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The parts of hpcb-sim replay. */
#ifndef HPCB_SIM_REPLAY_H
#define HPCB_SIM_REPLAY_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "sim/cluster.h"
#include "sim/history.h"

typedef int (*hpcb_sim_reader_t)(FILE *, hpcb_sim_history_t *, hpcb_error_t *);

/* Options of the command line. */
typedef struct {
    const char *path, *html;
    hpcb_sim_reader_t read; /* NULL: path is a CollectorDir */
    const char *name;       /* of the cluster in the records, or NULL */
    const char *start, *end;
    int64_t from, to; /* seconds; time outside does not count */
    hpcb_sim_cluster_t cluster;
    bool json, help;
} hpcb_sim_order_t;

/* Parse the options into order, initially all zero.  Return 0, or -1 after a
 * message. */
int hpcb_sim_replay_options(int argc, char *argv[], hpcb_sim_order_t *order);

extern const char *const hpcb_sim_regime_names[HPCB_SIM_REGIMES];

/* Results. */
typedef struct {
    const hpcb_sim_order_t *order;
    const hpcb_sim_history_t *history;
    hpcb_sim_assumed_t assumed;
    hpcb_sim_figures_t figures[HPCB_SIM_REGIMES];
} hpcb_sim_outcome_t;

/* Return CPUs x time that jobs request, relative to the cluster's in the window;
 * negative: there is no window. */
typedef struct {
    double all, guests;
} hpcb_sim_load_t;

hpcb_sim_load_t hpcb_sim_offered(const hpcb_sim_cluster_t *cluster,
                                 const hpcb_sim_history_t *history);

json_object *hpcb_sim_replay_json(const hpcb_sim_outcome_t *outcome);
void hpcb_sim_replay_table(const hpcb_sim_outcome_t *outcome);

/* Report on standard error what was skipped of the history. */
void hpcb_sim_replay_complain(const hpcb_sim_order_t *order,
                              const hpcb_sim_history_t *history);

#endif
