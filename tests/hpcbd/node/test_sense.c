/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* When jobs are looked for (hpcbd/node/sense.c), with timers, registry and sensors of
 * the test's. */
#include "config.h"

#include <string.h>
#include <sys/stat.h>

#include "cgroup/node.h"
#include "common/measured.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/node/sense.h"
#include "hpcbd/windows/windows.h"
#include "sensor/sensor.h"
#include "tests/common/scratch.h"

#define JOB 7

static hpcbd_t daemon_of_test;
static hpcbd_registry_t registry;
static hpcbd_job_t job;
static struct timer {
    hpcb_loop_fn fn;
    bool there;
    unsigned set; /* how often */
} timers[2];
static size_t timer_count;
static unsigned opened;

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    struct timer *timer = &timers[timer_count++];

    (void)loop;
    (void)clock;
    (void)arg;
    (void)err;
    ck_assert_uint_le(timer_count, 2);
    *timer = (struct timer){.fn = fn, .there = true};
    return (hpcb_source_t *)timer;
}

int hpcb_timer_in(hpcb_source_t *source, uint64_t in_ns, uint64_t interval_ns)
{
    struct timer *timer = (struct timer *)source;

    (void)in_ns;
    (void)interval_ns;
    ck_assert(timer->there);
    timer->set++;
    return 0;
}

int hpcb_timer_every(hpcb_source_t *source, uint64_t interval_ns)
{
    (void)source;
    (void)interval_ns;
    return 0;
}

void hpcb_source_remove(hpcb_source_t *source)
{
    struct timer *timer = (struct timer *)source;

    ck_assert(timer->there);
    timer->there = false;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *jobs, uint32_t job_id)
{
    return jobs->count > 0 && job_id == JOB ? &job : NULL;
}

void hpcbd_tally_add(uint32_t job_id, hpcb_class_t klass, hpcb_restraint_t *sum)
{
    (void)job_id;
    (void)klass;
    (void)sum;
}

void hpcbd_tally_forget(uint32_t job_id)
{
    (void)job_id;
}

static uint64_t in_gang_us; /* 0: it takes no turns */

bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us)
{
    (void)job_id;
    *us = in_gang_us;
    return in_gang_us > 0;
}

bool hpcbd_experiment_cost(uint32_t job_id, uint64_t begin_us,
                           const hpcb_guest_cost_t *before, hpcb_guest_cost_t *cost)
{
    (void)job_id;
    (void)begin_us;
    (void)before;
    (void)cost;
    return false;
}

int hpcb_node_open(const char *root, hpcb_node_t **node, hpcb_error_t *err)
{
    (void)root;
    (void)err;
    *node = (hpcb_node_t *)&registry;
    return 0;
}

void hpcb_node_close(hpcb_node_t *node)
{
    (void)node;
}

const hpcb_sensor_t *const *hpcb_sensors(size_t *count)
{
    *count = 0;
    return NULL;
}

int hpcb_sensing_open(const hpcb_node_t *node, const hpcb_sensor_t *const *rows,
                      size_t count, hpcb_sensing_t **sensing, hpcb_error_t *err)
{
    (void)node;
    (void)rows;
    (void)count;
    (void)err;
    *sensing = (hpcb_sensing_t *)&opened;
    return 0;
}

void hpcb_sensing_close(hpcb_sensing_t *sensing)
{
    (void)sensing;
    ck_assert_uint_eq(opened, 0);
}

void hpcb_sensing_sweep(hpcb_sensing_t *sensing)
{
    (void)sensing;
}

void hpcb_sensing_round(hpcb_sensing_t *sensing)
{
    (void)sensing;
}

int hpcb_sensed_open(hpcb_sensing_t *sensing, uint32_t job_id, const char *place,
                     hpcb_sensed_t **made, hpcb_error_t *err)
{
    (void)place;
    (void)err;
    ck_assert_uint_eq(job_id, JOB);
    opened++;
    *made = (hpcb_sensed_t *)sensing;
    return 0;
}

void hpcb_sensed_close(hpcb_sensed_t *sensed)
{
    (void)sensed;
    opened--;
}

void hpcb_sensed_adopt(hpcb_sensed_t *sensed)
{
    (void)sensed;
}

