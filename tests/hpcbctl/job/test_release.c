/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/state.h"
#include "hpcbctl/output.h"
#include "hpcbctl/job/release.h"
#include "hpcbctl/job/release_conf.h"
#include "hpcbctl/verbs.h"
#include "sensor/meter.h"
#include "tests/cgroup/fake_core.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/tmp.h"
#include "tests/hpcbctl/node_fixture.h"

#define CPU     "sys/fs/cgroup/cpu"
#define UNIFIED "sys/fs/cgroup/unified"
#define V2_JOB  "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"

static void record(const hpcb_conf_t *conf, uint32_t id)
{
    fixture_job(conf, id, HPCB_CLASS_GUEST);
}

/* With a log, as those with cgroup v2 have for their weight. */
static void record_primary(const hpcb_conf_t *conf, uint32_t id)
{
    hpcb_undo_t *undo;
    hpcb_error_t err;

    fixture_job(conf, id, HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(hpcb_undo_open(conf->state_dir, id, &undo, &err), 0);
    hpcb_undo_close(undo);
}

static void state_file(const hpcb_conf_t *conf, const char *name, char *path)
{
    ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/jobs/%s", conf->state_dir, name),
                     PATH_MAX);
}

static void lower(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t id,
                  pid_t pid)
{
    hpcb_undo_t *undo;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_undo_open(conf->state_dir, id, &undo, &err), 0);
    fixture_lower(node, conf, id, pid, undo);
    hpcb_undo_close(undo);
}

/* Release, expecting so many problems; the number of jobs reported. */
static size_t release(const hpcb_conf_t *conf, const hpcb_node_t *node, int64_t boot,
                      unsigned expected)
{
    unsigned problems = 0;
    json_object *report = hpcb_release_all(conf, node, boot, &problems);
    size_t count;

    ck_assert_ptr_nonnull(report);
    ck_assert_msg(problems == expected, "%u problems: %s", problems, fixture_log);
    ck_assert(hpcb_json_get_bool(report, "complete") == (expected == 0));
    count = json_object_array_length(json_object_object_get(report, "jobs"));
    json_object_put(report);
    return count;
}

static bool exists(const char *root, const char *path)
{
    return hpcb_knob_exists(root, path);
}

/* Of the CPU controller, by nobody that we know of. */
static void make_group(const char *root, const char *group)
{
    char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), "%s/" CPU "/%s", root, group);
    ck_assert_int_eq(hpcb_knob_mkdir(dir, "", NULL), 0);
}

