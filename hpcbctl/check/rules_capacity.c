/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Bandwidths of nodes: NodeName lines, and the nodes' own measurements. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/hostlist.h"
#include "common/live.h"
#include "common/text.h"
#include "hpcbctl/check/rule_tests.h"

/* Names of unmeasured nodes in the line about them. */
#define SHOWN 6

/* Names of nodes; those of partitions are sorted. */
typedef struct {
    char **names;
    size_t count, room;
} names_t;

static void free_names(names_t *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
}

#define AUTO_NAMES __attribute__((cleanup(free_names)))

static int add_name(const char *name, void *arg)
{
    names_t *names = arg;

    if (names->count == names->room) {
        size_t room = names->room * 2 + 64;
        char **more = reallocarray(names->names, room, sizeof(*more));

        if (!more)
            return -1;
        names->names = more;
        names->room = room;
    }
    names->names[names->count] = strdup(name);
    return names->names[names->count] ? (names->count++, 0) : -1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The nodes of all partitions.  Those of a list that cannot be read are not there. */
static void gather_nodes(const hpcb_facts_t *facts, names_t *nodes)
{
    for (size_t i = 0; i < facts->slurm.n_partitions; i++)
        hpcb_hostlist_each(hpcb_table_text(&facts->slurm.partitions[i], "Nodes"),
                           add_name, nodes);
    if (nodes->count > 0)
        qsort(nodes->names, nodes->count, sizeof(*nodes->names), compare_names);
}

typedef struct {
    const names_t *nodes;
    size_t unknown;
    char example[HPCB_HOST_MAX];
} search_t;

static int look_up(const char *name, void *arg)
{
    search_t *search = arg;
    const names_t *nodes = search->nodes;

    if (nodes->count == 0 || !bsearch(&name, nodes->names, nodes->count,
                                      sizeof(*nodes->names), compare_names)) {
        if (search->unknown++ == 0)
            hpcb_text_copy(search->example, sizeof(search->example), name);
    }
    return 0;
}

static bool check_row(const hpcb_facts_t *facts, hpcb_report_t *report,
                      const names_t *nodes, const char *list)
{
    search_t search = {.nodes = nodes};

    if (strcasecmp(list, "ALL") == 0)
        return true;
    if (hpcb_hostlist_each(list, look_up, &search) < 0) {
        hpcb_found(report, HPCB_VERDICT_WARN, facts->conf_path,
                   "NodeName=%s cannot be read, or is too long", list);
        hpcb_mend(report, "NodeName=ALL, or several lines of fewer nodes");
        return false;
    }
    if (search.unknown == 0)
        return true;
    hpcb_found(report, HPCB_VERDICT_WARN, facts->conf_path,
               "NodeName=%s: %zu of these are in no partition (%s)", list,
               search.unknown, search.example);
    hpcb_mend(report, "NodeName= with names that are in slurm.conf, without %s",
              search.example);
    return false;
}

/* Get the nodes that have reported their own measurements, sorted.  Return false if
 * that is not known: it is only known on the collector's host. */
static bool gather_measured(const hpcb_facts_t *facts, names_t *measured)
{
    hpcb_live_known_t known = {0};
    hpcb_live_t live = {0};

    if (hpcb_live_read(facts->conf.collector_dir, &known, &live, NULL) < 0)
        return false;
    for (size_t i = 0; i < live.n_nodes; i++)
        if (live.nodes[i].mem_bandwidth > 0)
            add_name(live.nodes[i].name, measured);
    hpcb_live_clear(&live);
    if (measured->count > 0)
        qsort(measured->names, measured->count, sizeof(*measured->names),
              compare_names);
    return true;
}

static bool holds(const names_t *names, char *name)
{
    return names->count > 0 && bsearch(&name, names->names, names->count,
                                       sizeof(*names->names), compare_names);
}

static bool is_typed(const hpcb_capacity_t *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].mem > 0 && (strcasecmp(rows[i].nodes, "ALL") == 0 ||
                                hpcb_hostlist_index(rows[i].nodes, name) >= 0))
            return true;
    return false;
}

/* The nodes of partitions whose memory bandwidth neither a line nor measured says:
 * their number, and the first few in text. */
static size_t find_unmeasured(const names_t *nodes, const names_t *measured,
                              const hpcb_capacity_t *rows, size_t count, char *text,
                              size_t size)
{
    size_t unmeasured = 0, used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < nodes->count; i++) {
        char *name = nodes->names[i];

        if ((i > 0 && strcmp(name, nodes->names[i - 1]) == 0) ||
            holds(measured, name) || is_typed(rows, count, name))
            continue;
        if (unmeasured++ < SHOWN)
            used += (size_t)snprintf(text + used, size - used, "%s%.64s",
                                     used > 0 ? "," : "", name);
    }
    if (unmeasured > SHOWN)
        snprintf(text + used, size - used, ",...");
    return unmeasured;
}

static void say_unmeasured(const hpcb_facts_t *facts, hpcb_report_t *report,
                           const names_t *nodes, const hpcb_capacity_t *rows,
                           size_t count)
{
    char text[SHOWN * 66 + 8];
    AUTO_NAMES names_t measured = {0};
    bool is_here = gather_measured(facts, &measured);
    size_t unmeasured =
        find_unmeasured(nodes, &measured, rows, count, text, sizeof(text));

    if (unmeasured > 0 && is_here) {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "%zu NodeName lines; unmeasured nodes: %zu (%s); among these, "
                   "guests go first to those that use least",
                   count, unmeasured, text);
        hpcb_mend(report, "hpcbd measures a node when it is idle; or the line that "
                          "hpcbctl calibrate prints there");
    } else if (unmeasured > 0) {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "%zu NodeName lines; no reports of the %zu other nodes here: "
                   "hpcbctl check on the collector's host says which are unmeasured",
                   count, unmeasured);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "%zu NodeName lines; the bandwidth of all nodes is known", count);
    }
}

/* A name with a slip of the pen leaves the node that was meant without a capacity. */
void hpcb_rule_node_capacities(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    hpcb_autofree hpcb_capacity_t *rows = calloc(HPCB_CAPACITIES_MAX, sizeof(*rows));
    AUTO_NAMES names_t nodes = {0};
    size_t count = 0;
    bool good = true;

    if (!rows || hpcb_conf_capacities(facts->conf_path, rows, &count, NULL))
        count = 0; /* rule configuration reports errors of the file */
    gather_nodes(facts, &nodes);
    for (size_t i = 0; i < count; i++)
        good &= check_row(facts, report, &nodes, rows[i].nodes);
    if (good)
        say_unmeasured(facts, report, &nodes, rows, count);
}
