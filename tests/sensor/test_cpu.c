/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Sensors that read files of groups: cpu, delay and pressure, on copies of snapshots.
 * The CPUs of threads and the clock are the test's. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "sensor/meter.h"
#include "sensor/rows.h"
#include "sensor/stat.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

static hpcb_node_t *node;
static const char *root;
static char dir[4096];
static uint64_t clock_us;           /* 0: the real one, at which Check looks too */
static unsigned used_us, waited_us; /* by a task, up to now */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!clock_us)
        return __real_clock_gettime(clock, now);
    now->tv_sec = (time_t)(clock_us / 1000000);
    now->tv_nsec = (long)(clock_us % 1000000 * 1000);
    return 0;
}

/* Thread 10 c + i is bound to CPU c; thread 1000 + i may run on CPUs 0 to 3. */
int __real_hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err);
int __wrap_hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err);
int __wrap_hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err)
{
    if (!clock_us)
        return __real_hpcb_task_cpus(tid, cpus, err);
    *cpus = (hpcb_cpus_t){{0}};
    for (unsigned cpu = 0; tid >= 1000 && cpu < 4; cpu++)
        hpcb_cpus_add(cpus, cpu);
    if (tid < 1000)
        hpcb_cpus_add(cpus, (unsigned)tid / 10);
    return 0;
}

static void start(const char *snapshot, uint32_t job_id, int like)
{
    char place[4096];
    hpcb_error_t err;

    root = fake_start(snapshot);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    if (like > 0) {
        ck_assert_int_eq(hpcb_node_job_dir(node, fake_task(like), HPCB_CTL_UNIFIED,
                                           place, sizeof(place), NULL),
                         0);
    } else {
        ck_assert_int_eq(
            hpcb_meter_attach(node, job_id, "batch", 0, fake_task(100), NULL), 0);
    }
    ck_assert_msg(hpcb_meter_group(node, job_id, like ? place : NULL, dir, sizeof(dir),
                                   &err) == 0,
                  "%s", err.text);
}

static void stop(void)
{
    clock_us = 0;
    used_us = waited_us = 0;
    hpcb_node_close(node);
    fake_stop();
}

static void *opened(const hpcb_sensor_t *row)
{
    const hpcb_sensor_job_t job = {.node = node, .job_id = 5, .dir = dir};
    hpcb_error_t err;
    void *handle;

    ck_assert_msg(row->open(&job, &handle, &err) == 0, "%s", err.text);
    return handle;
}

static uint64_t value(const hpcb_sensor_t *row, void *handle, hpcb_figure_t figure)
{
    uint64_t values[HPCB_FIGURES] = {0};
    hpcb_error_t err;

    ck_assert_msg(row->sample(handle, values, &err) == 0, "%s", err.text);
    return values[figure];
}

static void write_in_job(const char *name, const char *text)
{
    char path[8192];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void pressure(const char *name, unsigned us)
{
    char text[128];

    snprintf(text, sizeof(text),
             "some avg10=1.00 avg60=1.00 avg300=1.00 total=%u\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
             us);
    write_in_job(name, text);
}

static void group(const char *name, unsigned delay)
{
    char file[64];

    ck_assert_int_eq(hpcb_knob_mkdir(dir, name, NULL), 0);
    snprintf(file, sizeof(file), "%s/cpu.pressure", name);
    pressure(file, delay);
}

static uint64_t delay_of(void *handle)
{
    return value(&hpcb_sensor_delay, handle, HPCB_FIGURE_RUN_DELAY);
}

START_TEST(run_delay_is_the_sum_over_tasks)
{
    void *handle;

    start("v1-hybrid", 5, 0);
    clock_us = 1;
    group("0.0", 10);
    handle = opened(&hpcb_sensor_delay);
    ck_assert_uint_eq(delay_of(handle), 10);
    group("1.0", 100);
    group("1.1", 1000);
    pressure("0.0/cpu.pressure", 20);
    ck_assert_uint_eq(delay_of(handle), 1120);
    /* Step 1 ends, and another begins. */
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "1.0", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "1.1", NULL), 0);
    pressure("0.0/cpu.pressure", 25);
    ck_assert_uint_eq(delay_of(handle), 1125);
    group("2.0", 5);
    ck_assert_uint_eq(delay_of(handle), 1130);
    hpcb_sensor_delay.close(handle);
    stop();
}
END_TEST

static void step(const char *name)
{
    char user[64];

    ck_assert_int_eq(hpcb_knob_mkdir(dir, name, NULL), 0);
    snprintf(user, sizeof(user), "%s/user", name);
    ck_assert_int_eq(hpcb_knob_mkdir(dir, user, NULL), 0);
}

