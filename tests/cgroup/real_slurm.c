/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/node.h"
#include "cgroup/tree.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/cgroup/real_slurm.h"

/* What slurmd hands down where the kernel has it; io is ours to look at. */
static const char *const wanted[] = {"cpu", "cpuset", "memory", "pids", "io"};

#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

static char mount_point[PATH_MAX], top[PATH_MAX], scope[PATH_MAX];
static bool added[WANTED]; /* to the root group by us */
static const char *why = "";
static bool ready;

static bool lists(const char *dir, const char *name, const char *word)
{
    char text[512], *save = NULL;

    if (hpcb_knob_read(dir, name, text, sizeof(text), NULL) < 0)
        return false;
    for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        if (strcmp(p, word) == 0)
            return true;
    }
    return false;
}

static void set_subtree(const char *dir, char sign, const char *controller)
{
    char text[32];

    snprintf(text, sizeof(text), "%c%s", sign, controller);
    hpcb_knob_write(dir, "cgroup.subtree_control", text, NULL);
}

static void hand_down(const char *dir)
{
    for (size_t i = 0; i < WANTED; i++)
        set_subtree(dir, '+', wanted[i]);
}

static void hand_down_root(void)
{
    for (size_t i = 0; i < WANTED; i++) {
        if (lists(mount_point, "cgroup.subtree_control", wanted[i]))
            continue;
        set_subtree(mount_point, '+', wanted[i]);
        added[i] = lists(mount_point, "cgroup.subtree_control", wanted[i]);
    }
}

static bool find_mount(void)
{
    hpcb_node_t *node;
    const char *mount;
    bool found;

    if (hpcb_node_open("/", &node, NULL) < 0)
        return false;
    mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    found = mount && hpcb_node_version(node, HPCB_CTL_CPU) == 2 &&
            strlen(mount) < sizeof(mount_point) / 2;
    if (found)
        strcpy(mount_point, mount);
    hpcb_node_close(node);
    return found;
}

static bool make(char *dir, const char *parent, const char *name)
{
    if (hpcb_knob_path(parent, name, dir, PATH_MAX, NULL) < 0 || mkdir(dir, 0755) < 0)
        return false;
    hand_down(dir);
    return true;
}

void real_slurm_setup(void)
{
    char name[64];

    why = "not root";
    if (geteuid() != 0)
        return;
    why = "no cpu controller in cgroup2";
    if (!find_mount())
        return;
    hand_down_root();
    snprintf(name, sizeof(name), "hpcb_unit_test_%d", (int)getpid());
    ready = make(top, mount_point, name) && make(scope, top, "n1_slurmstepd.scope");
    if (!ready)
        why = strerror(errno);
}

void real_slurm_teardown(void)
{
    for (int try = 0; top[0] && try < 100; try++) {
        hpcb_knob_write(top, "cgroup.kill", "1", NULL);
        if (hpcb_tree_remove(top, mount_point, NULL) == 0)
            break;
        real_sleep_ms(10);
    }
    for (size_t i = 0; i < WANTED; i++) {
        if (added[i])
            set_subtree(mount_point, '-', wanted[i]);
    }
}

bool real_slurm_ready(void)
{
    return ready;
}

const char *real_slurm_why(void)
{
    return why;
}

bool real_slurm_has(const char *controller)
{
    return lists(scope, "cgroup.subtree_control", controller);
}

void real_slurm_job(const char *name, char dir[PATH_MAX])
{
    char step[PATH_MAX], user[PATH_MAX], last[PATH_MAX];

    ck_assert(make(dir, scope, name) && make(step, dir, "step_0") &&
              make(user, step, "user"));
    ck_assert_int_eq(hpcb_knob_mkdir(step, "slurm", NULL), 0);
    ck_assert_int_eq(hpcb_knob_path(user, "task_0", last, sizeof(last), NULL), 0);
    ck_assert_int_eq(mkdir(last, 0755), 0);
}

const char *real_slurm_scope(void)
{
    return scope;
}

void real_slurm_enter(const char *job, const char *group, pid_t pid)
{
    char dir[PATH_MAX], text[16];
    hpcb_error_t err;

    snprintf(text, sizeof(text), "%d", (int)pid);
    ck_assert_int_eq(hpcb_knob_path(job, group, dir, sizeof(dir), NULL), 0);
    ck_assert_msg(hpcb_knob_write(dir, "cgroup.procs", text, &err) == 0, "%s",
                  err.text);
}
