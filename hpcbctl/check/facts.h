/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Input of the rules of `hpcbctl check`, collected once. */
#ifndef HPCB_HPCBCTL_CHECK_FACTS_H
#define HPCB_HPCBCTL_CHECK_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/conf.h"
#include "hpcbctl/slurm.h"

#define HPCB_HOST_MAX 256

typedef struct {
    hpcb_slurm_t slurm;
    bool answered;              /* by slurmctld; slurm is empty otherwise */
    hpcb_error_t cluster_error; /* reason if it did not */
    uint64_t qos_threshold;     /* of GuestQOS; UINT64_MAX: none */
    double qos_usage_factor;    /* of GuestQOS; -1: not known */
    char host[HPCB_HOST_MAX];   /* this host's short name */
    bool on_node;               /* it is one of the cluster's nodes */
    bool on_controller;         /* it is one of SlurmctldHost */
    bool unprivileged;          /* the caller is not root */
    char etc[PATH_MAX];         /* directory of Slurm's configuration on this host */
    char conf_path[PATH_MAX];   /* hpc-balance.conf */
    hpcb_conf_t conf;           /* defaults if it cannot be read */
    bool conf_read;
    hpcb_error_t conf_error; /* reason */
    char root[PATH_MAX];     /* "/"; tests: a snapshot */
    hpcb_node_t *node;       /* NULL: see node_error */
    hpcb_error_t node_error;
} hpcb_facts_t;

/* Read hpc-balance.conf (path NULL: the usual one) and this node's kernel. */
void hpcb_facts_local(const char *conf_path, const char *root, hpcb_facts_t *facts);

/* Query the cluster.  Return -1 with err if it does not answer. */
int hpcb_facts_cluster(hpcb_facts_t *facts, hpcb_error_t *err);

/* Determine the role of this host in the cluster; after facts->slurm is set. */
void hpcb_facts_place(hpcb_facts_t *facts);

void hpcb_facts_free(hpcb_facts_t *facts);

#endif
