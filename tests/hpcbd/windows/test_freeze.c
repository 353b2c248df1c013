/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The owner of stopped guests (hpcbd/windows/freeze.h) and its log (cgroup/freeze.h) on
 * copies of snapshots that answer as the kernel does: reasons, what the log names at
 * each moment, and that a log of any kind sets everything going.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/freeze.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

#define V1_OURS "sys/fs/cgroup/unified/hpcb"
#define V1_JOB  "sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_5"
#define SCOPE   "sys/fs/cgroup/system.slice/slurmstepd.scope"
#define V2_JOB  SCOPE "/job_4"
#define USER    V2_JOB "/step_0/user"
#define TASK    USER "/task_0"
#define LOGIN   V2_JOB "/step_extern/user/task_special"
#define KNOB    "/" HPCB_FREEZE_KNOB
#define MANY    (3 * HPCBD_FREEZE_LEVELS_MAX)
#define JOB     4

static const char *root;
static hpcb_node_t *node;
static char state[128], log_file[160];
static hpcbd_registry_t registry;
static hpcbd_job_t guest;
static hpcbd_freeze_t *freeze;

static unsigned too_many, unwritten, errors; /* lines that say so */

static time_t ahead_s; /* of the clock */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = __real_clock_gettime(clock, now);

    now->tv_sec += ahead_s;
    return rc;
}

static bool disk_full; /* that of StateDir */

ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length)
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (disk_full && readlink(link, path, sizeof(path) - 1) > 0 &&
        strncmp(path, state, strlen(state)) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, data, length);
}

static void keep_log(hpcb_log_level_t level, const char *line)
{
    errors += level == HPCB_LOG_ERROR;
    too_many += strstr(line, "guests have") || strstr(line, "primaries have");
    unwritten += strstr(line, strerror(ENOSPC)) || strstr(line, strerror(EACCES));
}

static void make_group(const char *path)
{
    char group[PATH_MAX];

    snprintf(group, sizeof(group), "%s/%s", root, path);
    ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
}

static void begin(const char *snapshot, uint32_t job_id, const char *job_dir)
{
    const hpcb_job_state_t record = {.job_id = job_id,
                                     .uid = geteuid(),
                                     .klass = HPCB_CLASS_GUEST,
                                     .partition = "guest",
                                     .begin_us = 1};
    hpcb_error_t err;

    hpcb_log_set_sink(keep_log);
    root = fake_start(snapshot);
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    snprintf(state, sizeof(state), "%s/state", root);
    snprintf(log_file, sizeof(log_file), "%s/frozen", state);
    guest = (hpcbd_job_t){.state = record};
    snprintf(guest.dir, sizeof(guest.dir), "%s/%s", root, job_dir);
    registry.count = 1;
    registry.jobs[0] = &guest;
    ck_assert_int_eq(hpcb_state_save(state, &record, NULL), 0);
    ck_assert_int_eq(hpcb_state_save_place(state, job_id, guest.dir, NULL), 0);
    freeze = hpcbd_freeze_new(node, state);
    ck_assert_ptr_nonnull(freeze);
}

static void begin_v2(void)
{
    begin("v2-slurm22", JOB, V2_JOB);
    make_group(TASK);
    hpcbd_freeze_look(freeze, &registry);
}

static void end(void)
{
    hpcbd_freeze_free(freeze);
    hpcb_node_close(node);
    fake_stop();
}

static off_t log_size(void)
{
    struct stat status;

    return stat(log_file, &status) == 0 ? status.st_size : -1;
}

static bool log_names(const char *level)
{
    char text[8192], line[PATH_MAX + 1];

    if (hpcb_file_read(log_file, text, sizeof(text), NULL) < 0)
        return false;
    snprintf(line, sizeof(line), "%s/%s\n", root, level);
    return strstr(text, line) != NULL;
}

