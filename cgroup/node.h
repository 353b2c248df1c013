/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Cgroup layout of this node and the groups of running tasks.  Paths are read from
 * /proc/self/mountinfo and /proc/PID/cgroup and never composed, because Slurm's layouts
 * differ (slurm_<node>/uid_U/job_N, slurmstepd.scope/job_N,
 * <node>_slurmstepd.scope/job_N, and since 26.05 a SLUID in place of job_N).
 */
#ifndef HPCB_CGROUP_NODE_H
#define HPCB_CGROUP_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Parent of our groups without controllers in a cgroup2 mount on nodes with v1
 * controllers (sensor/meter.h creates them). */
#define HPCB_UNIFIED_GROUP "hpcb"

/* Write the name of a job's group below group (HPCB_UNIFIED_GROUP or GuestCgroup):
 * "hpcb/job_7".  Return 0, or -1 if it does not fit. */
int hpcb_node_job_group(const char *group, uint32_t job_id, char *name, size_t size);

typedef struct hpcb_node hpcb_node_t;

typedef enum {
    HPCB_CTL_CPU,
    HPCB_CTL_CPUACCT, /* v1 only */
    HPCB_CTL_CPUSET,
    HPCB_CTL_MEMORY,
    HPCB_CTL_FREEZER, /* v2: built in */
    HPCB_CTL_IO,      /* v1: blkio */
    HPCB_CTL_UNIFIED, /* the cgroup2 mount with any controllers */
    HPCB_CTL_COUNT
} hpcb_controller_t;

/* Read the system below root ("/" or a snapshot directory with proc/ and the mount
 * points).  Writes nothing.  The caller closes it. */
int hpcb_node_open(const char *root, hpcb_node_t **node, hpcb_error_t *err);
void hpcb_node_close(hpcb_node_t *node);

/* Return true if root is "/": the running system, not a snapshot. */
bool hpcb_node_live(const hpcb_node_t *node);

/* Return 1 or 2, or 0 if the controller is not mounted. */
int hpcb_node_version(const hpcb_node_t *node, hpcb_controller_t controller);

/* Return the directory at which the controller is mounted, as the caller sees it
 * (including root); NULL if it is not mounted. */
const char *hpcb_node_mount(const hpcb_node_t *node, hpcb_controller_t controller);

/* Return the kernel's name of the controller in that version of cgroups: "cpu",
 * "blkio", ...; "cgroup2" for UNIFIED. */
const char *hpcb_node_controller_name(hpcb_controller_t controller, int version);

/*
 * Call visit for the threads of process pid except the main one, at most
 * HPCB_NODE_THREADS_MAX.  Necessary because /proc/PID shows neither memory nor files of
 * a process after its main thread has ended.  A result other than 0 ends the walk and
 * is returned.  Return 0 also if there are none.
 */
#define HPCB_NODE_THREADS_MAX 4096
int hpcb_node_threads(const hpcb_node_t *node, pid_t pid,
                      int (*visit)(pid_t tid, void *arg), void *arg);

/*
 * Get the directory of task pid in the controller's hierarchy; of the other threads if
 * the main thread of the process has ended.  Return -1 with errno ENOENT if there is no
 * such task or controller, EXDEV if the task is in a group outside of this mount (a
 * cgroup namespace): such a path is never followed.
 */
int hpcb_node_task_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                       char *dir, size_t size, hpcb_error_t *err);

/*
 * Get the directory of the *job* of task pid in the controller's hierarchy, which
 * contains its step_* directories.  Return -1 with errno ENOENT if the task is in no
 * job of Slurm there.
 */
int hpcb_node_job_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                      char *dir, size_t size, hpcb_error_t *err);

/* Return true if the kernel groups tasks of the root cpu group by session
 * (CONFIG_SCHED_AUTOGROUP and its sysctl): nice and SCHED_IDLE then act only inside a
 * session. */
bool hpcb_node_autogroup(const hpcb_node_t *node);

/* Return true if the controller's mount shows the kernel's root group or may do so;
 * false if it is known to show a child (cgroup namespace, bind mount of a group). */
bool hpcb_node_root_group(const hpcb_node_t *node, hpcb_controller_t controller);

/* Return true if a sched_ext scheduler is loaded: those ignore cpu.idle and weights
 * (seen in the scx schedulers of 2024-2026). */
bool hpcb_node_sched_ext(const hpcb_node_t *node);

/* Read a file of procfs or sysfs, named relative to the root, without the trailing
 * newline.  Return 0, or -1 with errno and err. */
int hpcb_node_read(const hpcb_node_t *node, const char *name, char *text, size_t size,
                   hpcb_error_t *err);

/* Write the path of such a file.  Return 0, or -1 with errno ENAMETOOLONG and err. */
int hpcb_node_path(const hpcb_node_t *node, const char *name, char *path, size_t size,
                   hpcb_error_t *err);

/* Return true if the kernel reports Linux major.minor or later. */
bool hpcb_node_linux(const hpcb_node_t *node, int major, int minor);

#endif
