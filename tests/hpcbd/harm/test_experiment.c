/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Experiments (hpcbd/harm/experiment.c) with readings, owner of freezing, timer and
 * clock of the test's: a primary that goes more slowly while guests run.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/steps.h"
#include "common/log.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/company.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/harm/progress.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/node/cpus.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define MS      INT64_C(1000000)
#define SECOND  INT64_C(1000000000)
#define GUEST   7
#define PRIMARY 8
#define OTHER   9
#define FAR     10 /* a guest on the cores of the other primary */

/* What guests take of a primary's progress, unless a test says otherwise. */
#define HARM 0.05

static int64_t clock_now, timer_at, late_ns;
static hpcb_loop_fn edge_fn;
static hpcbd_registry_t registry;
static hpcbd_job_t guest, primary, other, far;
static hpcbd_t daemon_of_test;
static bool frozen, far_frozen, can_freeze, readable;
static bool busy;         /* guests have processes */
static bool hears;        /* the guest does, though it is stopped for long */
static bool switches;     /* the primary takes turns with another one */
static bool must_wait;    /* as a boost ends soon */
static int64_t begin_ns;  /* to attach counters takes so long */
static bool clock_is_set; /* while a timer is */
static hpcbd_window_stats_t window_stats;
static bool far_idle;    /* but the one on other cores has none */
static bool idle;        /* the primary is suspended */
static bool far_shares;  /* it is on the cores of the first primary after all */
static bool placed;      /* it is known where the guest may run */
static uint64_t program; /* of the guest; 0: not known */
static unsigned held;    /* why the guest is stopped besides */
static int64_t frozen_at, frozen_ns, decide_ns;
static unsigned stops, begun, reads;
static int64_t read_ns; /* that a reading takes */
static bool kept;       /* the primary's sensors, since its last experiment */
/* What the log has of sources that are not believed, of the bound for them, and of
 * guests that are free again for the sake of the primary. */
static unsigned doubts, caps, freed, named;
static unsigned complaints; /* of the key */
/* The primary's work up to now. */
static int64_t seen_ns;
static double ran_us, waited_us;
static double other_ran_us, other_waited_us;
static double harm, far_harm, other_harm; /* the guest's to the other primary */
static const hpcbd_job_t *read_of;        /* whose experiment it is */
/* What its pages say: iterations a second without guests (0: it has none), and the part
 * of them that guests take as they claim. */
static double pace, claimed, iterated;
static hpcb_guard_level_t left_at; /* when there was no guest last */
static hpcb_guard_level_t level, worst, far_level, far_worst;
static unsigned requeues, far_requeues, remembered;
/* Slices: whether the node has them, which part of the harm they cure, who has them. */
static bool slices_possible, long_slices;
static double cured;

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
    if (far_idle && strcmp(dir, far.dir) == 0)
        return 0;
    return busy ? visit(1, arg) : 0;
}

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)arg;
    (void)err;
    ck_assert_int_eq(clock, CLOCK_REALTIME);
    edge_fn = fn;
    return (hpcb_source_t *)&edge_fn;
}

int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns)
{
    (void)timer;
    ck_assert_uint_eq(interval_ns, 0);
    timer_at = (int64_t)at_ns;
    return clock_is_set ? -1 : 0;
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    ck_assert_uint_eq(interval_ns, 0);
    timer_at = clock_now + (int64_t)first_ns;
    return 0;
}

void hpcb_source_remove(hpcb_source_t *source)
{
    (void)source;
}

static double part_of(hpcb_guard_level_t of)
{
    static const double part[] = {
        [HPCB_GUARD_FREE] = 1,
        [HPCB_GUARD_SLICES] = 1,
        [HPCB_GUARD_HALF] = 0.5,
        [HPCB_GUARD_QUARTER] = 0.25,
    };

    return of < HPCB_GUARD_STOP ? part[of] : 0;
}

static bool is_there(const hpcbd_job_t *job)
{
    for (size_t i = 0; i < registry.count; i++)
        if (registry.jobs[i] == job)
            return true;
    return false;
}

/* It works all the time; guests take their part while they run. */
static void work_until_now(void)
{
    double passed_us = (double)(clock_now - seen_ns) / 1000;
    double runs = part_of(level);
    double taken = is_there(&guest) && !frozen ? runs * harm : 0;
    double claim = is_there(&guest) && !frozen ? runs * claimed : 0;

    if (long_slices)
        taken *= 1 - cured;
    if (is_there(&far) && !far_frozen)
        taken += part_of(far_level) * far_harm;
    ran_us += idle ? 0 : passed_us * (1 - taken);
    waited_us += idle ? 0 : passed_us * taken;
    iterated += passed_us * 1e-6 * pace * (1 - claim);
    taken = is_there(&guest) && !frozen ? runs * other_harm : 0;
    other_ran_us += passed_us * (1 - taken);
    other_waited_us += passed_us * taken;
    seen_ns = clock_now;
}

hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, const char *state_dir,
                                     hpcb_error_t *err)
{
    (void)node;
    ck_assert_ptr_eq(state_dir, daemon_of_test.conf.state_dir);
    (void)err;
    return (hpcbd_progress_t *)&seen_ns;
}

void hpcbd_progress_free(hpcbd_progress_t *progress)
{
    (void)progress;
}

int hpcbd_progress_begin(hpcbd_progress_t *progress, const hpcbd_job_t *job,
                         size_t before, const hpcbd_registry_t *jobs,
                         hpcbd_near_t *near)
{
    (void)before;
    (void)jobs;
    (void)near;
    (void)progress;
    ck_assert_int_eq(job->state.klass, HPCB_CLASS_PRIMARY);
    ck_assert(!must_wait);
    begun++;
    clock_now += begin_ns;
    read_of = job;
    kept |= readable && job == &primary;
    return readable ? 0 : -1;
}