START_TEST(a_job_runs_when_the_last_reason_has_gone)
{
    int changes;

    begin_v2();
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    changes = fake_changes();
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_uint_eq(hpcbd_freeze_reasons(freeze, JOB),
                      HPCBD_FREEZE_WINDOW | HPCBD_FREEZE_GUARD);
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_WINDOW);
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GANG);
    ck_assert_int_eq(fake_changes(), changes);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert_uint_eq(hpcbd_freeze_reasons(freeze, JOB), 0);
    ck_assert_int_eq(fake_changes(), changes + 1);
    hpcbd_freeze_stop(freeze, JOB + 1, HPCBD_FREEZE_GANG);
    ck_assert_int_eq(fake_changes(), changes + 1);
    end();
}
END_TEST

static void check_log(const char *path)
{
    if (strstr(path, HPCB_FREEZE_KNOB))
        ck_assert(log_names(TASK));
}

START_TEST(nothing_is_frozen_that_the_log_does_not_name)
{
    begin("v2-slurm22", JOB, V2_JOB);
    make_group(TASK);
    fake_interfere(check_log);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert_int_gt(log_size(), 0);
    fake_interfere(NULL);
    end();
}
END_TEST

/* Who asks is told, so that nobody takes it for a guest that was stopped. */
START_TEST(without_room_for_the_log_a_guest_runs)
{
    begin("v2-slurm22", JOB, V2_JOB);
    make_group(TASK);
    disk_full = true;
    unwritten = errors = 0;
    for (int i = 0; i < 5; i++) {
        hpcbd_freeze_look(freeze, &registry);
        ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_EXPERIMENT));
        ck_assert_str_eq(fake_read(TASK KNOB), "0");
        hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_EXPERIMENT);
    }
    ck_assert_uint_eq(unwritten, 1);
    ck_assert_uint_eq(errors, 1);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    disk_full = false;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_EXPERIMENT));
    end();
}
END_TEST

/* What was stopped before the disk was full still is. */
START_TEST(without_room_for_a_new_log_a_new_step_runs)
{
    begin_v2();
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    make_group(USER "/task_1");
    disk_full = true;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert_str_eq(fake_read(USER "/task_1" KNOB), "0");
    disk_full = false;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    ck_assert_str_eq(fake_read(USER "/task_1" KNOB), "1");
    end();
}
END_TEST

START_TEST(who_cannot_be_stopped_is_not_said_to_be)
{
    begin_v2();
    make_group(USER "/task_1");
    hpcbd_freeze_look(freeze, &registry);
    fake_fail("/task_1" KNOB, EACCES);
    unwritten = errors = 0;
    for (int i = 0; i < 5; i++) {
        ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
        hpcbd_freeze_look(freeze, &registry);
        ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
        ck_assert_str_eq(fake_read(TASK KNOB), "1");
        hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_WINDOW);
    }
    ck_assert_uint_eq(unwritten, 1);
    ck_assert_uint_eq(errors, 1);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    fake_fail("", 0);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(USER "/task_1" KNOB), "1");
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    end();
}
END_TEST

/* Nobody else would write it: there is no edge any more. */
START_TEST(who_could_not_be_set_going_is_by_the_next_look)
{
    begin_v2();
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    fake_fail(KNOB, EIO);
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    fake_fail("", 0);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    end();
}
END_TEST

/* Between two looks: nothing runs there. */
START_TEST(what_has_gone_is_stopped)
{
    begin_v2();
    errors = 0;
    fake_fail(KNOB, ENODEV);
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    fake_fail("", 0);
    ck_assert_uint_eq(errors, 0);
    end();
}
END_TEST

/* A step a second, each with a group of its own. */
START_TEST(the_log_is_as_long_as_what_is_there)
{
    char removed[PATH_MAX], level[PATH_MAX];
    off_t one;

    begin_v2();
    one = log_size();
    ck_assert_int_gt(one, 0);
    snprintf(removed, sizeof(removed), "%s/" TASK, root);
    for (int i = 1; i <= MANY; i++) {
        snprintf(level, sizeof(level), "%s/" USER "/task_%05d", root, i);
        ck_assert_int_eq(rename(removed, level), 0);
        hpcbd_freeze_look(freeze, &registry);
        hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
        hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_WINDOW);
        strcpy(removed, level);
    }
    ck_assert_int_eq(log_size(), one + 4);
    registry.count = 0;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_int_eq(log_size(), -1);
    end();
}
END_TEST

