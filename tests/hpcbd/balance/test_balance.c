/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Balance of one step, on a host that is a copy of a snapshot (fake_kernel.h), with
 * pages that the test writes as a program would, or as an enemy.  Tasks are real
 * children that sleep, bound to CPU 0 as Slurm would bind them.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/task.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbd/balance/lever.h"
#include "hpcbd/balance/passed.h"
#include "hpcbd/balance/unit.h"
#include "common/page.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/scratch.h"

#define V1_JOB 5
#define V2_JOB 4
#define CPU    "sys/fs/cgroup/cpu/"
#define SCOPE  "sys/fs/cgroup/system.slice/slurmstepd.scope/"
#define OTHER  77 /* somebody else's job */
#define TICK   INT64_C(4000000)
#define ONE_MS UINT64_C(1000000)
#define RANKS  2
#define NOBODY 65534

static const char *root;
static hpcb_node_t *node;
static hpcb_conf_t conf;
static hpcbd_balance_env_t env;
static hpcb_ranks_t ranks;
static hpcb_page_t *page[RANKS];
static int64_t now_ns;
static int version;
static char log_text[4096];

static void keep_log(hpcb_log_level_t level, const char *line)
{
    size_t used = strlen(log_text);

    if (level != HPCB_LOG_DEBUG)
        snprintf(log_text + used, sizeof(log_text) - used, "%s\n", line);
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    fake_write(name, text);
}

static uint32_t job(void)
{
    return version == 1 ? V1_JOB : V2_JOB;
}

static void record(hpcb_class_t klass, const char *policy)
{
    const hpcb_job_state_t state = {.job_id = job(),
                                    .uid = geteuid(),
                                    .klass = klass,
                                    .policy = HPCB_POLICY_DLRB,
                                    .partition = "p",
                                    .begin_us = 1};

    ck_assert_int_eq(hpcb_state_save(scratch("state"), &state, NULL), 0);
    snprintf(ranks.policy, sizeof(ranks.policy), "%s", policy);
    ck_assert_int_eq(hpcb_ranks_save(scratch("state"), &ranks, NULL), 0);
}

static void bind_to_first(pid_t pid)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ck_assert_int_eq(sched_setaffinity(pid, sizeof(one), &one), 0);
}

static pid_t add_task_of(uint32_t job_id, unsigned number)
{
    pid_t pid = fake_task(100);
    char dir[PATH_MAX / 2], name[PATH_MAX], text[PATH_MAX];

    bind_to_first(pid);
    if (version == 1)
        return pid;
    snprintf(dir, sizeof(dir), "job_%" PRIu32 "/step_0/user/task_%u", job_id, number);
    snprintf(name, sizeof(name), SCOPE "%s/cpu.weight", dir);
    put(name, "100\n");
    snprintf(name, sizeof(name), SCOPE "%s/cgroup.procs", dir);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    put(name, text);
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    snprintf(text, sizeof(text), "0::/system.slice/slurmstepd.scope/%s\n", dir);
    put(name, text);
    return pid;
}

static pid_t add_task(unsigned number)
{
    return add_task_of(job(), number);
}

static void add_tasks(unsigned n)
{
    for (; ranks.n < n; ranks.n++) {
        pid_t pid = add_task(ranks.n);

        ranks.task[ranks.n].pid = pid;
        ck_assert_int_eq(hpcb_task_start(pid, &ranks.task[ranks.n].start), 0);
    }
}

