/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A node, its configuration, its recorded jobs and what was logged, for tests of
 * commands of hpcbctl that act on a node.  Each fails the test that calls it. */
#ifndef HPCB_TESTS_HPCBCTL_NODE_FIXTURE_H
#define HPCB_TESTS_HPCBCTL_NODE_FIXTURE_H

#include "cgroup/node.h"
#include "cgroup/undo.h"
#include "common/conf.h"
#include "common/state.h"

/* Lines that were kept, except debug ones. */
extern char fixture_log[4096];

/* Keep lines from now on. */
void fixture_keep_log(void);

/* The node below root; hpcb_node_close.  Its log is kept. */
hpcb_node_t *fixture_node(const char *root);

/* The defaults, with StateDir at ROOT/state. */
void fixture_conf(hpcb_conf_t *conf, const char *root);

/* A job of uid 7001 that began at 1.5 s. */
void fixture_job(const hpcb_conf_t *conf, uint32_t id, hpcb_class_t klass);

/* Lower task pid of a guest's job with the mechanisms of this node.  undo: NULL, or the
 * job's log. */
void fixture_lower(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t id,
                   pid_t pid, hpcb_undo_t *undo);

#endif
