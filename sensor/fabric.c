/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bytes at the ports of InfiniBand and Omni-Path, which no group of the kernel counts,
 * because RDMA bypasses the kernel.  A port belongs to the node, so while several jobs
 * run the figure is charged to none.
 *
 * port_xmit_data and port_rcv_data are counted in units of 4 bytes (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband).  Adapters without the extended
 * counters stop at 2^32 - 1, which is no valid count.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "sensor/rows.h"
#include "sensor/stat.h"

#define CLASS     "sys/class/infiniband"
#define UNIT      4
#define PORTS_MAX 32
#define STUCK     UINT32_MAX

typedef struct {
    int rx, tx;
} port_t;

typedef struct {
    size_t count;
    port_t port[PORTS_MAX];
} fabric_t;

static void close_port(const port_t *port)
{
    if (port->rx >= 0)
        close(port->rx);
    if (port->tx >= 0)
        close(port->tx);
}

static void close_fabric(void *handle)
{
    fabric_t *fabric = handle;

    for (size_t i = 0; i < fabric->count; i++)
        close_port(&fabric->port[i]);
    free(fabric);
}

/* A port without counters (a link of another kind) is left out. */
static void add_port(fabric_t *fabric, const char *ports, const char *name)
{
    char dir[PATH_MAX];
    port_t port;

    if (name[0] == '.' || fabric->count == PORTS_MAX ||
        snprintf(dir, sizeof(dir), "%s/%s/counters", ports, name) >= (int)sizeof(dir))
        return;
    port.rx = hpcb_stat_open(dir, "port_rcv_data", NULL);
    port.tx = hpcb_stat_open(dir, "port_xmit_data", NULL);
    if (port.rx >= 0 && port.tx >= 0)
        fabric->port[fabric->count++] = port;
    else
        close_port(&port);
}

static void add_device(fabric_t *fabric, const char *class, const char *name)
{
    hpcb_autoclosedir DIR *dir = NULL;
    struct dirent *entry;
    char ports[PATH_MAX];

    if (name[0] == '.' || snprintf(ports, sizeof(ports), "%s/%s/ports", class, name) >=
                              (int)sizeof(ports))
        return;
    dir = opendir(ports);
    while (dir && (entry = readdir(dir)))
        add_port(fabric, ports, entry->d_name);
}

static int open_fabric(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = NULL;
    struct dirent *entry;
    char class[PATH_MAX];
    fabric_t *fabric;

    if (hpcb_node_path(job->node, CLASS, class, sizeof(class), err) < 0)
        return -1;
    dir = opendir(class);
    fabric = calloc(1, sizeof(*fabric));
    if (!fabric)
        return hpcb_error(err, "no memory");
    while (dir && (entry = readdir(dir)))
        add_device(fabric, class, entry->d_name);
    if (fabric->count == 0) {
        free(fabric);
        errno = ENODEV;
        return hpcb_error(err, "no InfiniBand or Omni-Path port with counters");
    }
    *handle = fabric;
    return 0;
}

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const hpcb_sensor_job_t whole = {.node = node};
    void *handle = NULL;

    if (open_fabric(&whole, &handle, err) < 0 || !handle)
        return -1;
    close_fabric(handle);
    return 0;
}

static int add_counter(int fd, uint64_t *sum, hpcb_error_t *err)
{
    uint64_t value;

    if (hpcb_stat_number(fd, "", &value, err) < 0)
        return -1;
    if (value == STUCK)
        return hpcb_error(err, "a port's counter is 32 bits wide and full");
    *sum += value * UNIT;
    return 0;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const fabric_t *fabric = handle;

    for (size_t i = 0; i < fabric->count; i++) {
        if (add_counter(fabric->port[i].rx, &values[HPCB_FIGURE_FABRIC_RX], err) < 0 ||
            add_counter(fabric->port[i].tx, &values[HPCB_FIGURE_FABRIC_TX], err) < 0)
            return -1;
    }
    return 0;
}

const hpcb_sensor_t hpcb_sensor_fabric = {
    .name = "fabric",
    .what = "bytes at InfiniBand and Omni-Path ports, of all jobs together",
    .whole = true,
    .figures = 1U << HPCB_FIGURE_FABRIC_RX | 1U << HPCB_FIGURE_FABRIC_TX,
    .probe = probe,
    .open = open_fabric,
    .sample = sample,
    .close = close_fabric,
};