static void make_page(unsigned rank)
{
    char name[64];
    int fd;

    snprintf(name, sizeof(name), "pages/n.%u", rank);
    unlink(scratch(name));
    fd = hpcb_page_create(AT_FDCWD, scratch(name), geteuid(), getegid());
    ck_assert_int_ge(fd, 0);
    page[rank] = mmap(NULL, HPCB_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(page[rank], MAP_FAILED);
    close(fd);
}

static void begin(const char *snapshot, int which)
{
    version = which;
    root = fake_start(snapshot);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    hpcb_conf_defaults(&conf);
    snprintf(conf.state_dir, sizeof(conf.state_dir), "%s", scratch("state"));
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("undo/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("pages"), 0755, NULL), 0);
    env = (hpcbd_balance_env_t){
        .node = node, .conf = &conf, .state_dir = strdup(scratch("undo"))};
    now_ns = 1000 * TICK;
    log_text[0] = '\0';
    ranks = (hpcb_ranks_t){.job_id = job(), .step = "0", .cpus = 1, .n = RANKS};
    snprintf(ranks.page, sizeof(ranks.page), "%s", scratch("pages/n"));
    for (unsigned i = 0; i < RANKS; i++) {
        ranks.task[i].pid = add_task(i);
        ck_assert_int_eq(hpcb_task_start(ranks.task[i].pid, &ranks.task[i].start), 0);
        make_page(i);
    }
    hpcb_log_set_sink(keep_log);
}

static void setup_v1(void)
{
    begin("v1-hybrid", 1);
}

static void setup_v2(void)
{
    begin("v2-slurm22", 2);
}

static void teardown(void)
{
    for (unsigned i = 0; i < RANKS; i++)
        munmap(page[i], HPCB_PAGE_SIZE);
    free((char *)env.state_dir);
    hpcb_node_close(node);
    fake_stop();
}

static int weight_in(uint32_t job_id, unsigned rank)
{
    char name[PATH_MAX];

    if (version == 1)
        snprintf(name, sizeof(name), CPU "hpcb_balance_%" PRIu32 "_0_%u/cpu.shares",
                 job_id, rank);
    else
        snprintf(name, sizeof(name),
                 SCOPE "job_%" PRIu32 "/step_0/user/task_%u/cpu.weight", job_id, rank);
    return strcmp(fake_read(name), "(none)") == 0 ? -1 : atoi(fake_read(name));
}

static int weight_of(unsigned rank)
{
    return weight_in(job(), rank);
}

static int equal(void)
{
    return version == 1 ? 1024 : 100;
}

static hpcbd_unit_t *open_unit(const char *policy)
{
    hpcbd_unit_t *unit;
    hpcb_error_t err;

    record(HPCB_CLASS_PRIMARY, policy);
    unit = hpcbd_unit_open(&env, job(), "0", &err);
    ck_assert_msg(unit != NULL, "%s", err.text);
    hpcbd_unit_tick(&env, unit, now_ns);
    return unit;
}

static void tick(hpcbd_unit_t *unit)
{
    now_ns += TICK;
    hpcbd_unit_tick(&env, unit, now_ns);
}

/* As the library does (mpi/observe.c). */
static void say(unsigned rank, uint64_t compute_ms, uint64_t wait_ms)
{
    hpcb_page_t *p = page[rank];

    p->sequence++;
    p->version = HPCB_PAGE_VERSION;
    p->size = HPCB_PAGE_SIZE;
    p->period = 2;
    p->iterations++;
    p->samples++;
    p->compute_ns = compute_ms * ONE_MS;
    p->wait_ns = wait_ms * ONE_MS;
    p->mean_ns = (compute_ms + wait_ms) * ONE_MS;
    p->usual_ns = 7 * ONE_MS + rank * ONE_MS;
    p->sequence++;
    p->magic = HPCB_PAGE_MAGIC;
}

static void iterate(hpcbd_unit_t *unit, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        say(0, 40, 1);
        tick(unit);
        say(1, 10, 31);
        tick(unit);
    }
}

/* Rank 1 on CPU 1; false on a machine without it. */
static bool put_on_two_cpus(void)
{
    hpcb_cpus_t mine;
    cpu_set_t other;

    hpcb_task_cpus(0, &mine, NULL);
    if (!hpcb_cpus_has(&mine, 1))
        return false;
    CPU_ZERO(&other);
    CPU_SET(1, &other);
    ck_assert_int_eq(sched_setaffinity(ranks.task[1].pid, sizeof(other), &other), 0);
    ranks.cpus = 2;
    return true;
}

/* The last step changed nothing but what the policy says: the busy one weighs all, the
 * other one less, and what was there before comes back. */
START_TEST(the_busy_rank_gets_more)
{
    static const char *const policies[] = {"dlrb", "auto", "uniform", "adaptive"};
    hpcbd_unit_t *unit = open_unit(policies[_i]);

    ck_assert_int_eq(weight_of(0), equal());
    ck_assert_int_eq(weight_of(1), equal());
    iterate(unit, 6);
    ck_assert(unit->speaking);
    ck_assert_int_eq(weight_of(0), equal());
    ck_assert_int_lt(weight_of(1), equal());
    ck_assert_uint_gt(unit->changes, 0);
    hpcbd_unit_close(unit);
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
    ck_assert_int_eq(weight_of(1), version == 1 ? -1 : 100);
}
END_TEST

START_TEST(static_holds_from_the_beginning)
{
    hpcbd_unit_t *unit = open_unit("static:4,6");

    ck_assert_int_eq(weight_of(1), equal());
    ck_assert_int_eq(weight_of(0), version == 1 ? 146 : 14);
    iterate(unit, 20);
    ck_assert_int_eq(weight_of(0), version == 1 ? 146 : 14);
    ck_assert_uint_eq(unit->changes, 0);
    hpcbd_unit_close(unit);
}
END_TEST

/* A step needs news of all, and a rank that is late is waited for. */
START_TEST(one_step_an_iteration)
{
    hpcbd_unit_t *unit = open_unit("dlrb");

    iterate(unit, 3);
    for (int i = 0; i < 30; i++) {
        say(0, 40, 1);
        tick(unit);
    }
    ck_assert_uint_le(unit->balance.steps, 3);
    ck_assert(unit->speaking);
    hpcbd_unit_close(unit);
}
END_TEST

static void run_for(unsigned rank, uint64_t run_ms, uint64_t delay_ms)
{
    char name[64], text[64];

    snprintf(name, sizeof(name), "proc/%d/schedstat", (int)ranks.task[rank].pid);
    snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " 1\n", run_ms * ONE_MS,
             delay_ms * ONE_MS);
    put(name, text);
}

/* No pages: what the kernel says, once an interval. */
START_TEST(ranks_that_say_nothing_are_watched)
{
    hpcbd_unit_t *unit;

    ranks.page[0] = '\0';
    unit = open_unit("uniform");
    for (uint64_t second = 1; second <= 6; second++) {
        run_for(0, second * 600, second * 390);
        run_for(1, second * 200, second * 30);
        now_ns += 250 * TICK;
        hpcbd_unit_tick(&env, unit, now_ns);
        hpcbd_unit_tick(&env, unit, now_ns);
    }
    ck_assert(!unit->speaking);
    ck_assert_uint_eq(unit->balance.steps, 6);
    ck_assert_int_eq(weight_of(0), equal());
    ck_assert_int_lt(weight_of(1), equal());
    hpcbd_unit_close(unit);
}
END_TEST

