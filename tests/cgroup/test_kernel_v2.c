/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The mechanism table on a running kernel with cgroup v2, beside jobs in Slurm's
 * directories of either layout (job_<N>; a SLUID since Slurm 26.05), and what the
 * kernel does that the table relies on.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/cgroup/real_slurm.h"

#define TASK  "step_0/user/task_0"
#define STEPD "step_0/slurm"
#define MB    (1024 * 1024)

static const char *const layouts[] = {"job_", "s8B9M7Y1A9MR"};

static hpcb_node_t *node;

static bool begin(const char *controller)
{
    hpcb_error_t err;

    if (!real_slurm_ready()) {
        fprintf(stderr, "# skipped: %s\n", real_slurm_why());
        return false;
    }
    if (!real_slurm_has(controller)) {
        fprintf(stderr, "# skipped: no %s controller\n", controller);
        return false;
    }
    ck_assert_msg(hpcb_node_open("/", &node, &err) == 0, "%s", err.text);
    return true;
}

/* A job's directory with a number of its own. */
static void make_job(int layout, char dir[PATH_MAX])
{
    static int count;
    char name[64];

    snprintf(name, sizeof(name), "%s%d", layouts[layout],
             1000 * (int)(getpid() % 1000) + ++count);
    real_slurm_job(name, dir);
}

static pid_t burner_in(const char *job)
{
    pid_t pid = real_burner();

    ck_assert_int_gt(pid, 0);
    real_slurm_enter(job, TASK, pid);
    return pid;
}

static hpcb_target_t guest(pid_t pid)
{
    return (hpcb_target_t){
        .node = node, .pid = pid, .job_id = 1, .guest_cgroup = "hpcb_guest"};
}

static void expect_knob(const char *dir, const char *name, const char *text)
{
    char found[256];

    ck_assert_int_eq(hpcb_knob_read(dir, name, found, sizeof(found), NULL), 0);
    ck_assert_str_eq(found, text);
}

static void write_knob(const char *dir, const char *name, const char *text)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_knob_write(dir, name, text, &err) == 0, "%s", err.text);
}

/* Share of their common CPU time that the second gets while both burn, in percent. */
static unsigned share(pid_t primary, pid_t lowered)
{
    real_time_t before[2], after[2];
    uint64_t mine, theirs;

    real_sleep_ms(200);
    before[0] = real_time(primary);
    before[1] = real_time(lowered);
    real_sleep_ms(2000);
    after[0] = real_time(primary);
    after[1] = real_time(lowered);
    mine = after[0].cpu_us - before[0].cpu_us;
    theirs = after[1].cpu_us - before[1].cpu_us;
    ck_assert_uint_gt(mine + theirs, 0);
    fprintf(stderr, "# primary %" PRIu64 " us, guest %" PRIu64 " us\n", mine, theirs);
    return (unsigned)(theirs * 100 / (mine + theirs));
}

/* What a group got with a small weight it pays back after it has a larger one: seconds
 * pass (Linux 6.1). */
static void expect_share(pid_t primary, pid_t other, unsigned percent)
{
    for (int i = 0; i < 10; i++) {
        if (share(primary, other) >= percent)
            return;
    }
    ck_abort_msg("never got %u %%", percent);
}

