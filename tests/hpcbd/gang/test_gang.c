/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Jobs that take turns (hpcbd/gang), with a timer, clocks, sensors and an owner of
 * freezing of the test's. */
#include "config.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "common/about.h"
#include "common/tell.h"
#include "common/text.h"
#include "hpcbd/gang/control.h"
#include "hpcbd/gang/decision.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/node/capacity.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define SECOND INT64_C(1000000000)
#define MB     UINT64_C(1000000)
#define WORLD  (HPCB_GANG_JOBS_MAX + 1)
#define JOBS   64 /* of most cases */

static hpcb_loop_fn edge_fn;
static bool has_timer;
static int64_t due_ns; /* of the wall clock; 0: off */
static int64_t wall_ns, monotonic_ns;
static hpcbd_registry_t registry;
static hpcbd_t daemon_of_test;
static int64_t decide_ns;
static bool no_watchdog;
static bool boosted;          /* a job with windows is */
static unsigned looks;        /* at jobs' files */
static unsigned writes;       /* that stopped or started somebody */
static unsigned reads;        /* of sensors or jobs' files, since the last edge */
static unsigned reads_before; /* of them, those before the last write */

static struct {
    hpcbd_job_t job;
    const char *cpus;  /* of its cpuset; "": it has none */
    const char *cores; /* what the job's steps have recorded; NULL: nothing */
    unsigned nodes;
    uint32_t het_job;
    bool frozen, suspended;
    bool has_no_step; /* what is to be stopped will be stopped when it has one */
    bool held;        /* by the guard, in this turn */
    uint64_t mem_rate, net_rate; /* bytes/s while it runs */
    hpcbd_moved_t moved;
} world[WORLD];

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)arg;
    (void)err;
    ck_assert_int_eq(clock, CLOCK_REALTIME);
    edge_fn = fn;
    has_timer = true;
    return (hpcb_source_t *)&edge_fn;
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    ck_assert_uint_eq(interval_ns, 0);
    due_ns = first_ns ? wall_ns + (int64_t)first_ns : 0;
    return 0;
}

static int64_t step_ns;     /* of the clock, while the timer is set … */
static unsigned steps_left; /* … so often */

int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns)
{
    (void)timer;
    if (steps_left) {
        steps_left--;
        wall_ns += step_ns;
    }
    ck_assert_uint_eq(interval_ns, 0);
    due_ns = (int64_t)at_ns;
    return 0;
}

void hpcb_source_remove(hpcb_source_t *source)
{
    (void)source;
    has_timer = false;
    due_ns = 0;
}

const hpcbd_registry_t *hpcbd_window_registry(void)
{
    return &registry;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *all, uint32_t job_id)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->jobs[i]->state.job_id == job_id)
            return all->jobs[i];
    return NULL;
}

bool hpcbd_window_must_wait(void)
{
    return boosted;
}

bool hpcbd_window_stop_guest(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_GANG);
    if (no_watchdog)
        return false;
    ck_assert_int_gt(decide_ns, monotonic_ns);
    writes += !world[job_id].frozen;
    reads_before = world[job_id].frozen ? reads_before : reads;
    world[job_id].frozen = true;
    return !world[job_id].has_no_step;
}

void hpcbd_window_let_guest_go(uint32_t job_id, hpcbd_freeze_reason_t reason)
{
    ck_assert_int_eq(reason, HPCBD_FREEZE_GANG);
    writes += world[job_id].frozen;
    reads_before = world[job_id].frozen ? reads : reads_before;
    world[job_id].frozen = false;
}

bool hpcbd_restrain_holds(const hpcbd_job_t *job)
{
    return world[job->state.job_id].held;
}

void hpcbd_window_decide_by(hpcbd_watchdog_deadline_t which, int64_t end_ns)
{
    ck_assert_int_eq(which, HPCBD_WATCHDOG_GANG);
    decide_ns = end_ns;
}

bool hpcbd_sense_read(uint32_t job_id, hpcbd_moved_t *moved)
{
    *moved = world[job_id].moved;
    reads++;
    return true;
}

static hpcbd_capacity_t measured; /* by the node itself */

void hpcbd_capacity_load(const char *state_dir, hpcbd_capacity_t *capacity)
{
    (void)state_dir;
    *capacity = measured;
}

static uint64_t elected_us[JOBS]; /* what a job's record keeps */

void hpcbd_sense_elected(uint32_t job_id, uint64_t begin_us, uint64_t us)
{
    ck_assert_uint_ge(begin_us, 1);
    elected_us[job_id % JOBS] += us;
}

static bool has_peers;
static int64_t offset_of_peers_ns;
static int clock_status;

bool hpcbd_peers_offset(int64_t *offset_ns)
{
    *offset_ns = offset_of_peers_ns;
    return has_peers;
}

int __wrap_adjtimex(struct timex *state);
int __wrap_adjtimex(struct timex *state)
{
    state->status = clock_status;
    return clock_status & STA_UNSYNC ? TIME_ERROR : TIME_OK;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int64_t ns = clock == CLOCK_REALTIME ? wall_ns : monotonic_ns;

    *now = (struct timespec){ns / SECOND, ns % SECOND};
    return 0;
}

/* Directories are "/N" here. */
int __wrap_hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);
int __wrap_hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus)
{
    const char *list = world[atoi(dir + 1)].cpus;

    (void)node;
    return *list ? hpcb_cpus_parse(list, cpus) : -1;
}

int __wrap_hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                                 size_t size, hpcb_error_t *err);
int __wrap_hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                                 size_t size, hpcb_error_t *err)
{
    (void)state_dir;
    (void)err;
    return world[job_id].cores ? hpcb_text_copy(cores, size, world[job_id].cores) : -1;
}

bool __wrap_hpcb_freeze_by_slurm(const hpcb_node_t *node, const char *dir);
bool __wrap_hpcb_freeze_by_slurm(const hpcb_node_t *node, const char *dir)
{
    (void)node;
    looks++;
    reads++;
    return world[atoi(dir + 1)].suspended;
}

static void add_job(uint32_t job_id, hpcb_class_t klass, const char *cpus)
{
    hpcbd_job_t *job = &world[job_id].job;

    *job = (hpcbd_job_t){
        .state = {
            .job_id = job_id, .uid = 1000 + job_id, .klass = klass, .begin_us = 1}};
    snprintf(job->dir, sizeof(job->dir), "/%u", job_id);
    strcpy(job->state.partition, klass == HPCB_CLASS_GUEST ? "guest" : "mixed");
    world[job_id].cpus = cpus;
    world[job_id].moved.mem_known = world[job_id].moved.net_known = true;
    registry.jobs[registry.count++] = job;
}

