/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include "sensor/membench_cache.h"

#define MIB           ((size_t)1 << 20)
#define TIMES_CACHES  8
#define ASSUMED_CACHE (32 * MIB)
#define BLOCK_MIN     (16 * MIB)
#define ASSUMED_LINE  64

static hwloc_obj_t last_level(hwloc_obj_t pu)
{
    hwloc_obj_t found = NULL;

    for (hwloc_obj_t obj = pu; obj; obj = obj->parent)
        if (hwloc_obj_type_is_dcache(obj->type) && obj->attr->cache.size > 0)
            found = obj;
    return found;
}

/* Bytes of a cache and of all data caches above it: of exclusive ones, a line is in one
 * of them only. */
static size_t caches_within(hwloc_topology_t hw, hwloc_obj_t last)
{
    size_t bytes = 0;

    for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; type++) {
        hwloc_obj_t obj = NULL;

        while ((obj = hwloc_get_next_obj_by_type(hw, type, obj)))
            if (hwloc_bitmap_isincluded(obj->cpuset, last->cpuset))
                bytes += (size_t)obj->attr->cache.size;
    }
    return bytes;
}

static unsigned threads_within(hwloc_obj_t last, const hpcb_cpus_t *cpus)
{
    unsigned threads = 0;
    unsigned cpu;

    if (!cpus)
        return 1;
    hwloc_bitmap_foreach_begin(cpu, last->cpuset) threads +=
        cpu < HPCB_CPUS_MAX && hpcb_cpus_has(cpus, cpu);
    hwloc_bitmap_foreach_end();
    return threads;
}

/* Raise what cache asks for by what the last-level cache of one CPU needs. */
static void raise_for_cpu(hwloc_topology_t hw, hwloc_obj_t pu, const hpcb_cpus_t *cpus,
                          hpcb_membench_cache_t *cache)
{
    hwloc_obj_t last = last_level(pu);
    size_t block = TIMES_CACHES * ASSUMED_CACHE;

    if (last) {
        unsigned threads = threads_within(last, cpus);

        if (threads == 0)
            return;
        block = TIMES_CACHES * caches_within(hw, last) / threads;
        if (last->attr->cache.size > cache->last_level)
            cache->last_level = (size_t)last->attr->cache.size;
        if (last->attr->cache.linesize > 0)
            cache->line = last->attr->cache.linesize;
    }
    if (block > cache->block)
        cache->block = block;
}

static int load(hwloc_topology_t hw, const char *synthetic)
{
    if (synthetic && hwloc_topology_set_synthetic(hw, synthetic) < 0)
        return -1;
    return hwloc_topology_load(hw);
}

int hpcb_membench_cache(const char *synthetic, const hpcb_cpus_t *cpus,
                        hpcb_membench_cache_t *cache, hpcb_error_t *err)
{
    hpcb_membench_cache_t found = {.line = ASSUMED_LINE, .block = BLOCK_MIN};
    hwloc_topology_t hw;
    hwloc_obj_t pu = NULL;

    if (hwloc_topology_init(&hw) < 0)
        return hpcb_error(err, "hwloc: %s", strerror(errno));
    if (load(hw, synthetic) < 0) {
        hpcb_error(err, "hwloc cannot read the topology: %s", strerror(errno));
        hwloc_topology_destroy(hw);
        return -1;
    }
    while ((pu = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_PU, pu)))
        raise_for_cpu(hw, pu, cpus, &found);
    hwloc_topology_destroy(hw);
    *cache = found;
    return 0;
}