START_TEST(idle_group_lowers_the_job)
{
    char job[2][PATH_MAX];
    const hpcb_mechanism_t *row;
    hpcb_target_t target;
    hpcb_error_t err;
    pid_t pids[2];

    if (!begin("cpu"))
        return;
    for (int i = 0; i < 2; i++) {
        make_job(_i, job[i]);
        pids[i] = burner_in(job[i]);
    }
    write_knob(job[1], "cpu.weight", "50");
    target = guest(pids[1]);
    ck_assert_int_eq(hpcb_undo_open(NULL, 1, &target.undo, NULL), 0);
    row = hpcb_isolate(&target, &err);
    ck_assert_msg(row != NULL, "%s", err.text);
    ck_assert_str_eq(row->name, "idle-group");
    ck_assert_ptr_eq(hpcb_isolated(&target, &err), row);
    expect_knob(job[1], "cpu.idle", "1");
    expect_knob(job[0], "cpu.idle", "0");
    ck_assert_uint_le(share(pids[0], pids[1]), 5);
    /* The kernel takes no weight beside the flag, and the row "weight" knows. */
    ck_assert_int_eq(hpcb_knob_write(job[1], "cpu.weight", "1", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_mechanism_find("weight")->verify(&target, NULL), 0);
    ck_assert_msg(row->undo(row, &target, &err) == 0, "%s", err.text);
    expect_knob(job[1], "cpu.idle", "0");
    expect_knob(job[1], "cpu.weight", "50");
    expect_share(pids[0], pids[1], 25);
    hpcb_undo_close(target.undo);
    real_reap(pids[0]);
    real_reap(pids[1]);
    hpcb_node_close(node);
}
END_TEST

/* Why the flag belongs on the job's directory and nowhere below. */
START_TEST(idle_below_the_job_does_nothing)
{
    char job[2][PATH_MAX];
    hpcb_target_t target;
    pid_t pids[2];

    if (!begin("cpu"))
        return;
    for (int i = 0; i < 2; i++) {
        make_job(0, job[i]);
        pids[i] = burner_in(job[i]);
    }
    write_knob(job[1], TASK "/cpu.idle", "1");
    target = guest(pids[1]);
    ck_assert_int_eq(hpcb_mechanism_find("idle-group")->verify(&target, NULL), -1);
    ck_assert_uint_ge(share(pids[0], pids[1]), 30);
    real_reap(pids[0]);
    real_reap(pids[1]);
    hpcb_node_close(node);
}
END_TEST

START_TEST(weight_lowers_the_job)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("weight");
    char job[2][PATH_MAX];
    hpcb_target_t target;
    pid_t pids[2];

    if (!begin("cpu"))
        return;
    for (int i = 0; i < 2; i++) {
        make_job(_i, job[i]);
        pids[i] = burner_in(job[i]);
    }
    target = guest(pids[1]);
    ck_assert_int_eq(hpcb_undo_open(NULL, 1, &target.undo, NULL), 0);
    ck_assert_int_eq(row->probe(node, NULL), 0);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    expect_knob(job[1], "cpu.weight", "1");
    /* 1 against the usual 100; emulated processors are coarse. */
    ck_assert_uint_le(share(pids[0], pids[1]), 6);
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    expect_knob(job[1], "cpu.weight", "100");
    hpcb_undo_close(target.undo);
    real_reap(pids[0]);
    real_reap(pids[1]);
    hpcb_node_close(node);
}
END_TEST

/* What it is for needs many CPUs: tests/platforms/vm/measure weights. */
START_TEST(primary_weight_is_taken_and_given_back)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("primary-weight");
    hpcb_target_t target;
    char job[PATH_MAX];

    if (!begin("cpu"))
        return;
    make_job(_i, job);
    target = guest(burner_in(job));
    target.processors = 16;
    ck_assert_int_eq(hpcb_undo_open(NULL, 1, &target.undo, NULL), 0);
    ck_assert_int_eq(row->probe(node, NULL), 0);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    expect_knob(job, "cpu.weight", "1600");
    expect_knob(job, "cpu.idle", "0");
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    expect_knob(job, "cpu.weight", "100");
    /* A guest, by mistake: nothing is done to it. */
    write_knob(job, "cpu.idle", "1");
    (void)row->apply(&target, NULL);
    ck_assert_int_lt(row->verify(&target, NULL), 0);
    expect_knob(job, "cpu.idle", "1");
    hpcb_undo_close(target.undo);
    real_reap(target.pid);
    hpcb_node_close(node);
}
END_TEST