/* Time passes until the timer comes. */
static void pass(void)
{
    int64_t passed_ns = due_ns - wall_ns;

    ck_assert_int_gt(due_ns, wall_ns);
    for (unsigned i = 0; i < WORLD; i++) {
        if (world[i].frozen || world[i].suspended)
            continue;
        world[i].moved.mem += world[i].mem_rate * (uint64_t)(passed_ns / 1000) / MB;
        world[i].moved.net += world[i].net_rate * (uint64_t)(passed_ns / 1000) / MB;
    }
    monotonic_ns += passed_ns;
    wall_ns = due_ns;
    due_ns = 0;
    reads = reads_before = 0;
    edge_fn(NULL, 1);
}

/* Who runs of those in the registry, as bits 1 << job_id. */
static unsigned running(void)
{
    unsigned who = 0;

    for (size_t i = 0; i < registry.count; i++) {
        uint32_t job_id = registry.jobs[i]->state.job_id;

        who |= world[job_id].frozen ? 0 : 1U << job_id;
    }
    return who;
}

static void begin(unsigned oversubscribe, const char *partitions)
{
    hpcb_conf_t *conf = &daemon_of_test.conf;
    hpcb_error_t err;

    memset(world, 0, sizeof(world));
    registry.count = 0;
    wall_ns = 1700000000 * SECOND + 123456789;
    monotonic_ns = 5 * SECOND;
    no_watchdog = has_timer = boosted = has_peers = false;
    clock_status = 0;
    measured = (hpcbd_capacity_t){1000 * MB, 100 * MB};
    memset(elected_us, 0, sizeof(elected_us));
    hpcb_conf_defaults(conf);
    conf->guest_oversubscribe = oversubscribe;
    strcpy(conf->gang_partitions, partitions);
    ck_assert_msg(hpcbd_gang.start(&daemon_of_test, &err) == 0, "%s", err.text);
}

static void end(void)
{
    hpcbd_gang.stop(&daemon_of_test);
    for (unsigned i = 0; i < WORLD; i++)
        ck_assert(!world[i].frozen);
    ck_assert_int_eq(decide_ns, 0);
    ck_assert(!has_timer);
}

static int64_t number(json_object *object, const char *key)
{
    json_object *value;

    ck_assert_msg(json_object_object_get_ex(object, key, &value), "%s", key);
    return json_object_get_int64(value);
}

/* How large a part may be that has all of a decision. */
#define WHOLE (1U << 20)

/* The next decision, *at of hpcbd_decisions_part; NULL: there are no more. */
static json_object *next_decision(size_t *at)
{
    return hpcbd_decisions_part(hpcbd_gang_decisions(), at, WHOLE);
}

/* The oldest is 0. */
static json_object *decision_at(unsigned i)
{
    size_t at = 0;

    while (i-- > 0)
        json_object_put(next_decision(&at));
    return next_decision(&at);
}

static int item(size_t i, uid_t uid, char *text, size_t size)
{
    return hpcbd_gang_item(&i, uid, text, size);
}

START_TEST(nothing_where_no_gang_is_configured)
{
    begin(1, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    ck_assert(!has_timer);
    hpcbd_gang_job(1);
    ck_assert(!has_timer);
    ck_assert_ptr_null(hpcbd_gang_member(1));
    end();
}
END_TEST

START_TEST(those_run_together_that_fit)
{
    begin(2, "none");
    for (uint32_t i = 1; i <= 4; i++)
        add_job(i, HPCB_CLASS_GUEST, i % 2 ? "0" : "1");
    world[1].mem_rate = world[2].mem_rate = 900 * MB;
    world[3].mem_rate = world[4].mem_rate = 50 * MB;
    pass();
    for (unsigned i = 0; i < 8; i++)
        pass();
    for (unsigned i = 0; i < 8; i++) {
        pass();
        ck_assert(running() == (1U << 1 | 1U << 4) || running() == (1U << 2 | 1U << 3));
        ck_assert_int_eq(wall_ns % (SECOND / 2), 0);
        ck_assert_int_gt(decide_ns, monotonic_ns + SECOND / 2);
    }
    ck_assert_uint_eq(hpcbd_gang_member(1)->policy.samples[0].cpu, 900 * MB);
    end();
}
END_TEST

START_TEST(each_class_and_only_gang_partitions)
{
    begin(1, "mixed");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    add_job(2, HPCB_CLASS_PRIMARY, "0");
    add_job(3, HPCB_CLASS_PRIMARY, "0");
    strcpy(world[3].job.state.partition, "other");
    add_job(4, HPCB_CLASS_GUEST, "0");
    pass();
    ck_assert(world[1].job.gang && !world[3].job.gang && !world[4].job.gang);
    for (unsigned i = 0; i < 4; i++) {
        pass();
        ck_assert_uint_eq(running(), 1U << (i % 2 ? 1 : 2) | 1U << 3 | 1U << 4);
    }
    end();
}
END_TEST

START_TEST(alone_it_runs_and_costs_nothing)
{
    uint64_t us = 0;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "1");
    pass();
    writes = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t before_ns = wall_ns;

        pass();
        ck_assert_int_eq(wall_ns - before_ns, 5 * SECOND);
        ck_assert_int_eq(decide_ns, 0);
    }
    ck_assert_uint_eq(writes, 0);
    ck_assert(hpcbd_gang_elected(1, &us));
    ck_assert_uint_eq(us, 20000000);
    ck_assert(!hpcbd_gang_switches(1));
    /* Another comes: soon, not after 5 s. */
    add_job(3, HPCB_CLASS_GUEST, "1");
    hpcbd_gang_job(3);
    hpcbd_gang_job(3);
    ck_assert_int_le(due_ns, wall_ns + SECOND / 4);
    pass();
    ck_assert_uint_ne(running(), 1U << 1 | 1U << 2 | 1U << 3);
    ck_assert(hpcbd_gang_switches(1) && hpcbd_gang_switches(3));
    ck_assert(!hpcbd_gang_switches(4));
    end();
}
END_TEST