static void be(unsigned rank, const char *state)
{
    char name[64], text[64];

    snprintf(name, sizeof(name), "proc/%d/stat", (int)ranks.task[rank].pid);
    snprintf(text, sizeof(text), "7 (a) S ) %s 1\n", state);
    put(name, text);
}

START_TEST(who_spins_in_a_wait_gets_less_until_it_goes_on)
{
    hpcbd_unit_t *unit = open_unit("static:4");

    be(1, "R");
    page[1]->waits = 7;
    tick(unit);
    ck_assert_int_eq(weight_of(1), equal());
    for (int i = 0; i < 3; i++)
        tick(unit);
    ck_assert_int_lt(weight_of(1), equal() / 10);
    ck_assert_int_eq(weight_of(0), equal());
    page[1]->waits = 8;
    tick(unit);
    ck_assert_int_eq(weight_of(1), equal());
    hpcbd_unit_close(unit);
}
END_TEST

/* While auto has given up, nothing is done about waits either; it is told of them. */
START_TEST(who_spins_while_auto_rests_is_let_alone)
{
    hpcbd_unit_t *unit = open_unit("auto");

    unit->balance.automatic.resting = 100;
    be(1, "R");
    page[1]->waits = 7;
    for (int i = 0; i < 4; i++)
        tick(unit);
    ck_assert_int_eq(weight_of(1), equal());
    iterate(unit, 1);
    ck_assert_double_gt(unit->balance.automatic.spins, 0);
    page[1]->waits = 8;
    iterate(unit, 4);
    ck_assert_double_lt(unit->balance.automatic.spins, 0);
    hpcbd_unit_close(unit);
}
END_TEST

/* What its iterations took before anything was done is what auto compares with. */
START_TEST(auto_knows_what_was_before)
{
    hpcbd_unit_t *unit;

    say(0, 40, 1);
    say(1, 10, 31);
    unit = open_unit("auto");
    ck_assert_double_eq_tol(unit->usual, 0.008, 1e-9);
    tick(unit);
    ck_assert_double_eq_tol(unit->balance.automatic.neutral, 0.008, 1e-9);
    hpcbd_unit_close(unit);
}
END_TEST

START_TEST(who_sleeps_in_a_wait_does_not)
{
    hpcbd_unit_t *unit = open_unit("dlrb");

    be(1, _i == 0 ? "S" : "R");
    conf.balance_waiters = _i == 0;
    page[1]->waits = 7;
    for (int i = 0; i < 20; i++)
        tick(unit);
    ck_assert_int_eq(weight_of(1), equal());
    hpcbd_unit_close(unit);
}
END_TEST

/* Nor when priorities change: BalanceWaiters=no. */
START_TEST(who_spins_keeps_its_share_if_the_site_wants_it)
{
    hpcbd_unit_t *unit;

    conf.balance_waiters = false;
    unit = open_unit("static:4,4");
    be(1, "R");
    page[1]->waits = 7;
    for (int i = 0; i < 4; i++)
        tick(unit);
    ck_assert(unit->rank[1].waiter.spins);
    hpcbd_lever_pull(unit, 1);
    ck_assert_int_eq(weight_of(1), equal());
    hpcbd_unit_close(unit);
}
END_TEST

START_TEST(a_rank_that_ends_harms_nobody_and_the_last_one_undoes_all)
{
    hpcbd_unit_t *unit = open_unit("static:4,6");

    kill(ranks.task[0].pid, SIGKILL);
    waitpid(ranks.task[0].pid, NULL, 0);
    hpcbd_unit_look(unit);
    iterate(unit, 2);
    ck_assert(unit->acting);
    kill(ranks.task[1].pid, SIGKILL);
    waitpid(ranks.task[1].pid, NULL, 0);
    hpcbd_unit_look(unit);
    ck_assert(!unit->acting);
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
    tick(unit);
    hpcbd_unit_close(unit);
}
END_TEST

/* hpcbctl release, beside a running hpcbd. */
START_TEST(what_somebody_else_undoes_is_noticed)
{
    hpcbd_unit_t *unit = open_unit("static:4,6");
    hpcb_error_t err;

    hpcbd_unit_look(unit);
    ck_assert(!unit->lost);
    ck_assert_int_gt(hpcb_ranks_release(node, env.state_dir, conf.balance_cgroup, &err),
                     0);
    hpcbd_unit_look(unit);
    ck_assert(unit->lost);
    hpcbd_unit_close(unit);
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
}
END_TEST

START_TEST(what_cannot_win_is_left_alone)
{
    hpcbd_unit_t *unit;

    if (!put_on_two_cpus())
        return;
    unit = open_unit("dlrb");
    ck_assert(!unit->acting);
    ck_assert_ptr_nonnull(strstr(unit->why.text, "weights move nothing"));
    ck_assert_ptr_nonnull(strstr(log_text, "weights move nothing"));
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
    iterate(unit, 3);
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
    hpcbd_unit_close(unit);
}
END_TEST