START_TEST(max_limits_the_job)
{
    real_time_t before, after;
    char job[PATH_MAX];
    pid_t pid;

    if (!begin("cpu"))
        return;
    make_job(_i, job);
    pid = burner_in(job);
    write_knob(job, "cpu.max", "20000 100000");
    real_sleep_ms(200);
    before = real_time(pid);
    real_sleep_ms(2000);
    after = real_time(pid);
    ck_assert_uint_le(after.cpu_us - before.cpu_us, 700000);
    ck_assert_uint_ge(after.cpu_us - before.cpu_us, 100000);
    real_reap(pid);
    hpcb_node_close(node);
}
END_TEST

static bool stands_still(pid_t pid)
{
    real_time_t before = real_time(pid);

    real_sleep_ms(200);
    return real_time(pid).cpu_us == before.cpu_us;
}

static void wait_for_freeze(const hpcb_mechanism_t *row, const hpcb_target_t *target)
{
    for (int i = 0; i < 300 && row->verify(target, NULL) < 0; i++)
        real_sleep_ms(10);
    ck_assert_int_eq(row->verify(target, NULL), 0);
}

START_TEST(freezes_tasks_and_not_the_stepd)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("freeze");
    hpcb_target_t target;
    char job[PATH_MAX];
    pid_t task, stepd;

    if (!begin("cpu"))
        return;
    make_job(_i, job);
    task = burner_in(job);
    stepd = real_burner();
    real_slurm_enter(job, STEPD, stepd);
    target = guest(task);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    wait_for_freeze(row, &target);
    ck_assert(stands_still(task));
    ck_assert(!stands_still(stepd));
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    real_sleep_ms(300);
    ck_assert(!stands_still(task));
    real_reap(task);
    real_reap(stepd);
    hpcb_node_close(node);
}
END_TEST

/* scancel of a guest that is frozen and idle: cgroup v2 lets SIGKILL through. */
START_TEST(kills_what_is_frozen)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("freeze");
    hpcb_target_t target;
    char job[PATH_MAX];
    int status;
    pid_t task;

    if (!begin("cpu"))
        return;
    make_job(_i, job);
    task = burner_in(job);
    target = guest(task);
    ck_assert_ptr_nonnull(hpcb_isolate(&target, NULL));
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    wait_for_freeze(row, &target);
    write_knob(job, "cgroup.kill", "1");
    ck_assert_int_eq(waitpid(task, &status, 0), task);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    hpcb_node_close(node);
}
END_TEST

/* A task of the job that then wants `megabytes` of memory and keeps them. */
static pid_t eater_in(const char *job, size_t megabytes)
{
    int go[2];
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe(go), 0);
    pid = real_fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        volatile char *memory = malloc(megabytes * MB);

        if (!memory || read(go[0], &c, 1) != 1)
            _exit(1);
        for (size_t i = 0; i < megabytes * MB; i += 4096)
            memory[i] = 1;
        for (;;)
            pause();
    }
    real_slurm_enter(job, TASK, pid);
    ck_assert_int_eq((int)write(go[1], "x", 1), 1);
    close(go[0]);
    close(go[1]);
    return pid;
}

/* The number behind name in a file of "name number" lines. */
static uint64_t counter(const char *dir, const char *file, const char *name)
{
    char text[1024], *line, *save = NULL;

    ck_assert_int_eq(hpcb_knob_read(dir, file, text, sizeof(text), NULL), 0);
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t n = strlen(name);

        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return strtoull(line + n, NULL, 10);
    }
    ck_abort_msg("%s/%s has no %s", dir, file, name);
    return 0;
}

START_TEST(memory_high_holds_the_guest_back)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("memory-high");
    hpcb_target_t target;
    char job[PATH_MAX];
    pid_t pid;

    if (!begin("memory"))
        return;
    make_job(_i, job);
    write_knob(job, "memory.max", "67108864");
    pid = eater_in(job, 1);
    target = guest(pid);
    target.memory_high = 25;
    ck_assert_int_eq(hpcb_undo_open(NULL, 1, &target.undo, NULL), 0);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    expect_knob(job, "memory.high", "16777216");
    real_reap(pid);
    pid = eater_in(job, 24);
    for (int i = 0; i < 500 && counter(job, "memory.events", "high") == 0; i++)
        real_sleep_ms(10);
    ck_assert_uint_gt(counter(job, "memory.events", "high"), 0);
    ck_assert_uint_eq(counter(job, "memory.events", "oom_kill"), 0);
    real_reap(pid);
    /* The scope of an undo is the task that it was noted for. */
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    expect_knob(job, "memory.high", "max");
    hpcb_undo_close(target.undo);
    hpcb_node_close(node);
}
END_TEST

