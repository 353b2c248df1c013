/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The job's group with the largest weight.
 *
 * v2: Slurm's directory of the job, which includes its slurmstepds.  The old weight is
 * in the undo log before it is changed.
 *
 * v1: Slurm leaves the tasks of primaries in the root group.  They move, with their
 * slurmstepds, to a group of ours at the top, which in regular parts has the weight
 * that the processes had outside of it (1024 each).  Children inherit it; processes
 * that were moved elsewhere by others stay there.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/favour_rows.h"
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "cgroup/tree.h"
#include "common/cleanup.h"
#include "common/text.h"

/* MAX_SHARES and CGROUP_WEIGHT_MAX. */
#define SHARES_MAX 262144
#define SHARES_ONE 1024
#define WEIGHT_MAX "10000"

static int version(const hpcb_favour_t *favour)
{
    return hpcb_node_version(favour->job.node, HPCB_CTL_CPU);
}

static int probe_v1(hpcb_favour_t *favour, pid_t pid, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(favour->job.node, HPCB_CTL_CPU);
    const char *cpuset = hpcb_node_mount(favour->job.node, HPCB_CTL_CPUSET);
    char name[HPCB_NAME_MAX + 16], dir[PATH_MAX];

    if (cpuset && strcmp(mount, cpuset) == 0)
        return hpcb_error(err, "cpuset is mounted together with cpu");
    snprintf(name, sizeof(name), "%s_%" PRIu32, favour->cgroup, favour->job.job_id);
    if (hpcb_knob_path(mount, name, favour->group, sizeof(favour->group), err) < 0 ||
        hpcb_node_task_dir(favour->job.node, pid, HPCB_CTL_CPU, dir, sizeof(dir), err) <
            0)
        return -1;
    if (strcmp(dir, mount) != 0 && strcmp(dir, favour->group) != 0)
        return hpcb_error(err, "the job's tasks are in %s, not in the root group", dir);
    return hpcb_knob_mkdir(favour->group, "", err);
}

static int probe(hpcb_favour_t *favour, pid_t pid, hpcb_error_t *err)
{
    if (hpcb_node_sched_ext(favour->job.node))
        return hpcb_error(
            err, "a sched_ext scheduler is loaded, which need not obey weights");
    if (version(favour) == 1)
        return probe_v1(favour, pid, err);
    if (version(favour) != 2)
        return hpcb_error(err, "no cpu controller is mounted");
    if (hpcb_node_job_dir(favour->job.node, pid, HPCB_CTL_CPU, favour->group,
                          sizeof(favour->group), err) < 0)
        return -1;
    return hpcb_knob_read(favour->group, "cpu.weight", favour->regular,
                          sizeof(favour->regular), err);
}

/* Move to the group, unless the process was moved elsewhere by others. */
static int join(pid_t pid, void *arg)
{
    hpcb_favour_t *favour = arg;
    const char *mount = hpcb_node_mount(favour->job.node, HPCB_CTL_CPU);
    char dir[PATH_MAX], text[16];

    snprintf(text, sizeof(text), "%d", (int)pid);
    if (hpcb_node_task_dir(favour->job.node, pid, HPCB_CTL_CPU, dir, sizeof(dir),
                           NULL) == 0 &&
        strcmp(dir, mount) == 0)
        hpcb_knob_write(favour->group, "cgroup.procs", text, NULL);
    return 0;
}

static int look_v1(hpcb_favour_t *favour, hpcb_error_t *err)
{
    uint64_t shares = (favour->n_processes ? favour->n_processes : 1) * SHARES_ONE;

    snprintf(favour->regular, sizeof(favour->regular), "%" PRIu64,
             shares < SHARES_MAX ? shares : SHARES_MAX);
    if (!favour->favoured &&
        hpcb_knob_write(favour->group, "cpu.shares", favour->regular, err) < 0)
        return -1;
    hpcb_steps_busy(favour->job.node, favour->dir, join, favour);
    hpcb_steps_daemons(favour->job.node, favour->dir, join, favour);
    return 0;
}

static int note_weight(hpcb_favour_t *favour, hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (version(favour) == 1)
        return look_v1(favour, err);
    if (hpcb_knob_path(favour->group, "cpu.weight", path, sizeof(path), err) < 0)
        return -1;
    /* Noted already: nothing happens. */
    return hpcb_undo_note_file(favour->undo, path, favour->regular, err);
}

static int set_weight(hpcb_favour_t *favour, const char *weight, hpcb_error_t *err)
{
    return hpcb_knob_write_kept(&favour->knob, favour->group,
                                version(favour) == 1 ? "cpu.shares" : "cpu.weight",
                                weight, err);
}

static int begin_weight(hpcb_favour_t *favour, hpcb_error_t *err)
{
    char most[16];

    snprintf(most, sizeof(most), "%d", SHARES_MAX);
    if (hpcb_undo_renew(favour->undo, err) < 0 ||
        set_weight(favour, version(favour) == 1 ? most : WEIGHT_MAX, err) < 0)
        return -1;
    /* A release that began before the write may have removed the log after it. */
    return hpcb_undo_renew(favour->undo, err);
}

static int end_weight(hpcb_favour_t *favour, hpcb_error_t *err)
{
    if (!favour->regular[0] || set_weight(favour, favour->regular, err) == 0 ||
        hpcb_knob_gone(errno))
        return 0;
    return -1;
}

static void leave(hpcb_favour_t *favour)
{
    hpcb_knob_close(&favour->knob);
    if (version(favour) == 1)
        hpcb_tree_remove(favour->group, hpcb_node_mount(favour->job.node, HPCB_CTL_CPU),
                         NULL);
    favour->group[0] = favour->regular[0] = '\0';
}

const hpcb_favour_row_t hpcb_favour_weight = {"weight",     probe,      note_weight,
                                              begin_weight, end_weight, leave};

static bool is_group_of_ours(const char *name, const char *cgroup)
{
    size_t length = strlen(cgroup);
    uint64_t job;

    return strncmp(name, cgroup, length) == 0 && name[length] == '_' &&
           hpcb_text_u64(name + length + 1, UINT32_MAX, &job) == 0;
}

int hpcb_favour_weight_release(const hpcb_node_t *node, const char *cgroup,
                               hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char dir[PATH_MAX];
    int undone = 0, failed = 0;

    if (!mount || hpcb_node_version(node, HPCB_CTL_CPU) != 1)
        return 0;
    handle = opendir(mount);
    while (handle && (entry = readdir(handle))) {
        if (!is_group_of_ours(entry->d_name, cgroup) ||
            hpcb_knob_path(mount, entry->d_name, dir, sizeof(dir), NULL) < 0)
            continue;
        if (hpcb_tree_remove(dir, mount, failed ? NULL : err) < 0)
            failed = 1;
        else
            undone++;
    }
    return failed ? -1 : undone;
}
