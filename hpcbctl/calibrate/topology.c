/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include "hpcbctl/calibrate/topology.h"

static unsigned count(hwloc_topology_t hw, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(hw, type);

    return n > 0 ? (unsigned)n : 0;
}

static bool has_smt(hwloc_topology_t hw)
{
    hwloc_obj_t core = NULL;

    while ((core = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_CORE, core))) {
        if (hwloc_bitmap_weight(core->cpuset) > 1)
            return true;
    }
    return false;
}

static int load(hwloc_topology_t hw, const char *synthetic)
{
    if (synthetic && hwloc_topology_set_synthetic(hw, synthetic) < 0)
        return -1;
    return hwloc_topology_load(hw);
}

int hpcb_topology_read(const char *synthetic, hpcb_topology_t *topology,
                       hpcb_error_t *err)
{
    hwloc_topology_t hw;

    if (hwloc_topology_init(&hw) < 0)
        return hpcb_error(err, "hwloc: %s", strerror(errno));
    if (load(hw, synthetic) < 0) {
        hpcb_error(err, "hwloc cannot read the topology: %s", strerror(errno));
        hwloc_topology_destroy(hw);
        return -1;
    }
    *topology = (hpcb_topology_t){
        .packages = count(hw, HWLOC_OBJ_PACKAGE),
        .numa_nodes = count(hw, HWLOC_OBJ_NUMANODE),
        .cores = count(hw, HWLOC_OBJ_CORE),
        .threads = count(hw, HWLOC_OBJ_PU),
        .smt = has_smt(hw),
    };
    hwloc_topology_destroy(hw);
    return 0;
}