START_TEST(empties_and_removes_v1_groups)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t pid = fake_task(100);
    hpcb_usage_t usage;
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 5);
    record(&conf, 6);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, pid, NULL), 0);
    fake_write(UNIFIED "/hpcb/job_5/0.0/cpu.stat", "usage_usec 4200\n");
    lower(node, &conf, 5, pid);
    ck_assert(exists(root, CPU "/hpcb_guest/job_5"));
    fake_write(UNIFIED "/hpcb/job_5/cgroup.freeze", "1");
    ck_assert_uint_eq(release(&conf, node, 0, 0), 2);
    ck_assert(!exists(root, CPU "/hpcb_guest"));
    ck_assert(!exists(root, UNIFIED "/hpcb"));
    ck_assert(!exists(root, "state/jobs/5.undo"));
    ck_assert_int_eq(kill(pid, 0), 0);
    /* Its next step is a guest, and nothing of its usage is lost. */
    ck_assert(exists(root, "state/jobs/5") && exists(root, "state/jobs/6"));
    ck_assert_int_eq(hpcb_state_usage(conf.state_dir, 5, &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 4200);
    /* Again: nothing more happens. */
    ck_assert_uint_eq(release(&conf, node, 0, 0), 2);
    ck_assert_int_eq(hpcb_state_usage(conf.state_dir, 5, &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 4200);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(restores_v2_knobs)
{
    const char *root = fake_start("v2-slurm22");
    hpcb_node_t *node = fixture_node(root);
    pid_t pid = fake_task(100);
    char before[64];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 4);
    snprintf(before, sizeof(before), "%s", fake_read(V2_JOB "/cpu.idle"));
    lower(node, &conf, 4, pid);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.idle"), "1");
    release(&conf, node, 0, 0);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.idle"), before);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* What cannot be put back without the log is told, not passed over. */
START_TEST(tells_what_stays)
{
    const char *root = fake_start("v2-slurm22");
    hpcb_node_t *node = fixture_node(root);
    char path[PATH_MAX];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 4);
    lower(node, &conf, 4, fake_task(100));
    state_file(&conf, "4.undo", path);
    ck_assert_int_eq(unlink(path), 0);
    release(&conf, node, 0, 1);
    ck_assert_ptr_nonnull(strstr(fixture_log, "job 4: idle-group is still in force"));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(keeps_the_log_when_a_write_fails)
{
    const char *root = fake_start("v2-slurm22");
    hpcb_node_t *node = fixture_node(root);
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 4);
    lower(node, &conf, 4, fake_task(100));
    fake_fail("job_4/cpu.idle", EROFS);
    release(&conf, node, 0, 2); /* the log, and what it leaves in force */
    ck_assert(exists(root, "state/jobs/4.undo"));
    fake_fail("job_4/cpu.idle", 0);
    release(&conf, node, 0, 0);
    ck_assert(!exists(root, "state/jobs/4.undo"));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(works_with_damaged_state)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    char path[PATH_MAX];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 5);
    lower(node, &conf, 5, fake_task(100));
    /* Its record is junk, its log has junk in it; job 8 has groups and no state. */
    fake_write("state/jobs/5", "\x01junk");
    state_file(&conf, "5.undo", path);
    {
        FILE *log = fopen(path, "a");

        ck_assert_ptr_nonnull(log);
        fputs("file half a line", log);
        fclose(log);
    }
    fake_write("state/jobs/99999999999999999999", "no job");
    make_group(root, "hpcb_guest/job_8");
    ck_assert_int_eq(hpcb_meter_attach(node, 8, "0", 0, fake_task(100), NULL), 0);
    fake_write(UNIFIED "/hpcb/job_8/0.0/cpu.stat", "usage_usec 4200\n");
    ck_assert_uint_eq(release(&conf, node, 0, 0), 2);
    ck_assert(!exists(root, CPU "/hpcb_guest"));
    ck_assert(exists(root, "state/jobs/5"));
    ck_assert(!exists(root, "state/jobs/8.usage"));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* Also a job whose groups cannot be removed goes on running. */
START_TEST(thaws)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 5);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, fake_task(100), NULL), 0);
    fake_write(UNIFIED "/hpcb/job_5/cgroup.freeze", "1");
    fake_fail("unified/cgroup.procs", EPERM);
    release(&conf, node, 0, 1);
    ck_assert_str_eq(fake_read(UNIFIED "/hpcb/job_5/cgroup.freeze"), "0");
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(leaves_groups_of_others)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    make_group(root, "hpcb_guest");
    make_group(root, "hpcb_guest/other");
    ck_assert_uint_eq(release(&conf, node, 0, 1), 0);
    ck_assert(exists(root, CPU "/hpcb_guest/other"));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(forgets_what_is_older_than_the_boot)
{
    const char *root = fake_start("v1-hybrid");
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    hpcb_node_t *node = fixture_node(root);
    char path[PATH_MAX];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record(&conf, 5);
    record(&conf, 50);
    state_file(&conf, "5", path);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    release(&conf, node, 1000, 0);
    ck_assert(exists(root, "state/jobs/5"));
    release(&conf, node, 1001, 0);
    ck_assert(!exists(root, "state/jobs/5") && exists(root, "state/jobs/50"));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(refuses_users)
{
    const hpcb_ctl_t ctl = {.conf_path = "/nonexistent"};
    const uid_t before = geteuid();
    int status;

    fixture_keep_log();
    fixture_log[0] = '\0';
    if (before == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    status = hpcb_release(&ctl);
    ck_assert_int_eq(seteuid(before), 0);
    ck_assert_int_eq(status, 1);
    ck_assert_str_eq(fixture_log,
                     "release: only root can undo what was done to jobs\n");
    /* A change of uid clears it, and LeakSanitizer traces its own process. */
    prctl(PR_SET_DUMPABLE, 1);
}
END_TEST

/* "/" is a copy of a snapshot there; no real task is looked at. */
static const char *slash;

int __real_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err);
int __wrap_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err);
int __wrap_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err)
{
    return __real_hpcb_node_open(slash && strcmp(path, "/") == 0 ? slash : path, node,
                                 err);
}

