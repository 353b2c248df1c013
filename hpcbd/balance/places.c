/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup/cores.h"
#include "common/text.h"
#include "hpcbd/balance/places.h"

static uint16_t package_of(const hpcb_node_t *node, unsigned cpu)
{
    char name[96], text[16];
    uint64_t package;

    snprintf(name, sizeof(name),
             "sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
    return hpcb_node_read(node, name, text, sizeof(text), NULL) == 0 &&
                   hpcb_text_u64(text, UINT16_MAX, &package) == 0
               ? (uint16_t)package
               : 0;
}

static int compare(const void *left, const void *right)
{
    const hpcb_balance_place_t *a = left, *b = right;

    if (a->package != b->package)
        return a->package < b->package ? -1 : 1;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

int hpcbd_places(const hpcb_node_t *node, const hpcb_cpus_t *cpus,
                 hpcb_balance_places_t *places, hpcb_error_t *err)
{
    static hpcb_cores_t cores;
    unsigned count = hpcb_cpus_count(cpus);
    bool known = hpcb_node_cores(node, &cores, NULL) == 0;

    if (count == 0 || count > HPCB_BALANCE_CPUS)
        return hpcb_error(err, "%u CPUs cannot be shared out", count);
    places->n = 0;
    for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(cpus, cpu + 1))
        places->place[places->n++] = (hpcb_balance_place_t){
            .cpu = (uint16_t)cpu,
            .core = known && hpcb_cpus_has(&cores.online, cpu) ? cores.core[cpu]
                                                               : (uint16_t)cpu,
            .package = package_of(node, cpu),
        };
    qsort(places->place, places->n, sizeof(places->place[0]), compare);
    return 0;
}

unsigned hpcbd_place_of(const hpcb_balance_places_t *places, unsigned cpu)
{
    unsigned i = 0;

    while (i < places->n && places->place[i].cpu != cpu)
        i++;
    return i;
}

bool hpcbd_places_smt(const hpcb_balance_places_t *places)
{
    for (unsigned i = 1; i < places->n; i++)
        if (places->place[i].core == places->place[i - 1].core &&
            places->place[i].package == places->place[i - 1].package)
            return true;
    return false;
}
