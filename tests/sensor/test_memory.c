/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup/steps.h"
#include "common/file.h"
#include "sensor/memory.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/tmp.h"

#define MIB ((uint64_t)1024 * 1024)

static hpcb_node_t *open_node(const char *root)
{
    hpcb_node_t *node;
    hpcb_error_t err;

    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    return node;
}

START_TEST(reads_meminfo)
{
    hpcb_memory_node_t memory = {.total = 7};

    ck_assert_int_eq(hpcb_memory_parse("MemTotal:       1000 kB\nMemFree: 1 kB\n"
                                       "MemAvailable:    600 kB\nSwapFree: 5 kB\n"
                                       "HugePages_Total:       3\n",
                                       &memory),
                     0);
    ck_assert_uint_eq(memory.total, 1000 * 1024);
    ck_assert_uint_eq(memory.available, 600 * 1024);
    ck_assert_uint_eq(memory.swap_free, 5 * 1024);
    ck_assert_uint_eq(memory.huge_pages, 3);
    ck_assert_int_eq(hpcb_memory_parse("MemTotal: 1 kB\n", &memory), -1);
    ck_assert_int_eq(hpcb_memory_parse("", &memory), -1);
    ck_assert_uint_eq(memory.total, 1000 * 1024);
}
END_TEST

/* Let the copy list pid where Slurm has the processes of its job; the job's directory.
 */
static void enlist(const hpcb_node_t *node, pid_t pid, const char *below, char *job)
{
    char path[PATH_MAX], text[32];
    hpcb_error_t err;

    ck_assert_msg(hpcb_steps_job(node, pid, job, PATH_MAX, &err) == 0, "%s", err.text);
    ck_assert_int_lt(snprintf(path, sizeof(path), "%s/step_0/%s", job, below),
                     PATH_MAX);
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    strcat(path, "/cgroup.procs");
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    ck_assert_int_eq(hpcb_file_replace(path, text, strlen(text), 0644, NULL), 0);
}

static void knob(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];

    ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", dir, name), PATH_MAX);
    ck_assert_int_eq(hpcb_file_replace(path, text, strlen(text), 0644, NULL), 0);
}

