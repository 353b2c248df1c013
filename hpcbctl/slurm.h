/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Data of the running cluster, through scontrol. */
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
    hpcb_table_t node; /* show node NAME: no pairs if there is none */
    bool node_known;
} hpcb_slurm_t;

/*
 * Query slurmctld for its configuration and partitions, and for node (a name, which may
 * be unknown).  Each query has a time limit; all together take at most 30 s.  Return 0,
 * or -1 with err; free slurm with hpcb_slurm_free in either case.
 */
int hpcb_slurm_ask(const char *node, hpcb_slurm_t *slurm, hpcb_error_t *err);

/* Do the same from recorded answers; node NULL: this host is no node. */
int hpcb_slurm_parse(const char *config, const char *partitions, const char *node,
                     hpcb_slurm_t *slurm, hpcb_error_t *err);

void hpcb_slurm_free(hpcb_slurm_t *slurm);

/* Return the partition of that name, or NULL. */
const hpcb_table_t *hpcb_slurm_partition(const hpcb_slurm_t *slurm, const char *name);

/* Return MinPrioThresh of a QOS from slurmctld; UINT64_MAX if it has none, or if there
 * is no such QOS or no accounting. */
uint64_t hpcb_slurm_qos_threshold(const char *qos);
uint64_t hpcb_slurm_parse_threshold(const char *text, const char *qos);

/* Return UsageFactor of a QOS from slurmdbd; -1 if it is unknown. */
double hpcb_slurm_usage_factor(const char *qos);
double hpcb_slurm_parse_factor(const char *text);

#endif
