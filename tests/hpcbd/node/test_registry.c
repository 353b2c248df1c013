/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which jobs hpcbd knows: those that are recorded, and guests that the prolog could
 * only mark in the kernel.  On copies of snapshots that answer as the kernel does.
 */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/windows/freeze.h"
#include "tests/cgroup/fake_kernel.h"

#define SCOPE   "sys/fs/cgroup/system.slice/slurmstepd.scope"
#define UID     "sys/fs/cgroup/freezer/slurm_scb1/uid_7002"
#define OURS    "sys/fs/cgroup/unified/hpcb"
#define GROUP   "hpcb_guest"
#define PRIMARY 9
#define GUEST   4

/* Where the primary is, where the guest is, where it is stopped. */
static const struct {
    const char *snapshot, *primary, *guest, *level;
} rows[] = {
    {"v2-slurm22", SCOPE "/job_9", SCOPE "/job_4", SCOPE "/job_4/step_0/user/task_0"},
    {"v1-hybrid", "sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_9", UID "/job_4",
     OURS "/job_4"},
};

static const char *root;
static hpcb_node_t *node;
static char state[128];
static hpcbd_registry_t registry;

static void no_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

/* And what is above it. */
static void make_group(const char *path)
{
    char group[PATH_MAX];
    size_t skip = strlen(root) + 1;

    snprintf(group, sizeof(group), "%s/%s", root, path);
    for (char *at = group + skip; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        if (strstr(group, "cgroup/"))
            hpcb_knob_mkdir(group, "", NULL);
    }
    ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
}

static void record(uint32_t job_id, hpcb_class_t klass)
{
    const hpcb_job_state_t job = {
        .job_id = job_id, .uid = 7001, .klass = klass, .partition = "p", .begin_us = 5};

    ck_assert_int_eq(hpcb_state_save(state, &job, NULL), 0);
}

static const char *place(const char *path)
{
    static char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), "%s/%s", root, path);
    return dir;
}

static void refresh(void)
{
    ck_assert(hpcbd_registry_refresh(&registry, state, UINT_MAX));
}

/* A primary that is recorded, and a guest that is marked. */
static void begin(int i)
{
    hpcb_error_t err;

    hpcb_log_set_sink(no_log);
    root = fake_start(rows[i].snapshot);
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    snprintf(state, sizeof(state), "%s/state", root);
    make_group(rows[i].primary);
    make_group(rows[i].guest);
    make_group(rows[i].level);
    record(PRIMARY, HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(
        hpcb_state_save_place(state, PRIMARY, place(rows[i].primary), NULL), 0);
    ck_assert_int_eq(hpcb_guest_mark(node, GROUP, GUEST, &err), 0);
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1)
        ck_assert_int_eq(
            hpcb_knob_mkdir(hpcb_node_mount(node, HPCB_CTL_CPU), GROUP "/job_4", NULL),
            0);
    registry.node = node;
    registry.guest_cgroup = GROUP;
    refresh();
}

static void end(void)
{
    hpcbd_registry_clear(&registry);
    hpcb_node_close(node);
    fake_stop();
}

START_TEST(a_guest_that_is_only_marked_is_known)
{
    hpcbd_job_t *job;

    begin(_i);
    ck_assert_uint_eq(registry.count, 2);
    job = hpcbd_registry_find(&registry, GUEST);
    ck_assert_ptr_nonnull(job);
    ck_assert_int_eq(job->state.klass, HPCB_CLASS_GUEST);
    ck_assert_uint_eq(job->state.uid, HPCBD_NO_USER);
    ck_assert_str_eq(job->dir, place(rows[_i].guest));
    /* It stays as long as the mark, and no longer. */
    refresh();
    ck_assert_ptr_eq(hpcbd_registry_find(&registry, GUEST), job);
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GROUP, GUEST, NULL), 0);
    refresh();
    ck_assert_uint_eq(registry.count, 1);
    end();
}
END_TEST

/* No epilog has removed it. */
START_TEST(a_mark_without_tasks_is_no_guest)
{
    begin(1);
    ck_assert_int_eq(
        hpcb_knob_rmdir(hpcb_node_mount(node, HPCB_CTL_CPU), GROUP "/job_4", NULL), 0);
    refresh();
    ck_assert_uint_eq(registry.count, 1);
    end();
}
END_TEST

START_TEST(a_record_wins)
{
    begin(_i);
    record(GUEST, HPCB_CLASS_PRIMARY);
    refresh();
    ck_assert_uint_eq(registry.count, 2);
    ck_assert_int_eq(hpcbd_registry_find(&registry, GUEST)->state.klass,
                     HPCB_CLASS_PRIMARY);
    end();
}
END_TEST

/* And runs on after a crash of the daemon, whatever is left of the log. */
START_TEST(it_is_frozen_and_set_going_like_others)
{
    char knob[PATH_MAX], log[PATH_MAX];
    hpcbd_freeze_t *freeze;

    begin(_i);
    snprintf(knob, sizeof(knob), "%s/" HPCB_FREEZE_KNOB, rows[_i].level);
    snprintf(log, sizeof(log), "%s/frozen", state);
    freeze = hpcbd_freeze_new(node, state);
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, GUEST, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(knob), "1");
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 1);
    ck_assert_str_eq(fake_read(knob), "0");
    fake_write(knob, "1\n");
    ck_assert_int_eq(hpcb_file_replace(log, "x", 1, 0600, NULL), 0);
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 1);
    ck_assert_str_eq(fake_read(knob), "0");
    hpcbd_freeze_free(freeze);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry");
    TCase *tc = tcase_create("registry");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_guest_that_is_only_marked_is_known, 0, 2);
    tcase_add_test(tc, a_mark_without_tasks_is_no_guest);
    tcase_add_loop_test(tc, a_record_wins, 0, 2);
    tcase_add_loop_test(tc, it_is_frozen_and_set_going_like_others, 0, 2);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
