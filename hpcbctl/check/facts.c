/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/text.h"
#include "hpcbctl/check/facts.h"

/* Directory of slurmd's files from slurmctld (configless). */
#define CONFIGLESS_DIR "/run/slurm/conf"

static void read_host(hpcb_facts_t *facts)
{
    if (gethostname(facts->host, sizeof(facts->host) - 1))
        snprintf(facts->host, sizeof(facts->host), "localhost");
    facts->host[strcspn(facts->host, ".")] = '\0';
}

void hpcb_facts_local(const char *conf_path, const char *root, hpcb_facts_t *facts)
{
    *facts = (hpcb_facts_t){.qos_threshold = UINT64_MAX, .qos_usage_factor = -1};
    snprintf(facts->root, sizeof(facts->root), "%s", root);
    read_host(facts);
    hpcb_conf_defaults(&facts->conf);
    hpcb_conf_find(conf_path, facts->conf_path, sizeof(facts->conf_path));
    facts->conf_read =
        hpcb_conf_load(facts->conf_path, &facts->conf, &facts->conf_error) == 0;
    facts->unprivileged = geteuid() != 0;
    if (hpcb_node_open(root, &facts->node, &facts->node_error))
        facts->node = NULL;
}

int hpcb_facts_cluster(hpcb_facts_t *facts, hpcb_error_t *err)
{
    char node[HPCB_NAME_MAX];

    hpcb_node_name(node, sizeof(node));
    if (hpcb_slurm_ask(node, &facts->slurm, err))
        return -1;
    if (!*facts->conf.guest_qos)
        return 0;
    facts->qos_threshold = hpcb_slurm_qos_threshold(facts->conf.guest_qos);
    facts->qos_usage_factor = hpcb_slurm_usage_factor(facts->conf.guest_qos);
    return 0;
}

/* SlurmctldHost[n] is "name" or "name(address)". */
static bool is_controller(const hpcb_table_t *config, const char *host)
{
    size_t length = strlen(host);

    for (size_t i = 0; i < config->count; i++) {
        const char *value = config->pairs[i].value;

        if (strcasecmp(config->pairs[i].key, "SlurmctldHost") == 0 &&
            strncasecmp(value, host, length) == 0 &&
            (value[length] == '\0' || strchr("(.", value[length])))
            return true;
    }
    return false;
}

static bool holds_conf(const char *dir)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s/slurm.conf", dir) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

static void parent_of(const char *path, char *dir, size_t size)
{
    const char *slash = strrchr(path, '/');

    snprintf(dir, size, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* $SLURM_CONF, else what a configless slurmd wrote, else slurmctld's own place. */
static void find_etc(hpcb_facts_t *facts)
{
    const char *own = secure_getenv("SLURM_CONF");
    char theirs[PATH_MAX];

    parent_of(hpcb_table_text(&facts->slurm.config, "SLURM_CONF"), theirs,
              sizeof(theirs));
    parent_of(own ? own : "", facts->etc, sizeof(facts->etc));
    if (*facts->etc && holds_conf(facts->etc))
        return;
    if (!holds_conf(theirs) && holds_conf(CONFIGLESS_DIR))
        snprintf(facts->etc, sizeof(facts->etc), "%s", CONFIGLESS_DIR);
    else
        snprintf(facts->etc, sizeof(facts->etc), "%s",
                 *theirs ? theirs : HPCB_SYSCONFDIR);
}

void hpcb_facts_place(hpcb_facts_t *facts)
{
    facts->on_node = facts->slurm.node_known;
    facts->on_controller = is_controller(&facts->slurm.config, facts->host);
    find_etc(facts);
}

void hpcb_facts_free(hpcb_facts_t *facts)
{
    hpcb_slurm_free(&facts->slurm);
    if (facts->node)
        hpcb_node_close(facts->node);
    facts->node = NULL;
}