START_TEST(a_rank_alone_is_nobodys_unit)
{
    hpcb_error_t err = {"before"};

    record(HPCB_CLASS_PRIMARY, "dlrb");
    ranks.n = 1;
    ck_assert_int_eq(hpcb_ranks_save(scratch("state"), &ranks, NULL), 0);
    ck_assert_ptr_null(hpcbd_unit_open(&env, job(), "0", &err));
    ck_assert_str_eq(err.text, "");
}
END_TEST

/* One look of many steps of one job, each in a file of its own from first on, of which
 * step `other` has written its ranks anew; how many were read. */
static unsigned look_at_many(hpcbd_passed_t *passed, unsigned steps, uint64_t first,
                             unsigned other)
{
    unsigned read = 0;

    for (unsigned i = 0; i < steps; i++) {
        uint64_t file = first + i + (i == other ? 1000000 : 0);
        char step[16];

        snprintf(step, sizeof(step), "%u", (i * 7919) % steps); /* in any order */
        if (hpcbd_passed_ask(passed, 5, step, file) != HPCBD_PASSED_READ)
            continue;
        hpcbd_passed_add(passed, 5, step, file, false);
        read++;
    }
    hpcbd_passed_end(passed, true);
    return read;
}

START_TEST(of_thousands_of_steps_each_is_read_once)
{
    const unsigned none = UINT_MAX;
    hpcbd_passed_t passed = {0};
    unsigned looks = 0, all = 0, now;

    while ((now = look_at_many(&passed, 5000, 10, none)) > 0) {
        ck_assert_uint_le(now, HPCBD_PASSED_READS);
        all += now;
        looks++;
    }
    ck_assert_uint_eq(all, 5000);
    ck_assert_uint_eq(looks, (5000 + HPCBD_PASSED_READS - 1) / HPCBD_PASSED_READS);
    ck_assert_uint_eq(look_at_many(&passed, 5000, 10, none), 0);
    /* One that is written anew, and the same for good. */
    ck_assert_uint_eq(look_at_many(&passed, 5000, 10, 4711), 1);
    ck_assert_uint_eq(look_at_many(&passed, 5000, 10, 4711), 0);
    ck_assert_uint_eq(passed.count, 5000);
    /* The others have ended. */
    ck_assert_uint_eq(look_at_many(&passed, 1, 10, none), 0);
    ck_assert_uint_eq(passed.count, 1);
    hpcbd_passed_free(&passed);
}
END_TEST

START_TEST(a_look_that_saw_nothing_forgets_nothing)
{
    hpcbd_passed_t passed = {0};

    ck_assert_uint_eq(look_at_many(&passed, 3, 10, UINT_MAX), 3);
    hpcbd_passed_end(&passed, false);
    ck_assert_uint_eq(look_at_many(&passed, 3, 10, UINT_MAX), 0);
    hpcbd_passed_free(&passed);
}
END_TEST

START_TEST(what_could_not_be_read_is_read_again)
{
    hpcbd_passed_t passed = {0};
    unsigned looks = 0;

    ck_assert_int_eq(hpcbd_passed_ask(&passed, 5, "0", 1), HPCBD_PASSED_READ);
    hpcbd_passed_add(&passed, 5, "0", 1, true);
    hpcbd_passed_end(&passed, true);
    for (; hpcbd_passed_ask(&passed, 5, "0", 1) == HPCBD_PASSED_OVER; looks++)
        hpcbd_passed_end(&passed, true);
    ck_assert_uint_eq(looks, HPCBD_PASSED_RETRY - 1);
    hpcbd_passed_free(&passed);
}
END_TEST

START_TEST(more_steps_than_can_be_remembered_are_not_read)
{
    hpcbd_passed_t passed = {0};

    while (look_at_many(&passed, HPCBD_PASSED_MAX + 100, 10, UINT_MAX) > 0)
        ;
    ck_assert_uint_eq(passed.count, HPCBD_PASSED_MAX);
    ck_assert_int_eq(hpcbd_passed_ask(&passed, 6, "0", 1), HPCBD_PASSED_FULL);
    hpcbd_passed_free(&passed);
}
END_TEST

static const char *preference_of(unsigned cpu)
{
    static char text[64];
    char name[96];

    snprintf(name, sizeof(name),
             "sys/devices/system/cpu/cpu%u/cpufreq/energy_performance_preference", cpu);
    snprintf(text, sizeof(text), "%s", fake_read(name));
    return text;
}

static void put_cpufreq(const char *available)
{
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        char name[128];

        snprintf(name, sizeof(name),
                 "sys/devices/system/cpu/cpu%u/cpufreq/"
                 "energy_performance_available_preferences",
                 cpu);
        put(name, available);
        snprintf(name, sizeof(name),
                 "sys/devices/system/cpu/cpu%u/cpufreq/energy_performance_preference",
                 cpu);
        put(name, "balance_performance\n");
    }
}

/* Where the site allows it: the CPU of who has time saves energy, the other one's is
 * left as it is, and what was comes back. */