START_TEST(time_elected_is_counted)
{
    uint64_t first = 0, second = 0;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    for (unsigned i = 0; i < 21; i++)
        pass();
    ck_assert(hpcbd_gang_elected(1, &first) && hpcbd_gang_elected(2, &second));
    ck_assert_uint_ge(first, 5000000);
    ck_assert_uint_ge(second, 5000000);
    ck_assert_uint_le(first + second, 11000000);
    ck_assert(!hpcbd_gang_elected(3, &first));
    end();
}
END_TEST

/* Of several sets and jobs: who is stopped, or set going, waits for no file. */
START_TEST(at_an_edge_jobs_switch_before_anything_is_read)
{
    unsigned after = 0;

    begin(2, "mixed");
    for (uint32_t i = 1; i <= 8; i++)
        add_job(i, i % 2 ? HPCB_CLASS_GUEST : HPCB_CLASS_PRIMARY, "0");
    for (unsigned i = 0; i < 4; i++)
        pass();
    for (unsigned i = 0; i < 20; i++) {
        writes = 0;
        pass();
        ck_assert_uint_gt(writes, 0);
        ck_assert_uint_eq(reads_before, 0);
        after += reads;
    }
    ck_assert_uint_gt(after, 20);
    end();
}
END_TEST

/* Elections rest on what is measured of all. */
START_TEST(a_bandwidth_that_is_not_measured_counts_for_nobody)
{
    json_object *decision;

    begin(2, "none");
    for (uint32_t i = 1; i <= 4; i++)
        add_job(i, HPCB_CLASS_GUEST, i % 2 ? "0" : "1");
    for (uint32_t i = 1; i <= 4; i++)
        world[i].moved.mem_known = false;
    world[1].net_rate = world[2].net_rate = 90 * MB;
    measured.mem = 20000 * MB;
    for (unsigned i = 0; i < 12; i++)
        pass();
    for (unsigned i = 0; i < 8; i++) {
        pass();
        ck_assert(running() == (1U << 1 | 1U << 4) || running() == (1U << 2 | 1U << 3));
    }
    decision = decision_at(16);
    ck_assert_int_eq(number(decision, "mem"), 0);
    ck_assert_int_eq(number(decision, "net"), 100000000);
    json_object_put(decision);
    end();
}
END_TEST

/* A node measures itself when it is idle, which may be days after hpcbd began. */
START_TEST(what_the_node_can_move_is_read_again)
{
    hpcbd_gang_stats_t stats;

    measured = (hpcbd_capacity_t){0, 0};
    begin(2, "none");
    measured = (hpcbd_capacity_t){0, 0};
    hpcbd_gang.reload(&daemon_of_test);
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    for (unsigned i = 0; i < 4; i++)
        pass();
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.capacity.mem, 0);
    measured = (hpcbd_capacity_t){2000 * MB, 0};
    for (unsigned i = 0; i < 4; i++)
        pass();
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.capacity.mem, 2000 * MB);
    ck_assert_uint_eq(stats.capacity.net, 0);
    end();
}
END_TEST

/* hpc-balance.conf's word counts for more, and its last one most. */
START_TEST(what_the_configuration_says_of_the_node_counts)
{
    char node[HPCB_NAME_MAX], text[2 * HPCB_NAME_MAX + 160];
    hpcbd_gang_stats_t stats;

    snprintf(text, sizeof(text),
             "NodeName=ALL MemBandwidth=7\nNodeName=other,%s MemBandwidth=5G\n"
             "NodeName=other NetBandwidth=9\n",
             hpcb_node_name(node, sizeof(node)));
    put_file(scratch("conf"), text);
    snprintf(daemon_of_test.conf_path, sizeof(daemon_of_test.conf_path), "%s",
             scratch("conf"));
    begin(2, "none");
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.capacity.mem, UINT64_C(5) << 30);
    ck_assert_uint_eq(stats.capacity.net, 100 * MB);
    measured.net = 3;
    for (unsigned i = 0; i < 2; i++)
        pass();
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.capacity.mem, UINT64_C(5) << 30);
    ck_assert_uint_eq(stats.capacity.net, 3);
    end();
    daemon_of_test.conf_path[0] = '\0';
}
END_TEST

START_TEST(components_own_quanta_together)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    world[2].nodes = 1;
    world[2].het_job = 1;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert(hpcbd_gang_member(2)->policy.wide);
    ck_assert_uint_eq(hpcbd_gang_member(2)->policy.of_job, 1);
    end();
}
END_TEST

/* It leaves, or all do; its record says so. */
START_TEST(time_elected_is_kept_for_who_goes)
{
    uint64_t us = 0;

    begin(1, "mixed");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    add_job(2, HPCB_CLASS_PRIMARY, "0");
    for (unsigned i = 0; i < 12; i++)
        pass();
    ck_assert(hpcbd_gang_elected(1, &us));
    ck_assert_ptr_null(hpcbd_gang_ask_leave(1, 0));
    pass();
    ck_assert_uint_ge(elected_us[1], us);
    ck_assert_uint_gt(elected_us[1], 2000000);
    ck_assert_uint_eq(elected_us[2], 0);
    strcpy(daemon_of_test.conf.gang_partitions, "none");
    hpcbd_gang.reload(&daemon_of_test);
    ck_assert_uint_gt(elected_us[2], 2000000);
    end();
}
END_TEST

/* Half a second after, the watchdog lets all go: two after the last decision. */
START_TEST(a_daemon_that_hangs_keeps_nobody)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_int_le(decide_ns + HPCBD_WATCHDOG_GRACE_NS, monotonic_ns + 2 * SECOND);
    end();
}
END_TEST

static const char *said_of_clock(void)
{
    static char text[HPCB_TELL_MAX];
    const char *found;

    ck_assert_int_gt(hpcbd_gang_end(hpcbd_gang_items(), text, sizeof(text)), 0);
    found = strstr(text, "\"clock\"");
    return found ? found : "";
}

START_TEST(a_clock_that_may_be_wrong_is_told_of)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    clock_status = STA_UNSYNC;
    for (unsigned i = 0; i < 6; i++)
        pass();
    ck_assert_str_eq(said_of_clock(), "");
    world[1].nodes = 2;
    for (unsigned i = 0; i < 8; i++)
        pass();
    ck_assert_ptr_nonnull(strstr(said_of_clock(), "adjtimex"));
    /* Peers know better. */
    has_peers = true;
    offset_of_peers_ns = 49 * MB;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_str_eq(said_of_clock(), "");
    offset_of_peers_ns = 51 * MB;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_ptr_nonnull(strstr(said_of_clock(), "behind"));
    offset_of_peers_ns = -300 * MB;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_ptr_nonnull(strstr(said_of_clock(), "ahead of"));
    has_peers = false;
    clock_status = 0;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_str_eq(said_of_clock(), "");
    end();
}
END_TEST

