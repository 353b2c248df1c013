/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bytes between the last-level caches and main memory, of one job: a monitoring group
 * of the resctrl file system (Intel RDT, AMD QoS, ARM MPAM).  A task's children are in
 * its group, so a job's tasks are added when they begin (adopt) and their threads and
 * children follow.  Bytes of a cache line that another group's task read are that
 * task's; writes back are charged to the group that filled the line.
 *
 * A group stays in the kernel until it is removed: close does that; an earlier
 * process's group of this job is reused, and sweep removes those of jobs that ended
 * meanwhile.  The CPU has a limited number of them (RMIDs), so a job may get none.  A
 * task in a control group of the site cannot be in a monitoring group elsewhere: such a
 * job is not measured.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "sensor/rows.h"
#include "sensor/threads.h"

#define RESCTRL  "sys/fs/resctrl"
#define FEATURES RESCTRL "/info/L3_MON/mon_features"
#define PREFIX   "hpcb_"

typedef struct {
    uint64_t last; /* the sum when all domains were known */
    char dir[PATH_MAX];
} resctrl_t;

static int probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    char text[512], dir[PATH_MAX];

    if (hpcb_node_path(node, RESCTRL, dir, sizeof(dir), err) < 0)
        return -1;
    if (!hpcb_knob_exists(dir, "tasks"))
        return hpcb_error(err,
                          "/sys/fs/resctrl is not mounted (mount -t resctrl resctrl "
                          "/sys/fs/resctrl), or this kernel or CPU has none");
    if (hpcb_node_read(node, FEATURES, text, sizeof(text), NULL) < 0 ||
        !strstr(text, "mbm_total_bytes"))
        return hpcb_error(err, "this CPU does not monitor memory bandwidth");
    return 0;
}

/* A thread that ends meanwhile is no failure. */
static int put_in(pid_t tid, void *arg, hpcb_error_t *err)
{
    const resctrl_t *resctrl = arg;
    char line[16];

    snprintf(line, sizeof(line), "%d", (int)tid);
    return hpcb_knob_write(resctrl->dir, "tasks", line, err) < 0 && errno != ESRCH ? -1
                                                                                   : 0;
}

static int adopt(void *handle, const hpcb_sensor_job_t *job, hpcb_error_t *err)
{
    static const hpcb_threads_visitor_t visitor = {.visit = put_in};

    return hpcb_threads_each(job->dir, &visitor, handle, err);
}

static void close_resctrl(void *handle)
{
    resctrl_t *resctrl = handle;

    (void)hpcb_knob_rmdir(resctrl->dir, "", NULL);
    free(resctrl);
}

static int open_resctrl(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    resctrl_t *resctrl = calloc(1, sizeof(*resctrl));
    char name[64];

    if (!resctrl)
        return hpcb_error(err, "no memory");
    snprintf(name, sizeof(name), RESCTRL "/mon_groups/" PREFIX "%" PRIu32, job->job_id);
    if (hpcb_node_path(job->node, name, resctrl->dir, sizeof(resctrl->dir), err) < 0 ||
        hpcb_knob_mkdir(resctrl->dir, "", err) < 0) {
        free(resctrl);
        return -1;
    }
    if (adopt(resctrl, job, err) < 0) {
        close_resctrl(resctrl);
        return -1;
    }
    *handle = resctrl;
    return 0;
}

/* Add a domain's counter.  Return 1 if the hardware has no value at the moment. */
static int add_domain(const char *dir, uint64_t *sum, hpcb_error_t *err)
{
    char text[64], *end;
    uint64_t bytes;

    if (hpcb_knob_read(dir, "mbm_total_bytes", text, sizeof(text), err) < 0)
        return -1;
    if (strcmp(text, "Unavailable") == 0)
        return 1;
    errno = 0;
    bytes = strtoull(text, &end, 10);
    if (end == text || *end || errno) {
        errno = EIO;
        return hpcb_error(err, "resctrl says \"%s\" instead of bytes", text);
    }
    *sum += bytes;
    return 0;
}

/* The sum over all domains.  1: not all are known. */
static int add_domains(const char *dir, uint64_t *sum, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    int unknown = 0;

    if (!handle)
        return hpcb_error(err, "%s: %s", dir, strerror(errno));
    while ((entry = readdir(handle))) {
        char domain[PATH_MAX];
        int rc;

        if (strncmp(entry->d_name, "mon_L3_", 7) != 0)
            continue;
        if (hpcb_knob_path(dir, entry->d_name, domain, sizeof(domain), err) < 0)
            return -1;
        rc = add_domain(domain, sum, err);
        if (rc < 0)
            return -1;
        unknown |= rc;
    }
    return unknown;
}

static int sample(void *handle, uint64_t *values, hpcb_error_t *err)
{
    resctrl_t *resctrl = handle;
    char path[PATH_MAX];
    uint64_t sum = 0;
    int rc;

    if (hpcb_knob_path(resctrl->dir, "mon_data", path, sizeof(path), err) < 0)
        return -1;
    rc = add_domains(path, &sum, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        resctrl->last = sum;
    values[HPCB_FIGURE_TRANSFER] = resctrl->last;
    return 0;
}

static void sweep(const hpcb_node_t *node)
{
    hpcb_autoclosedir DIR *dir = NULL;
    char groups[PATH_MAX];
    struct dirent *entry;

    if (hpcb_node_path(node, RESCTRL "/mon_groups", groups, sizeof(groups), NULL) < 0)
        return;
    dir = opendir(groups);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            (void)hpcb_knob_rmdir(groups, entry->d_name, NULL);
    }
}

const hpcb_sensor_t hpcb_sensor_resctrl = {
    .name = "resctrl",
    .what = "bytes to and from main memory of a job (resctrl monitoring groups)",
    .figures = 1U << HPCB_FIGURE_TRANSFER,
    .probe = probe,
    .open = open_resctrl,
    .sample = sample,
    .close = close_resctrl,
    .adopt = adopt,
    .sweep = sweep,
};