START_TEST(clean_inactive_cache_does_not_count_on_v1)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    pid_t pid = fake_task(100);
    char job[PATH_MAX], dir[PATH_MAX];
    hpcb_memory_t memory;
    hpcb_error_t err;

    enlist(node, pid, "", job);
    ck_assert_int_eq(
        hpcb_node_job_dir(node, pid, HPCB_CTL_MEMORY, dir, sizeof(dir), NULL), 0);
    knob(dir, "memory.usage_in_bytes", "1000000\n");
    knob(dir, "memory.max_usage_in_bytes", "2000000\n");
    knob(dir, "memory.stat",
         "inactive_file 1\ndirty 1\ntotal_inactive_file 500000\ntotal_dirty 100000\n"
         "total_writeback 50000\ntotal_active_file 7\n");
    ck_assert_msg(hpcb_memory_job(node, job, "", false, &memory, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(memory.dir, dir);
    ck_assert_uint_eq(memory.cache, 350000);
    ck_assert_uint_eq(memory.used, 650000);
    ck_assert_uint_eq(memory.reclaimable, 150007);
    ck_assert_uint_eq(memory.peak, 2000000);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(clean_inactive_cache_does_not_count_on_v2)
{
    hpcb_node_t *node = open_node(fake_start("v2-slurm22"));
    pid_t pid = fake_task(100);
    char job[PATH_MAX];
    hpcb_memory_t memory;

    enlist(node, pid, "user", job);
    knob(job, "memory.current", "1000000\n");
    knob(job, "memory.peak", "3000000\n");
    knob(job, "memory.stat",
         "anon 5\ninactive_file 400000\nfile_dirty 500000\nfile_writeback 1\n");
    ck_assert_int_eq(hpcb_memory_job(node, job, "", false, &memory, NULL), 0);
    ck_assert_uint_eq(memory.cache, 0);
    ck_assert_uint_eq(memory.used, 1000000);
    ck_assert_uint_eq(memory.reclaimable, 400000);
    ck_assert_uint_eq(memory.peak, 3000000);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* A process that exits is in no group that it tells of, and what it had is still there.
 */
START_TEST(what_exiting_processes_had_still_counts)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    pid_t pid = fake_task(100);
    char job[PATH_MAX], dir[PATH_MAX], name[PATH_MAX + 16];
    hpcb_memory_t memory;

    enlist(node, pid, "", job);
    ck_assert_int_eq(
        hpcb_node_job_dir(node, pid, HPCB_CTL_MEMORY, dir, sizeof(dir), NULL), 0);
    knob(dir, "memory.usage_in_bytes", "1000000\n");
    knob(dir, "memory.stat", "total_inactive_file 0\n");
    ck_assert_int_eq(hpcb_memory_job(node, job, "", false, &memory, NULL), 0);
    ck_assert_uint_eq(memory.used, 1000000);
    ck_assert(!memory.exiting);
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    fake_write(name, "5:memory:/\n3:freezer:/\n");
    ck_assert_int_eq(hpcb_memory_job(node, job, memory.dir, false, &memory, NULL), 0);
    ck_assert_str_eq(memory.dir, dir);
    ck_assert_uint_eq(memory.used, 1000000);
    ck_assert(memory.exiting);
    ck_assert_int_eq(hpcb_memory_job(node, job, "", false, &memory, NULL), 0);
    ck_assert_str_eq(memory.dir, "");
    /* Files in tmpfs of a job that has ended, say: nobody can end it for them. */
    snprintf(name, sizeof(name), "%s/step_0", job);
    knob(name, "cgroup.procs", "");
    ck_assert_int_eq(hpcb_memory_job(node, job, dir, false, &memory, NULL), 0);
    ck_assert_str_eq(memory.dir, "");
    ck_assert(!memory.exiting);
    ck_assert_uint_eq(memory.used, 0);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(a_job_without_processes_uses_nothing)
{
    hpcb_node_t *node = open_node("/");
    char dir[TEST_TMP_MAX];
    hpcb_memory_t memory;

    test_tmp_dir(dir);
    ck_assert_int_eq(hpcb_memory_job(node, dir, "", true, &memory, NULL), 0);
    ck_assert_uint_eq(memory.used, 0);
    ck_assert_str_eq(memory.dir, "");
    ck_assert_int_eq(hpcb_memory_job(node, "/nonexistent", "", true, &memory, NULL), 0);
    ck_assert_uint_eq(memory.used, 0);
    ck_assert_int_eq(hpcb_memory_job(node, "/dev/null", "", true, &memory, NULL), -1);
    hpcb_node_close(node);
}
END_TEST

static void *touch(size_t size, int flags, int fd)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, size);
    return memory;
}

static void say_pid(int ready)
{
    pid_t self = getpid();

    if (write(ready, &self, sizeof(self)) != sizeof(self))
        _exit(1);
}

/* 64 MiB of its own, 8 of them locked, 32 MiB in tmpfs that two processes map.  Each of
 * the two writes its pid when it is there, waits for a byte, and writes it again when
 * it has touched its memory. */
static void run_load(int ready, int go)
{
    int fd = memfd_create("load", MFD_CLOEXEC);
    char byte;
    pid_t child;

    if (fd < 0 || ftruncate(fd, 32 * MIB))
        _exit(1);
    child = fork();
    say_pid(ready);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    if (child > 0) {
        touch(56 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        mlock(touch(8 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1), 8 * MIB);
    }
    touch(32 * MIB, MAP_SHARED, fd);
    say_pid(ready);
    for (;;)
        pause();
}

static void read_pids(int ready, pid_t pids[2])
{
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(read(ready, &pids[i], sizeof(pids[i])), sizeof(pids[i]));
}

START_TEST(within_a_hundredth_of_what_is_touched)
{
    hpcb_node_t *node = open_node("/");
    bool v2 = hpcb_node_version(node, HPCB_CTL_FREEZER) == 2;
    char path[PATH_MAX], text[64];
    char dir[TEST_TMP_MAX];
    hpcb_memory_t before, memory;
    pid_t pids[2];
    int ready[2], go[2];
    uint64_t used;

    test_tmp_dir(dir);
    ck_assert_int_eq(pipe(ready) | pipe(go), 0);
    if (fork() == 0)
        run_load(ready[1], go[0]);
    read_pids(ready[0], pids);
    snprintf(path, sizeof(path), "%s/step_0/%s", dir, v2 ? "user" : "");
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)pids[0], (int)pids[1]);
    knob(path, "cgroup.procs", text);
    ck_assert_int_eq(hpcb_memory_job(node, dir, "", true, &before, NULL), 0);
    ck_assert_int_eq(write(go[1], "gg", 2), 2);
    read_pids(ready[0], pids);
    ck_assert_int_eq(hpcb_memory_job(node, dir, "", true, &memory, NULL), 0);
    for (int i = 0; i < 2; i++)
        kill(pids[i], SIGKILL);
    used = memory.used - before.used;
    fprintf(stderr, "# %.2f MiB of 96\n", (double)used / (double)MIB);
    ck_assert_uint_ge(used, 96 * MIB * 99 / 100);
    ck_assert_uint_le(used, 96 * MIB * 101 / 100);
    hpcb_node_close(node);
}
END_TEST

/* pthread_exit(3) in main: /proc/PID itself tells nothing any more. */
START_TEST(memory_of_a_process_without_main_thread_counts)
{
    hpcb_node_t *node = open_node("/");
    bool v2 = hpcb_node_version(node, HPCB_CTL_FREEZER) == 2;
    char path[PATH_MAX], text[32], dir[TEST_TMP_MAX];
    hpcb_memory_t memory = {0};
    pid_t pid = real_leaderless(32 * MIB);

    test_tmp_dir(dir);
    snprintf(path, sizeof(path), "%s/step_0/%s", dir, v2 ? "user" : "");
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    knob(path, "cgroup.procs", text);
    for (int i = 0; i < 1000 && memory.used < 32 * MIB; i++) {
        real_sleep_ms(10);
        ck_assert_int_eq(hpcb_memory_job(node, dir, "", true, &memory, NULL), 0);
    }
    real_reap(pid);
    ck_assert_uint_ge(memory.used, 32 * MIB);
    hpcb_node_close(node);
}
END_TEST

