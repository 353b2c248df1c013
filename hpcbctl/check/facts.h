/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the rules of `hpcbctl check` look at, gathered once. */
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
    bool answered;              /* slurmctld did; slurm is empty otherwise */
    hpcb_error_t cluster_error; /* why not */
    uint64_t qos_threshold;     /* of GuestQOS; UINT64_MAX: none */
    double qos_usage_factor;    /* of GuestQOS; -1: not known */
    char host[HPCB_HOST_MAX];   /* this host's short name */
    bool on_node;               /* it is one of the cluster's nodes */
    bool on_controller;         /* it is one of SlurmctldHost */
    bool unprivileged;          /* the caller is not root */
    char etc[PATH_MAX];         /* where Slurm's configuration lies on this host */
    char conf_path[PATH_MAX];   /* hpc-balance.conf */
    hpcb_conf_t conf;           /* defaults where it cannot be read */
    bool conf_read;
    hpcb_error_t conf_error; /* why not */
    char root[PATH_MAX];     /* "/"; tests: a snapshot */
    hpcb_node_t *node;       /* NULL: node_error says why */
    hpcb_error_t node_error;
} hpcb_facts_t;

/* Read hpc-balance.conf (path NULL: where it is looked for) and this node's kernel. */
void hpcb_facts_local(const char *conf_path, const char *root, hpcb_facts_t *facts);

/* Ask the cluster.  -1 with err where it does not answer. */
int hpcb_facts_cluster(hpcb_facts_t *facts, hpcb_error_t *err);

/* Which place this host has in the cluster; after facts->slurm is filled. */
void hpcb_facts_place(hpcb_facts_t *facts);

void hpcb_facts_free(hpcb_facts_t *facts);

#endif
