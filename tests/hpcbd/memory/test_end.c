/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who is signalled when a guest ends for a primary's memory. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "common/file.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/memory/killed.h"
#include "hpcbd/memory/notice.h"
#include "hpcbd/requeue.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/tmp.h"

#define JOB    "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"
#define TASK   JOB "/step_0/user/task_0"
#define NOBODY ((uid_t)-1)

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

/* The guest's standard error is on a file system of its own, which does not answer. */
static ino_t silent;

int fstat(int fd, struct stat *status)
{
    int rc = fstatat(fd, "", status, AT_EMPTY_PATH);

    while (rc == 0 && silent && status->st_ino == silent)
        pause();
    return rc;
}

/* Whose processes were lifted. */
static char lifted[640];

int __wrap_hpcb_exiting_lift(const char *dir, const char *group);
int __wrap_hpcb_exiting_lift(const char *dir, const char *group)
{
    (void)group;
    snprintf(lifted, sizeof(lifted), "%s", dir);
    return 0;
}

static struct {
    hpcb_node_t *node;
    const char *root;
    char state[512], steps[640];
    pid_t guest, other;
} job;

/* A job whose group names a process of another one as well. */
static void start_job(void)
{
    const char *root = fake_start("v2-slurm22");
    char ended[640], task[640], text[64];

    job.root = root;
    job.guest = fake_task(100);
    job.other = fake_task(102);
    snprintf(job.state, sizeof(job.state), "%.400s/state", root);
    snprintf(ended, sizeof(ended), "%s/" HPCBD_REQUEUE_DIR, job.state);
    snprintf(job.steps, sizeof(job.steps), "%.400s/" JOB, root);
    ck_assert_int_eq(mkdir(job.state, 0755), 0);
    ck_assert_int_eq(mkdir(ended, 0755), 0);
    ck_assert_int_eq(hpcb_node_open(root, &job.node, NULL), 0);
    snprintf(task, sizeof(task), "%.400s/" TASK, root);
    ck_assert_int_eq(hpcb_knob_mkdir(task, "", NULL), 0);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)job.other, (int)job.guest);
    fake_write(TASK "/cgroup.procs", text);
}

static void stop_job(void)
{
    hpcb_node_close(job.node);
    fake_stop();
}

static void end_guest(uid_t uid)
{
    const hpcbd_ending_t ending = {.node = job.node,
                                   .state_dir = job.state,
                                   .job_id = 4,
                                   .uid = uid,
                                   .steps = job.steps,
                                   .group = "",
                                   .at_once = true};

    ck_assert_int_ge(hpcbd_memory_end(&ending, true, NULL), 1);
    for (int i = 0; i < 200 && !has_ended(job.guest); i++)
        usleep(10000);
    ck_assert(has_ended(job.guest));
}

/* Between the look at the group and the signal an id may go to another process. */
START_TEST(only_processes_of_the_job_are_signalled)
{
    start_job();
    end_guest(NOBODY);
    ck_assert(!has_ended(job.other));
    stop_job();
}
END_TEST

START_TEST(no_guest_keeps_the_guard_waiting)
{
    struct stat status;

    ck_assert_int_eq(fstatat(STDERR_FILENO, "", &status, AT_EMPTY_PATH), 0);
    start_job();
    silent = status.st_ino;
    end_guest(1234);
    silent = 0;
    stop_job();
}
END_TEST

/* A guest whose standard error is a pipe; 0 if nothing came. */
static int say_to_pipe(char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO), length;
    struct pollfd told;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    start_job();
    ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    end_guest(1234);
    told = (struct pollfd){.fd = ends[0], .events = POLLIN};
    length = poll(&told, 1, 1000) == 1 ? (int)read(ends[0], text, size) : 0;
    close(saved);
    close(ends[0]);
    close(ends[1]);
    stop_job();
    return length;
}

/* Before the guest ends, if the process that tells it gets a CPU within 20 ms. */
START_TEST(the_user_is_told)
{
    char text[512] = "";

    for (int i = 0; i < 30 && say_to_pipe(text, sizeof(text) - 1) == 0; i++)
        ;
    ck_assert_ptr_nonnull(strstr(text, HPCBD_MEMORY_TEXT));
}
END_TEST

/* Its memory that is shared goes with it, and so it must not wait for a CPU. */
START_TEST(who_is_killed_exits_ahead_of_others)
{
    start_job();
    ck_assert_str_eq(lifted, "");
    end_guest(NOBODY);
    ck_assert_str_eq(lifted, job.steps);
    stop_job();
}
END_TEST