void hpcb_sensed_sample(hpcb_sensed_t *sensed, hpcb_sample_t *sample)
{
    (void)sensed;
    memset(sample, 0, sizeof(*sample));
}

const char *hpcb_sensed_why_not(const hpcb_sensed_t *sensed, size_t i)
{
    (void)sensed;
    (void)i;
    return NULL;
}

static void start(void)
{
    hpcb_error_t err;

    timer_count = 0;
    ck_assert_int_eq(hpcbd_sense.start(&daemon_of_test, &err), 0);
    ck_assert_uint_eq(timer_count, 2);
}

static void begin(void)
{
    memset(timers, 0, sizeof(timers));
    snprintf(daemon_of_test.conf.state_dir, sizeof(daemon_of_test.conf.state_dir), "%s",
             scratch(""));
    job = (hpcbd_job_t){.state = {.job_id = JOB, .klass = HPCB_CLASS_PRIMARY}};
    registry.jobs[0] = &job;
    registry.count = 0;
    start();
}

/* The second timer. */
static void look(void)
{
    timers[1].fn(NULL, 1);
}

static void end(void)
{
    hpcbd_sense.stop(&daemon_of_test);
    ck_assert(!timers[0].there && !timers[1].there);
}

START_TEST(who_is_told_of_is_looked_for_soon)
{
    begin();
    hpcbd_sense_job(JOB);
    ck_assert_uint_eq(timers[1].set, 1);
    hpcbd_sense_job(JOB);
    ck_assert_uint_eq(timers[1].set, 1);
    look();
    ck_assert_uint_eq(timers[1].set, 2);
    registry.count = 1;
    look();
    ck_assert_uint_eq(timers[1].set, 2);
    ck_assert_uint_eq(opened, 1);
    end();
}
END_TEST

START_TEST(who_does_not_come_is_not_looked_for_for_ever)
{
    begin();
    hpcbd_sense_job(JOB);
    for (int i = 0; i < 7; i++)
        look();
    ck_assert_uint_eq(timers[1].set, 8);
    look();
    ck_assert_uint_eq(timers[1].set, 8);
    end();
}
END_TEST

/* A search that was under way is none of the next start's. */
START_TEST(nothing_is_left_of_what_was_looked_for)
{
    begin();
    hpcbd_sense_job(JOB);
    end();
    hpcbd_sense_job(JOB);
    start();
    hpcbd_sense_job(JOB);
    ck_assert_uint_eq(timers[1].set, 1);
    end();
}
END_TEST

static uint64_t recorded_us(void)
{
    hpcb_measured_t measured;

    hpcbd_sense_measure(JOB);
    hpcb_measured_load(daemon_of_test.conf.state_dir, JOB, &measured);
    return measured.elected_us;
}

/* It may leave the gang and join again; a run before it under the same id is none of
 * its. */
START_TEST(what_a_job_was_elected_for_is_kept_when_it_leaves)
{
    begin();
    mkdir(scratch("jobs"), 0755);
    job.state.begin_us = 5;
    registry.count = 1;
    hpcbd_sense_job(JOB);
    look();
    ck_assert_uint_eq(recorded_us(), HPCB_ELECTED_UNKNOWN);
    in_gang_us = 3000000;
    ck_assert_uint_eq(recorded_us(), 3000000);
    in_gang_us = 0;
    hpcbd_sense_elected(JOB, 4, 9000000);
    hpcbd_sense_elected(JOB, 5, 3000000);
    ck_assert_uint_eq(recorded_us(), 3000000);
    in_gang_us = 2000000;
    ck_assert_uint_eq(recorded_us(), 5000000);
    in_gang_us = 0;
    hpcbd_sense_elected(JOB, 5, 2000000);
    ck_assert_uint_eq(recorded_us(), 5000000);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sense");
    TCase *tc = scratch_case("sense");

    tcase_add_test(tc, who_is_told_of_is_looked_for_soon);
    tcase_add_test(tc, who_does_not_come_is_not_looked_for_for_ever);
    tcase_add_test(tc, nothing_is_left_of_what_was_looked_for);
    tcase_add_test(tc, what_a_job_was_elected_for_is_kept_when_it_leaves);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