/* Its first task would be stopped for ever otherwise. */
START_TEST(who_had_no_step_when_it_was_stopped_is_let_go)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    world[1].has_no_step = true;
    do
        pass();
    while (!world[1].frozen);
    registry.count = 1;
    pass();
    ck_assert_uint_eq(running(), 1U << 1);
    end();
}
END_TEST

/* The prolog may write it after the first step has begun. */
START_TEST(nodes_that_are_known_late_count)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    ck_assert(!hpcbd_gang_member(1)->policy.wide);
    world[1].nodes = 2;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert(hpcbd_gang_member(1)->policy.wide);
    ck_assert(!hpcbd_gang_member(2)->policy.wide);
    end();
}
END_TEST

START_TEST(who_is_stopped_for_harm_takes_no_turns)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    world[1].held = true;
    pass();
    for (unsigned i = 0; i < 4; i++) {
        pass();
        ck_assert(!world[2].frozen);
    }
    world[1].held = false;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_uint_gt(hpcbd_gang_member(1)->policy.turns, 0);
    end();
}
END_TEST

/* At half of the time the guard's turns are as long as a quantum: what it has in the
 * turn that ends says nothing of the one that begins. */
START_TEST(who_is_restricted_to_half_has_the_other_half)
{
    unsigned ran = 0;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    for (unsigned i = 0; i < 4; i++)
        pass();
    for (unsigned i = 0; i < 20; i++) {
        world[1].held = i % 2;
        pass();
        ck_assert(!world[1].held || !(running() & 1U << 1));
        ran += (running() & 1U << 1) != 0;
    }
    ck_assert_uint_ge(ran, 8);
    end();
}
END_TEST

START_TEST(slurm_suspends_and_owners_pause)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    world[1].suspended = true;
    pass();
    pass();
    pass();
    for (unsigned i = 0; i < 4; i++) {
        pass();
        ck_assert_uint_eq(running(), 1U << 2);
    }
    world[1].suspended = false;
    for (unsigned i = 0; i < 4; i++)
        pass();
    ck_assert_uint_gt(hpcbd_gang_member(1)->policy.turns, 0);

    ck_assert_ptr_nonnull(hpcbd_gang_ask_pause(1, 1002, true));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_pause(0, 1001, true));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_pause(9, 0, true));
    ck_assert_ptr_null(hpcbd_gang_ask_pause(1, 1001, true));
    for (unsigned i = 0; i < 4; i++) {
        pass();
        ck_assert_uint_eq(running(), 1U << 2);
    }
    ck_assert_ptr_null(hpcbd_gang_ask_pause(1, 0, false));
    ck_assert_ptr_null(hpcbd_gang_ask_pause(0, 0, true));
    pass();
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2);
    ck_assert_int_eq(decide_ns, 0);
    ck_assert_ptr_null(hpcbd_gang_ask_pause(0, 0, false));
    pass();
    ck_assert(running() == 1U << 1 || running() == 1U << 2);
    end();
}
END_TEST

/* Nobody gains by it: a user's job may leave only what it has joined. */
START_TEST(jobs_join_and_leave)
{
    char text[HPCB_TELL_MAX];

    begin(1, "mixed");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    add_job(2, HPCB_CLASS_PRIMARY, "0");
    strcpy(world[2].job.state.partition, "other");
    pass();
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2);
    ck_assert_ptr_nonnull(hpcbd_gang_ask_join(2, 1001));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_join(9, 0));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_leave(2, 1002));
    ck_assert_ptr_null(hpcbd_gang_ask_join(2, 1002));
    pass();
    ck_assert(world[2].job.gang);
    ck_assert(running() == 1U << 1 || running() == 1U << 2);
    ck_assert_int_gt(item(1, 1002, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"joined\":true"));
    ck_assert_int_gt(item(0, 1001, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"joined\":false"));
    ck_assert_ptr_null(hpcbd_gang_ask_leave(2, 1002));
    pass();
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2);
    ck_assert(!world[2].job.gang);
    ck_assert_int_eq(item(1, 1002, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(hpcbd_gang_ask_leave(2, 0));
    /* One that does by its partition. */
    ck_assert_ptr_null(hpcbd_gang_ask_join(2, 0));
    ck_assert_ptr_null(hpcbd_gang_ask_join(1, 1001));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_leave(1, 1001));
    ck_assert_ptr_null(hpcbd_gang_ask_leave(1, 0));
    pass();
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2);
    ck_assert_int_gt(item(0, 1001, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"left\""));
    ck_assert_int_eq(item(0, 1002, text, sizeof(text)), 0);
    ck_assert_ptr_null(hpcbd_gang_ask_join(1, 1001));
    pass();
    ck_assert(running() == 1U << 1 || running() == 1U << 2);
    end();
    begin(1, "none");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    ck_assert_ptr_nonnull(hpcbd_gang_ask_join(1, 0));
    end();
}
END_TEST

/* Its partition takes turns by now: it does so too when it leaves what it joined. */
START_TEST(nobody_leaves_a_partition_by_having_joined)
{
    begin(1, "mixed");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    add_job(2, HPCB_CLASS_PRIMARY, "0");
    strcpy(world[2].job.state.partition, "other");
    ck_assert_ptr_null(hpcbd_gang_ask_join(2, 1002));
    pass();
    strcpy(daemon_of_test.conf.gang_partitions, "mixed,other");
    hpcbd_gang.reload(&daemon_of_test);
    ck_assert_ptr_null(hpcbd_gang_ask_leave(2, 1002));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_leave(2, 1002));
    pass();
    ck_assert(world[2].job.gang);
    ck_assert(running() == 1U << 1 || running() == 1U << 2);
    ck_assert_ptr_null(hpcbd_gang_ask_leave(2, 0));
    pass();
    ck_assert(!world[2].job.gang);
    end();
}
END_TEST