static void make_tasks(int first, int last)
{
    char group[PATH_MAX];

    for (int i = first; i <= last; i++) {
        snprintf(group, sizeof(group), USER "/task_%05d", i);
        make_group(group);
    }
}

static unsigned log_lines(void)
{
    static char text[HPCB_FREEZE_LEVELS_MAX * 256];
    unsigned lines = 0;

    ck_assert_int_ge(hpcb_file_read(log_file, text, sizeof(text), NULL), 0);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

/* Another job of the node, with groups of its own. */
static hpcbd_job_t more[2];

static void task_of(uint32_t job_id, int task, char *path)
{
    snprintf(path, PATH_MAX, SCOPE "/job_%u/step_0/user/task_%05d", job_id, task);
}

static void add_job(uint32_t job_id, hpcb_class_t klass, int tasks)
{
    static const char *const above[] = {"", "/step_0", "/step_0/user"};
    hpcbd_job_t *job = &more[registry.count - 1];
    char path[PATH_MAX];

    *job = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass},
                         .gang = klass == HPCB_CLASS_PRIMARY};
    snprintf(job->dir, sizeof(job->dir), "%s/" SCOPE "/job_%u", root, job_id);
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
        snprintf(path, sizeof(path), SCOPE "/job_%u%s", job_id, above[i]);
        make_group(path);
    }
    strcat(path, KNOB);
    fake_write(path, "0\n"); /* below it groups have one, too */
    for (int i = 1; i <= tasks; i++) {
        task_of(job_id, i, path);
        make_group(path);
    }
    registry.jobs[registry.count++] = job;
}

static bool is_frozen(uint32_t job_id, int task)
{
    char path[PATH_MAX];

    task_of(job_id, task, path);
    strcat(path, KNOB);
    return strcmp(fake_read(path), "1") == 0;
}

/* The job has all of its tasks but TASK no more. */
static void end_tasks(void)
{
    char from[PATH_MAX], to[PATH_MAX];

    snprintf(from, sizeof(from), "%s/" USER, root);
    snprintf(to, sizeof(to), "%s/" USER "-ended", root);
    ck_assert_int_eq(rename(from, to), 0);
    make_group(USER);
    fake_write(USER KNOB, "0\n");
    make_group(TASK);
}

static unsigned frozen_tasks(int most)
{
    unsigned frozen = 0;

    for (int i = 1; i <= most; i++)
        frozen += is_frozen(JOB, i);
    return frozen;
}

/* TASK has a place from the beginning on. */
START_TEST(of_a_guest_with_too_many_groups_those_are_frozen_that_fit)
{
    begin_v2();
    too_many = 0;
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX + 8);
    for (int i = 0; i < 3; i++)
        hpcbd_freeze_look(freeze, &registry);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert_uint_eq(frozen_tasks(HPCBD_FREEZE_LEVELS_MAX + 8),
                      HPCBD_FREEZE_LEVELS_MAX - 1);
    ck_assert_uint_eq(log_lines(), HPCBD_FREEZE_LEVELS_MAX + 1);
    ck_assert_uint_eq(too_many, 1);
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert_uint_eq(frozen_tasks(HPCBD_FREEZE_LEVELS_MAX + 8), 0);
    end_tasks();
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD));
    end();
}
END_TEST

static bool is_sent_away(uint32_t job_id)
{
    char path[PATH_MAX];

    ck_assert_int_eq(hpcbd_requeue_path(state, job_id, HPCBD_REQUEUE_LARGE, path,
                                        sizeof(path), NULL),
                     0);
    return unlink(path) == 0;
}

/* Its other tasks would run in each experiment, and when the guard stops it. */
START_TEST(a_guest_with_too_many_groups_goes)
{
    const hpcbd_freeze_reason_t harm[] = {HPCBD_FREEZE_EXPERIMENT, HPCBD_FREEZE_GUARD};

    begin_v2();
    make_group("state/" HPCBD_REQUEUE_DIR);
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX + 8);
    add_job(5, HPCB_CLASS_GUEST, 8);
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    ck_assert(!is_sent_away(JOB));
    for (int i = 0; i < 3; i++) {
        hpcbd_freeze_stop(freeze, 5, harm[_i]);
        ck_assert(!hpcbd_freeze_stop(freeze, JOB, harm[_i]));
        ck_assert(is_sent_away(JOB) == (i == 0));
        hpcbd_freeze_go(freeze, JOB, harm[_i]);
        hpcbd_freeze_look(freeze, &registry);
    }
    ck_assert(!is_sent_away(5));
    guest.state.begin_us++;
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, JOB, harm[_i]);
    ck_assert(is_sent_away(JOB));
    end();
}
END_TEST