/* Not that of the job's group, which is the mean over its CPUs. */
START_TEST(on_v2_it_is_the_sum_too)
{
    void *handle;

    start("v2-slurm22", 4, 100);
    pressure("cpu.pressure", 33);
    step("step_7");
    group("step_7/user/task_0", 10);
    handle = opened(&hpcb_sensor_delay);
    ck_assert_uint_eq(delay_of(handle), 10);
    group("step_7/user/task_1", 100);
    step("step_8");
    group("step_8/user/task_0", 1000);
    pressure("step_7/user/task_0/cpu.pressure", 20);
    ck_assert_uint_eq(delay_of(handle), 1120);
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "step_8/user/task_0", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "step_8/user", NULL), 0);
    pressure("step_7/user/task_1/cpu.pressure", 105);
    ck_assert_uint_eq(delay_of(handle), 1125);
    hpcb_sensor_delay.close(handle);
    stop();
}
END_TEST

/* A second passes in which the task's threads used so much CPU time, and waited so long
 * in the mean over its CPUs. */
static uint64_t second(void *handle, const char *name, unsigned used, unsigned waited)
{
    char file[64], text[64];
    uint64_t before = delay_of(handle);

    clock_us += 1000000;
    used_us += used;
    waited_us += waited;
    snprintf(file, sizeof(file), "%s/cpu.pressure", name);
    pressure(file, waited_us);
    snprintf(file, sizeof(file), "%s/cpu.stat", name);
    snprintf(text, sizeof(text), "usage_usec %u\n", used_us);
    write_in_job(file, text);
    return delay_of(handle) - before;
}

START_TEST(a_task_on_several_cpus_waits_on_each)
{
    static const char *const tasks[] = {"0.0", "step_0/user/task_3"};
    const char *name = tasks[_i];
    char threads[64];
    void *handle;

    start(_i ? "v2-slurm22" : "v1-hybrid", 4, _i ? 100 : 0);
    clock_us = 1000000;
    snprintf(threads, sizeof(threads), "%s/cgroup.threads", name);
    group(name, 0);
    write_in_job(threads, "20\n");
    handle = opened(&hpcb_sensor_delay);
    ck_assert_uint_eq(second(handle, name, 950000, 50000), 50000);
    /* It starts three threads, which is seen within 5 s. */
    write_in_job(threads, "20\n30\n40\n50\n");
    for (int i = 0; i < 5; i++)
        second(handle, name, 3800000, 50000);
    ck_assert_uint_eq(second(handle, name, 3800000, 50000), 200000);
    /* The others sleep. */
    ck_assert_uint_eq(second(handle, name, 950000, 50000), 50000);
    ck_assert_uint_eq(second(handle, name, 10000, 50000), 50000);
    /* All are on two CPUs, and wait for one another. */
    write_in_job(threads, "20\n21\n30\n31\n");
    for (int i = 0; i < 5; i++)
        second(handle, name, 0, 0);
    ck_assert_uint_eq(second(handle, name, 2000000, 1000000), 2000000);
    /* Two threads that may run on four CPUs. */
    write_in_job(threads, "1000\n1001\n");
    for (int i = 0; i < 5; i++)
        second(handle, name, 0, 0);
    ck_assert_uint_eq(second(handle, name, 4000000, 500000), 1000000);
    hpcb_sensor_delay.close(handle);
    stop();
}
END_TEST

/* Nor does it keep files open when it has given up. */
START_TEST(a_user_cannot_take_all_files_of_the_daemon)
{
    const hpcb_sensor_t *row = &hpcb_sensor_delay;
    uint64_t values[HPCB_FIGURES];
    hpcb_error_t err = {""};
    int before = dup(STDIN_FILENO), after;
    char name[32];
    void *handle;

    close(before);
    ck_assert_int_eq(hpcb_stat_take(HPCB_STAT_FILES_MAX - 8, NULL), 0);
    start("v1-hybrid", 5, 0);
    handle = opened(row);
    for (unsigned i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "7.%u", i);
        group(name, 1);
    }
    ck_assert_int_eq(row->sample(handle, values, &err), -1);
    ck_assert_str_eq(err.text, "the jobs of this node have started too many tasks");
    row->close(handle);
    after = dup(STDIN_FILENO);
    ck_assert_int_eq(after, before);
    close(after);
    ck_assert_int_eq(hpcb_stat_take(8, NULL), 0);
    ck_assert_int_eq(hpcb_stat_take(1, &err), -1);
    hpcb_stat_give(HPCB_STAT_FILES_MAX);
    stop();
}
END_TEST

START_TEST(cpu_time_is_that_of_the_jobs_group)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    void *handle;

    start(_i ? "v2-slurm22" : "v1-hybrid", 4, _i ? 100 : 0);
    write_in_job("cpu.stat", "usage_usec 77\nuser_usec 70\n");
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_CPU), 77);
    row->close(handle);
    stop();
}
END_TEST

/* "No pressure" is not "nobody waited". */
START_TEST(without_pressure_there_is_no_run_delay)
{
    hpcb_error_t err = {""};

    start("v2-slurm22", 4, 100);
    ck_assert_int_eq(hpcb_sensor_cpu.probe(node, &err), 0);
    ck_assert_int_eq(hpcb_sensor_delay.probe(node, &err), -1);
    ck_assert_str_eq(err.text, "this kernel accounts no pressure (boot it with psi=1)");
    ck_assert_int_eq(hpcb_knob_mkdir(root, "proc/pressure", NULL), 0);
    fake_write("proc/pressure/cpu", "some total=0\n");
    ck_assert_int_eq(hpcb_sensor_delay.probe(node, &err), 0);
    stop();
}
END_TEST