static int count_thread(pid_t tid, void *arg)
{
    unsigned *count = arg;

    (void)tid;
    ++*count;
    return 0;
}

static void copy_real(const char *root, pid_t pid, const char *name)
{
    char real[64], path[PATH_MAX], text[4096];

    snprintf(real, sizeof(real), "/proc/%d/%s", (int)pid, name);
    snprintf(path, sizeof(path), "%s/proc/%d", root, (int)pid);
    ck_assert_int_gt(hpcb_file_read(real, text, sizeof(text), NULL), 0);
    knob(path, name, text);
}

/* v1 shows "/" for its main thread, and every controller. */
START_TEST(the_group_of_a_process_without_main_thread_is_found)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = open_node(root);
    pid_t like = fake_task(100), pid = real_leaderless(0);
    char job[PATH_MAX], dir[PATH_MAX], task[PATH_MAX + 32], text[8192];
    hpcb_memory_t memory;

    enlist(node, like, "", job);
    ck_assert_int_eq(
        hpcb_node_job_dir(node, like, HPCB_CTL_MEMORY, dir, sizeof(dir), NULL), 0);
    knob(dir, "memory.usage_in_bytes", "1000000\n");
    knob(dir, "memory.stat", "total_inactive_file 0\n");
    /* What the kernel says of pid, but in the copy's hierarchies. */
    snprintf(task, sizeof(task), "%s/proc/%d/task/%d", root, (int)pid, (int)pid + 1);
    ck_assert_int_eq(hpcb_file_mkdirs(task, 0755, NULL), 0);
    snprintf(text, sizeof(text), "%s", fake_read("proc/100/cgroup"));
    knob(task, "cgroup", text);
    snprintf(task, sizeof(task), "%s/proc/%d", root, (int)pid);
    knob(task, "cgroup", "6:freezer:/\n4:memory:/\n1:cpu:/\n0::/\n");
    copy_real(root, pid, "stat");
    snprintf(task, sizeof(task), "%s/step_0", job);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    knob(task, "cgroup.procs", text);

    ck_assert_int_eq(hpcb_memory_job(node, job, "", false, &memory, NULL), 0);
    ck_assert_str_eq(memory.dir, dir);
    ck_assert_uint_eq(memory.used, 1000000);
    ck_assert(!memory.exiting);
    real_reap(pid);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(threads_that_are_asked_are_bounded)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = open_node(root);
    char path[PATH_MAX];
    unsigned asked = 0;

    for (int tid = 8; tid < HPCB_NODE_THREADS_MAX + 18; tid++) {
        snprintf(path, sizeof(path), "%s/proc/7/task/%d", root, tid);
        ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    }
    ck_assert_int_eq(hpcb_node_threads(node, 7, count_thread, &asked), 0);
    ck_assert_uint_eq(asked, HPCB_NODE_THREADS_MAX);
    ck_assert_int_eq(hpcb_node_threads(node, 6, count_thread, &asked), 0);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(stalls_are_thousandths)
{
    const char *root = fake_start("v2-slurm22");
    hpcb_node_t *node = open_node(root);
    uint64_t total = 0;
    char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), "%s/proc/pressure", root);
    ck_assert_int_eq(hpcb_file_mkdirs(dir, 0755, NULL), 0);
    ck_assert_uint_eq(hpcb_memory_stalled(node, 1000, &total), 0);
    knob(dir, "memory", "some avg10=0.00 avg60=0 avg300=0 total=5000\n");
    ck_assert_uint_eq(hpcb_memory_stalled(node, 1000, &total), 0);
    ck_assert_uint_eq(total, 5000);
    knob(dir, "memory", "some avg10=0.00 avg60=0 avg300=0 total=5250\n");
    ck_assert_uint_eq(hpcb_memory_stalled(node, 1000, &total), 250);
    knob(dir, "memory", "some avg10=0.00 avg60=0 avg300=0 total=9999\n");
    ck_assert_uint_eq(hpcb_memory_stalled(node, 1000, &total), 1000);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, reads_meminfo);
    tcase_add_test(tcase, clean_inactive_cache_does_not_count_on_v1);
    tcase_add_test(tcase, clean_inactive_cache_does_not_count_on_v2);
    tcase_add_test(tcase, what_exiting_processes_had_still_counts);
    tcase_add_test(tcase, a_job_without_processes_uses_nothing);
    tcase_add_test(tcase, within_a_hundredth_of_what_is_touched);
    tcase_add_test(tcase, memory_of_a_process_without_main_thread_counts);
    tcase_add_test(tcase, the_group_of_a_process_without_main_thread_is_found);
    tcase_add_test(tcase, threads_that_are_asked_are_bounded);
    tcase_add_test(tcase, stalls_are_thousandths);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
