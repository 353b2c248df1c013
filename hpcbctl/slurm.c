/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "hpcbctl/run.h"
#include "hpcbctl/slurm.h"

#define ANSWER_MS  10000
#define ANSWER_MAX (8 * 1024 * 1024)

/* Run program with args (at most 6, ended by NULL). */
static int ask_by(const char *program, const char *const *args, char **answer,
                  hpcb_error_t *err)
{
    char path[PATH_MAX];
    char *argv[8] = {path};

    if (hpcb_run_find(program, path, sizeof(path), err))
        return -1;
    for (int i = 0; i < 6 && args[i]; i++)
        argv[i + 1] = (char *)args[i];
    return hpcb_run(argv, ANSWER_MS, ANSWER_MAX, answer, err);
}

static int ask(const char *const *args, char **answer, hpcb_error_t *err)
{
    return ask_by("scontrol", args, answer, err);
}

static int must_ask(const char *const *args, char **answer, hpcb_error_t *err)
{
    int code = ask(args, answer, err);

    return code == 0 ? 0 : -1;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        lines++;
    return lines;
}

static int parse_partitions(const char *text, hpcb_slurm_t *slurm)
{
    slurm->partitions = calloc(count_lines(text) + 1, sizeof(*slurm->partitions));
    if (!slurm->partitions)
        return -1;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        hpcb_table_t *partition = &slurm->partitions[slurm->n_partitions];
        int status = hpcb_table_parse_line(text, partition);

        slurm->n_partitions++;
        if (status)
            return -1;
        if (!hpcb_table_get(partition, "PartitionName"))
            hpcb_table_free(&slurm->partitions[--slurm->n_partitions]);
    }
    return 0;
}

int hpcb_slurm_parse(const char *config, const char *partitions, const char *node,
                     hpcb_slurm_t *slurm, hpcb_error_t *err)
{
    *slurm = (hpcb_slurm_t){0};
    if (hpcb_table_parse_config(config, &slurm->config) ||
        parse_partitions(partitions, slurm) ||
        (node && hpcb_table_parse_line(node, &slurm->node)))
        return hpcb_error(err, "out of memory");
    if (!hpcb_table_get(&slurm->config, "SelectType"))
        return hpcb_error(err, "scontrol show config: not the configuration of Slurm");
    slurm->node_known = hpcb_table_get(&slurm->node, "NodeName") != NULL;
    return 0;
}

int hpcb_slurm_ask(const char *node, hpcb_slurm_t *slurm, hpcb_error_t *err)
{
    static const char *const show_config[] = {"show", "config", NULL};
    static const char *const show_partition[] = {"-a", "-o", "show", "partition", NULL};
    const char *show_node[] = {"-a", "-o", "show", "node", node, NULL};
    hpcb_autofree char *config = NULL, *partitions = NULL, *answer = NULL;

    *slurm = (hpcb_slurm_t){0};
    if (must_ask(show_config, &config, err) ||
        must_ask(show_partition, &partitions, err) || ask(show_node, &answer, err) < 0)
        return -1;
    return hpcb_slurm_parse(config, partitions, answer, slurm, err);
}

void hpcb_slurm_free(hpcb_slurm_t *slurm)
{
    for (size_t i = 0; i < slurm->n_partitions; i++)
        hpcb_table_free(&slurm->partitions[i]);
    free(slurm->partitions);
    hpcb_table_free(&slurm->config);
    hpcb_table_free(&slurm->node);
    *slurm = (hpcb_slurm_t){0};
}

const hpcb_table_t *hpcb_slurm_partition(const hpcb_slurm_t *slurm, const char *name)
{
    for (size_t i = 0; i < slurm->n_partitions; i++)
        if (strcmp(hpcb_table_text(&slurm->partitions[i], "PartitionName"), name) == 0)
            return &slurm->partitions[i];
    return NULL;
}

/* "QOS=name(id)" opens the entry of a QOS, "MinPrioThresh=N" follows in it. */
uint64_t hpcb_slurm_parse_threshold(const char *text, const char *qos)
{
    char opening[256];
    const char *entry, *next, *field;

    if (snprintf(opening, sizeof(opening), "QOS=%s(", qos) >= (int)sizeof(opening))
        return UINT64_MAX;
    entry = strstr(text, opening);
    if (!entry)
        return UINT64_MAX;
    next = strstr(entry + 1, "QOS=");
    field = strstr(entry, "MinPrioThresh=");
    if (!field || (next && field > next))
        return UINT64_MAX;
    field += strlen("MinPrioThresh=");
    return *field >= '0' && *field <= '9' ? strtoull(field, NULL, 10) : UINT64_MAX;
}

uint64_t hpcb_slurm_qos_threshold(const char *qos)
{
    static const char *const show_qos[] = {"show", "assoc_mgr", "flags=qos", NULL};
    hpcb_autofree char *answer = NULL;

    if (ask(show_qos, &answer, NULL) != 0)
        return UINT64_MAX;
    return hpcb_slurm_parse_threshold(answer, qos);
}

double hpcb_slurm_parse_factor(const char *text)
{
    char *end;
    double factor = strtod(text, &end);

    return end > text && (*end == '\n' || *end == '\0') && factor >= 0 ? factor : -1;
}

double hpcb_slurm_usage_factor(const char *qos)
{
    const char *show_qos[] = {"-n", "-P", "show", "qos", qos, "format=UsageFactor"};
    hpcb_autofree char *answer = NULL;

    if (ask_by("sacctmgr", show_qos, &answer, NULL) != 0)
        return -1;
    return hpcb_slurm_parse_factor(answer);
}