int __wrap_hpcb_favour_release(const hpcb_node_t *node, const char *dir,
                               const char *cgroup, hpcb_error_t *err);
int __wrap_hpcb_favour_release(const hpcb_node_t *node, const char *dir,
                               const char *cgroup, hpcb_error_t *err)
{
    (void)node, (void)dir, (void)cgroup, (void)err;
    return 0;
}

int __wrap_hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err);
int __wrap_hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node, (void)err;
    return 0;
}

/* hpcbd, which lowered it, has been killed. */
START_TEST(windows_gives_guests_their_memory_limit_back)
{
    char lent[PATH_MAX], state[PATH_MAX], limit[PATH_MAX];
    const hpcb_ctl_t ctl = {.state_dir = state};
    int output = dup(STDOUT_FILENO), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    hpcb_undo_t *undo;
    hpcb_error_t err;

    slash = fake_start("v2-slurm22");
    setenv("HPC_BALANCE_CONF", "/nonexistent", 1);
    snprintf(state, sizeof(state), "%s/state", slash);
    snprintf(lent, sizeof(lent), "%s/state/" HPCB_UNDO_LENT, slash);
    snprintf(limit, sizeof(limit), "%s/" V2_JOB "/memory.max", slash);
    ck_assert_int_eq(hpcb_undo_open(lent, 4, &undo, &err), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, limit, "max", &err), 0);
    hpcb_undo_close(undo);
    fake_write(V2_JOB "/memory.max", "1048576\n");
    fixture_keep_log();
    dup2(nothing, STDOUT_FILENO);
    ck_assert_msg(hpcb_release_windows(&ctl) == 0, "%s", fixture_log);
    fflush(stdout);
    dup2(output, STDOUT_FILENO);
    close(output);
    close(nothing);
    ck_assert_str_eq(fake_read(V2_JOB "/memory.max"), "max");
    slash = NULL;
    fake_stop();
}
END_TEST

/* Of a file with that text. */
static bool find_conf(const char *text, const char *state_dir, hpcb_conf_t *conf)
{
    char dir[TEST_TMP_MAX], path[TEST_TMP_MAX + 32];
    const hpcb_ctl_t ctl = {.conf_path = path, .state_dir = state_dir};
    FILE *stream;

    test_tmp_dir(dir);
    snprintf(path, sizeof(path), "%s/hpc-balance.conf", dir);
    stream = text ? fopen(path, "w") : NULL;
    if (stream) {
        fputs(text, stream);
        fclose(stream);
    }
    fixture_keep_log();
    fixture_log[0] = '\0';
    return hpcb_release_conf(&ctl, conf);
}

#define GOOD_LINES "StateDir=/run/other\nGuestCgroup=others\n"

START_TEST(works_by_its_configuration)
{
    hpcb_conf_t conf;

    ck_assert(find_conf(GOOD_LINES, NULL, &conf));
    ck_assert_str_eq(conf.state_dir, "/run/other");
    ck_assert_str_eq(fixture_log, "");
    ck_assert(find_conf(GOOD_LINES, "/run/third", &conf));
    ck_assert_str_eq(conf.state_dir, "/run/third");
    ck_assert_str_eq(conf.guest_cgroup, "others");
    ck_assert_str_eq(fixture_log, "");
}
END_TEST

static bool is_one_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end && !end[1];
}