int hpcbd_progress_select(hpcbd_progress_t *progress, uint32_t job_id)
{
    (void)progress;
    read_of = hpcbd_registry_find(&registry, job_id);
    ck_assert_ptr_nonnull(read_of);
    return 0;
}

void hpcbd_progress_end(hpcbd_progress_t *progress, uint32_t job_id)
{
    (void)progress;
    kept &= job_id != PRIMARY;
}

int hpcbd_progress_read(hpcbd_progress_t *progress, hpcb_progress_at_t *at)
{
    (void)progress;
    ck_assert_uint_gt(begun, 0);
    reads++;
    clock_now += read_ns;
    work_until_now();
    *at = (hpcb_progress_at_t){.time_us = (uint64_t)(clock_now / 1000),
                               .cpu_us = (uint64_t)ran_us,
                               .has_delay = true,
                               .delay_us = (uint64_t)waited_us,
                               .has_iterations = pace > 0,
                               .iterations = iterated};
    if (read_of == &other)
        *at = (hpcb_progress_at_t){.time_us = at->time_us,
                                   .cpu_us = (uint64_t)other_ran_us,
                                   .has_delay = true,
                                   .delay_us = (uint64_t)other_waited_us};
    return 0;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_EXPERIMENT);
    work_until_now();
    if (job_id == FAR) {
        far_frozen = true;
        return true;
    }
    ck_assert_uint_eq(job_id, GUEST);
    if (!can_freeze)
        return false;
    ck_assert(!frozen);
    frozen = true;
    frozen_at = clock_now;
    stops++;
    return true;
}

void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_EXPERIMENT);
    far_frozen &= job_id != FAR;
    if (job_id != GUEST || !frozen)
        return;
    frozen = false;
    frozen_ns += clock_now - frozen_at;
}

bool hpcbd_window_hears(uint32_t job_id)
{
    return hears && job_id == GUEST;
}

bool hpcbd_window_must_wait(void)
{
    return must_wait;
}

const hpcbd_window_stats_t *hpcbd_window_stats(void)
{
    return &window_stats;
}

bool hpcbd_gang_switches(uint32_t job_id)
{
    return switches && job_id == PRIMARY;
}

unsigned hpcbd_window_why_stopped(uint32_t job_id)
{
    ck_assert(job_id == GUEST || job_id == FAR);
    return (frozen ? HPCBD_FREEZE_EXPERIMENT : 0) | (job_id == GUEST ? held : 0);
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    ck_assert_int_eq(which, HPCBD_WATCHDOG_EXPERIMENT);
    decide_ns = end_ns;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *jobs, uint32_t job_id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->jobs[i]->state.job_id == job_id)
            return jobs->jobs[i];
    return NULL;
}

hpcbd_near_t *hpcbd_near_new(const hpcb_node_t *node, const char *state_dir,
                             hpcb_error_t *err)
{
    (void)node;
    (void)err;
    ck_assert_ptr_eq(state_dir, daemon_of_test.conf.state_dir);
    return (hpcbd_near_t *)&registry;
}

void hpcbd_near_free(hpcbd_near_t *near)
{
    (void)near;
}

bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b)
{
    (void)near;
    return (a == &primary && (b == &guest || (far_shares && b == &far))) ||
           (a == &other && b == &far);
}

hpcbd_cpus_kind_t hpcbd_cpus_of(const hpcb_node_t *node, const char *state_dir,
                                const hpcbd_job_t *job, hpcb_cpus_t *cpus)
{
    (void)node;
    (void)cpus;
    ck_assert_ptr_eq(state_dir, daemon_of_test.conf.state_dir);
    return job == &guest && !placed ? HPCBD_CPUS_UNKNOWN : HPCBD_CPUS_LINUX;
}

void hpcbd_near_clean(hpcbd_near_t *near, const hpcbd_registry_t *jobs)
{
    (void)near;
    ck_assert_ptr_eq(jobs, &registry);
}

void hpcbd_restrain_guests(hpcbd_restrain_fn level_of, bool further)
{
    hpcb_guard_level_t was = level, far_was = far_level;

    work_until_now();
    level = level_of ? level_of(&guest) : HPCB_GUARD_FREE;
    far_level = level_of ? level_of(&far) : HPCB_GUARD_FREE;
    worst = level > worst ? level : worst;
    far_worst = far_level > far_worst ? far_level : far_worst;
    if (!is_there(&guest))
        left_at = was > left_at ? was : left_at;
    if (level > was && level > left_at && level > HPCB_GUARD_SLICES)
        ck_assert(further);
    if (far_level > far_was && far_level > HPCB_GUARD_SLICES)
        ck_assert(further);
}

void hpcbd_restrain_requeue(const hpcbd_job_t *job)
{
    ck_assert(job == &guest || job == &far);
    requeues += job == &guest;
    far_requeues += job == &far;
    if (job == &guest)
        worst = HPCB_GUARD_REQUEUE;
}

uint64_t hpcbd_company_program(const char *state_dir, const hpcb_job_state_t *job)
{
    (void)state_dir;
    return job->job_id == GUEST ? program : 0;
}

void hpcbd_company_remember(const char *state_dir, const hpcbd_job_t *job,
                            const hpcbd_job_t *const *guests, size_t count)
{
    ck_assert_ptr_eq(state_dir, daemon_of_test.conf.state_dir);
    ck_assert_ptr_eq(job, &primary);
    ck_assert_uint_le(count, 1);
    if (!count)
        return;
    ck_assert(guests[0] == &guest || guests[0] == &far);
    remembered++;
}

bool hpcbd_slices_possible(void)
{
    return slices_possible;
}

/* Of the primary that is harmed, and of nobody else. */
void hpcbd_slices_set(uint32_t job_id, bool wanted)
{
    ck_assert(job_id == PRIMARY || !wanted);
    work_until_now();
    if (job_id == PRIMARY)
        long_slices = wanted;
}

void hpcbd_slices_end(void)
{
    work_until_now();
    long_slices = false;
}

