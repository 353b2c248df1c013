/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the running cluster says of itself, through scontrol. */
#ifndef HPCB_HPCBCTL_SLURM_H
#define HPCB_HPCBCTL_SLURM_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"
#include "hpcbctl/scontrol.h"

typedef struct {
    hpcb_table_t config;      /* show config */
    hpcb_table_t *partitions; /* show partition */
    size_t n_partitions;
    hpcb_table_t node; /* show node NAME: no pairs where it is none */
    bool node_known;
} hpcb_slurm_t;

/*
 * Ask slurmctld for its configuration and partitions, and for node (a name, may be
 * unknown to it).  Each question has its time; the whole takes at most 30 s.  0, or -1
 * with err; hpcb_slurm_free releases slurm in either case.
 */
int hpcb_slurm_ask(const char *node, hpcb_slurm_t *slurm, hpcb_error_t *err);

/* The same from recorded answers; node NULL: this host is no node. */
int hpcb_slurm_parse(const char *config, const char *partitions, const char *node,
                     hpcb_slurm_t *slurm, hpcb_error_t *err);

void hpcb_slurm_free(hpcb_slurm_t *slurm);

/* The partition of that name, or NULL. */
const hpcb_table_t *hpcb_slurm_partition(const hpcb_slurm_t *slurm, const char *name);

/* MinPrioThresh of a QOS, as slurmctld knows it; UINT64_MAX where it has none, or
 * there is no such QOS or no accounting. */
uint64_t hpcb_slurm_qos_threshold(const char *qos);
uint64_t hpcb_slurm_parse_threshold(const char *text, const char *qos);

/* UsageFactor of a QOS, as slurmdbd knows it; -1 if it does not say. */
double hpcb_slurm_usage_factor(const char *qos);
double hpcb_slurm_parse_factor(const char *text);

#endif