/* What is right in the file counts. */
START_TEST(works_with_a_damaged_configuration)
{
    hpcb_conf_t conf;

    ck_assert(!find_conf("Bogus=1\n" GOOD_LINES "YieldSpin=\377\n", NULL, &conf));
    ck_assert_str_eq(conf.state_dir, "/run/other");
    ck_assert_str_eq(conf.guest_cgroup, "others");
    ck_assert_ptr_nonnull(strstr(fixture_log, "hpc-balance.conf:1: Bogus=1"));
    ck_assert_ptr_nonnull(strstr(fixture_log, "StateDir=/run/other"));
    ck_assert_ptr_nonnull(strstr(fixture_log, "--state-dir"));
    ck_assert(is_one_line(fixture_log));
    ck_assert(find_conf("Bogus=1\n" GOOD_LINES, "/run/third", &conf));
    ck_assert_str_eq(conf.state_dir, "/run/third");
    ck_assert_str_eq(conf.guest_cgroup, "others");
    ck_assert(is_one_line(fixture_log));
}
END_TEST

START_TEST(works_without_a_configuration)
{
    hpcb_conf_t conf, defaults;

    hpcb_conf_defaults(&defaults);
    ck_assert(!find_conf(NULL, NULL, &conf));
    ck_assert_str_eq(conf.state_dir, defaults.state_dir);
    ck_assert_str_eq(conf.guest_cgroup, defaults.guest_cgroup);
    ck_assert(is_one_line(fixture_log));
    ck_assert(find_conf(NULL, "/run/third", &conf));
    ck_assert_str_eq(conf.state_dir, "/run/third");
}
END_TEST

/* As hpcbd does, where nobody has named a file. */
START_TEST(no_file_means_defaults)
{
    const hpcb_ctl_t ctl = {.conf_path = NULL};
    hpcb_conf_t conf;

    setenv("HPC_BALANCE_CONF", "/nonexistent", 1);
    fixture_keep_log();
    ck_assert(hpcb_release_conf(&ctl, &conf));
    ck_assert_ptr_nonnull(strstr(fixture_log, "/nonexistent"));
}
END_TEST

static pid_t read_pid(int fd)
{
    pid_t pid;

    ck_assert_int_eq(read(fd, &pid, sizeof(pid)), sizeof(pid));
    return pid;
}

/* A guest task that forks a child once it is told to. */
static pid_t forking_task(int go, int tell)
{
    pid_t pid = fork(), child;
    char byte;

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    child = real_burner();
    if (write(tell, &child, sizeof(child)) != sizeof(child))
        _exit(1);
    for (;;)
        pause();
}

