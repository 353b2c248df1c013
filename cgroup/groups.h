/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Groups of ours as a whole, for host tools (hpcbctl): a thin layer with libcgroup
 * behind it on the running system and plain files on a snapshot, with the same results.
 * Not for plugins: their hosts do not link libcgroup.  Not thread-safe.
 *
 * group is a path below the controller's mount: "hpcb_guest/job_7".
 */
#ifndef HPCB_CGROUP_GROUPS_H
#define HPCB_CGROUP_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "cgroup/node.h"

bool hpcb_group_exists(const hpcb_node_t *node, hpcb_controller_t controller,
                       const char *group);

/* The processes of group alone, sorted; the caller frees them.  -1 with errno ENOENT
 * where there is no such group. */
int hpcb_group_tasks(const hpcb_node_t *node, hpcb_controller_t controller,
                     const char *group, pid_t **pids, size_t *count, hpcb_error_t *err);

/* Remove group and all groups below it; their processes go to the group above.  0 also
 * when there is none; -1 with errno EBUSY and err when processes fork faster than they
 * are moved, or take over 0.25 s to end: it waits so long, so not for event loops. */
int hpcb_group_delete(const hpcb_node_t *node, hpcb_controller_t controller,
                      const char *group, hpcb_error_t *err);

#endif