START_TEST(waits_for_memory_and_storage)
{
    const hpcb_sensor_t *row = &hpcb_sensor_pressure;
    void *handle;

    start("v2-slurm22", 4, 100);
    pressure("memory.pressure", 1234);
    pressure("io.pressure", 5678);
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_STALL_MEMORY), 1234);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_STALL_IO), 5678);
    row->close(handle);
    stop();
}
END_TEST

START_TEST(a_file_without_the_figure_is_a_failure)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    uint64_t values[HPCB_FIGURES] = {0};
    void *handle;

    start("v1-hybrid", 5, 0);
    write_in_job("cpu.stat", "nonsense\n");
    handle = opened(row);
    ck_assert_int_eq(row->sample(handle, values, NULL), -1);
    row->close(handle);
    stop();
}
END_TEST

static void *burn(void *cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
    return NULL;
}

/* A busy loop on each of the first n CPUs. */
static pid_t burners(size_t n)
{
    pid_t pid = real_fork();
    pthread_t thread;

    if (pid != 0)
        return pid;
    real_sleep_ms(200); /* its group is made meanwhile */
    for (size_t cpu = 1; cpu < n; cpu++)
        pthread_create(&thread, NULL, burn, (void *)cpu);
    burn(NULL);
    return pid;
}

static uint64_t cpu_of_threads(pid_t pid)
{
    uint64_t sum = 0;
    struct dirent *entry;
    char path[64];
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    while ((entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            sum += real_time((pid_t)atoi(entry->d_name)).cpu_us;
    closedir(tasks);
    return sum;
}

static uint64_t real_now_us(void)
{
    struct timespec now;

    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What a hypervisor took of all CPUs. */
static uint64_t stolen_us(void)
{
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/stat", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks), 1);
    fclose(file);
    return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

typedef struct {
    uint64_t time_us, cpu_us, stolen_us, counted_us;
} reading_t;

static reading_t read_now(void *handle, pid_t pid)
{
    reading_t now = {.counted_us = delay_of(handle)};

    now.time_us = real_now_us();
    now.cpu_us = cpu_of_threads(pid);
    now.stolen_us = stolen_us();
    return now;
}

/* Two threads that want two CPUs all the time wait whenever they do not compute.  (The
 * kernel's own account of each one's waits lacks the one that is under way.) */
static void compare(const reading_t *from, const reading_t *to)
{
    uint64_t counted = to->counted_us - from->counted_us;
    uint64_t both = 2 * (to->time_us - from->time_us);
    uint64_t waited = both - (to->cpu_us - from->cpu_us);
    uint64_t stolen = to->stolen_us - from->stolen_us;

    fprintf(stderr, "# %ju us counted, %ju us waited, %ju us stolen\n",
            (uintmax_t)counted, (uintmax_t)waited, (uintmax_t)stolen);
    if (stolen > both / 50) {
        fprintf(stderr, "# skipped: a hypervisor takes these CPUs away\n");
        return;
    }
    ck_assert_uint_gt(waited, 300000);
    ck_assert_uint_lt(counted, waited + waited / 10 + 30000);
    ck_assert_uint_gt(counted, waited - waited / 10 - 30000);
}

/* Two threads on two CPUs, on one of which somebody else computes, too. */
START_TEST(agrees_with_schedstat)
{
    reading_t from, to;
    pid_t pid, rival;
    void *handle;

    if (!real_enter() || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    ck_assert_int_eq(hpcb_node_open("/", &node, NULL), 0);
    rival = burners(1);
    pid = burners(2);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, pid, NULL), 0);
    ck_assert_int_eq(hpcb_meter_group(node, 5, NULL, dir, sizeof(dir), NULL), 0);
    real_sleep_ms(500);
    handle = opened(&hpcb_sensor_delay);
    from = read_now(handle, pid);
    for (int i = 0; i < 3; i++) {
        real_sleep_ms(500);
        delay_of(handle);
    }
    to = read_now(handle, pid);
    compare(&from, &to);
    hpcb_sensor_delay.close(handle);
    real_reap(rival);
    real_reap(pid);
    ck_assert_int_eq(hpcb_meter_remove(node, 5, &(hpcb_usage_t){0}, NULL), 0);
    hpcb_node_close(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu");
    TCase *tcase = tcase_create("cpu");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, agrees_with_schedstat);
    tcase_add_test(tcase, run_delay_is_the_sum_over_tasks);
    tcase_add_test(tcase, on_v2_it_is_the_sum_too);
    tcase_add_loop_test(tcase, a_task_on_several_cpus_waits_on_each, 0, 2);
    tcase_add_test(tcase, a_user_cannot_take_all_files_of_the_daemon);
    tcase_add_loop_test(tcase, cpu_time_is_that_of_the_jobs_group, 0, 2);
    tcase_add_test(tcase, without_pressure_there_is_no_run_delay);
    tcase_add_test(tcase, waits_for_memory_and_storage);
    tcase_add_test(tcase, a_file_without_the_figure_is_a_failure);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
