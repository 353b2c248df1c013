/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What guests get (hpcbd/harm/share.c) on a copy of a snapshot whose counters the test
 * moves on, and idle time (sensor/idle.c).  The guest's process is the test's own,
 * which is bound to one CPU; how long a round takes is up to the machine.
 */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/share.h"
#include "sensor/idle.h"
#include "sensor/stat.h"
#include "tests/cgroup/fake_kernel.h"

#define JOB_DIR  "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"
#define USER     JOB_DIR "/step_0/user"
#define JOB      4
#define PART     0.05 /* of the round that is to be seen within */
#define ROUND_MS 500

static const char *root;
static hpcb_node_t *node;
static hpcbd_job_t guest;
static hpcbd_shares_t *shares;
static unsigned cpu; /* the process's */
static int64_t now_ms = 1000;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    now->tv_sec = now_ms / 1000;
    now->tv_nsec = now_ms % 1000 * 1000000;
    return 0;
}

static bool turns; /* it takes turns, and was elected for so long */
static uint64_t elected_us;

bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us)
{
    ck_assert_uint_eq(job_id, JOB);
    if (turns)
        *us = elected_us;
    return turns;
}

static void make_dir(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    ck_assert_int_eq(hpcb_knob_mkdir(path, "", NULL), 0);
}

/* Of the job and its CPU, in microseconds. */
static void put(uint64_t used, uint64_t waited, uint64_t idle)
{
    uint64_t ticks = idle * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000;
    char text[256];

    snprintf(text, sizeof(text), "usage_usec %lu\n", (unsigned long)used);
    fake_write(JOB_DIR "/cpu.stat", text);
    snprintf(text, sizeof(text), "some avg10=0.00 total=%lu\nfull total=0\n",
             (unsigned long)waited);
    fake_write(USER "/task_0/cpu.pressure", text);
    snprintf(text, sizeof(text),
             "cpu  1 1 1 1 1\ncpu%u 5 5 5 %lu 0 9 9\nintr 1 2 3\ncpu9 1 1 1 1 1\n", cpu,
             (unsigned long)ticks);
    fake_write("proc/stat", text);
}

static void bind_to_one(void)
{
    cpu_set_t all, one;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++)
        ;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void begin(void)
{
    char pid[16];
    hpcb_error_t err;

    bind_to_one();
    root = fake_start("v2-slurm22");
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    guest.state = (hpcb_job_state_t){.job_id = JOB, .klass = HPCB_CLASS_GUEST};
    snprintf(guest.dir, sizeof(guest.dir), "%s/%s", root, JOB_DIR);
    make_dir(USER "/task_0");
    snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    fake_write(USER "/task_0/cgroup.procs", pid);
    ck_assert_ptr_null(hpcbd_shares_new(node, &err));
    ck_assert_str_eq(err.text, "this kernel accounts no pressure (boot it with psi=1)");
    make_dir("proc/pressure");
    fake_write("proc/pressure/cpu", "some total=0\n");
    put(1000000, 1000000, 1000000);
    shares = hpcbd_shares_new(node, &err);
    ck_assert_msg(shares != NULL, "%s", err.text);
}

static void end(void)
{
    hpcbd_shares_free(shares);
    hpcb_node_close(node);
    fake_stop();
}

static int look(hpcbd_share_t *share, bool idle)
{
    now_ms++;
    hpcbd_shares_round(shares, idle);
    return hpcbd_shares_look(shares, &guest, share);
}

/* A round of half a second, in which the job used and waited for, and its CPU was idle
 * for these parts. */
static void pass(hpcbd_share_t *share, double used, double waited, double idle)
{
    static uint64_t sums[3] = {1000000, 1000000, 1000000};

    put(sums[0], sums[1], sums[2]);
    ck_assert_int_le(look(share, true), 0);
    now_ms += ROUND_MS - 1;
    sums[0] += (uint64_t)(used * ROUND_MS * 1000);
    sums[1] += (uint64_t)(waited * ROUND_MS * 1000);
    sums[2] += (uint64_t)(idle * ROUND_MS * 1000);
    put(sums[0], sums[1], sums[2]);
    ck_assert_int_eq(look(share, true), 0);
}

START_TEST(parts_of_the_guests_own_cpus)
{
    hpcbd_share_t share = {.used = -1};

    begin();
    ck_assert_int_eq(look(&share, false), -1);
    ck_assert_double_eq(share.used, -1);
    pass(&share, 0.25, 0.75, 0.5);
    ck_assert_uint_eq(share.cpus, 1);
    ck_assert_double_eq_tol(share.used, 0.25, PART);
    ck_assert_double_eq_tol(share.idle, 0.5, PART);
    ck_assert(share.waited);
    ck_assert(!share.suspended);
    pass(&share, 0.003, 0.3, 0);
    ck_assert_double_eq_tol(share.used, 0.003, 0.001);
    ck_assert(!share.waited);
    /* Idle time takes two rounds that read it. */
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert_double_eq(share.idle, 0);
    ck_assert_int_eq(look(&share, true), 0);
    ck_assert_double_eq(share.idle, 0);
    end();
}
END_TEST

