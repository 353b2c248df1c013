/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Speeds of a node's network links from sysfs (Linux 2.6.33 and later). */
#include "config.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/file.h"
#include "common/text.h"
#include "hpcbctl/calibrate/calibrate.h"

/* linux/if_arp.h: ARPHRD_ETHER, ARPHRD_INFINIBAND */
#define TYPE_ETHERNET   "1"
#define TYPE_INFINIBAND "32"

/* More than any link has by 2026; below it, bytes/s fit 64 bits. */
#define MBITS_MAX 100000000

#define BYTES_PER_MBIT 125000

static int read_word(const char *directory, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    ssize_t n;

    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
        return -1;
    n = hpcb_file_read(path, text, size, NULL);
    if (n < 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

static void take_fastest(hpcb_network_t *network, uint64_t mbits, unsigned directions,
                         const char *link)
{
    uint64_t speed = mbits * BYTES_PER_MBIT * directions;

    if (speed <= network->bytes_per_second)
        return;
    network->bytes_per_second = speed;
    snprintf(network->link, sizeof(network->link), "%.*s", HPCB_LINK_MAX - 1, link);
}

static bool carries_jobs(const char *directory)
{
    char path[PATH_MAX], text[64];

    /* Bridges, bonds, VLANs and veths have no device: what is below them counts. */
    if (snprintf(path, sizeof(path), "%s/device", directory) >= (int)sizeof(path) ||
        access(path, F_OK) != 0)
        return false;
    if (read_word(directory, "type", text, sizeof(text)) < 0 ||
        (strcmp(text, TYPE_ETHERNET) != 0 && strcmp(text, TYPE_INFINIBAND) != 0))
        return false;
    return read_word(directory, "operstate", text, sizeof(text)) == 0 &&
           strcmp(text, "up") == 0;
}

static void add_interface(const char *directory, const char *name, void *arg)
{
    hpcb_network_t *network = arg;
    char text[64];
    uint64_t mbits;
    bool half;

    if (!carries_jobs(directory))
        return;
    /* Mbit/s; virtual drivers say -1 or, below Linux 3.x, 65535 or 4294967295. */
    if (read_word(directory, "speed", text, sizeof(text)) < 0 ||
        hpcb_text_u64(text, MBITS_MAX, &mbits) < 0 || mbits == 0 ||
        mbits == UINT16_MAX) {
        network->silent++;
        return;
    }
    half = read_word(directory, "duplex", text, sizeof(text)) == 0 &&
           strcmp(text, "half") == 0;
    take_fastest(network, mbits, half ? 1 : 2, name);
}

/* rate: "100 Gb/sec (4X EDR)"; state: "4: ACTIVE". */
static void add_port(const char *directory, const char *name, void *arg)
{
    hpcb_network_t *network = arg;
    const char *device = strstr(directory, "/infiniband/");
    char text[64], link[HPCB_LINK_MAX];
    hpcb_decimal_t decimal;
    const char *rest;
    uint64_t mbits;

    if (!device || read_word(directory, "state", text, sizeof(text)) < 0 ||
        strncmp(text, "4:", 2) != 0)
        return;
    if (read_word(directory, "rate", text, sizeof(text)) < 0)
        return;
    rest = hpcb_text_decimal(text, &decimal);
    if (!rest || strncmp(rest, " Gb/sec", 7) != 0 ||
        hpcb_decimal_scale(&decimal, 1000, MBITS_MAX, &mbits) < 0) {
        network->silent++;
        return;
    }
    device += strlen("/infiniband/");
    snprintf(link, sizeof(link), "%.*s port %.8s", (int)strcspn(device, "/"), device,
             name);
    take_fastest(network, mbits, 2, link);
}

static void each(const char *directory,
                 void (*visit)(const char *directory, const char *name, void *arg),
                 void *arg)
{
    hpcb_autoclosedir DIR *dir = opendir(directory);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];

        if (entry->d_name[0] != '.' && snprintf(path, sizeof(path), "%s/%s", directory,
                                                entry->d_name) < (int)sizeof(path))
            visit(path, entry->d_name, arg);
    }
}

static void add_device(const char *directory, const char *name, void *arg)
{
    char ports[PATH_MAX];

    (void)name;
    if (snprintf(ports, sizeof(ports), "%s/ports", directory) < (int)sizeof(ports))
        each(ports, add_port, arg);
}

void hpcb_calibrate_network(const char *root, hpcb_network_t *network)
{
    char path[PATH_MAX];

    *network = (hpcb_network_t){0};
    if (snprintf(path, sizeof(path), "%s/sys/class/net", root) < (int)sizeof(path))
        each(path, add_interface, network);
    if (snprintf(path, sizeof(path), "%s/sys/class/infiniband", root) <
        (int)sizeof(path))
        each(path, add_device, network);
    hpcb_text_clean(network->link);
}