START_TEST(ranks_with_a_core_each)
{
    static const char *const policies[] = {"dlrb", "auto", "uniform", "static:6,4"};
    hpcbd_unit_t *unit;

    if (!put_on_two_cpus())
        return;
    put_cpufreq("default performance balance_performance balance_power power \n");
    conf.balance_frequency = true;
    unit = open_unit(policies[_i]);
    ck_assert_ptr_nonnull(strstr(log_text, " by frequency"));
    iterate(unit, 20);
    ck_assert_str_eq(preference_of(0), "balance_performance");
    ck_assert_str_eq(preference_of(1), "power");
    hpcbd_unit_close(unit);
    ck_assert_str_eq(preference_of(1), "balance_performance");
}
END_TEST

START_TEST(cpus_that_know_less_are_left_alone)
{
    hpcbd_unit_t *unit;

    if (!put_on_two_cpus())
        return;
    put_cpufreq("performance balance_power\n");
    conf.balance_frequency = true;
    unit = open_unit("dlrb");
    ck_assert(!unit->acting);
    ck_assert_ptr_nonnull(strstr(unit->why.text, "does not know \"power\""));
    hpcbd_unit_close(unit);
}
END_TEST

/* Rank 1 on CPU 1, a thread of CPU 0's core; false on a machine without it. */
static bool put_on_threads_of_a_core(void)
{
    if (!put_on_two_cpus())
        return false;
    put("sys/devices/system/cpu/online", "0-1\n");
    put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
    put("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
    put(CPU "cpu.cfs_quota_us", "-1\n");
    put(CPU "cpu.cfs_period_us", "100000\n");
    if (version == 2)
        for (unsigned i = 0; i < RANKS; i++) {
            char name[PATH_MAX];

            snprintf(name, sizeof(name), SCOPE "job_%d/step_0/user/task_%u/cpu.max",
                     V2_JOB, i);
            put(name, "max 100000\n");
        }
    return true;
}

/* Microseconds in each 10 ms; 0: as many as it likes. */
static int quota_of(unsigned rank)
{
    char name[PATH_MAX];

    if (version == 1)
        snprintf(name, sizeof(name), CPU "hpcb_balance_%d_0_%u/cpu.cfs_quota_us",
                 V1_JOB, rank);
    else
        snprintf(name, sizeof(name), SCOPE "job_%d/step_0/user/task_%u/cpu.max", V2_JOB,
                 rank);
    return atoi(fake_read(name)) < 0 ? 0 : atoi(fake_read(name));
}

/* No scheduler weighs what runs on two threads of a core. */
START_TEST(threads_of_a_core_have_quotas)
{
    hpcbd_unit_t *unit;

    if (!put_on_threads_of_a_core())
        return;
    unit = open_unit("static:4,6");
    ck_assert(unit->acting && unit->limits && !unit->weighs);
    ck_assert_ptr_nonnull(strstr(log_text, "static:4,6 by quota"));
    ck_assert_int_eq(quota_of(0), 2500);
    ck_assert_int_eq(quota_of(1), 0);
    ck_assert_int_eq(weight_of(0), equal());
    hpcbd_unit_close(unit);
    ck_assert_int_eq(quota_of(0), 0);
}
END_TEST

START_TEST(the_busy_thread_gets_more_of_its_core)
{
    hpcbd_unit_t *unit;

    if (!put_on_threads_of_a_core())
        return;
    unit = open_unit("dlrb");
    iterate(unit, 8);
    ck_assert_int_eq(quota_of(0), 0);
    ck_assert_int_gt(quota_of(1), 0);
    hpcbd_unit_close(unit);
    ck_assert_int_eq(quota_of(1), 0);
}
END_TEST

START_TEST(who_spins_beside_a_thread_leaves_it_the_core)
{
    hpcbd_unit_t *unit;

    if (!put_on_threads_of_a_core())
        return;
    unit = open_unit("dlrb");
    be(1, "R");
    page[1]->waits = 7;
    for (int i = 0; i < 4; i++)
        tick(unit);
    ck_assert_int_eq(quota_of(1), 1250);
    ck_assert_int_eq(quota_of(0), 0);
    page[1]->waits = 8;
    tick(unit);
    ck_assert_int_eq(quota_of(1), 0);
    hpcbd_unit_close(unit);
}
END_TEST

/* POWER: the library does it, as long as it is asked; the kernel has no part in it. */
START_TEST(threads_with_priorities_of_their_own)
{
    hpcbd_unit_t *unit;
    uint64_t until;

    if (!put_on_threads_of_a_core())
        return;
    env.ppr = true;
    say(0, 40, 1);
    unit = open_unit("static:4,6");
    ck_assert_ptr_nonnull(strstr(log_text, "static:4,6 by ppr"));
    ck_assert_uint_eq(page[0]->asked.priority, 2);
    ck_assert_uint_eq(page[1]->asked.priority, 4);
    ck_assert_int_eq(quota_of(0), 0);
    until = page[0]->asked.until_ns;
    ck_assert_uint_eq(until, (uint64_t)now_ns + 1000 * ONE_MS);
    iterate(unit, 2);
    ck_assert_uint_gt(page[0]->asked.until_ns, until);
    hpcbd_unit_close(unit);
    ck_assert_uint_eq(page[0]->asked.priority, 0);
}
END_TEST

/* Bound to all CPUs of this machine, of which the job has one. */
START_TEST(ranks_that_are_not_confined_are_not_placed)
{
    hpcbd_unit_t *unit;
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    if (CPU_COUNT(&all) < 2)
        return;
    for (unsigned i = 0; i < RANKS; i++)
        sched_setaffinity(ranks.task[i].pid, sizeof(all), &all);
    unit = open_unit("dlrb");
    ck_assert(!unit->acting);
    ck_assert_ptr_nonnull(strstr(unit->why.text, "not bound to the job's CPUs"));
    hpcbd_unit_close(unit);
}
END_TEST

/* Bound to both CPUs: dlrb gives each a CPU first, uniform leaves them free; with as
 * many ranks as CPUs there is nothing to win. */
START_TEST(free_ranks)
{
    static const char *const policies[] = {"uniform", "dlrb", "static:4,6"};
    hpcbd_unit_t *unit;
    hpcb_cpus_t cpus;
    cpu_set_t both;

    hpcb_task_cpus(0, &cpus, NULL);
    if (!hpcb_cpus_has(&cpus, 0) || !hpcb_cpus_has(&cpus, 1))
        return;
    CPU_ZERO(&both);
    CPU_SET(0, &both);
    CPU_SET(1, &both);
    ranks.cpus = 2;
    ranks.page[0] = '\0';
    ranks.task[2].pid = add_task(2);
    hpcb_task_start(ranks.task[2].pid, &ranks.task[2].start);
    for (ranks.n = 2; ranks.n <= 3; ranks.n++) {
        for (unsigned i = 0; i < ranks.n; i++)
            sched_setaffinity(ranks.task[i].pid, sizeof(both), &both);
        unit = open_unit(policies[_i]);
        ck_assert(unit->acting == (ranks.n == 3));
        ck_assert_uint_eq(unit->n_cpus, 2);
        hpcb_task_cpus(ranks.task[0].pid, &cpus, NULL);
        ck_assert_uint_eq(hpcb_cpus_count(&cpus), unit->acting && _i == 1 ? 1 : 2);
        if (unit->acting && _i == 2)
            ck_assert_int_eq(weight_of(0), version == 1 ? 146 : 14);
        hpcbd_unit_close(unit);
        hpcb_task_cpus(ranks.task[0].pid, &cpus, NULL);
        ck_assert_uint_eq(hpcb_cpus_count(&cpus), 2);
    }
}
END_TEST

START_TEST(who_is_refused)
{
    hpcb_error_t err;

    ck_assert_ptr_null(hpcbd_unit_open(&env, job(), "0", &err));
    if (_i == 0) {
        record(HPCB_CLASS_GUEST, "dlrb");
    } else if (_i == 1) {
        record(HPCB_CLASS_PRIMARY, "dlrb:nonsense=1");
    } else {
        ranks.n = 1;
        record(HPCB_CLASS_PRIMARY, "dlrb");
    }
    ck_assert_ptr_null(hpcbd_unit_open(&env, job(), "0", &err));
    ck_assert_ptr_null(hpcbd_unit_open(&env, job(), "1", &err));
}
END_TEST

/* The number of a task that has ended belongs to somebody else by now. */
START_TEST(a_pid_that_is_used_again_is_left_alone)
{
    hpcbd_unit_t *unit;

    ranks.task[1].start++;
    unit = open_unit("static:4,6");
    ck_assert(!unit->acting);
    ck_assert_int_eq(weight_of(0), version == 1 ? -1 : 100);
    hpcbd_unit_close(unit);
}
END_TEST

START_TEST(the_sites_parameters_hold_unless_the_job_has_its_own)
{
    hpcbd_unit_t *unit;

    strcpy(conf.balance_parameters, "threshold=33,high=90");
    unit = open_unit("dlrb:high=80");
    ck_assert_uint_eq(unit->conf.threshold, 33);
    ck_assert_uint_eq(unit->conf.high_util, 80);
    hpcbd_unit_close(unit);
    strcpy(conf.balance_parameters, "nonsense=33");
    unit = open_unit("dlrb:high=80");
    ck_assert_uint_eq(unit->conf.high_util, 80);
    ck_assert_ptr_nonnull(strstr(log_text, "BalanceParameters=nonsense=33"));
    hpcbd_unit_close(unit);
}
END_TEST

static void cut(const char *path)
{
    ck_assert_int_eq(truncate(path, 100), 0);
}

static void grow(const char *path)
{
    ck_assert_int_eq(truncate(path, 1 << 20), 0);
}

static void empty(const char *path)
{
    ck_assert_int_eq(truncate(path, 0), 0);
}

static void make_link(const char *path)
{
    ck_assert_int_eq(unlink(path) | symlink("/etc/passwd", path), 0);
}

static void make_fifo(const char *path)
{
    ck_assert_int_eq(unlink(path) | mkfifo(path, 0600), 0);
}

static void make_dir(const char *path)
{
    ck_assert_int_eq(unlink(path) | mkdir(path, 0700), 0);
}

static void give_away(const char *path)
{
    if (geteuid() == 0)
        ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
    else
        unlink(path);
}

static void (*const damages[])(const char *) = {
    cut, grow, empty, make_link, make_fifo, make_dir, give_away};

START_TEST(what_is_no_page_is_not_believed)
{
    hpcbd_unit_t *unit;

    damages[_i](scratch("pages/n.1"));
    unit = open_unit("dlrb");
    ck_assert(unit->acting);
    ck_assert_int_ge(unit->rank[0].page, 0);
    ck_assert_int_eq(unit->rank[1].page, -1);
    for (int i = 0; i < 6; i++) {
        say(0, 40, 1);
        tick(unit);
    }
    ck_assert_uint_gt(unit->balance.steps, 0);
    hpcbd_unit_close(unit);
}
END_TEST

static void ck_assert_nothing_is_left(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(weight_of(i), version == 1 ? -1 : 100);
}

#define MANY 18
#define TURN 8 /* ranks that a tick deals with (hpcbd/balance/stage.h) */

/* Of a rank: its group, what is in it, its weight. */
#define CHANGES 4

static unsigned tick_until(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage)
{
    unsigned ticks = 0;

    for (; unit->stage != stage; ticks++) {
        int before = fake_changes();

        ck_assert_uint_lt(ticks, 100);
        tick(unit);
        ck_assert_int_le(fake_changes() - before, TURN * CHANGES);
    }
    return ticks;
}

/* Whatever a tick does, others wait in the daemon's loop. */
START_TEST(many_ranks_begin_and_end_by_a_few_at_a_time)
{
    hpcbd_unit_t *unit;

    add_tasks(MANY);
    unit = open_unit("static:4,6");
    ck_assert(!unit->acting);
    ck_assert_uint_gt(tick_until(unit, HPCBD_UNIT_LISTENS), MANY / TURN);
    ck_assert(unit->acting);
    ck_assert_int_eq(weight_of(0), version == 1 ? 146 : 14);
    for (unsigned i = 1; i < MANY; i++)
        ck_assert_int_eq(weight_of(i), equal());
    hpcbd_unit_end(unit);
    ck_assert_uint_ge(tick_until(unit, HPCBD_UNIT_RESTS), MANY / TURN);
    ck_assert_nothing_is_left(MANY);
    hpcbd_unit_close(unit);
}
END_TEST

START_TEST(wherever_it_is_closed_nothing_is_left)
{
    hpcbd_unit_t *unit;

    add_tasks(MANY);
    unit = open_unit("static:4,6");
    for (int i = 0; i < 2 * _i; i++)
        tick(unit);
    hpcbd_unit_close(unit);
    ck_assert_nothing_is_left(MANY);
}
END_TEST

START_TEST(many_silent_ranks_are_asked_by_a_few_at_a_time)
{
    hpcbd_unit_t *unit;

    ranks.page[0] = '\0';
    add_tasks(MANY);
    unit = open_unit("uniform");
    tick_until(unit, HPCBD_UNIT_LISTENS);
    for (uint64_t second = 1; second <= 6; second++) {
        for (unsigned i = 0; i < MANY; i++)
            run_for(i, second * (i == 0 ? 600 : 200), second * (i == 0 ? 390 : 30));
        now_ns += 250 * TICK;
        tick(unit);
        ck_assert(unit->stage == HPCBD_UNIT_COLLECTS);
        tick_until(unit, HPCBD_UNIT_LISTENS);
    }
    ck_assert_uint_eq(unit->balance.steps, 6);
    ck_assert_int_eq(weight_of(0), equal());
    for (unsigned i = 1; i < MANY; i++)
        ck_assert_int_lt(weight_of(i), equal());
    hpcbd_unit_close(unit);
    ck_assert_nothing_is_left(MANY);
}
END_TEST

static volatile int enough;

/* The job's user does what she likes with her pages. */
static void *enemy(void *arg)
{
    unsigned seed = 1;
    int fd = open(arg, O_RDWR);

    while (!enough) {
        uint64_t junk[HPCB_PAGE_SIZE / 8];

        for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
            junk[i] = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 40);
        if (rand_r(&seed) % 2) {
            junk[0] = HPCB_PAGE_MAGIC;
            junk[1] = (uint64_t)HPCB_PAGE_SIZE << 32 | HPCB_PAGE_VERSION;
            junk[2] &= ~UINT64_C(1);
            junk[3] %= 512;
        }
        if (pwrite(fd, junk, sizeof(junk), 0) < 0 || rand_r(&seed) % 500 == 0)
            (void)!ftruncate(fd, rand_r(&seed) % 600);
    }
    close(fd);
    return NULL;
}

