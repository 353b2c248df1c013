/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Our groups as a whole, for host tools (hpcbctl): a thin layer over libcgroup on the
 * running system and over plain files on a snapshot, with the same results.  Not for
 * plugins, because their hosts do not link libcgroup.  Not thread-safe.
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

/* Get the processes of group alone, sorted; the caller frees them.  Return 0, or -1
 * with errno ENOENT if there is no such group. */
int hpcb_group_tasks(const hpcb_node_t *node, hpcb_controller_t controller,
                     const char *group, pid_t **pids, size_t *count, hpcb_error_t *err);

/* Remove group and all groups below it; their processes move to the parent group.
 * Return 0, also if there is none; -1 with errno EBUSY and err if processes fork faster
 * than they are moved or take more than 0.25 s to end.  May block for that time, so not
 * for event loops. */
int hpcb_group_delete(const hpcb_node_t *node, hpcb_controller_t controller,
                      const char *group, hpcb_error_t *err);

#endif
