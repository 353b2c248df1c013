/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cgroup/mechanism.h"
#include "common/log.h"
#include "tests/hpcbctl/node_fixture.h"

char fixture_log[4096];

static void keep(hpcb_log_level_t level, const char *line)
{
    size_t used = strlen(fixture_log);

    if (level != HPCB_LOG_DEBUG)
        snprintf(fixture_log + used, sizeof(fixture_log) - used, "%s\n", line);
}

void fixture_keep_log(void)
{
    hpcb_log_set_sink(keep);
}

hpcb_node_t *fixture_node(const char *root)
{
    hpcb_node_t *node;
    hpcb_error_t err;

    fixture_keep_log();
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    return node;
}

void fixture_conf(hpcb_conf_t *conf, const char *root)
{
    hpcb_conf_defaults(conf);
    snprintf(conf->state_dir, sizeof(conf->state_dir), "%s/state", root);
}

void fixture_job(const hpcb_conf_t *conf, uint32_t id, hpcb_class_t klass)
{
    const hpcb_job_state_t job = {.job_id = id,
                                  .uid = 7001,
                                  .klass = klass,
                                  .partition = "p",
                                  .begin_us = 1500000};
    hpcb_error_t err;

    ck_assert_msg(hpcb_state_save(conf->state_dir, &job, &err) == 0, "%s", err.text);
}

void fixture_lower(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t id,
                   pid_t pid, hpcb_undo_t *undo)
{
    const hpcb_target_t target = {.node = node,
                                  .pid = pid,
                                  .job_id = id,
                                  .undo = undo,
                                  .guest_cgroup = conf->guest_cgroup,
                                  .oom_score_adj = 500};
    hpcb_error_t err;

    ck_assert_msg(hpcb_isolate(&target, &err) != NULL, "%s", err.text);
}