/* The child is in no log: it leaves with the group. */
START_TEST(moves_children_on_the_kernel)
{
    char state[TEST_TMP_MAX], command[TEST_TMP_MAX + 16], dir[PATH_MAX];
    int go[2], tell[2];
    pid_t pid, child;
    hpcb_node_t *node;
    hpcb_conf_t conf;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    test_tmp_dir(state);
    ck_assert(pipe(go) == 0 && pipe(tell) == 0);
    node = fixture_node("/");
    fixture_conf(&conf, state);
    record(&conf, 5);
    pid = forking_task(go[0], tell[1]);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, pid, NULL), 0);
    lower(node, &conf, 5, pid);
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    child = read_pid(tell[0]);
    real_sleep_ms(50);
    release(&conf, node, 0, 0);
    ck_assert_int_eq(
        hpcb_node_task_dir(node, child, HPCB_CTL_CPU, dir, sizeof(dir), NULL), 0);
    ck_assert_str_eq(dir, hpcb_node_mount(node, HPCB_CTL_CPU));
    ck_assert(!hpcb_group_exists(node, HPCB_CTL_CPU, "hpcb_guest"));
    ck_assert(!hpcb_group_exists(node, HPCB_CTL_UNIFIED, "hpcb"));
    release(&conf, node, 0, 0);
    kill(child, SIGKILL);
    real_reap(pid);
    hpcb_node_close(node);
    snprintf(command, sizeof(command), "rm -r %s", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Also of children that no log knows; what a primary does for itself stays. */
START_TEST(takes_cookies_of_guests)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t task = fake_task(100), child = fake_task(100), primary = fake_task(100);
    char name[64];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    fake_core_start();
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)primary);
    fake_write(name, "6:freezer:/slurm_scb1/uid_7002/job_6/step_0\n1:cpu:/\n");
    record(&conf, 5);
    record_primary(&conf, 6);
    lower(node, &conf, 5, task);
    fake_core_set(task, 7);
    fake_core_set(child, 7);
    fake_core_set(primary, 8);
    release(&conf, node, 0, 0);
    ck_assert_uint_eq(fake_core_cookie(task), 0);
    ck_assert_uint_eq(fake_core_cookie(child), 0);
    ck_assert_uint_eq(fake_core_cookie(primary), 8);
    fake_core_stop();
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* Of a guest, whoever gave it to it; a primary keeps what it has. */
START_TEST(ends_realtime_of_guests)
{
    const struct sched_param lowest = {.sched_priority = 1};
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t task = fake_task(100), primary = fake_task(100);
    char name[64];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)primary);
    fake_write(name, "6:freezer:/slurm_scb1/uid_7002/job_6/step_0\n1:cpu:/\n");
    record(&conf, 5);
    record_primary(&conf, 6);
    lower(node, &conf, 5, task);
    if (sched_setscheduler(task, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0) {
        ck_assert_int_eq(sched_setscheduler(primary, SCHED_FIFO, &lowest), 0);
        release(&conf, node, 0, 0);
        ck_assert_int_eq(sched_getscheduler(task), SCHED_OTHER);
        ck_assert_int_eq(sched_getscheduler(primary), SCHED_FIFO);
    }
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static void set_score(pid_t pid, const char *score)
{
    ck_assert_int_eq(hpcb_task_set(pid, "oom_score_adj", score, NULL), 0);
}

static void assert_score(pid_t pid, const char *score)
{
    char now[16];

    ck_assert_int_eq(hpcb_task_get(pid, "oom_score_adj", now, sizeof(now), NULL), 0);
    ck_assert_str_eq(now, score);
}

/* Also of children that no log knows; what somebody has chosen himself stays. */
START_TEST(restores_oom_scores)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t task = fake_task(100), child = fake_task(100), chosen = fake_task(100);
    pid_t primary = fake_task(100);
    char name[64];
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    conf.guest_oom_score_adj = 500; /* as lower has it */
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)primary);
    fake_write(name, "6:freezer:/slurm_scb1/uid_7002/job_6/step_0\n1:cpu:/\n");
    record(&conf, 5);
    record_primary(&conf, 6);
    set_score(task, "17");
    lower(node, &conf, 5, task);
    assert_score(task, "500");
    set_score(child, "500");
    set_score(chosen, "600");
    set_score(primary, "500");
    release(&conf, node, 0, 0);
    assert_score(task, "17");
    assert_score(child, "17");
    assert_score(chosen, "600");
    assert_score(primary, "500");
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("release");
    TCase *tcase = tcase_create("release");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, empties_and_removes_v1_groups);
    tcase_add_test(tcase, restores_v2_knobs);
    tcase_add_test(tcase, tells_what_stays);
    tcase_add_test(tcase, keeps_the_log_when_a_write_fails);
    tcase_add_test(tcase, works_with_damaged_state);
    tcase_add_test(tcase, thaws);
    tcase_add_test(tcase, leaves_groups_of_others);
    tcase_add_test(tcase, forgets_what_is_older_than_the_boot);
    tcase_add_test(tcase, refuses_users);
    tcase_add_test(tcase, windows_gives_guests_their_memory_limit_back);
    tcase_add_test(tcase, works_by_its_configuration);
    tcase_add_test(tcase, works_with_a_damaged_configuration);
    tcase_add_test(tcase, works_without_a_configuration);
    tcase_add_test(tcase, no_file_means_defaults);
    tcase_add_test(tcase, takes_cookies_of_guests);
    tcase_add_test(tcase, ends_realtime_of_guests);
    tcase_add_test(tcase, restores_oom_scores);
    tcase_add_test(tcase, moves_children_on_the_kernel);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