/* An election measures all that take turns; users have few. */
START_TEST(what_users_ask_for_brings_few_elections)
{
    const int64_t soon_ns = SECOND / 5;
    int64_t rest_ns;

    begin(1, "mixed");
    add_job(1, HPCB_CLASS_PRIMARY, "0");
    add_job(2, HPCB_CLASS_PRIMARY, "1");
    strcpy(world[2].job.state.partition, "other");
    pass();
    pass();
    rest_ns = due_ns;
    ck_assert_int_ge(rest_ns, wall_ns + SECOND);
    ck_assert_ptr_null(hpcbd_gang_ask_join(1, 1001));
    ck_assert_ptr_null(hpcbd_gang_ask_pause(1, 1001, false));
    ck_assert_int_eq(due_ns, rest_ns);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_ptr_null(hpcbd_gang_ask_join(2, 1002));
        ck_assert_ptr_null(hpcbd_gang_ask_leave(2, 1002));
        ck_assert_int_eq(due_ns, wall_ns + soon_ns);
        pass();
    }
    ck_assert_ptr_null(hpcbd_gang_ask_pause(1, 1001, true));
    ck_assert_int_eq(due_ns, wall_ns + soon_ns);
    end();
}
END_TEST

START_TEST(root_sets_quantum_and_window)
{
    hpcbd_gang_stats_t stats;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set(NULL, 100000, 3, 1001));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set(NULL, 49999, 3, 0));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set(NULL, 0, 17, 0));
    ck_assert_ptr_null(hpcbd_gang_ask_set(NULL, 100000, 0, 0));
    ck_assert_ptr_null(hpcbd_gang_ask_set(NULL, 0, 3, 0));
    pass();
    pass();
    ck_assert_int_eq(due_ns - wall_ns, SECOND / 10);
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.turn.quantum_us, 100000);
    ck_assert_uint_eq(stats.turn.window, 3);
    hpcbd_gang.reload(&daemon_of_test);
    hpcbd_gang_stats(&stats);
    ck_assert_uint_eq(stats.turn.quantum_us, 500000);
    daemon_of_test.conf.guest_oversubscribe = 1;
    hpcbd_gang.reload(&daemon_of_test);
    ck_assert(!has_timer);
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2);
    ck_assert(!world[1].job.gang);
    end();
}
END_TEST

/* Who runs changes at edges of its own partition's quanta. */
START_TEST(a_partition_has_its_own_turns)
{
    char text[HPCB_TELL_MAX];
    unsigned was[2], changes[2] = {0};

    begin(2, "mixed,others");
    for (uint32_t i = 1; i <= 4; i++)
        add_job(i, i < 3 ? HPCB_CLASS_PRIMARY : HPCB_CLASS_GUEST, "0");
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set("nowhere", 200000, 0, 0));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set("mixed", 200000, 0, 1001));
    ck_assert_ptr_null(hpcbd_gang_ask_set("mixed", 200000, 5, 0));
    ck_assert_ptr_null(hpcbd_gang_ask_set("others", 300000, 7, 0));
    pass();
    pass();
    for (int64_t end_ns = wall_ns + 10 * SECOND; wall_ns < end_ns;) {
        for (unsigned i = 0; i < 2; i++)
            was[i] = running() & (i ? 1U << 3 | 1U << 4 : 1U << 1 | 1U << 2);
        pass();
        for (unsigned i = 0; i < 2; i++)
            changes[i] +=
                was[i] != (running() & (i ? 1U << 3 | 1U << 4 : 1U << 1 | 1U << 2));
        ck_assert_int_gt(decide_ns, monotonic_ns);
    }
    ck_assert_uint_ge(changes[0], 49);
    ck_assert_uint_le(changes[0], 51);
    ck_assert_uint_ge(changes[1], 19);
    ck_assert_uint_le(changes[1], 21);
    ck_assert_int_gt(item(0, 0, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"quantum_seconds\":0.2"));
    ck_assert_ptr_nonnull(strstr(text, "\"window\":5,"));
    ck_assert_int_gt(item(2, 0, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"quantum_seconds\":0.5"));
    /* Of all is also of this one. */
    ck_assert_ptr_null(hpcbd_gang_ask_set(NULL, 1000000, 0, 0));
    pass();
    ck_assert_uint_eq(hpcbd_gang_turn(1).quantum_us, 1000000);
    ck_assert_uint_eq(hpcbd_gang_turn(1).window, 5);
    ck_assert_uint_eq(hpcbd_gang_turn(3).window, 2);
    end();
}
END_TEST

/* Jobs that elect together have the same quanta: no partition's own are others'. */
START_TEST(partitions_that_meet_have_no_turns_of_their_own)
{
    begin(1, "mixed,others");
    for (uint32_t i = 1; i <= 3; i++)
        add_job(i, HPCB_CLASS_PRIMARY, "0");
    strcpy(world[3].job.state.partition, "elsewhere");
    ck_assert_ptr_null(hpcbd_gang_ask_join(3, 1003));
    pass();
    /* Who has joined takes what it gets. */
    ck_assert_ptr_null(hpcbd_gang_ask_set("mixed", 200000, 0, 0));
    pass();
    ck_assert_uint_eq(hpcbd_gang_turn(1).quantum_us, 200000);
    ck_assert_uint_eq(hpcbd_gang_turn(3).quantum_us, 200000);
    strcpy(world[2].job.state.partition, "others");
    pass();
    ck_assert_uint_eq(hpcbd_gang_turn(1).quantum_us, 500000);
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set("mixed", 300000, 0, 0));
    ck_assert_ptr_nonnull(hpcbd_gang_ask_set("others", 300000, 0, 0));
    registry.count = 1;
    ck_assert_ptr_null(hpcbd_gang_ask_set("others", 300000, 0, 0));
    pass();
    ck_assert_uint_eq(hpcbd_gang_turn(1).quantum_us, 200000);
    end();
}
END_TEST

START_TEST(only_so_many_partitions_have_their_own)
{
    hpcbd_tuning_t tuning = {.count = 0};
    const hpcbd_turn_t turn = {100000, 0};
    char name[16];

    for (unsigned i = 0; i < HPCBD_TUNED_MAX; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        ck_assert(hpcbd_tuning_set(&tuning, name, &turn));
    }
    ck_assert(!hpcbd_tuning_set(&tuning, "one more", &turn));
    ck_assert(hpcbd_tuning_set(&tuning, "p3", &turn));
    ck_assert_uint_eq(tuning.count, HPCBD_TUNED_MAX);
}
END_TEST