static void log_in(void)
{
    make_group(LOGIN);
    hpcbd_freeze_look(freeze, &registry);
}

/* A user who logs in to a node of a guest's computes there as the guest does. */
START_TEST(logins_to_a_guest_are_stopped_with_it)
{
    begin_v2();
    log_in();
    ck_assert(log_names(LOGIN));
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_EXPERIMENT));
    ck_assert_str_eq(fake_read(LOGIN KNOB), "1");
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_EXPERIMENT);
    ck_assert_str_eq(fake_read(LOGIN KNOB), "0");
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_int_eq(truncate(log_file, 0), 0);
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 2);
    ck_assert_str_eq(fake_read(LOGIN KNOB), "0");
    end();
}
END_TEST

static void make_primary(void)
{
    guest.state.klass = HPCB_CLASS_PRIMARY;
    guest.gang = true;
    hpcbd_freeze_look(freeze, &registry);
}

START_TEST(logins_to_a_primary_are_not)
{
    begin_v2();
    make_primary();
    log_in();
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert_str_eq(fake_read(LOGIN KNOB), "0");
    end();
}
END_TEST

START_TEST(a_primary_with_too_many_groups_is_not_frozen_at_all)
{
    begin_v2();
    make_primary();
    too_many = 0;
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX + 8);
    for (int i = 0; i < 3; i++) {
        hpcbd_freeze_look(freeze, &registry);
        ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 0);
        ck_assert_str_eq(fake_read(TASK KNOB), "0");
        ck_assert_str_eq(fake_read(USER "/task_00001" KNOB), "0");
        ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    }
    ck_assert_int_eq(log_size(), -1);
    ck_assert_uint_eq(too_many, 1);
    end_tasks();
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    end();
}
END_TEST

/* It is not its turn to be looked at again. */
START_TEST(a_requeued_job_does_not_pay_for_the_run_before)
{
    begin_v2();
    add_job(5, HPCB_CLASS_GUEST, 1);
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX + 8);
    make_primary();
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG));
    end_tasks();
    guest.state.begin_us++;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    end();
}
END_TEST

/* Two guests that have many share what others leave. */
START_TEST(who_has_many_groups_takes_no_place_of_other_guests)
{
    int changes;

    begin_v2();
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX + 8);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    add_job(5, HPCB_CLASS_GUEST, 8);
    add_job(6, HPCB_CLASS_GUEST, HPCBD_FREEZE_LEVELS_MAX);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(hpcbd_freeze_stop(freeze, 5, HPCBD_FREEZE_WINDOW));
    ck_assert(!hpcbd_freeze_stop(freeze, 6, HPCBD_FREEZE_WINDOW));
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW));
    for (int i = 1; i <= 8; i++)
        ck_assert(is_frozen(5, i));
    ck_assert_uint_ge(frozen_tasks(HPCBD_FREEZE_LEVELS_MAX + 8),
                      HPCBD_FREEZE_LEVELS_MAX / 2 - 8);
    ck_assert_uint_eq(log_lines(), HPCBD_FREEZE_LEVELS_MAX + 1);
    /* Nothing goes to and fro. */
    changes = fake_changes();
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_int_eq(fake_changes(), changes);
    end();
}
END_TEST

/* The one with the most groups goes, whoever was there first. */
START_TEST(who_has_many_groups_takes_no_place_of_others)
{
    begin_v2();
    make_primary();
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX - 4);
    add_job(5, HPCB_CLASS_PRIMARY, 8);
    add_job(6, HPCB_CLASS_GUEST, 8);
    too_many = 0;
    for (int i = 0; i < 6; i++)
        hpcbd_freeze_look(freeze, &registry);
    ck_assert_uint_eq(too_many, 1);
    ck_assert(!hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG));
    ck_assert(hpcbd_freeze_stop(freeze, 5, HPCBD_FREEZE_GANG));
    ck_assert(hpcbd_freeze_stop(freeze, 6, HPCBD_FREEZE_WINDOW));
    ck_assert(is_frozen(5, 1) && is_frozen(5, 8) && is_frozen(6, 8));
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    registry.count = 1;
    for (int i = 0; i < 2; i++)
        hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert(!is_frozen(5, 1) && !is_frozen(6, 8));
    end();
}
END_TEST

