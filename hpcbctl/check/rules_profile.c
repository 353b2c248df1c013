/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What decides where guests go: the store of profiles, the capacities of nodes. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/profile.h"
#include "common/text.h"
#include "hpcbctl/hostlist.h"
#include "hpcbctl/check/rule_tests.h"

/* -- the store -- */

/* Cut path to the directory that it is in. */
static void to_parent(char path[static PATH_MAX])
{
    char *slash = strrchr(path, '/');

    if (slash && slash != path)
        *slash = '\0';
    else
        hpcb_text_copy(path, PATH_MAX, "/");
}

/* slurmctld reads the store as SlurmUser, "slurm(64030)". */
static bool reads_as_root(const hpcb_facts_t *facts)
{
    return strncasecmp(hpcb_setting(facts, "SlurmUser"), "root(", 5) == 0;
}

/* The directory that will hold the store, or the next one above it that there is. */
static bool check_above(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path)
{
    char dir[PATH_MAX];
    hpcb_error_t why = {""};
    struct stat st;

    hpcb_text_copy(dir, sizeof(dir), path);
    do
        to_parent(dir);
    while (stat(dir, &st) && errno == ENOENT && strcmp(dir, "/") != 0);
    if (hpcb_file_trusted(dir, &why) == 0 && access(dir, W_OK))
        hpcb_error(&why, "%.400s cannot be written: %s", dir, strerror(errno));
    if (!*why.text && !reads_as_root(facts) && !(st.st_mode & S_IXOTH))
        hpcb_error(&why, "%.400s: slurmctld (SlurmUser=%.64s) gets no further", dir,
                   hpcb_setting(facts, "SlurmUser"));
    if (!*why.text)
        return true;
    hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s", path,
               why.text);
    hpcb_mend(report, "chown root: %s; chmod 755 %s", dir, dir);
    return false;
}

static void check_store(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path, const struct stat *st)
{
    hpcb_error_t why;
    hpcb_profiles_t *store = NULL;

    if (hpcb_file_trusted(path, &why)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s",
                   path, why.text);
        hpcb_mend(report, "chown root: %s; chmod 644 %s", path, path);
    } else if (!reads_as_root(facts) && !(st->st_mode & S_IROTH)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path,
                   "ProfileStore=%s: slurmctld (SlurmUser=%s) cannot read it", path,
                   hpcb_setting(facts, "SlurmUser"));
        hpcb_mend(report, "chmod 644 %s", path);
    } else if (!(store = hpcb_profiles_load(path, &why))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s",
                   path, why.text);
        hpcb_mend(report, "mv %s %s.damaged", path, path);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path, "ProfileStore=%s", path);
    }
    hpcb_profiles_free(store);
}

static void say_no_file(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path)
{
    hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s", path,
               strerror(errno));
    hpcb_mend(report, "ProfileStore=%s/profiles.json", facts->conf.spool_dir);
}

void hpcb_rule_profile_store(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char path[PATH_MAX];
    struct stat st;

    hpcb_conf_profile_store(&facts->conf, path);
    if (facts->unprivileged) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "not as an ordinary user: run hpcbctl check as root");
        return;
    }
    if (!check_above(facts, report, path))
        return;
    if (lstat(path, &st) == 0)
        check_store(facts, report, path, &st);
    else if (errno == ENOENT)
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "ProfileStore=%s: made by the first hpcbctl profile learn or set",
                   path);
    else
        say_no_file(facts, report, path);
}

/* -- NodeName lines -- */

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

/* A name with a slip of the pen leaves the node that was meant without a capacity. */
void hpcb_rule_node_capacities(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    hpcb_autofree hpcb_capacity_t *rows = calloc(HPCB_CAPACITIES_MAX, sizeof(*rows));
    AUTO_NAMES names_t nodes = {0};
    size_t count = 0;
    bool good = true;

    if (!rows || hpcb_conf_capacities(facts->conf_path, rows, &count, NULL))
        count = 0; /* what is wrong with the file, rule configuration says */
    gather_nodes(facts, &nodes);
    for (size_t i = 0; i < count; i++)
        good &= check_row(facts, report, &nodes, rows[i].nodes);
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   count ? "%zu NodeName lines"
                         : "no NodeName lines (%zu): bandwidths do not count",
                   count);
}
