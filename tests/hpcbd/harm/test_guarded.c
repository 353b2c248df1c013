/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The guests of a primary in large numbers (hpcbd/harm/guarded.c): one of them does all
 * of the harm, which each comparison shows as it is. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cgroup/steps.h"
#include "common/log.h"
#include "hpcbd/harm/company.h"
#include "hpcbd/harm/guarded.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/node/cpus.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define SECOND  INT64_C(1000000000)
#define PRIMARY 1
#define FIRST   100 /* of the guests */
#define GUESTS  64
#define GUILTY  (FIRST + 37)

static int64_t clock_now;
static hpcbd_registry_t registry;
static hpcbd_job_t primary, guests[GUESTS + 1];
static hpcbd_guarded_t guarded;
static bool is_requeued[FIRST + GUESTS];
static unsigned requeues;
static char last_line[2048];

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

int __wrap_hpcb_steps_busy(const hpcb_node_t *node, const char *dir,
                           hpcb_process_visit_t visit, void *arg);
int __wrap_hpcb_steps_busy(const hpcb_node_t *node, const char *dir,
                           hpcb_process_visit_t visit, void *arg)
{
    (void)node;
    (void)dir;
    return visit(1, arg);
}

hpcbd_cpus_kind_t hpcbd_cpus_of(const hpcb_node_t *node, const char *state_dir,
                                const hpcbd_job_t *job, hpcb_cpus_t *cpus)
{
    (void)node;
    (void)state_dir;
    (void)job;
    (void)cpus;
    return HPCBD_CPUS_LINUX;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

unsigned hpcbd_window_why_stopped(uint32_t job_id)
{
    (void)job_id;
    return 0;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *jobs, uint32_t job_id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->jobs[i]->state.job_id == job_id)
            return jobs->jobs[i];
    return NULL;
}

bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b)
{
    (void)near;
    (void)a;
    (void)b;
    return true;
}

bool hpcbd_slices_possible(void)
{
    return true;
}

void hpcbd_restrain_requeue(const hpcbd_job_t *guest)
{
    is_requeued[guest->state.job_id] = true;
    requeues++;
}

uint64_t hpcbd_company_program(const char *state_dir, const hpcb_job_state_t *job)
{
    (void)state_dir;
    (void)job;
    return 0;
}

void hpcbd_company_remember(const char *state_dir, const hpcbd_job_t *job,
                            const hpcbd_job_t *const *who, size_t count)
{
    (void)state_dir;
    (void)who;
    ck_assert_ptr_eq(job, &primary);
    ck_assert_uint_le(count, HPCB_GUARD_GO_MAX);
}

static void keep_line(hpcb_log_level_t severity, const char *line)
{
    (void)severity;
    if (strstr(line, "guests cost it"))
        snprintf(last_line, sizeof(last_line), "%s", line);
}

static void add_job(hpcbd_job_t *job, hpcb_class_t klass, uint32_t job_id)
{
    *job = (hpcbd_job_t){
        .state = {.job_id = job_id, .klass = klass, .begin_us = 1, .uid = 1003},
        .dir = "job"};
    registry.jobs[registry.count++] = job;
}

static void begin(size_t count)
{
    clock_now = 5000 * SECOND;
    registry.count = requeues = 0;
    guarded = (hpcbd_guarded_t){.job_id = PRIMARY};
    last_line[0] = '\0';
    memset(is_requeued, 0, sizeof(is_requeued));
    hpcb_log_set_sink(keep_line);
    add_job(&primary, HPCB_CLASS_PRIMARY, PRIMARY);
    for (uint32_t i = 0; i < count; i++)
        add_job(&guests[i], HPCB_CLASS_GUEST, FIRST + i);
}

static double part_of(const hpcbd_job_t *guest)
{
    static const double part[] = {1, 1, 0.5, 0.25, 0};

    return part[hpcbd_guarded_level(&guarded, NULL, guest)];
}

