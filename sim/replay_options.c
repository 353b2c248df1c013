/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Options of hpcb-sim replay. */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/moment.h"
#include "sim/replay.h"
#include "sim/sim.h"

#define GIB_PER_CPU 4 /* of memory, if it is not given per node */
#define KIB_PER_MIB 1024
#define MIB_MAX     (INT64_C(1) << 28) /* of a node: that of all nodes is a number */

static int take_percent(const char *option, double most, double *value)
{
    char *end;
    double got = strtod(optarg, &end);

    if (end == optarg || *end || !(got >= 0 && got <= most)) {
        fprintf(stderr, "hpcb-sim: %s=%s: not a number of 0 to %g\n", option, optarg,
                most);
        return -1;
    }
    *value = got / 100;
    return 0;
}

static int take_file(hpcb_sim_order_t *order, hpcb_sim_reader_t reader)
{
    if (order->path) {
        fputs("hpcb-sim: replay: one history only\n", stderr);
        return -1;
    }
    order->path = optarg;
    order->read = reader;
    return 0;
}

/* Options of the cluster. */
static int take_cluster_option(hpcb_sim_cluster_t *cluster, int option,
                               const char *name)
{
    int64_t value = 0;
    int rc;

    switch (option) {
    case 'N':
        rc = hpcb_sim_number(name, optarg, 1, HPCB_SIM_NODES_MAX, &value);
        cluster->nodes = (uint32_t)value;
        return rc;
    case 'C':
        rc = hpcb_sim_number(name, optarg, 1, HPCB_SIM_PER_NODE_MAX, &value);
        cluster->cpus = (uint32_t)value;
        return rc;
    case 'm':
        rc = hpcb_sim_number(name, optarg, 1, MIB_MAX, &value);
        cluster->memory = value * KIB_PER_MIB;
        return rc;
    case 's':
        rc = hpcb_sim_number(name, optarg, 0, INT64_MAX, &value);
        cluster->seed = (uint64_t)value;
        return rc;
    case 'g':
        return take_percent(name, 100, &cluster->guest_part);
    case 'c':
        return take_percent(name, 1000, &cluster->guest_cost);
    case 'M':
        return take_percent(name, 1000, &cluster->max_slowdown);
    case 'n':
        return take_percent(name, 99, &cluster->nice_share);
    case 'l':
        return take_percent(name, 10000, &cluster->guest_limit);
    case 'R':
        cluster->no_requeue = true;
        return 0;
    default:
        return -1;
    }
}

static int take_option(hpcb_sim_order_t *order, int option, const char *name)
{
    switch (option) {
    case 'w':
        return take_file(order, hpcb_sim_read_swf);
    case 'a':
        return take_file(order, hpcb_sim_read_sacct);
    case 'r':
        return take_file(order, NULL);
    case 'u':
        order->name = optarg;
        return 0;
    case 'S':
        order->start = optarg;
        return 0;
    case 'E':
        order->end = optarg;
        return 0;
    case 'j':
        order->json = true;
        return 0;
    case 'H':
        order->html = optarg;
        return 0;
    case 'h':
        order->help = true;
        return 0;
    default:
        return take_cluster_option(&order->cluster, option, name);
    }
}

/* The database has seconds; dates are local time of this host then. */
static int64_t as_local(int64_t utc)
{
    time_t seconds = utc;
    struct tm date;

    gmtime_r(&seconds, &date);
    date.tm_isdst = -1;
    return mktime(&date);
}

static int take_moment(const hpcb_sim_order_t *order, const char *option,
                       const char *text, int64_t *seconds)
{
    double moment;

    if (!text)
        return 0;
    if (!hpcb_sim_moment(text, &moment) || moment < 0 ||
        moment > (double)HPCB_SIM_TIME_MAX) {
        fprintf(stderr,
                "hpcb-sim: %s=%s: not a date (2026-11-23, 2026-11-23T10:00) or a "
                "number of seconds\n",
                option, text);
        return -1;
    }
    *seconds = (int64_t)moment;
    if (!order->read && strchr(text, '-'))
        *seconds = as_local(*seconds);
    return 0;
}

static int check_times(hpcb_sim_order_t *order)
{
    order->from = 0;
    order->to = HPCB_SIM_TIME_MAX;
    if (take_moment(order, "--start", order->start, &order->from) < 0 ||
        take_moment(order, "--end", order->end, &order->to) < 0)
        return -1;
    if (order->from >= order->to) {
        fprintf(stderr, "hpcb-sim: replay: --start=%s is not before --end=%s\n",
                order->start ? order->start : "0", order->end ? order->end : "");
        return -1;
    }
    return 0;
}

static int check_order(hpcb_sim_order_t *order)
{
    if (!order->path || order->cluster.nodes == 0 || order->cluster.cpus == 0) {
        fprintf(stderr, "hpcb-sim: replay: %s is missing (see --help)\n",
                !order->path                ? "--swf, --sacct or --records"
                : order->cluster.nodes == 0 ? "--nodes"
                                            : "--cpus-per-node");
        return -1;
    }
    if (order->name && order->read) {
        fputs("hpcb-sim: replay: --cluster is for --records only\n", stderr);
        return -1;
    }
    if (order->cluster.memory == 0)
        order->cluster.memory =
            (int64_t)order->cluster.cpus * GIB_PER_CPU * 1024 * KIB_PER_MIB;
    return check_times(order);
}

int hpcb_sim_replay_options(int argc, char *argv[], hpcb_sim_order_t *order)
{
    static const struct option options[] = {
        {"swf", required_argument, NULL, 'w'},
        {"sacct", required_argument, NULL, 'a'},
        {"records", required_argument, NULL, 'r'},
        {"cluster", required_argument, NULL, 'u'},
        {"start", required_argument, NULL, 'S'},
        {"end", required_argument, NULL, 'E'},
        {"nodes", required_argument, NULL, 'N'},
        {"cpus-per-node", required_argument, NULL, 'C'},
        {"memory", required_argument, NULL, 'm'},
        {"guest-part", required_argument, NULL, 'g'},
        {"guest-cost", required_argument, NULL, 'c'},
        {"guest-max-slowdown", required_argument, NULL, 'M'},
        {"guest-limit", required_argument, NULL, 'l'},
        {"nice-share", required_argument, NULL, 'n'},
        {"no-requeue", no_argument, NULL, 'R'},
        {"seed", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"html", required_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, which = 0;
    char name[32];

    order->cluster = (hpcb_sim_cluster_t){.nice_share = 0.5,
                                          .guest_cost = 0.007,
                                          .max_slowdown = 0.01,
                                          .guest_part = 0.25,
                                          .guest_limit = 1,
                                          .seed = 1};
    while ((option = getopt_long(argc, argv, "jh", options, &which)) != -1) {
        snprintf(name, sizeof(name), "--%s", options[which].name);
        if (take_option(order, option, name) < 0)
            return -1;
        if (order->help)
            return 0;
    }
    if (optind != argc) {
        fprintf(stderr, "hpcb-sim: replay: '%s' is not an option\n", argv[optind]);
        return -1;
    }
    return check_order(order);
}