/* All places of both kinds. */
START_TEST(the_largest_log_is_replayed)
{
    begin_v2();
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX - 1);
    add_job(6, HPCB_CLASS_PRIMARY, HPCBD_FREEZE_LEVELS_MAX);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_uint_eq(log_lines(), HPCB_FREEZE_LEVELS_MAX + 1);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    hpcbd_freeze_stop(freeze, 6, HPCBD_FREEZE_GANG);
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), HPCB_FREEZE_LEVELS_MAX);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert(!is_frozen(6, 1));
    end();
}
END_TEST

static double look_ms(void)
{
    struct timespec from, to;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    hpcbd_freeze_look(freeze, &registry);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e3 +
           (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
}

static double fastest_look_ms(void)
{
    double least = look_ms();

    for (int i = 0; i < 20; i++) {
        double ms = look_ms();

        if (ms < least)
            least = ms;
    }
    return least;
}

/* Eight times as many take eight times as long, not 64 times; the rest is for what else
 * happens on a machine, and for sanitizers. */
START_TEST(a_look_takes_as_long_as_there_is_to_see)
{
    double few, many;

    begin_v2();
    make_tasks(1, HPCBD_FREEZE_LEVELS_MAX / 8 - 1);
    few = fastest_look_ms();
    make_tasks(HPCBD_FREEZE_LEVELS_MAX / 8, HPCBD_FREEZE_LEVELS_MAX - 1);
    many = fastest_look_ms();
    printf("a look at %d groups: %.2f ms, at %d: %.2f ms\n",
           HPCBD_FREEZE_LEVELS_MAX / 8, few, HPCBD_FREEZE_LEVELS_MAX, many);
    ck_assert_double_lt(many, few * 48);
    end();
}
END_TEST

/* Each look tries again, and the log says it once. */
START_TEST(a_log_that_cannot_be_written_is_tried_at_each_look)
{
    begin("v2-slurm22", JOB, V2_JOB);
    make_group(TASK);
    ck_assert_int_eq(mkdir(log_file, 0755), 0);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    for (int i = 0; i < 3; i++)
        hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert_int_eq(rmdir(log_file), 0);
    hpcbd_freeze_look(freeze, &registry);
    ck_assert(log_names(TASK));
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    end();
}
END_TEST

static void write_log(const char *text, size_t length)
{
    ck_assert_int_eq(hpcb_file_replace(log_file, text, length, 0600, NULL), 0);
}

static void cut_log(void)
{
    ck_assert_int_eq(truncate(log_file, log_size() - 2), 0);
}

static void empty_log(void)
{
    write_log("", 0);
}

static void foreign_log(void)
{
    ck_assert_int_eq(chmod(log_file, 0666), 0);
}

static void log_of_elsewhere(void)
{
    static const char text[] = "/etc\nend\n";

    write_log(text, sizeof(text) - 1);
}

static void large_log(void)
{
    static char text[65 * 1024 * 1024];

    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(text) - 5, "\nend\n", 5);
    write_log(text, sizeof(text));
}

static void log_with_nul(void)
{
    char text[64] = "/sys\n";

    memcpy(text + 60, "end\n", 4);
    write_log(text, sizeof(text));
}

static void (*const damages[])(void) = {
    cut_log, empty_log, foreign_log, log_of_elsewhere, large_log, log_with_nul,
};

START_TEST(a_damaged_log_sets_everybody_going)
{
    hpcb_error_t err;

    begin_v2();
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    fake_write(USER KNOB, "1\n");
    damages[_i]();
    ck_assert_msg(hpcb_freeze_release(node, state, &err) == 1, "%s", err.text);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert_str_eq(fake_read(USER KNOB), "1");
    ck_assert_int_eq(log_size(), -1);
    ck_assert_int_eq(hpcb_freeze_release(node, state, &err), 0);
    end();
}
END_TEST