static void set_job(hpcbd_job_t *job, uint32_t job_id, hpcb_class_t klass)
{
    *job = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass, .begin_us = 1},
                         .dir = "slurm/job"};
    snprintf(job->dir, sizeof(job->dir), "slurm/job_%u", job_id);
}

static void count_lines(hpcb_log_level_t severity, const char *line)
{
    (void)severity;
    doubts += strstr(line, "ignoring the guest cost by") != NULL;
    caps += strstr(line, "not restricted further") != NULL;
    complaints += strstr(line, "guests can know when experiments are") != NULL;
    named += strstr(line, "they run in half of the time (job 7 of uid 1007, job 10 of "
                          "uid 1010)") != NULL;
    freed += strstr(line, "job 8:") && strstr(line, "they run freely");
}

static void begin(void)
{
    hpcb_error_t err;

    hpcb_conf_defaults(&daemon_of_test.conf);
    clock_now = seen_ns = 1000000 * SECOND;
    ran_us = waited_us = other_ran_us = other_waited_us = 0;
    pace = claimed = iterated = 0;
    begun = doubts = caps = freed = named = complaints = 0;
    far_shares = far_idle = idle = false;
    kept = false;
    hpcb_log_set_sink(count_lines);
    harm = HARM;
    far_harm = other_harm = 0;
    far_frozen = false;
    level = worst = far_level = far_worst = HPCB_GUARD_FREE;
    requeues = far_requeues = remembered = 0;
    slices_possible = long_slices = false;
    cured = 0;
    late_ns = frozen_ns = stops = held = 0;
    read_ns = reads = 0;
    can_freeze = readable = busy = placed = true;
    hears = switches = must_wait = clock_is_set = false;
    begin_ns = 0;
    program = 0;
    left_at = HPCB_GUARD_FREE;
    window_stats = (hpcbd_window_stats_t){.suspended = NULL};
    set_job(&guest, GUEST, HPCB_CLASS_GUEST);
    set_job(&primary, PRIMARY, HPCB_CLASS_PRIMARY);
    set_job(&other, OTHER, HPCB_CLASS_PRIMARY);
    set_job(&far, FAR, HPCB_CLASS_GUEST);
    registry.jobs[0] = &primary;
    registry.jobs[1] = &guest;
    registry.jobs[2] = &other;
    registry.jobs[3] = &far;
    registry.count = 2;
    ck_assert_msg(hpcbd_experiment.start(&daemon_of_test, &err) == 0, "%s", err.text);
}

static void end(void)
{
    hpcbd_experiment.stop(&daemon_of_test);
    ck_assert(!frozen);
    clock_now = 0;
}

static void expire(uint64_t expirations)
{
    ck_assert_int_ge(timer_at, clock_now);
    clock_now = timer_at + late_ns;
    edge_fn(NULL, expirations);
    work_until_now();
    /* The watchdog knows of guests that are stopped, and of no others. */
    ck_assert_int_eq(decide_ns > clock_now, frozen || far_frozen);
}

static void run(int64_t seconds)
{
    int64_t until = clock_now + seconds * SECOND;

    while (timer_at + late_ns < until)
        expire(1);
    clock_now = until;
    work_until_now();
}

static void run_until_frozen(void)
{
    for (int i = 0; i < 20 && !frozen; i++)
        expire(1);
    ck_assert(frozen);
}

static bool is_known(hpcb_harm_estimate_t *estimate)
{
    hpcb_progress_verdict_t verdict;

    if (!hpcbd_experiment_judge(PRIMARY, &verdict))
        return false;
    *estimate = verdict.found;
    return true;
}

START_TEST(what_guests_cost_is_found)
{
    hpcb_harm_estimate_t found;

    begin();
    daemon_of_test.conf.guest_max_slowdown_ppm = 100000;
    ck_assert(!is_known(&found));
    run(600);
    ck_assert(is_known(&found));
    ck_assert_double_eq_tol(found.cost, 1 / (1 - HARM) - 1, 1e-4);
    ck_assert_double_le(found.low, found.cost);
    ck_assert_double_ge(found.high, found.cost);
    ck_assert_uint_ge(found.comparisons, 50);
    end();
}
END_TEST

START_TEST(guests_lose_two_percent_at_most)
{
    begin();
    harm = 0;
    registry.count = 3;
    run(3600);
    ck_assert_int_le(frozen_ns, 3600 * SECOND / 50);
    /* Each is of ten seconds, and its end may be half a millisecond later than its
     * begin. */
    ck_assert_int_le(frozen_ns + stops * MS / 2, stops * 10 * SECOND / 50);
    ck_assert_int_ge(frozen_ns, 3600 * SECOND / 100);
    end();
}
END_TEST

START_TEST(without_guests_or_a_limit_nothing_happens)
{
    begin();
    registry.count = 1;
    run(100);
    ck_assert_uint_eq(stops, 0);
    registry.count = 2;
    daemon_of_test.conf.guest_max_slowdown_ppm = 0;
    run(100);
    ck_assert_uint_eq(stops, 0);
    daemon_of_test.conf.guest_max_slowdown_ppm = 10000;
    run(100);
    ck_assert_uint_ge(stops, 8);
    end();
}
END_TEST

/* The wall clock decides, not when the daemon began. */
START_TEST(two_nodes_stop_guests_at_the_same_time)
{
    int64_t first;

    begin();
    run_until_frozen();
    first = clock_now;
    end();
    begin();
    clock_now = seen_ns = first - 3 * SECOND;
    edge_fn(NULL, 0);
    run_until_frozen();
    ck_assert_int_eq(clock_now, first);
    end();
}
END_TEST

/* Whoever is on them: no node lets guests run while another one measures. */
START_TEST(nodes_with_other_primaries_stop_guests_at_the_same_time)
{
    int64_t first;

    begin();
    run_until_frozen();
    first = clock_now;
    end();
    begin();
    registry.jobs[0] = &guest;
    registry.jobs[1] = &other;
    registry.jobs[2] = &far;
    registry.count = 3;
    run_until_frozen();
    ck_assert_int_eq(clock_now, first);
    end();
}
END_TEST

