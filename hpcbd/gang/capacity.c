/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/conf.h"
#include "common/hostlist.h"
#include "hpcbd/gang/capacity.h"
#include "hpcbd/node/capacity.h"

static bool is_meant(const hpcb_capacity_t *row, const char *node)
{
    return strcmp(row->nodes, "ALL") == 0 || hpcb_hostlist_index(row->nodes, node) >= 0;
}

void hpcbd_gang_capacity_told(const char *conf_path, hpcb_bw_t *told)
{
    hpcb_autofree hpcb_capacity_t *rows = calloc(HPCB_CAPACITIES_MAX, sizeof(*rows));
    char node[HPCB_NAME_MAX];
    size_t count = 0;

    *told = (hpcb_bw_t){0, 0};
    /* The daemon has logged errors of the file when it read the rest of it. */
    if (!rows || hpcb_conf_capacities(conf_path, rows, &count, NULL) < 0)
        return;
    hpcb_node_name(node, sizeof(node));
    for (size_t i = 0; i < count; i++) {
        if (!is_meant(&rows[i], node))
            continue;
        told->mem = rows[i].mem ? rows[i].mem : told->mem;
        told->net = rows[i].net ? rows[i].net : told->net;
    }
}

void hpcbd_gang_capacity(const hpcb_bw_t *told, const char *state_dir,
                         hpcb_bw_t *capacity)
{
    hpcbd_capacity_t measured = {0, 0};

    if (told->mem == 0 || told->net == 0)
        hpcbd_capacity_load(state_dir, &measured);
    capacity->mem = told->mem ? told->mem : measured.mem;
    capacity->net = told->net ? told->net : measured.net;
}