START_TEST(a_daemon_that_lives_is_released_again)
{
    begin_v2();
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 0);
    for (int i = 0; i < 2; i++) {
        hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
        ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 1);
        ck_assert_str_eq(fake_read(TASK KNOB), "0");
        hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_WINDOW);
    }
    /* What cannot be set going is said. */
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    fake_fail(HPCB_FREEZE_KNOB, EIO);
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), -1);
    fake_fail(HPCB_FREEZE_KNOB, 0);
    end();
}
END_TEST

/* The next daemon knows nothing of the one that died; its own log replaces that one's.
 */
START_TEST(the_log_goes_with_the_daemon)
{
    begin_v2();
    hpcbd_freeze_free(freeze);
    ck_assert_int_eq(log_size(), -1);
    empty_log();
    freeze = hpcbd_freeze_new(node, state);
    registry.count = 0;
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_int_eq(log_size(), -1);
    end();
}
END_TEST

START_TEST(v1_stops_the_meters_group_alone)
{
    begin("v1-hybrid", 5, V1_JOB);
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_freeze_stop(freeze, 5, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(V1_JOB "/step_0/freezer.state"), "THAWED");
    make_group(V1_OURS);
    make_group(V1_OURS "/job_5");
    hpcbd_freeze_look(freeze, &registry);
    ck_assert_str_eq(fake_read(V1_OURS "/job_5" KNOB), "1");
    /* Slurm's suspend */
    fake_write(V1_JOB "/step_0/freezer.state", "FROZEN\n");
    hpcbd_freeze_go(freeze, 5, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(V1_OURS "/job_5" KNOB), "0");
    hpcbd_freeze_stop(freeze, 5, HPCBD_FREEZE_WINDOW);
    ck_assert_int_eq(hpcb_freeze_release(node, state, NULL), 1);
    ck_assert_str_eq(fake_read(V1_JOB "/step_0/freezer.state"), "FROZEN");
    end();
}
END_TEST

/* A process that nothing ends but SIGKILL, in the group of the task. */
static pid_t waiting_for(int signal, bool ignores)
{
    pid_t pid = real_fork();
    sigset_t all;
    char text[16];

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct sigaction action = {.sa_handler = ignores ? SIG_IGN : SIG_DFL};

        sigaction(signal, &action, NULL);
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (;;)
            pause();
    }
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    fake_write(TASK "/cgroup.procs", text);
    return pid;
}

static void send(pid_t pid, int signal)
{
    real_sleep_ms(100);
    ck_assert_int_eq(kill(pid, signal), 0);
}

static void look_after(time_t seconds)
{
    ahead_s += seconds;
    hpcbd_freeze_look(freeze, &registry);
}

START_TEST(who_is_asked_to_end_hears_of_it)
{
    pid_t pid;

    begin_v2();
    pid = waiting_for(SIGTERM, false);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_CRUMBS);
    look_after(1);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    send(pid, SIGTERM);
    look_after(1);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert_uint_eq(hpcbd_freeze_reasons(freeze, JOB), HPCBD_FREEZE_CRUMBS);
    ck_assert(hpcbd_freeze_hears(freeze, JOB));
    ck_assert(!hpcbd_freeze_hears(freeze, JOB + 1));
    /* Asked for again, and for another reason: it still hears. */
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_CRUMBS);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    look_after(58);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    look_after(2);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    ck_assert(!hpcbd_freeze_hears(freeze, JOB));
    /* It has not ended: not more than a minute in ten. */
    look_after(530);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    look_after(10);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    ck_assert(hpcbd_freeze_hears(freeze, JOB));
    /* It runs as all do. */
    hpcbd_freeze_go_all(freeze, ~0U);
    ck_assert(!hpcbd_freeze_hears(freeze, JOB));
    real_reap(pid);
    end();
}
END_TEST

START_TEST(windows_wait_for_nobody)
{
    pid_t pid;

    begin_v2();
    pid = waiting_for(SIGINT, false);
    send(pid, SIGINT);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_WINDOW);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    look_after(1);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_WINDOW);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_EXPERIMENT);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    real_reap(pid);
    end();
}
END_TEST