static size_t comparisons_of(uint32_t job_id)
{
    hpcb_progress_verdict_t verdict;

    return hpcbd_experiment_judge(job_id, &verdict) ? verdict.found.comparisons : 0;
}

START_TEST(one_stop_serves_all_primaries)
{
    begin();
    registry.count = 4;
    harm = 0;
    run(300);
    ck_assert_uint_ge(comparisons_of(PRIMARY), 28);
    ck_assert_uint_ge(comparisons_of(OTHER), 28);
    ck_assert_uint_le(stops, 31);
    end();
}
END_TEST

#define MANY 20

/* More than can be read at one stop: in turn. */
START_TEST(many_primaries_are_read_in_rotation)
{
    static hpcbd_job_t many[MANY];
    size_t least = SIZE_MAX, most = 0;

    begin();
    harm = 0;
    registry.jobs[0] = &guest;
    registry.count = 1;
    for (uint32_t i = 0; i < MANY; i++) {
        set_job(&many[i], 100 + i, HPCB_CLASS_PRIMARY);
        registry.jobs[registry.count++] = &many[i];
    }
    run(600);
    ck_assert_uint_le(begun, 61 * HPCBD_PROGRESS_JOBS);
    for (uint32_t i = 0; i < MANY; i++) {
        size_t found = comparisons_of(100 + i);

        least = found < least ? found : least;
        most = found > most ? found : most;
    }
    ck_assert_uint_ge(least, 60 * HPCBD_PROGRESS_JOBS / MANY - 4);
    ck_assert_uint_le(most, least + 6);
    end();
}
END_TEST

/* The turn of the loop stays short; at the next stop the other one is first. */
START_TEST(counters_of_few_are_attached_in_a_turn)
{
    begin();
    registry.count = 4;
    harm = 0;
    begin_ns = 30 * MS;
    expire(1);
    while (begun == 0)
        expire(1);
    ck_assert_uint_eq(begun, 1);
    begin_ns = 9 * MS;
    run(300);
    ck_assert_uint_ge(comparisons_of(PRIMARY), 25);
    ck_assert_uint_ge(comparisons_of(OTHER), 25);
    end();
}
END_TEST

/* Another node may read its part of the primary. */
START_TEST(next_to_a_boost_guests_stop_and_nothing_is_read)
{
    begin();
    must_wait = true;
    run(300);
    ck_assert_uint_eq(begun, 0);
    ck_assert_uint_ge(stops, 28);
    ck_assert_uint_eq(comparisons_of(PRIMARY), 0);
    end();
}
END_TEST

START_TEST(without_a_clock_to_trust_there_are_no_stops)
{
    begin();
    window_stats.suspended = "the clock differs";
    run(100);
    ck_assert_uint_eq(stops, 0);
    window_stats.suspended = NULL;
    run_until_frozen();
    window_stats.suspended = "the clock differs";
    expire(1);
    ck_assert(!frozen);
    run(100);
    ck_assert_uint_eq(stops, 1);
    end();
}
END_TEST

static int64_t first_stop(void)
{
    int64_t first;

    begin();
    run_until_frozen();
    first = clock_now;
    end();
    return first;
}

START_TEST(who_does_not_have_the_key_does_not_know_the_stops)
{
    int64_t without, with;

    snprintf(daemon_of_test.conf_path, sizeof(daemon_of_test.conf_path), "%s",
             scratch("hpc-balance.conf"));
    without = first_stop();
    ck_assert_uint_eq(complaints, 1);
    put_file(scratch("hpc-balance.key"), "0123456789abcdef");
    ck_assert_int_eq(chmod(scratch("hpc-balance.key"), 0644), 0);
    ck_assert_int_eq(first_stop(), without);
    ck_assert_uint_eq(complaints, 1);
    ck_assert_int_eq(chmod(scratch("hpc-balance.key"), 0600), 0);
    with = first_stop();
    ck_assert_uint_eq(complaints, 0);
    ck_assert_int_ne(with, without);
    ck_assert_int_eq(first_stop(), with);
    /* A new one is read with the configuration. */
    begin();
    ck_assert_int_eq(unlink(scratch("hpc-balance.key")), 0);
    hpcbd_experiment.reload(&daemon_of_test);
    ck_assert_uint_eq(complaints, 1);
    run_until_frozen();
    ck_assert_int_eq(clock_now, without);
    end();
}
END_TEST

/* A write to a cgroup waits for a lock whose holder may wait for a CPU. */
START_TEST(the_watchdog_waits_for_the_locks_of_cgroups)
{
    begin();
    run_until_frozen();
    ck_assert_int_ge(decide_ns - clock_now, SECOND);
    end();
}
END_TEST

/* The kernel says so and lets the timer wait for the time as it was. */
START_TEST(a_clock_that_is_set_while_the_timer_is)
{
    begin();
    run_until_frozen();
    clock_is_set = true;
    expire(1);
    ck_assert_int_le(timer_at, clock_now + 1);
    clock_is_set = false;
    run(100);
    ck_assert_uint_ge(stops, 8);
    end();
}
END_TEST

START_TEST(what_comes_late_does_not_count)
{
    hpcb_harm_estimate_t found;

    begin();
    late_ns = 30 * MS;
    run(600);
    ck_assert(!is_known(&found));
    ck_assert_uint_eq(stops, 0);
    end();
}
END_TEST

START_TEST(a_clock_that_is_set_ends_an_experiment)
{
    begin();
    run_until_frozen();
    expire(0);
    ck_assert(!frozen);
    end();
}
END_TEST

/* Pass the two edges that are left of a stop. */
static void run_on(void)
{
    expire(1);
    expire(1);
}