/* A quarter of a second of each second is its turn; for the rest it is stopped. */
START_TEST(of_its_turns_it_waits_for_most)
{
    hpcbd_share_t share;

    begin();
    turns = true;
    ck_assert_int_eq(look(&share, false), -1);
    put(1001000, 1240000, 1000000);
    elected_us += 250000;
    now_ms += 998;
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(share.waited);
    ck_assert(!share.suspended);
    ck_assert_double_eq_tol(share.used, 0.004, 1e-9);
    /* Not its turn: that counts for nothing, and is not counted later. */
    now_ms += 3000;
    elected_us += 90000;
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(share.suspended);
    put(1011000, 1300000, 1000000);
    elected_us += 160000;
    now_ms += 500;
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(!share.suspended && !share.waited);
    ck_assert_double_eq_tol(share.used, 0.04, 1e-9);
    /* It takes no turns any more. */
    turns = false;
    ck_assert_int_eq(look(&share, false), -1);
    put(1016000, 1800000, 1000000);
    now_ms += 999;
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(share.waited);
    ck_assert_double_eq_tol(share.used, 0.005, 1e-6);
    end();
}
END_TEST

/* It has left turns and joined again, and its time in them begins anew. */
START_TEST(who_joins_again_is_not_excused)
{
    hpcbd_share_t share;

    begin();
    turns = true;
    elected_us = 3600000000;
    ck_assert_int_eq(look(&share, false), -1);
    elected_us = 0;
    now_ms += 1000;
    ck_assert_int_eq(look(&share, false), -1);
    elected_us = 250000;
    put(1001000, 1240000, 1000000);
    now_ms += 998;
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(!share.suspended);
    ck_assert_double_eq_tol(share.used, 0.004, 1e-9);
    end();
}
END_TEST

/* It is opened anew. */
START_TEST(a_sensor_that_has_failed_is_not_lost)
{
    hpcbd_share_t share;

    begin();
    ck_assert_int_eq(look(&share, false), -1);
    ck_assert_int_eq(look(&share, false), 0);
    if (_i == 0) {
        fake_write(JOB_DIR "/cpu.stat", "nonsense\n");
    } else {
        ck_assert_int_eq(hpcb_stat_take(HPCB_STAT_FILES_MAX - 1, NULL), 0);
        make_dir(USER "/task_1");
        fake_write(USER "/task_1/cpu.pressure", "some avg10=0.00 total=1\n");
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(look(&share, false), -1);
    put(1000000, 1000000, 1000000);
    if (_i == 1)
        hpcb_stat_give(HPCB_STAT_FILES_MAX - 1);
    ck_assert_int_eq(look(&share, false), -1);
    ck_assert_int_eq(look(&share, false), 0);
    end();
}
END_TEST

START_TEST(a_guest_that_was_not_looked_at_is_new)
{
    hpcbd_share_t share;

    begin();
    ck_assert_int_eq(look(&share, false), -1);
    ck_assert_int_eq(look(&share, false), 0);
    hpcbd_shares_round(shares, false);
    ck_assert_int_eq(look(&share, false), -1);
    guest.state.begin_us = 1;
    ck_assert_int_eq(look(&share, false), -1);
    ck_assert_int_eq(look(&share, false), 0);
    end();
}
END_TEST

START_TEST(who_is_suspended_or_without_processes_is_known)
{
    hpcbd_share_t share;

    begin();
    ck_assert_int_eq(look(&share, false), -1);
    fake_write(USER "/cgroup.freeze", "1\n");
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(share.suspended);
    fake_write(USER "/cgroup.freeze", "0\n");
    ck_assert_int_eq(look(&share, false), 0);
    ck_assert(!share.suspended);
    fake_write(USER "/task_0/cgroup.procs", "");
    ck_assert_int_eq(look(&share, false), -1);
    guest.dir[0] = '\0';
    ck_assert_int_eq(look(&share, false), -1);
    end();
}
END_TEST

START_TEST(idle_time_is_that_of_the_cpus_asked_for)
{
    static hpcb_idle_t before, after;
    hpcb_cpus_t cpus = {.word = {0}}, none = {.word = {0}};

    hpcb_cpus_add(&cpus, 1);
    hpcb_cpus_add(&cpus, 3);
    before = (hpcb_idle_t){.time_us = 1000000, .count = 4};
    after = (hpcb_idle_t){.time_us = 2000000, .count = 4};
    after.idle_us[0] = after.idle_us[2] = 1000000;
    after.idle_us[1] = 500000;
    ck_assert_double_eq_tol(hpcb_idle_part(&before, &after, &cpus), 0.25, 1e-9);
    ck_assert_double_eq(hpcb_idle_part(&before, &after, &none), 0);
    ck_assert_double_eq(hpcb_idle_part(&after, &after, &cpus), 0);
    /* What goes back, or is counted in ticks for longer than it was. */
    before.idle_us[3] = 1;
    after.idle_us[1] = 5000000;
    ck_assert_double_eq(hpcb_idle_part(&before, &after, &cpus), 1);
    /* A CPU that is not there any more. */
    after.count = 2;
    after.idle_us[1] = 500000;
    ck_assert_double_eq_tol(hpcb_idle_part(&before, &after, &cpus), 0.5, 1e-9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_share");
    TCase *tc = tcase_create("harm_share");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, parts_of_the_guests_own_cpus);
    tcase_add_test(tc, of_its_turns_it_waits_for_most);
    tcase_add_test(tc, who_joins_again_is_not_excused);
    tcase_add_loop_test(tc, a_sensor_that_has_failed_is_not_lost, 0, 2);
    tcase_add_test(tc, a_guest_that_was_not_looked_at_is_new);
    tcase_add_test(tc, who_is_suspended_or_without_processes_is_known);
    tcase_add_test(tc, idle_time_is_that_of_the_cpus_asked_for);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