/* Memory runs out above the jobs: the guest goes although the primary has more. */
START_TEST(oom_takes_the_guest)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("oom-score");
    const char *scope = real_slurm_scope();
    char job[2][PATH_MAX];
    hpcb_target_t target;
    pid_t primary, lowered, third;
    int status;

    if (!begin("memory"))
        return;
    make_job(_i, job[0]);
    make_job(_i, job[1]);
    write_knob(scope, "memory.max", "67108864");
    primary = eater_in(job[0], 32);
    lowered = eater_in(job[1], 8);
    target = guest(lowered);
    target.oom_score_adj = 1000;
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    real_sleep_ms(500);
    third = eater_in(job[0], 24);
    ck_assert_int_eq(waitpid(lowered, &status, 0), lowered);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    real_sleep_ms(500);
    ck_assert_int_eq(waitpid(primary, &status, WNOHANG), 0);
    ck_assert_int_eq(waitpid(third, &status, WNOHANG), 0);
    ck_assert_uint_eq(counter(job[1], "memory.events", "oom_kill"), 1);
    real_reap(primary);
    real_reap(third);
    write_knob(scope, "memory.max", "max");
    hpcb_node_close(node);
}
END_TEST

/* The task itself asks, as a user. */
START_TEST(verifies_without_privilege)
{
    hpcb_target_t target;
    char job[PATH_MAX];
    int status;
    pid_t pid;

    if (!begin("cpu"))
        return;
    make_job(_i, job);
    pid = real_fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        target = guest(getpid());
        real_slurm_enter(job, TASK, getpid());
        if (!hpcb_isolate(&target, NULL))
            _exit(1);
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        _exit(hpcb_isolated(&target, NULL) ? 0 : 3);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    hpcb_node_close(node);
}
END_TEST

/* A task that is in no job of Slurm's has no directory that could be lowered. */
START_TEST(nothing_above_a_job_is_touched)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("idle-group");
    hpcb_target_t target;
    char id[16];
    pid_t pid;

    if (!begin("cpu"))
        return;
    pid = real_burner();
    target = guest(pid);
    ck_assert_int_eq(row->apply(&target, NULL), -1);
    ck_assert_int_eq(row->verify(&target, NULL), -1);
    snprintf(id, sizeof(id), "%d", (int)pid);
    expect_knob(real_slurm_scope(), "cpu.idle", "0");
    real_reap(pid);
    hpcb_node_close(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_v2");
    TCase *tcase = tcase_create("kernel_v2");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, real_slurm_setup, real_slurm_teardown);
    tcase_add_loop_test(tcase, idle_group_lowers_the_job, 0, 2);
    tcase_add_test(tcase, idle_below_the_job_does_nothing);
    tcase_add_loop_test(tcase, weight_lowers_the_job, 0, 2);
    tcase_add_loop_test(tcase, primary_weight_is_taken_and_given_back, 0, 2);
    tcase_add_loop_test(tcase, max_limits_the_job, 0, 2);
    tcase_add_loop_test(tcase, freezes_tasks_and_not_the_stepd, 0, 2);
    tcase_add_loop_test(tcase, kills_what_is_frozen, 0, 2);
    tcase_add_loop_test(tcase, memory_high_holds_the_guest_back, 0, 2);
    tcase_add_loop_test(tcase, oom_takes_the_guest, 0, 2);
    tcase_add_loop_test(tcase, verifies_without_privilege, 0, 2);
    tcase_add_test(tcase, nothing_above_a_job_is_touched);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