/* Six readings in each experiment, and ten more between the parts. */
START_TEST(what_takes_long_to_be_read_is_not_read_in_parts)
{
    static const int64_t takes[] = {0, 9 * MS / 10, 11 * MS / 10};
    static const unsigned expected[] = {16, 16, 6};

    begin();
    read_ns = takes[_i];
    run(100);
    ck_assert_uint_ge(stops, 8);
    ck_assert_uint_le(reads, expected[_i] * 10);
    ck_assert_uint_gt(reads, expected[_i] * 8);
    end();
}
END_TEST

START_TEST(who_comes_or_goes_ends_an_experiment)
{
    hpcb_harm_estimate_t found;

    begin();
    for (int i = 0; i < 20; i++) {
        run_until_frozen();
        guest.state.begin_us++;
        run_on();
        ck_assert(!frozen);
    }
    ck_assert(!is_known(&found));
    run_until_frozen();
    registry.count = 1;
    registry.jobs[0] = &guest;
    run_on();
    ck_assert(!frozen);
    end();
}
END_TEST

/* Who is on other cores is not what it is compared with while somebody is on its. */
START_TEST(who_comes_or_goes_on_other_cores_ends_nothing)
{
    hpcb_harm_estimate_t found;

    begin();
    registry.count = 4;
    for (int i = 0; i < 200; i++) {
        far.state.begin_us++;
        expire(1);
    }
    ck_assert(is_known(&found));
    ck_assert_uint_eq(comparisons_of(OTHER), 0);
    end();
}
END_TEST