START_TEST(a_clock_that_is_set_is_no_edge)
{
    unsigned who;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    pass();
    who = running();
    wall_ns -= 3600 * SECOND;
    edge_fn(NULL, 0);
    ck_assert_uint_eq(running(), who);
    ck_assert_int_le(due_ns - wall_ns, SECOND / 2);
    pass();
    ck_assert_uint_ne(running(), who);
    end();
}
END_TEST

/* Between our look at the clock and the timer's start: the kernel says nothing. */
START_TEST(a_clock_that_is_set_behind_our_back_is_found_out)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    step_ns = -(3600 * SECOND + 1234567);
    steps_left = _i ? 1000 : 1;
    for (unsigned i = 0; i < 5; i++) {
        pass();
        ck_assert_int_gt(due_ns, wall_ns);
        ck_assert_int_le(due_ns - wall_ns, SECOND / 2);
        ck_assert(running() == 1U << 1 || running() == 1U << 2);
    }
    steps_left = 0;
    end();
}
END_TEST

/* For longer than a quantum: nobody runs on for it, and the watchdog sees decisions. */
START_TEST(a_clock_that_is_set_all_the_time_stops_nothing)
{
    unsigned who, changes = 0;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    pass();
    who = running();
    for (unsigned i = 0; i < 40; i++) {
        monotonic_ns += SECOND / 5;
        edge_fn(NULL, 0);
        ck_assert_int_gt(decide_ns, monotonic_ns);
        ck_assert_int_gt(due_ns, wall_ns);
        ck_assert_int_le(due_ns - wall_ns, SECOND / 2);
        changes += running() != who;
        who = running();
    }
    ck_assert_uint_ge(changes, 10);
    ck_assert_uint_le(changes, 16);
    end();
}
END_TEST

/* The next edge would be nearly two quanta after the last. */
START_TEST(after_a_step_no_turn_is_longer)
{
    unsigned who;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    ck_assert_ptr_null(hpcbd_gang_ask_set(NULL, 10000000, 0, 0));
    do
        pass();
    while (wall_ns % (10 * SECOND) != 0);
    who = running();
    monotonic_ns += 9 * SECOND;
    wall_ns += 9 * SECOND - 8900 * (SECOND / 1000);
    edge_fn(NULL, 0);
    ck_assert_uint_eq(running(), who);
    ck_assert_int_eq(due_ns - wall_ns, SECOND);
    ck_assert_int_gt(decide_ns, monotonic_ns + SECOND);
    pass();
    ck_assert_uint_ne(running(), who);
    who = running();
    while (wall_ns % (10 * SECOND) != 0) {
        ck_assert_uint_eq(running(), who);
        pass();
    }
    ck_assert_uint_ne(running(), who);
    end();
}
END_TEST

START_TEST(who_cannot_be_stopped_runs)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    add_job(3, HPCB_CLASS_GUEST, "");
    no_watchdog = true;
    pass();
    pass();
    ck_assert_uint_eq(running(), 1U << 1 | 1U << 2 | 1U << 3);
    no_watchdog = false;
    pass();
    ck_assert(running() == (1U << 1 | 1U << 3) || running() == (1U << 2 | 1U << 3));
    end();
}
END_TEST

/* ConstrainCores=no: what Slurm has allocated, never what tasks are bound to. */
START_TEST(without_a_cpuset_allocated_cores_count)
{
    begin(2, "none");
    for (uint32_t i = 1; i <= 3; i++)
        add_job(i, HPCB_CLASS_GUEST, "");
    world[1].cores = "0";
    world[2].cores = "0-1";
    world[3].cores = "2";
    pass();
    for (unsigned i = 0; i < 4; i++) {
        pass();
        ck_assert(running() == (1U << 1 | 1U << 3) || running() == (1U << 2 | 1U << 3));
    }
    ck_assert_uint_eq(hpcb_cpus_count(&hpcbd_gang_member(2)->policy.cpus), 2);
    end();
}
END_TEST

/* The job that goes is set going; one that is requeued is another. */
START_TEST(jobs_go)
{
    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    pass();
    ck_assert(world[1].frozen || world[2].frozen);
    registry.count = 1;
    pass();
    ck_assert(!world[1].frozen && !world[2].frozen);
    ck_assert_ptr_null(hpcbd_gang_member(2));
    world[1].job.state.begin_us = 2;
    pass();
    ck_assert_uint_eq(hpcbd_gang_member(1)->begin_us, 2);
    end();
}
END_TEST

/* At once, though no place is free but that of its run before. */
START_TEST(a_requeued_job_takes_its_own_place)
{
    begin(2, "none");
    for (uint32_t id = 1; id <= HPCB_GANG_JOBS_MAX; id++)
        add_job(id, HPCB_CLASS_GUEST, "0");
    pass();
    ck_assert_ptr_nonnull(hpcbd_gang_member(HPCB_GANG_JOBS_MAX));
    world[1].job.state.begin_us = 2;
    pass();
    ck_assert_ptr_nonnull(hpcbd_gang_member(1));
    ck_assert_uint_eq(hpcbd_gang_member(1)->begin_us, 2);
    end();
}
END_TEST

/* ---- what is said ---- */

static const char *word(json_object *object, const char *key)
{
    json_object *value;

    ck_assert_msg(json_object_object_get_ex(object, key, &value), "%s", key);
    return json_object_get_string(value);
}

static void read_job(json_object *from, hpcb_gang_job_t *job, bool *elected)
{
    json_object *samples = json_object_object_get(from, "samples");

    *job = (hpcb_gang_job_t){.job_id = (uint32_t)number(from, "job"),
                             .of_job = (uint32_t)number(from, "of_job"),
                             .paused = number(from, "paused"),
                             .wide = number(from, "wide"),
                             .waited = (uint32_t)number(from, "waited")};
    ck_assert_int_eq(hpcb_cpus_parse(word(from, "cpus"), &job->cpus), 0);
    for (size_t i = json_object_array_length(samples); i-- > 0;) {
        json_object *pair = json_object_array_get_idx(samples, i);

        hpcb_gang_sample(
            job,
            &(hpcb_fit_sample_t){
                (uint64_t)json_object_get_int64(json_object_array_get_idx(pair, 0)),
                (uint64_t)json_object_get_int64(json_object_array_get_idx(pair, 1))});
    }
    *elected = number(from, "elected");
}

