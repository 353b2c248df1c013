/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What this node's kernel offers and where a running task is: read from
 * /proc/self/mountinfo and /proc/PID/cgroup, never composed, because Slurm's layouts
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

/* Our bare groups in a cgroup2 mount beside v1 controllers lie below this one
 * (sensor/meter.h makes them). */
#define HPCB_UNIFIED_GROUP "hpcb"

/* Write the name of a job's group below group (HPCB_UNIFIED_GROUP or GuestCgroup):
 * "hpcb/job_7".  0, or -1 if it does not fit. */
int hpcb_node_job_group(const char *group, uint32_t job_id, char *name, size_t size);

typedef struct hpcb_node hpcb_node_t;

typedef enum {
    HPCB_CTL_CPU,
    HPCB_CTL_CPUACCT, /* v1 only */
    HPCB_CTL_CPUSET,
    HPCB_CTL_MEMORY,
    HPCB_CTL_FREEZER, /* v2: part of the core */
    HPCB_CTL_IO,      /* v1: blkio */
    HPCB_CTL_UNIFIED, /* the cgroup2 mount, whatever controllers it has */
    HPCB_CTL_COUNT
} hpcb_controller_t;

/* Look at the system below root ("/" or a snapshot directory that holds proc/ and
 * the mount points).  The caller closes it.  Nothing is written. */
int hpcb_node_open(const char *root, hpcb_node_t **node, hpcb_error_t *err);
void hpcb_node_close(hpcb_node_t *node);

/* True where root was "/": the running system, not a snapshot. */
bool hpcb_node_live(const hpcb_node_t *node);

/* 1, 2, or 0 where the controller is not mounted. */
int hpcb_node_version(const hpcb_node_t *node, hpcb_controller_t controller);

/* The directory at which the controller is mounted, as the caller sees it (root
 * included); NULL where it is not. */
const char *hpcb_node_mount(const hpcb_node_t *node, hpcb_controller_t controller);

/* "cpu", "blkio", ... as the kernel calls it in that version of cgroups; "cgroup2" for
 * UNIFIED. */
const char *hpcb_node_controller_name(hpcb_controller_t controller, int version);

/*
 * Call visit for the threads of process pid without its main one, at most
 * HPCB_NODE_THREADS_MAX: /proc/PID of a process whose main thread has ended, while
 * others run on, has neither memory nor files.  What is not 0 ends the walk and is what
 * it returns; 0 also if there are none.
 */
#define HPCB_NODE_THREADS_MAX 4096
int hpcb_node_threads(const hpcb_node_t *node, pid_t pid,
                      int (*visit)(pid_t tid, void *arg), void *arg);

/*
 * The directory of task pid in the controller's hierarchy; of a process whose main
 * thread has ended, that of its other threads.  -1 with errno ENOENT where
 * the task or the controller is not there, EXDEV where the task is in a group outside
 * of what is mounted here (a cgroup namespace): such a path is never followed.
 */
int hpcb_node_task_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                       char *dir, size_t size, hpcb_error_t *err);

/*
 * The directory of the *job* that task pid belongs to in the controller's hierarchy:
 * what holds its step_* directories.  -1 with errno ENOENT where the task is in no
 * job of Slurm's there.
 */
int hpcb_node_job_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                      char *dir, size_t size, hpcb_error_t *err);

/* True where the kernel groups tasks of the root cpu group by session
 * (CONFIG_SCHED_AUTOGROUP and its sysctl): nice and SCHED_IDLE then act only inside
 * a session. */
bool hpcb_node_autogroup(const hpcb_node_t *node);

/* True where the controller's mount shows the kernel's root group or may do so; false
 * where it is known to show a child (cgroup namespace, bind mount of a group). */
bool hpcb_node_root_group(const hpcb_node_t *node, hpcb_controller_t controller);

/* True where a sched_ext scheduler is loaded: those ignore cpu.idle and weights
 * (seen in the scx schedulers of 2024-2026). */
bool hpcb_node_sched_ext(const hpcb_node_t *node);

/* A file of procfs or sysfs, named from the root on without a slash before it, without
 * the newline at its end.  0, or -1 with errno and err. */
int hpcb_node_read(const hpcb_node_t *node, const char *name, char *text, size_t size,
                   hpcb_error_t *err);

/* The path of such a file.  0, or -1 with errno ENAMETOOLONG and err. */
int hpcb_node_path(const hpcb_node_t *node, const char *name, char *path, size_t size,
                   hpcb_error_t *err);

/* True where the kernel says that it is Linux major.minor or later. */
bool hpcb_node_linux(const hpcb_node_t *node, int major, int minor);

#endif