/* Its turns would be others' else: a minute in ten for a signal that it blocks. */
START_TEST(who_waits_for_its_turn_hears_in_it)
{
    pid_t pid;

    begin_v2();
    pid = waiting_for(SIGUSR1, false);
    send(pid, SIGUSR1);
    for (int i = 0; i < 10; i++) {
        hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG);
        look_after(20);
        ck_assert_str_eq(fake_read(TASK KNOB), "1");
        hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GANG);
    }
    /* It gets no turn while it harms a primary; then it waits for one again. */
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG);
    look_after(1);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    hpcbd_freeze_go(freeze, JOB, HPCBD_FREEZE_GUARD);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    real_reap(pid);
    end();
}
END_TEST

START_TEST(who_is_paused_hears)
{
    pid_t pid;

    begin_v2();
    pid = waiting_for(SIGTERM, false);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG);
    look_after(20);
    send(pid, SIGTERM);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GANG);
    look_after(5);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    look_after(5);
    ck_assert_str_eq(fake_read(TASK KNOB), "0");
    look_after(61);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    real_reap(pid);
    end();
}
END_TEST

/* What it ignores, or what asks nobody to end. */
START_TEST(other_signals_set_nobody_going)
{
    const int signals[] = {SIGTERM, SIGCHLD};
    pid_t pid;

    begin_v2();
    pid = waiting_for(signals[_i], _i == 0);
    hpcbd_freeze_stop(freeze, JOB, HPCBD_FREEZE_GUARD);
    send(pid, signals[_i]);
    look_after(1);
    ck_assert_str_eq(fake_read(TASK KNOB), "1");
    real_reap(pid);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_freeze");
    TCase *tc = tcase_create("node_freeze");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, a_job_runs_when_the_last_reason_has_gone);
    tcase_add_test(tc, nothing_is_frozen_that_the_log_does_not_name);
    tcase_add_test(tc, without_room_for_the_log_a_guest_runs);
    tcase_add_test(tc, without_room_for_a_new_log_a_new_step_runs);
    tcase_add_test(tc, who_cannot_be_stopped_is_not_said_to_be);
    tcase_add_test(tc, who_could_not_be_set_going_is_by_the_next_look);
    tcase_add_test(tc, what_has_gone_is_stopped);
    tcase_add_test(tc, the_log_is_as_long_as_what_is_there);
    tcase_add_test(tc, of_a_guest_with_too_many_groups_those_are_frozen_that_fit);
    tcase_add_loop_test(tc, a_guest_with_too_many_groups_goes, 0, 2);
    tcase_add_test(tc, logins_to_a_guest_are_stopped_with_it);
    tcase_add_test(tc, logins_to_a_primary_are_not);
    tcase_add_test(tc, a_primary_with_too_many_groups_is_not_frozen_at_all);
    tcase_add_test(tc, a_requeued_job_does_not_pay_for_the_run_before);
    tcase_add_test(tc, who_has_many_groups_takes_no_place_of_other_guests);
    tcase_add_test(tc, who_has_many_groups_takes_no_place_of_others);
    tcase_add_test(tc, the_largest_log_is_replayed);
    tcase_add_test(tc, a_look_takes_as_long_as_there_is_to_see);
    tcase_add_test(tc, a_log_that_cannot_be_written_is_tried_at_each_look);
    tcase_add_loop_test(tc, a_damaged_log_sets_everybody_going, 0,
                        sizeof(damages) / sizeof(damages[0]));
    tcase_add_test(tc, a_daemon_that_lives_is_released_again);
    tcase_add_test(tc, the_log_goes_with_the_daemon);
    tcase_add_test(tc, v1_stops_the_meters_group_alone);
    tcase_add_test(tc, who_is_asked_to_end_hears_of_it);
    tcase_add_test(tc, windows_wait_for_nobody);
    tcase_add_test(tc, who_waits_for_its_turn_hears_in_it);
    tcase_add_test(tc, who_is_paused_hears);
    tcase_add_loop_test(tc, other_signals_set_nobody_going, 0, 2);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
