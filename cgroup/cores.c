/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/cores.h"

#define SYSFS_CPU "sys/devices/system/cpu"
#define LIST_MAX  4096

static int read_list(const hpcb_node_t *node, const char *name, hpcb_cpus_t *cpus,
                     hpcb_error_t *err)
{
    char text[LIST_MAX];

    if (hpcb_node_read(node, name, text, sizeof(text), err) < 0)
        return -1;
    if (hpcb_cpus_parse(text, cpus) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s: \"%.40s\" is no list of CPUs", name, text);
}

/* The threads of cpu's core.  thread_siblings_list is called core_cpus_list too since
 * Linux 5.3; both are there. */
static int read_siblings(const hpcb_node_t *node, unsigned cpu, hpcb_cpus_t *siblings,
                         hpcb_error_t *err)
{
    char name[80];

    snprintf(name, sizeof(name), SYSFS_CPU "/cpu%u/topology/thread_siblings_list", cpu);
    return read_list(node, name, siblings, err);
}

int hpcb_node_cores(const hpcb_node_t *node, hpcb_cores_t *cores, hpcb_error_t *err)
{
    memset(cores, 0, sizeof(*cores));
    if (read_list(node, SYSFS_CPU "/online", &cores->online, err) < 0)
        return -1;
    for (unsigned cpu = hpcb_cpus_from(&cores->online, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(&cores->online, cpu + 1)) {
        hpcb_cpus_t siblings;

        if (read_siblings(node, cpu, &siblings, err) < 0)
            return -1;
        hpcb_cpus_add(&siblings, cpu);
        cores->core[cpu] = (uint16_t)hpcb_cpus_from(&siblings, 0);
        cores->smt |= hpcb_cpus_count(&siblings) > 1;
    }
    return 0;
}

/* On a node with SMT the first CPU usually answers; a large node has hundreds. */
int hpcb_node_smt(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcb_cpus_t online, siblings;

    if (read_list(node, SYSFS_CPU "/online", &online, err) < 0)
        return -1;
    for (unsigned cpu = hpcb_cpus_from(&online, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(&online, cpu + 1)) {
        if (read_siblings(node, cpu, &siblings, err) < 0)
            return -1;
        if (hpcb_cpus_count(&siblings) > 1)
            return 0;
    }
    return hpcb_error(err, "no core of this node has two threads");
}