/* Nor what is known of those on its cores. */
START_TEST(who_comes_and_goes_on_other_cores_hides_nobody)
{
    begin();
    registry.count = 4;
    for (int i = 0; i < 12; i++) {
        far.state.begin_us++;
        far.guest_since_ns = 0;
        run(25);
    }
    ck_assert_int_ge(level, HPCB_GUARD_HALF);
    ck_assert_int_eq(far_worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* What it does would count as the harm of the others. */
START_TEST(who_hears_of_its_end_ends_experiments)
{
    hpcb_harm_estimate_t found;

    begin();
    registry.count = 4;
    held = HPCBD_FREEZE_CRUMBS;
    hears = true;
    run(300);
    ck_assert(!is_known(&found));
    hears = false;
    run(300);
    ck_assert(is_known(&found));
    end();
}
END_TEST

/* Its quanta would be what is compared. */
START_TEST(who_takes_turns_is_not_compared)
{
    hpcb_harm_estimate_t found;

    begin();
    primary.gang = switches = true;
    run(300);
    ck_assert(!is_known(&found));
    ck_assert_uint_eq(begun, 0);
    /* Alone on its cores it runs all the time. */
    switches = false;
    run(300);
    ck_assert(is_known(&found));
    end();
}
END_TEST

/* Ten minutes of harm, and an hour without guests. */
START_TEST(the_record_is_of_the_whole_run)
{
    hpcb_guest_cost_t before = hpcb_guest_cost_unknown, cost;

    begin();
    daemon_of_test.conf.guest_max_slowdown_ppm = 100000;
    primary.state.begin_us = (uint64_t)clock_now / 1000;
    run(5);
    ck_assert(!hpcbd_experiment_cost(PRIMARY, primary.state.begin_us, &before, &cost));
    run(595);
    ck_assert(hpcbd_experiment_cost(PRIMARY, primary.state.begin_us, &before, &cost));
    ck_assert_int_ge(cost.cost, 50000);
    registry.count = 1;
    run(3600);
    ck_assert(hpcbd_experiment_cost(PRIMARY, primary.state.begin_us, &before, &cost));
    ck_assert_int_ge(cost.cost, 52631 / 7 - 300);
    ck_assert_int_le(cost.cost, 52631 / 7 + 300);
    ck_assert_uint_eq(cost.of_us, UINT64_C(4200000000));
    ck_assert_str_eq(cost.method, "run_delay");
    end();
}
END_TEST

/* With guests that are stopped anyhow its progress is the same: that is not "no cost".
 */
START_TEST(who_is_stopped_for_another_reason_says_nothing)
{
    hpcb_harm_estimate_t found;

    begin();
    held = HPCBD_FREEZE_CRUMBS;
    run(300);
    ck_assert_uint_eq(stops, 0);
    held = HPCBD_FREEZE_GUARD;
    run_until_frozen();
    held |= HPCBD_FREEZE_WINDOW;
    expire(1);
    ck_assert(!frozen);
    ck_assert(!is_known(&found));
    end();
}
END_TEST

START_TEST(who_cannot_be_stopped_or_read_is_left_alone)
{
    hpcb_harm_estimate_t found;

    begin();
    can_freeze = false;
    run(300);
    ck_assert(!is_known(&found));
    can_freeze = true;
    readable = false;
    run(300);
    ck_assert(!is_known(&found));
    ck_assert_uint_eq(stops, 0);
    end();
}
END_TEST

/* Whoever holds CPUs and runs nothing would keep others from being found out. */
START_TEST(who_has_nothing_to_be_stopped_ends_no_experiment)
{
    hpcb_harm_estimate_t found;

    begin();
    registry.count = 4;
    far_harm = HARM;
    harm = 0;
    can_freeze = busy = false;
    run(600);
    ck_assert(is_known(&found));
    ck_assert_double_gt(found.low, 0);
    end();
}
END_TEST

/* Without a place nothing of it has begun; but one without a record has none as long as
 * that of no neighbour is known, and its tasks may run. */
START_TEST(who_has_no_place_is_idle_unless_it_is_marked_only)
{
    hpcb_harm_estimate_t found;

    begin();
    registry.count = 4;
    guest.dir[0] = '\0';
    can_freeze = false;
    guest.marked = true;
    run(300);
    ck_assert(!is_known(&found));
    guest.marked = false;
    run(300);
    ck_assert(is_known(&found));
    end();
}
END_TEST

START_TEST(a_requeued_primary_is_another_one)
{
    hpcb_harm_estimate_t found;

    begin();
    harm = 0;
    run(600);
    ck_assert(is_known(&found));
    primary.state.begin_us++;
    run(30);
    ck_assert(!is_known(&found));
    end();
}
END_TEST

START_TEST(who_harms_is_restricted_within_two_minutes)
{
    begin();
    harm = 0.02;
    run(120);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    /* One percent is what half of the time costs: neither further nor back. */
    harm = 0.019;
    run(3600);
    ck_assert_int_eq(worst, HPCB_GUARD_HALF);
    end();
}
END_TEST

START_TEST(who_does_no_harm_runs)
{
    begin();
    harm = 0.009;
    run(3600);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* Further and further, tried again after the pause, and then requeued.  It stays. */
START_TEST(who_harms_in_a_quarter_of_the_time_goes)
{
    hpcb_restraint_t counted = hpcb_restraint_unknown;
    double before_us;

    begin();
    hpcbd_tally_forget(PRIMARY);
    run(400);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    ck_assert_uint_eq(requeues, 0);
    ck_assert_uint_eq(remembered, 0);
    run(3600);
    ck_assert_uint_eq(requeues, 1);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    before_us = waited_us;
    run(36000);
    ck_assert_uint_ge(requeues, 9);
    ck_assert_uint_eq(remembered, requeues);
    /* Of each hour it has a quarter of a look. */
    ck_assert_double_le(waited_us - before_us, 36000e6 * harm * 0.01);
    hpcbd_tally_add(PRIMARY, HPCB_CLASS_PRIMARY, &counted);
    ck_assert_uint_eq(counted.requeued, 1);
    ck_assert_uint_eq(counted.steps, 3 + (uint64_t)requeues);
    end();
}
END_TEST

/* It is there as long as the one that cannot go. */
START_TEST(who_comes_to_one_that_cannot_go_is_free)
{
    begin();
    run(4000);
    ck_assert_uint_eq(requeues, 1);
    registry.jobs[2] = &far;
    registry.count = 3;
    far_shares = true;
    run(7200);
    ck_assert_uint_ge(requeues, 2);
    ck_assert_int_eq(far_worst, HPCB_GUARD_FREE);
    ck_assert_uint_eq(far_requeues, 0);
    end();
}
END_TEST

/* It has come while the one that harms was stopped, and is not what this is about. */
START_TEST(who_has_come_since_does_not_go)
{
    begin();
    far_shares = true;
    run(400);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    while (level == HPCB_GUARD_STOP)
        run(10);
    run(40);
    ck_assert_uint_eq(requeues, 0);
    registry.jobs[2] = &far;
    registry.count = 3;
    run(100);
    ck_assert_uint_eq(requeues, 1);
    ck_assert_uint_eq(far_requeues, 0);
    ck_assert_int_eq(far_level, HPCB_GUARD_FREE);
    end();
}
END_TEST

START_TEST(who_runs_nothing_or_has_no_place_does_not_go)
{
    begin();
    placed = false;
    run(4000);
    ck_assert_uint_eq(requeues + remembered, 0);
    /* It harms as before. */
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    end();
    begin();
    registry.jobs[2] = &far;
    registry.count = 3;
    far_shares = true;
    far_idle = true;
    run(4000);
    ck_assert_uint_eq(requeues, 1);
    ck_assert_uint_eq(far_requeues, 0);
    ck_assert_int_eq(far_level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* One of the same program, a second later: no look has found the group empty. */
START_TEST(who_comes_as_another_one_goes_is_free)
{
    begin();
    run(400);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    far_shares = true;
    registry.jobs[1] = &far;
    run(15);
    ck_assert_int_eq(far_level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* With guests in a quarter of the time: it is suspended, or waits. */
START_TEST(without_a_primary_that_wants_cpus_guests_are_free)
{
    begin();
    harm = 0.05;
    run(180);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    idle = true;
    run(1190);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    run(30);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    idle = false;
    run(180);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    end();
}
END_TEST

/* Half of the time for a look, which shows that slices are enough. */
START_TEST(slices_that_cure_harm_leave_guests_alone)
{
    begin();
    slices_possible = true;
    cured = 0.99;
    run(90);
    ck_assert(long_slices);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    run(90);
    ck_assert(long_slices);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    run(560);
    ck_assert(long_slices);
    run(3600);
    ck_assert_int_eq(worst, HPCB_GUARD_HALF);
    /* Without guests there is nothing to be cured. */
    registry.count = 1;
    run(20);
    ck_assert(!long_slices);
    end();
}
END_TEST

START_TEST(harm_that_slices_do_not_cure_restricts)
{
    begin();
    slices_possible = true;
    run(120);
    ck_assert(long_slices);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    run(90);
    ck_assert(long_slices);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    run(7200);
    ck_assert_uint_ge(requeues, 1);
    end();
}
END_TEST

/* Each of them, and whose they are. */
START_TEST(the_log_names_guests_and_their_users)
{
    begin();
    registry.jobs[2] = &far;
    registry.count = 3;
    far_shares = true;
    guest.state.uid = 1007;
    far.state.uid = 1010;
    run(120);
    ck_assert_uint_eq(named, 1);
    end();
}
END_TEST

START_TEST(iterations_are_the_method_where_there_are_some)
{
    hpcb_progress_verdict_t verdict;

    begin();
    daemon_of_test.conf.guest_max_slowdown_ppm = 500000;
    pace = 100;
    claimed = 0.2;
    run(600);
    ck_assert(hpcbd_experiment_judge(PRIMARY, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_ITERATIONS);
    ck_assert_double_eq_tol(verdict.found.cost, 1 / (1 - claimed) - 1, 1e-3);
    ck_assert_uint_eq(doubts + caps, 0);
    end();
}
END_TEST

/* A page that claims harm which nobody else sees, for ever: guests keep a quarter. */
START_TEST(a_page_that_claims_harm_is_bounded)
{
    begin();
    harm = 0;
    pace = 100;
    claimed = 0.9;
    run(20000);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    ck_assert_int_eq(worst, HPCB_GUARD_QUARTER);
    ck_assert_uint_eq(requeues, 0);
    ck_assert_uint_eq(remembered, 0);
    ck_assert_uint_eq(caps, 1);
    /* When it stops that, guests come back: as soon as what is known is new, and all
     * of the way after the pause. */
    claimed = 0;
    run(300);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    run(1300);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* A page that claims that guests help its program. */
START_TEST(a_page_that_hides_harm_is_not_believed)
{
    hpcb_progress_verdict_t verdict;

    begin();
    harm = 0.02;
    pace = 100;
    claimed = -0.5;
    run(120);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    run(600);
    ck_assert(hpcbd_experiment_judge(PRIMARY, &verdict));
    ck_assert_int_eq(verdict.source, HPCB_PROGRESS_RUN_DELAY);
    ck_assert_uint_eq(doubts, 1);
    end();
}
END_TEST

/* Counters cost their threads a little: nobody has them for nothing. */
START_TEST(sensors_go_with_the_primary_and_with_guests)
{
    begin();
    run(20);
    ck_assert(kept);
    registry.count = 1;
    registry.jobs[0] = &guest;
    run(20);
    ck_assert(!kept);
    registry.count = 2;
    registry.jobs[0] = &primary;
    registry.jobs[1] = &guest;
    run(20);
    ck_assert(kept);
    registry.count = 1;
    run(20);
    ck_assert(!kept);
    end();
}
END_TEST

START_TEST(without_its_primary_guests_run)
{
    begin();
    run(400);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    registry.count = 1;
    registry.jobs[0] = &guest;
    run(20);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* The guest on the cores of another primary has nothing to do with it. */
START_TEST(who_is_on_other_cores_runs_on)
{
    begin();
    registry.count = 4;
    run(7200);
    ck_assert_uint_ge(requeues, 1);
    ck_assert_uint_eq(remembered, requeues);
    ck_assert_int_eq(far_worst, HPCB_GUARD_FREE);
    ck_assert_uint_eq(far_requeues, 0);
    end();
}
END_TEST

/* Caches and memory: without those on its cores it is harmed as before. */
START_TEST(who_harms_from_other_cores_is_found)
{
    begin();
    registry.count = 4;
    harm = 0;
    far_harm = HARM;
    run(450);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    ck_assert_int_ge(far_level, HPCB_GUARD_HALF);
    run(7200);
    ck_assert_uint_ge(far_requeues, 1);
    ck_assert_uint_eq(remembered, far_requeues);
    ck_assert_uint_eq(requeues, 0);
    /* Now those that come harm nobody. */
    far_harm = 0;
    run(20000);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    ck_assert_int_eq(far_level, HPCB_GUARD_FREE);
    end();
}
END_TEST

START_TEST(where_no_guest_is_on_its_cores_the_others_are_restricted)
{
    begin();
    registry.jobs[1] = &far;
    far_harm = HARM;
    run(120);
    ck_assert_int_eq(far_level, HPCB_GUARD_HALF);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* Just before the first step: what was found is not about who has come. */
START_TEST(who_comes_is_not_restricted_for_who_was_there)
{
    begin();
    registry.jobs[1] = &far;
    harm = 0;
    far_harm = HARM;
    run(75);
    registry.jobs[1] = &guest;
    run(60);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    ck_assert_int_eq(far_worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

START_TEST(who_comes_later_is_not_restricted_for_who_was_there)
{
    begin();
    run(75);
    registry.count = 1;
    run(20);
    registry.count = 2;
    guest.state.begin_us++;
    guest.guest_since_ns = 0;
    harm = 0;
    run(60);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* An array of tasks of half a minute on the primary's core, each alike. */
static void run_array(unsigned tasks, bool alike)
{
    for (unsigned i = 0; i < tasks; i++) {
        registry.count = 2;
        guest.state.begin_us++;
        guest.guest_since_ns = 0;
        program += !alike;
        run(30);
        registry.count = 1;
        run(5);
    }
}

START_TEST(an_array_is_found_out)
{
    begin();
    program = 77;
    run_array(15, true);
    ck_assert_int_ge(worst, HPCB_GUARD_HALF);
    end();
    /* Each task is another program's: nothing is known of any. */
    begin();
    program = 77;
    run_array(15, false);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    end();
    begin();
    run_array(15, true);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* The pause of the one that was stopped is not its own. */
START_TEST(who_comes_after_a_task_that_was_stopped_is_free)
{
    begin();
    program = 77;
    run(400);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    guest.state.begin_us++;
    guest.guest_since_ns = 0;
    run(15);
    ck_assert_int_eq(level, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* After a long time there is another array, of which nothing is known. */
START_TEST(what_was_found_of_an_array_is_forgotten)
{
    begin();
    program = 77;
    run_array(2, true);
    run(10);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    run(60);
    run_array(1, true);
    ck_assert_int_eq(worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* It harmed until just before the first step, and only the other one runs now. */
START_TEST(who_is_held_answers_for_what_it_did)
{
    begin();
    registry.jobs[2] = &far;
    registry.count = 3;
    run(75);
    held = HPCBD_FREEZE_CRUMBS;
    harm = 0;
    run(30);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    ck_assert_int_eq(far_worst, HPCB_GUARD_FREE);
    end();
}
END_TEST

/* On the cores of one of them only, but that is the same to the guest. */
START_TEST(who_is_restricted_for_two_primaries_waits_for_both)
{
    begin();
    harm = 0.015;
    run(120);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    registry.count = 3;
    other_harm = 0.03;
    run(500);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    ck_assert_uint_eq(freed, 0);
    harm = 0;
    run(600);
    ck_assert_uint_eq(freed, 1);
    ck_assert_int_eq(level, HPCB_GUARD_QUARTER);
    ck_assert_int_eq(worst, HPCB_GUARD_QUARTER);
    end();
}
END_TEST

static uint64_t steps_for(uint32_t job_id)
{
    hpcb_restraint_t counted = hpcb_restraint_unknown;

    hpcbd_tally_add(job_id, HPCB_CLASS_PRIMARY, &counted);
    return counted.steps;
}

/* What it cost the second one before it was restricted for the first one is over. */
START_TEST(what_cures_one_primary_may_cure_another)
{
    begin();
    registry.count = 3;
    hpcbd_tally_forget(PRIMARY);
    hpcbd_tally_forget(OTHER);
    harm = other_harm = 0.018;
    run(500);
    ck_assert_int_eq(level, HPCB_GUARD_HALF);
    ck_assert_uint_eq(steps_for(PRIMARY) + steps_for(OTHER), 1);
    end();
}
END_TEST

/* With all guests stopped for another primary there is nothing to be compared. */
START_TEST(who_is_stopped_for_another_primary_says_nothing)
{
    unsigned before;

    begin();
    registry.count = 3;
    for (int i = 0; i < 90 && level < HPCB_GUARD_STOP; i++)
        run(10);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    before = stops;
    run(200);
    ck_assert_int_eq(level, HPCB_GUARD_STOP);
    ck_assert_uint_eq(stops, before);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_experiment");
    TCase *tc = scratch_case("harm_experiment");

    tcase_add_test(tc, what_guests_cost_is_found);
    tcase_add_test(tc, guests_lose_two_percent_at_most);
    tcase_add_test(tc, without_guests_or_a_limit_nothing_happens);
    tcase_add_test(tc, two_nodes_stop_guests_at_the_same_time);
    tcase_add_test(tc, nodes_with_other_primaries_stop_guests_at_the_same_time);
    tcase_add_test(tc, one_stop_serves_all_primaries);
    tcase_add_test(tc, many_primaries_are_read_in_rotation);
    tcase_add_test(tc, counters_of_few_are_attached_in_a_turn);
    tcase_add_test(tc, next_to_a_boost_guests_stop_and_nothing_is_read);
    tcase_add_test(tc, without_a_clock_to_trust_there_are_no_stops);
    tcase_add_test(tc, who_does_not_have_the_key_does_not_know_the_stops);
    tcase_add_test(tc, the_watchdog_waits_for_the_locks_of_cgroups);
    tcase_add_test(tc, a_clock_that_is_set_while_the_timer_is);
    tcase_add_test(tc, what_comes_late_does_not_count);
    tcase_add_test(tc, a_clock_that_is_set_ends_an_experiment);
    tcase_add_loop_test(tc, what_takes_long_to_be_read_is_not_read_in_parts, 0, 3);
    tcase_add_test(tc, who_comes_or_goes_ends_an_experiment);
    tcase_add_test(tc, who_comes_or_goes_on_other_cores_ends_nothing);
    tcase_add_test(tc, who_comes_and_goes_on_other_cores_hides_nobody);
    tcase_add_test(tc, who_hears_of_its_end_ends_experiments);
    tcase_add_test(tc, who_takes_turns_is_not_compared);
    tcase_add_test(tc, the_record_is_of_the_whole_run);
    tcase_add_test(tc, who_is_stopped_for_another_reason_says_nothing);
    tcase_add_test(tc, who_cannot_be_stopped_or_read_is_left_alone);
    tcase_add_test(tc, who_has_nothing_to_be_stopped_ends_no_experiment);
    tcase_add_test(tc, who_has_no_place_is_idle_unless_it_is_marked_only);
    tcase_add_test(tc, a_requeued_primary_is_another_one);
    tcase_add_test(tc, who_harms_is_restricted_within_two_minutes);
    tcase_add_test(tc, who_does_no_harm_runs);
    tcase_add_test(tc, who_harms_in_a_quarter_of_the_time_goes);
    tcase_add_test(tc, who_comes_to_one_that_cannot_go_is_free);
    tcase_add_test(tc, who_has_come_since_does_not_go);
    tcase_add_test(tc, who_runs_nothing_or_has_no_place_does_not_go);
    tcase_add_test(tc, who_comes_as_another_one_goes_is_free);
    tcase_add_test(tc, without_a_primary_that_wants_cpus_guests_are_free);
    tcase_add_test(tc, the_log_names_guests_and_their_users);
    tcase_add_test(tc, slices_that_cure_harm_leave_guests_alone);
    tcase_add_test(tc, harm_that_slices_do_not_cure_restricts);
    tcase_add_test(tc, iterations_are_the_method_where_there_are_some);
    tcase_add_test(tc, a_page_that_claims_harm_is_bounded);
    tcase_add_test(tc, a_page_that_hides_harm_is_not_believed);
    tcase_add_test(tc, sensors_go_with_the_primary_and_with_guests);
    tcase_add_test(tc, without_its_primary_guests_run);
    tcase_add_test(tc, who_is_on_other_cores_runs_on);
    tcase_add_test(tc, who_harms_from_other_cores_is_found);
    tcase_add_test(tc, where_no_guest_is_on_its_cores_the_others_are_restricted);
    tcase_add_test(tc, who_comes_is_not_restricted_for_who_was_there);
    tcase_add_test(tc, who_comes_later_is_not_restricted_for_who_was_there);
    tcase_add_test(tc, an_array_is_found_out);
    tcase_add_test(tc, who_comes_after_a_task_that_was_stopped_is_free);
    tcase_add_test(tc, what_was_found_of_an_array_is_forgotten);
    tcase_add_test(tc, who_is_held_answers_for_what_it_did);
    tcase_add_test(tc, who_is_restricted_for_two_primaries_waits_for_both);
    tcase_add_test(tc, what_cures_one_primary_may_cure_another);
    tcase_add_test(tc, who_is_stopped_for_another_primary_says_nothing);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