static bool in_range(int weight)
{
    return weight >= 1 && weight <= equal();
}

/* Of another user, on the same CPU, and balanced, too. */
static hpcbd_unit_t *open_other(void)
{
    const hpcb_job_state_t state = {.job_id = OTHER,
                                    .uid = NOBODY,
                                    .klass = HPCB_CLASS_PRIMARY,
                                    .policy = HPCB_POLICY_DLRB,
                                    .partition = "p",
                                    .begin_us = 1};
    hpcb_ranks_t others = {
        .job_id = OTHER, .step = "0", .policy = "static:4,6", .cpus = 1, .n = RANKS};
    hpcbd_unit_t *unit;

    for (unsigned i = 0; i < RANKS; i++) {
        others.task[i].pid = add_task_of(OTHER, i);
        ck_assert_int_eq(hpcb_task_start(others.task[i].pid, &others.task[i].start), 0);
    }
    ck_assert_int_eq(hpcb_state_save(scratch("state"), &state, NULL), 0);
    ck_assert_int_eq(hpcb_ranks_save(scratch("state"), &others, NULL), 0);
    unit = hpcbd_unit_open(&env, OTHER, "0", NULL);
    ck_assert_ptr_nonnull(unit);
    tick(unit);
    ck_assert(unit->acting);
    return unit;
}