/* How much CPU time guests used is not known: nothing bounds what it proves. */
static void compare(double harm)
{
    size_t i = guarded.since.harm[HPCB_PROGRESS_RUN_DELAY].count;

    hpcb_harm_add(&guarded.since.harm[HPCB_PROGRESS_RUN_DELAY], 1 - harm, 1);
    guarded.since.most[HPCB_PROGRESS_RUN_DELAY][i % HPCB_HARM_COMPARISONS] = NAN;
}

/* Ten seconds, with a comparison unless all guests are stopped. */
static bool step(void)
{
    const hpcbd_job_t *guilty = hpcbd_registry_find(&registry, GUILTY);
    double harm = guilty ? 0.2 * part_of(guilty) : 0, any = 0;

    for (size_t i = 1; i < registry.count; i++)
        any += part_of(registry.jobs[i]);
    if (any > 0)
        compare(harm);
    clock_now += 10 * SECOND;
    return hpcbd_guarded_step(&guarded, NULL, "/nowhere", 0.01);
}

START_TEST(of_many_guests_few_go)
{
    int64_t since;

    begin(GUESTS);
    while (requeues == 0 && clock_now < 20000 * SECOND)
        step();
    ck_assert_uint_ge(requeues, 4);
    ck_assert_uint_le(requeues, HPCB_GUARD_GO_MAX);
    ck_assert(is_requeued[GUILTY]);
    /* All others are free, and stay so while these are here. */
    since = clock_now;
    while (clock_now < since + 3000 * SECOND) {
        for (uint32_t i = 0; i < GUESTS; i++)
            ck_assert_int_eq(hpcbd_guarded_level(&guarded, NULL, &guests[i]),
                             is_requeued[FIRST + i] ? HPCB_GUARD_STOP
                                                    : HPCB_GUARD_FREE);
        ck_assert_int_eq(hpcbd_guarded_most(&guarded), HPCB_GUARD_STOP);
        step();
    }
    clock_now = 0;
}
END_TEST

/* While halves are tried nobody is restricted more than that, and it is told that some
 * are further than before. */
START_TEST(a_search_tells_of_its_steps)
{
    unsigned stopped = 0;

    begin(GUESTS);
    while (guarded.guards.near.level != HPCB_GUARD_REQUEUE &&
           clock_now < 20000 * SECOND)
        step();
    for (uint32_t i = 0; i < GUESTS; i++) {
        hpcb_guard_level_t level = hpcbd_guarded_level(&guarded, NULL, &guests[i]);

        ck_assert(level == HPCB_GUARD_STOP || level == HPCB_GUARD_QUARTER);
        stopped += level == HPCB_GUARD_STOP;
    }
    ck_assert_uint_ge(stopped, GUESTS / 4);
    ck_assert_uint_le(stopped, GUESTS - GUESTS / 4);
    ck_assert_int_eq(hpcbd_guarded_most(&guarded), HPCB_GUARD_STOP);
    while (!step() && clock_now < 20000 * SECOND)
        ;
    ck_assert_int_lt(clock_now, 20000 * SECOND);
    clock_now = 0;
}
END_TEST

/* Eight of them, so that nobody fills it. */
START_TEST(a_line_of_the_log_names_some)
{
    begin(GUESTS);
    while (guarded.guards.near.level == HPCB_GUARD_FREE && clock_now < 20000 * SECOND)
        step();
    ck_assert_msg(strstr(last_line, ": they run in half of the time, and its tasks "
                                    "have slices of 100 ms (job 100 of uid 1003, job "
                                    "101 of uid 1003, ") &&
                      strstr(last_line, "job 107 of uid 1003 and 56 more)"),
                  "%s", last_line);
    clock_now = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_guarded");
    TCase *tc = scratch_case("harm_guarded");

    tcase_add_test(tc, of_many_guests_few_go);
    tcase_add_test(tc, a_search_tells_of_its_steps);
    tcase_add_test(tc, a_line_of_the_log_names_some);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