/* The policy, given what the decision rested on, decides the same.  Frees it. */
static void replay(json_object *decision)
{
    json_object *jobs = json_object_object_get(decision, "jobs");
    hpcb_gang_t gang = {.window = (unsigned)number(decision, "window")};
    hpcb_bw_t capacity = {(uint64_t)number(decision, "mem"),
                          (uint64_t)number(decision, "net")};
    hpcb_gang_job_t list[JOBS];
    bool elected[JOBS] = {false}, run[HPCB_GANG_JOBS_MAX];

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        read_job(json_object_array_get_idx(jobs, i), &list[i], &elected[i]);
        hpcb_gang_add(&gang, &list[i]);
    }
    ck_assert_uint_gt(gang.count, 1);
    hpcb_gang_select(&gang, &capacity, (uint64_t)number(decision, "quantum"), run);
    for (size_t i = 0; i < gang.count; i++)
        ck_assert(run[i] == elected[i]);
    json_object_put(decision);
}

int __wrap_hpcb_about_load(const char *state_dir, uint32_t job_id, hpcb_about_t *about,
                           hpcb_error_t *err);
int __wrap_hpcb_about_load(const char *state_dir, uint32_t job_id, hpcb_about_t *about,
                           hpcb_error_t *err)
{
    (void)state_dir;
    (void)err;
    *about =
        (hpcb_about_t){.nodes = world[job_id].nodes, .het_job = world[job_id].het_job};
    return 0;
}

/* Files of a few at a time, until all have been looked at. */
START_TEST(a_look_goes_on_where_it_ended)
{
    unsigned most = 0, passes;

    begin(2, "none");
    for (uint32_t i = 1; i < 30; i++)
        add_job(i, HPCB_CLASS_GUEST, "");
    for (uint32_t i = 30; i < JOBS; i++)
        add_job(i, HPCB_CLASS_GUEST, i % 2 ? "0" : "1");
    for (passes = 0; passes < 12; passes++) {
        looks = 0;
        pass();
        most = looks > most ? looks : most;
    }
    ck_assert_uint_le(most, 8);
    for (uint32_t i = 30; i < JOBS; i++)
        ck_assert(hpcbd_member_has_cpus(hpcbd_gang_member(i)));
    /* One is marked: it is not the last. */
    world[1].cpus = "2";
    hpcbd_gang_job(1);
    for (passes = 0; passes < 9 && !hpcbd_member_has_cpus(hpcbd_gang_member(1));
         passes++)
        pass();
    ck_assert(hpcbd_member_has_cpus(hpcbd_gang_member(1)));
    end();
}
END_TEST

/* The holder of a lock of the kernel may not get to run. */
START_TEST(looks_wait_for_who_is_boosted)
{
    int64_t begun_ns;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    pass();
    boosted = true;
    looks = 0;
    begun_ns = monotonic_ns;
    while (monotonic_ns < begun_ns + 4 * SECOND)
        pass();
    ck_assert_uint_eq(looks, 0);
    ck_assert(running() == 1U << 1 || running() == 1U << 2);
    /* For ever it does not wait. */
    while (monotonic_ns < begun_ns + 6 * SECOND)
        pass();
    ck_assert_uint_gt(looks, 0);
    boosted = false;
    end();
}
END_TEST

/* Once with jobs of several nodes among them, once without. */
START_TEST(decisions_can_be_replayed)
{
    json_object *decision;
    unsigned count = 0;
    size_t at = 0;

    begin(3, "none");
    for (uint32_t i = 1; i <= 9; i++) {
        add_job(i, HPCB_CLASS_GUEST, i % 3 == 0 ? "0-1" : i % 2 ? "0" : "1-2");
        world[i].nodes = i % 4 == (unsigned)_i ? 2 : 1;
        world[i].mem_rate = i * 60 * MB;
        world[i].net_rate = (10 - i) * 9 * MB;
    }
    for (unsigned i = 0; i < 100; i++)
        pass();
    for (; (decision = next_decision(&at)); count++)
        replay(decision);
    ck_assert_uint_eq(count, HPCBD_DECISIONS_MAX);
    end();
    ck_assert_ptr_null(decision_at(0));
}
END_TEST

/* The most that a decision can rest on, and CPUs whose list is as long as it may be. */
static void put_much(hpcb_gang_job_t *job, uint32_t job_id)
{
    const hpcb_fit_sample_t most = {UINT64_MAX, UINT64_MAX};

    *job =
        (hpcb_gang_job_t){.job_id = job_id, .of_job = UINT32_MAX, .waited = UINT32_MAX};
    for (unsigned i = 0; i < HPCB_GANG_WINDOW_MAX; i++)
        hpcb_gang_sample(job, &most);
    for (unsigned cpu = 1001; cpu < 1001 + 2 * job_id; cpu += 2)
        hpcb_cpus_add(&job->cpus, cpu);
}

/* Jobs of a part follow those of the part before, of its decision. */
static void follows(json_object *part, size_t *jobs)
{
    json_object *list = json_object_object_get(part, "jobs");
    size_t length =
        strlen(json_object_to_json_string_ext(part, JSON_C_TO_STRING_PLAIN));

    ck_assert_uint_le(length, HPCBD_DECISION_PART_MIN);
    ck_assert_int_eq(number(part, "of"), HPCB_GANG_JOBS_MAX);
    ck_assert_int_eq(number(part, "from"), (int64_t)(*jobs % HPCB_GANG_JOBS_MAX));
    ck_assert_int_eq(number(part, "quantum"), (int64_t)(*jobs / HPCB_GANG_JOBS_MAX));
    for (size_t i = 0; i < json_object_array_length(list); i++)
        ck_assert_int_eq(number(json_object_array_get_idx(list, i), "job"),
                         (int64_t)((*jobs)++ % HPCB_GANG_JOBS_MAX + 1));
}