/* Before each change of anything. */
static void expect_no_change_of_other(const char *path)
{
    ck_assert_msg(!strstr(path, "job_77") && !strstr(path, "hpcb_balance_77"), "%s",
                  path);
}

static void let_enemies_in(pthread_t threads[RANKS], char path[RANKS][PATH_MAX + 16])
{
    enough = 0;
    be(0, "R");
    be(1, "R");
    for (unsigned i = 0; i < RANKS; i++) {
        snprintf(path[i], sizeof(path[i]), "%s.%u", ranks.page, i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, enemy, path[i]), 0);
    }
}

START_TEST(an_enemy_moves_shares_of_her_own_ranks_only)
{
    static const char *const policies[] = {"dlrb", "auto", "uniform", "adaptive"};
    hpcbd_unit_t *unit = open_unit(policies[_i]), *other = open_other();
    pthread_t threads[RANKS];
    char path[RANKS][PATH_MAX + 16];

    let_enemies_in(threads, path);
    fake_interfere(expect_no_change_of_other);
    for (int i = 0; i < 3000; i++) {
        tick(unit);
        hpcbd_unit_tick(&env, other, now_ns);
    }
    enough = 1;
    for (unsigned i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    fake_interfere(NULL);
    ck_assert(in_range(weight_of(0)) && in_range(weight_of(1)));
    ck_assert_int_eq(weight_in(OTHER, 0), version == 1 ? 146 : 14);
    ck_assert_int_eq(weight_in(OTHER, 1), equal());
    if (version == 2)
        ck_assert_str_eq(fake_read(SCOPE "job_4/cpu.weight"), "100");
    hpcbd_unit_close(unit);
    ck_assert_nothing_is_left(RANKS);
    hpcbd_unit_close(other);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, the_busy_rank_gets_more, 0, 4);
    tcase_add_test(tc, static_holds_from_the_beginning);
    tcase_add_test(tc, one_step_an_iteration);
    tcase_add_test(tc, ranks_that_say_nothing_are_watched);
    tcase_add_test(tc, who_spins_in_a_wait_gets_less_until_it_goes_on);
    tcase_add_test(tc, who_spins_while_auto_rests_is_let_alone);
    tcase_add_test(tc, auto_knows_what_was_before);
    tcase_add_loop_test(tc, who_sleeps_in_a_wait_does_not, 0, 2);
    tcase_add_test(tc, who_spins_keeps_its_share_if_the_site_wants_it);
    tcase_add_test(tc, a_rank_that_ends_harms_nobody_and_the_last_one_undoes_all);
    tcase_add_test(tc, what_somebody_else_undoes_is_noticed);
    tcase_add_test(tc, what_cannot_win_is_left_alone);
    tcase_add_test(tc, a_rank_alone_is_nobodys_unit);
    tcase_add_test(tc, of_thousands_of_steps_each_is_read_once);
    tcase_add_test(tc, a_look_that_saw_nothing_forgets_nothing);
    tcase_add_test(tc, what_could_not_be_read_is_read_again);
    tcase_add_test(tc, more_steps_than_can_be_remembered_are_not_read);
    tcase_add_loop_test(tc, ranks_with_a_core_each, 0, 4);
    tcase_add_test(tc, cpus_that_know_less_are_left_alone);
    tcase_add_test(tc, threads_of_a_core_have_quotas);
    tcase_add_test(tc, the_busy_thread_gets_more_of_its_core);
    tcase_add_test(tc, who_spins_beside_a_thread_leaves_it_the_core);
    tcase_add_test(tc, threads_with_priorities_of_their_own);
    tcase_add_test(tc, ranks_that_are_not_confined_are_not_placed);
    tcase_add_loop_test(tc, free_ranks, 0, 3);
    tcase_add_loop_test(tc, who_is_refused, 0, 3);
    tcase_add_test(tc, a_pid_that_is_used_again_is_left_alone);
    tcase_add_test(tc, the_sites_parameters_hold_unless_the_job_has_its_own);
    tcase_add_loop_test(tc, what_is_no_page_is_not_believed, 0,
                        sizeof(damages) / sizeof(damages[0]));
    tcase_add_test(tc, many_ranks_begin_and_end_by_a_few_at_a_time);
    tcase_add_loop_test(tc, wherever_it_is_closed_nothing_is_left, 0, 4);
    tcase_add_test(tc, many_silent_ranks_are_asked_by_a_few_at_a_time);
    tcase_add_loop_test(tc, an_enemy_moves_shares_of_her_own_ranks_only, 0, 4);
}

int main(void)
{
    Suite *suite = suite_create("balance");
    TCase *v1 = scratch_case("v1"), *v2 = scratch_case("v2");

    tcase_add_checked_fixture(v1, setup_v1, teardown);
    add_tests(v1);
    suite_add_tcase(suite, v1);
    tcase_add_checked_fixture(v2, setup_v2, teardown);
    add_tests(v2);
    suite_add_tcase(suite, v2);
    return run_suite(suite);
}