/* As the kernel's OOM killer leaves it: on v1 its groups are not told of any more. */
START_TEST(who_exits_already_does_so_ahead_of_others)
{
    hpcbd_ending_t ending = {.uid = NOBODY, .group = "", .job_id = 4, .at_once = true};
    char name[64];

    start_job();
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)job.guest);
    fake_write(name, "0::/\n");
    ending.node = job.node;
    ending.state_dir = job.state;
    ending.steps = job.steps;
    lifted[0] = '\0';
    ck_assert_int_eq(hpcbd_memory_end(&ending, true, NULL), 0);
    ck_assert_str_eq(lifted, job.steps);
    ck_assert(!has_ended(job.guest));
    stop_job();
}
END_TEST

static void link_stderr(pid_t pid, const char *target)
{
    char dir[640], name[704];

    snprintf(dir, sizeof(dir), "%.400s/proc/%d/fd", job.root, (int)pid);
    ck_assert_int_eq(hpcb_file_mkdirs(dir, 0755, NULL), 0);
    snprintf(name, sizeof(name), "%s/2", dir);
    ck_assert_int_eq(symlink(target, name), 0);
}

/* The first process with a file is the one: those of a step write to slurmstepd. */
START_TEST(the_output_of_a_guest_is_known)
{
    char path[PATH_MAX];

    start_job();
    hpcbd_killed_output(job.node, job.steps, path, sizeof(path));
    ck_assert_str_eq(path, "");
    link_stderr(job.other, "pipe:[7]");
    link_stderr(job.guest, "/home/user/a file\nof two lines");
    hpcbd_killed_output(job.node, job.steps, path, sizeof(path));
    ck_assert_str_eq(path, "/home/user/a file\nof two lines");
    stop_job();
}
END_TEST

START_TEST(the_note_of_a_killed_guest_says_all)
{
    hpcbd_killed_t killed = {.job_id = 4, .uid = 1234, .used = 5, .output = "/a b\nc"};
    hpcbd_killed_t read = {.job_id = 7};
    hpcbd_requeue_t reason;
    uint32_t job_id;
    char note[700];

    start_job();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hpcbd_killed_note(job.state, &killed, NULL), 0);
        snprintf(note, sizeof(note), "%s/" HPCBD_REQUEUE_DIR "/4.killed", job.state);
        ck_assert_int_eq(hpcbd_killed_read(note, &read), 0);
        ck_assert_uint_eq(read.job_id, 7);
        ck_assert_uint_eq(read.uid, 1234);
        ck_assert_uint_eq(read.used, 5);
        ck_assert_str_eq(read.output, killed.output);
        killed.output[0] = '\0';
    }
    ck_assert_int_eq(hpcbd_requeue_parse("4.killed", &job_id, &reason), 0);
    ck_assert_uint_eq(reason, HPCBD_REQUEUE_KILLED);
    fake_write("state/" HPCBD_REQUEUE_DIR "/4.killed", "5\n");
    ck_assert_int_eq(hpcbd_killed_read(note, &read), -1);
    stop_job();
}
END_TEST

static void say_in(const char *path, uid_t uid)
{
    int status;

    hpcbd_notice_append(uid, path, 4, 300 << 20);
    ck_assert_int_gt(wait(&status), 0);
}

/* As the user: what is not the user's stays as it is, and so does what is no file. */
START_TEST(only_the_user_s_file_is_written_to)
{
    char dir[TEST_TMP_MAX], path[TEST_TMP_MAX + 16], link[TEST_TMP_MAX + 16], text[512];

    test_tmp_dir(dir);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    snprintf(path, sizeof(path), "%s/output", dir);
    snprintf(link, sizeof(link), "%s/link", dir);
    ck_assert_int_eq(hpcb_file_replace(path, "first\n", 6, 0600, NULL), 0);
    ck_assert_int_eq(symlink(path, link), 0);
    say_in(path, 1234);
    ck_assert_int_eq(hpcb_file_read(path, text, sizeof(text), NULL), 6);
    ck_assert_int_eq(chown(path, 1234, 1234), 0);
    say_in(link, 1234);
    ck_assert_int_eq(hpcb_file_read(path, text, sizeof(text), NULL), 6);
    say_in(path, 1234);
    ck_assert_int_gt(hpcb_file_read(path, text, sizeof(text), NULL), 6);
    ck_assert_ptr_nonnull(strstr(text, "first\nslurm-hpc-balance: " HPCBD_MEMORY_TEXT));
    ck_assert_ptr_nonnull(strstr(text, "(job 4 held 300 MiB on this node)"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_end");
    TCase *tc = tcase_create("memory_end");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, only_processes_of_the_job_are_signalled);
    tcase_add_test(tc, no_guest_keeps_the_guard_waiting);
    tcase_add_test(tc, the_user_is_told);
    tcase_add_test(tc, who_is_killed_exits_ahead_of_others);
    tcase_add_test(tc, who_exits_already_does_so_ahead_of_others);
    tcase_add_test(tc, the_output_of_a_guest_is_known);
    tcase_add_test(tc, the_note_of_a_killed_guest_says_all);
    tcase_add_test(tc, only_the_user_s_file_is_written_to);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
