/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Which guests share cores with which primary (hpcbd/harm/near.c), with cpusets,
 * cores and clock of the test's. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/cores.h"
#include "cgroup/steps.h"
#include "common/state.h"
#include "common/text.h"
#include "hpcbd/harm/near.h"
#include "tests/common/scratch.h"

#define SECOND  INT64_C(1000000000)
#define PRIMARY 1
#define GUEST   2

static int64_t clock_now;
static bool smt; /* CPUs N and N + 4 are threads of one core */
static unsigned reads;
static hpcbd_registry_t registry;
static struct {
    hpcbd_job_t job;
    const char *cpus, *cores; /* NULL: there are none */
} world[3];

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!clock_now)
        return __real_clock_gettime(clock, now);
    now->tv_sec = clock_now / SECOND;
    now->tv_nsec = clock_now % SECOND;
    return 0;
}

int __wrap_hpcb_node_cores(const hpcb_node_t *node, hpcb_cores_t *cores,
                           hpcb_error_t *err);
int __wrap_hpcb_node_cores(const hpcb_node_t *node, hpcb_cores_t *cores,
                           hpcb_error_t *err)
{
    (void)node;
    (void)err;
    cores->smt = smt;
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        hpcb_cpus_add(&cores->online, cpu);
        cores->core[cpu] = (uint16_t)(smt ? cpu % 4 : cpu);
    }
    return 0;
}

int __wrap_hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);
int __wrap_hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus)
{
    const char *list = world[atoi(dir)].cpus;

    (void)node;
    reads++;
    return list ? hpcb_cpus_parse(list, cpus) : -1;
}

int __wrap_hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                                 size_t size, hpcb_error_t *err);
int __wrap_hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                                 size_t size, hpcb_error_t *err)
{
    ck_assert_str_eq(state_dir, "state");
    (void)err;
    return world[job_id].cores ? hpcb_text_copy(cores, size, world[job_id].cores) : -1;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *jobs, uint32_t job_id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->jobs[i]->state.job_id == job_id)
            return jobs->jobs[i];
    return NULL;
}

static void set_job(uint32_t job_id, const char *cpus, const char *cores)
{
    hpcbd_job_t *job = &world[job_id].job;

    *job = (hpcbd_job_t){.state = {.job_id = job_id, .begin_us = 1}};
    job->dir[0] = (char)('0' + job_id);
    world[job_id].cpus = cpus;
    world[job_id].cores = cores;
}

static hpcbd_near_t *begin(const char *primary, const char *guest)
{
    hpcbd_near_t *near;

    clock_now = 1000 * SECOND;
    reads = 0;
    set_job(PRIMARY, primary, NULL);
    set_job(GUEST, guest, NULL);
    near = hpcbd_near_new(NULL, "state", NULL);
    ck_assert_ptr_nonnull(near);
    return near;
}

static bool shares(hpcbd_near_t *near)
{
    bool either = hpcbd_near_shares(near, &world[PRIMARY].job, &world[GUEST].job);

    ck_assert_int_eq(hpcbd_near_shares(near, &world[GUEST].job, &world[PRIMARY].job),
                     either);
    return either;
}

static void end(hpcbd_near_t *near)
{
    hpcbd_near_free(near);
    clock_now = 0;
    smt = false;
}

static bool shares_once(const char *primary, const char *guest)
{
    hpcbd_near_t *near = begin(primary, guest);
    bool found = shares(near);

    end(near);
    return found;
}

START_TEST(a_cpu_in_common)
{
    ck_assert(shares_once("0-3", "3-5"));
    ck_assert(shares_once("2", "0-7"));
    ck_assert(!shares_once("0-3", "4-7"));
}
END_TEST

START_TEST(threads_of_a_core)
{
    smt = true;
    ck_assert(shares_once("0-1", "4"));
    smt = true;
    ck_assert(!shares_once("0-1", "2-3,6-7"));
}
END_TEST

START_TEST(without_cpusets_by_cores)
{
    hpcbd_near_t *near = begin(NULL, NULL);

    world[PRIMARY].cores = "0-1";
    world[GUEST].cores = "2";
    ck_assert(!shares(near));
    clock_now += 10 * SECOND;
    world[GUEST].cores = "1-2";
    ck_assert(shares(near));
    end(near);
    /* Slurm's numbers are not Linux's: nothing is known of threads. */
    smt = true;
    near = begin(NULL, NULL);
    world[PRIMARY].cores = "0";
    world[GUEST].cores = "4";
    ck_assert(!shares(near));
    end(near);
}
END_TEST

START_TEST(who_is_not_known_shares)
{
    hpcbd_near_t *near;

    ck_assert(shares_once(NULL, "4"));
    ck_assert(shares_once("4", NULL));
    near = begin("0", NULL);
    world[GUEST].cores = "4";
    ck_assert(shares(near));
    end(near);
    near = begin("0", "4");
    world[GUEST].job.dir[0] = '\0';
    ck_assert(shares(near));
    /* As soon as its first step has begun. */
    world[GUEST].job.dir[0] = '0' + GUEST;
    ck_assert(!shares(near));
    end(near);
}
END_TEST

START_TEST(it_is_read_every_ten_seconds)
{
    hpcbd_near_t *near = begin("0", "4");

    for (int i = 0; i < 10; i++, clock_now += SECOND)
        ck_assert(!shares(near));
    ck_assert_uint_eq(reads, 2);
    world[GUEST].cpus = "0,4";
    ck_assert(shares(near));
    ck_assert_uint_eq(reads, 4);
    /* With its last step its cpuset goes. */
    clock_now += 10 * SECOND;
    world[GUEST].cpus = "4";
    ck_assert(!shares(near));
    clock_now += 10 * SECOND;
    world[GUEST].cpus = NULL;
    world[GUEST].cores = "7";
    ck_assert(!shares(near));
    end(near);
}
END_TEST

/* It is asked for each guest of each primary, and there may be nothing to be read. */
START_TEST(what_is_not_known_is_read_every_second)
{
    hpcbd_near_t *near = begin("0", NULL);

    for (int i = 0; i < 10; i++)
        ck_assert(shares(near));
    ck_assert_uint_eq(reads, 2);
    clock_now += SECOND;
    ck_assert(shares(near));
    ck_assert_uint_eq(reads, 3);
    world[GUEST].cpus = "4";
    clock_now += SECOND;
    ck_assert(!shares(near));
    end(near);
}
END_TEST

START_TEST(who_has_gone_is_forgotten)
{
    hpcbd_near_t *near = begin("0", "4");

    ck_assert(!shares(near));
    world[GUEST].cpus = "0";
    registry.jobs[0] = &world[PRIMARY].job;
    registry.jobs[1] = &world[GUEST].job;
    registry.count = 2;
    hpcbd_near_clean(near, &registry);
    ck_assert(!shares(near));
    /* It was requeued, and runs elsewhere now. */
    world[GUEST].job.state.begin_us++;
    ck_assert(shares(near));
    world[GUEST].cpus = "4";
    registry.count = 1;
    hpcbd_near_clean(near, &registry);
    ck_assert(!shares(near));
    end(near);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_near");
    TCase *tc = tcase_create("harm_near");

    tcase_add_test(tc, a_cpu_in_common);
    tcase_add_test(tc, threads_of_a_core);
    tcase_add_test(tc, without_cpusets_by_cores);
    tcase_add_test(tc, who_is_not_known_shares);
    tcase_add_test(tc, it_is_read_every_ten_seconds);
    tcase_add_test(tc, what_is_not_known_is_read_every_second);
    tcase_add_test(tc, who_has_gone_is_forgotten);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