START_TEST(decisions_about_many_come_in_parts)
{
    static hpcb_gang_job_t jobs[HPCB_GANG_JOBS_MAX];
    hpcbd_decisions_t decisions = {.next = 0};
    hpcb_gang_t gang = {.window = HPCB_GANG_WINDOW_MAX};
    const hpcb_bw_t capacity = {UINT64_MAX, UINT64_MAX};
    bool run[HPCB_GANG_JOBS_MAX] = {false};
    json_object *part;
    size_t at = 0, said = 0, parts = 0;

    for (uint32_t i = 0; i < HPCB_GANG_JOBS_MAX; i++) {
        put_much(&jobs[i], i + 1);
        hpcb_gang_add(&gang, &jobs[i]);
    }
    for (uint64_t i = 0; i < 2; i++)
        hpcbd_decisions_note(&decisions, "guests", i, &gang, &capacity, run);
    ck_assert_uint_eq(hpcbd_decisions_jobs(&decisions), 2 * HPCB_GANG_JOBS_MAX);
    for (; (part = hpcbd_decisions_part(&decisions, &at, HPCBD_DECISION_PART_MIN));
         parts++) {
        follows(part, &said);
        ck_assert_uint_eq(said, at);
        json_object_put(part);
    }
    ck_assert_uint_eq(said, 2 * HPCB_GANG_JOBS_MAX);
    ck_assert_uint_lt(parts, said);
    hpcbd_decisions_free(&decisions);
}
END_TEST

START_TEST(decisions_say_no_endless_list_of_cpus)
{
    static hpcb_gang_job_t job;
    hpcb_gang_t gang = {.window = 2};
    hpcbd_decisions_t decisions = {.next = 0};
    const hpcb_bw_t capacity = {0, 0};
    const bool run = true;
    json_object *part, *first;
    size_t at = 0;

    put_much(&job, 1000);
    hpcb_gang_add(&gang, &job);
    hpcbd_decisions_note(&decisions, "guests", 1, &gang, &capacity, &run);
    part = hpcbd_decisions_part(&decisions, &at, HPCBD_DECISION_PART_MIN);
    first = json_object_array_get_idx(json_object_object_get(part, "jobs"), 0);
    ck_assert(json_object_object_get_ex(first, "cpus", NULL));
    ck_assert_ptr_null(json_object_object_get(first, "cpus"));
    json_object_put(part);
    hpcbd_decisions_free(&decisions);
}
END_TEST

START_TEST(users_see_their_own_jobs)
{
    char text[HPCB_TELL_MAX];
    unsigned mine = 0, all = 0;

    begin(2, "none");
    add_job(1, HPCB_CLASS_GUEST, "0");
    add_job(2, HPCB_CLASS_GUEST, "0");
    world[1].net_rate = 5 * MB;
    world[1].moved.mem_known = false;
    for (unsigned i = 0; i < 5; i++)
        pass();
    for (size_t i = 0; i < hpcbd_gang_items();)
        mine += hpcbd_gang_item(&i, 1001, text, sizeof(text)) > 0;
    for (size_t i = 0; i < hpcbd_gang_items();)
        all += hpcbd_gang_item(&i, 0, text, sizeof(text)) > 0;
    ck_assert_uint_eq(mine, 1);
    ck_assert_uint_ge(all, 2 + 3);
    ck_assert_int_gt(item(0, 1001, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"mem\":null,\"net\":"));
    ck_assert_int_ge(strtol(strstr(text, "\"net\":") + 6, NULL, 10), 4999000);
    ck_assert_int_eq(item(0, 1001, text, 20), -1);
    ck_assert_int_gt(hpcbd_gang_end(1, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"next\":1"));
    ck_assert_int_gt(hpcbd_gang_end(hpcbd_gang_items(), text, sizeof(text)), 0);
    ck_assert_ptr_null(strstr(text, "\"next\""));
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hpcbd_gang");
    TCase *tc = scratch_case("hpcbd_gang");

    tcase_add_test(tc, nothing_where_no_gang_is_configured);
    tcase_add_test(tc, those_run_together_that_fit);
    tcase_add_test(tc, each_class_and_only_gang_partitions);
    tcase_add_test(tc, alone_it_runs_and_costs_nothing);
    tcase_add_test(tc, time_elected_is_counted);
    tcase_add_test(tc, at_an_edge_jobs_switch_before_anything_is_read);
    tcase_add_test(tc, a_bandwidth_that_is_not_measured_counts_for_nobody);
    tcase_add_test(tc, what_the_node_can_move_is_read_again);
    tcase_add_test(tc, what_the_configuration_says_of_the_node_counts);
    tcase_add_test(tc, components_own_quanta_together);
    tcase_add_test(tc, time_elected_is_kept_for_who_goes);
    tcase_add_test(tc, a_daemon_that_hangs_keeps_nobody);
    tcase_add_test(tc, a_clock_that_may_be_wrong_is_told_of);
    tcase_add_test(tc, partitions_that_meet_have_no_turns_of_their_own);
    tcase_add_test(tc, who_had_no_step_when_it_was_stopped_is_let_go);
    tcase_add_test(tc, nodes_that_are_known_late_count);
    tcase_add_test(tc, who_is_stopped_for_harm_takes_no_turns);
    tcase_add_test(tc, who_is_restricted_to_half_has_the_other_half);
    tcase_add_test(tc, slurm_suspends_and_owners_pause);
    tcase_add_test(tc, jobs_join_and_leave);
    tcase_add_test(tc, nobody_leaves_a_partition_by_having_joined);
    tcase_add_test(tc, what_users_ask_for_brings_few_elections);
    tcase_add_test(tc, root_sets_quantum_and_window);
    tcase_add_test(tc, a_partition_has_its_own_turns);
    tcase_add_test(tc, only_so_many_partitions_have_their_own);
    tcase_add_test(tc, a_clock_that_is_set_is_no_edge);
    tcase_add_loop_test(tc, a_clock_that_is_set_behind_our_back_is_found_out, 0, 2);
    tcase_add_test(tc, a_clock_that_is_set_all_the_time_stops_nothing);
    tcase_add_test(tc, after_a_step_no_turn_is_longer);
    tcase_add_test(tc, who_cannot_be_stopped_runs);
    tcase_add_test(tc, without_a_cpuset_allocated_cores_count);
    tcase_add_test(tc, jobs_go);
    tcase_add_test(tc, a_requeued_job_takes_its_own_place);
    tcase_add_test(tc, a_look_goes_on_where_it_ended);
    tcase_add_test(tc, looks_wait_for_who_is_boosted);
    tcase_add_loop_test(tc, decisions_can_be_replayed, 3, 5);
    tcase_add_test(tc, decisions_about_many_come_in_parts);
    tcase_add_test(tc, decisions_say_no_endless_list_of_cpus);
    tcase_add_test(tc, users_see_their_own_jobs);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
