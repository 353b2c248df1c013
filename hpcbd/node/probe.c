/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Saturation of this node's memory, if no sensor measures memory traffic (most virtual
 * machines): a child process that sleeps nearly always and now and then reads memory
 * for half a millisecond on a CPU that was idle since the previous burst
 * (sensor/probe.h).  It takes less than 0.2 % of one CPU, including its reads of
 * /proc/stat: the longer something took, the longer it sleeps.
 *
 * Without guests that is 0.01 %, and the verdict takes longer.
 *
 * It runs with SCHED_IDLE, and a burst ends as soon as anything else runs on its CPU.
 * A CPU that is not idle is never probed: on a node without idle CPUs nothing is known,
 * and the verdict says so.
 *
 * The blocks that it reads are touched in the same way before, a part at a time.
 *
 * The first bursts, while the node has no job, are the reference for later ones.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/node.h"
#include "common/log.h"
#include "hpcbd/node/quiet.h"
#include "hpcbd/node/saturation.h"
#include "hpcbd/worker.h"
#include "policy/cpus.h"
#include "sensor/idle.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

#define N           HPCB_SATURATION_BURSTS
#define DOMAINS_MAX HPCBD_SATURATION_DOMAINS_MAX

/* Part of the time since the last burst for which a CPU that is probed was idle; the
 * kernel counts in hundredths of a second. */
#define IDLE_PART 0.95

/* Intervals at which the verdict is written, and at which guests are searched. */
#define SECOND_US    UINT64_C(1000000)
#define SAVE_US      (10 * SECOND_US)
#define SAVE_SLOW_US (30 * SECOND_US)
#define GUESTS_US    (5 * SECOND_US)

/* In so many there are enough bursts for a verdict, if some find no idle CPU. */
#define AGE_PAUSES 12

_Static_assert(SAVE_SLOW_US < HPCBD_SATURATION_STALE_SECONDS * SECOND_US / 2,
               "what is written slowly is not stale");

/* A NUMA node: its CPUs, a block of its memory, the last bursts there. */
typedef struct {
    hpcb_cpus_t cpus;
    unsigned last_cpu;
    hpcb_probe_t *probe;
    bool touched; /* the whole block */
    hpcb_burst_t bursts[N];
    size_t next, count;
} domain_t;

static struct {
    const hpcb_conf_t *conf;
    hpcb_node_t *node;
    domain_t domains[DOMAINS_MAX];
    hpcb_saturation_idle_t idle[DOMAINS_MAX];
    size_t n, turn;
    hpcb_idle_t before, after;
    hpcb_saturation_pace_t pace;
    uint64_t pause_us;  /* the last one */
    uint64_t slow_us;   /* last time of the slow pace */
    uint64_t looked_us; /* for guests */
    uint64_t saved_us;
    hpcb_saturation_level_t level; /* that was saved */
} probe;

static uint64_t us_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
    struct timespec left = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static void save(const hpcb_saturation_t *verdict, const char *why)
{
    hpcbd_saturation_t saturation = {.time = (int64_t)time(NULL), .verdict = *verdict};
    hpcb_error_t err;

    snprintf(saturation.why, sizeof(saturation.why), "%s", why);
    if (hpcbd_saturation_save(probe.conf->state_dir, &saturation, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* For good: why memory is not probed here. */
static int give_up(const char *why)
{
    const hpcb_saturation_t unknown = {.level = HPCB_SATURATION_UNKNOWN};

    hpcb_log(HPCB_LOG_INFO, "memory is not probed: %s", why);
    for (;;) {
        save(&unknown, why);
        sleep_us(HPCBD_SATURATION_STALE_SECONDS * UINT64_C(500000));
    }
    return EXIT_FAILURE;
}

/* The name of a sensor that measures what goes to and from memory, or NULL. */
static const char *measures_memory(void)
{
    const hpcb_sensor_t *const *rows;
    hpcb_error_t err;
    size_t count;

    rows = hpcb_sensors(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->figures & 1U << HPCB_FIGURE_TRANSFER &&
            rows[i]->probe(probe.node, &err) == 0)
            return rows[i]->name;
    }
    return NULL;
}

/* NUMA nodes that have CPUs; else all CPUs as one. */
static void find_domains(void)
{
    char name[64], list[4096];

    for (unsigned i = 0; i < 4 * DOMAINS_MAX && probe.n < DOMAINS_MAX; i++) {
        hpcb_cpus_t *cpus = &probe.domains[probe.n].cpus;

        snprintf(name, sizeof(name), "sys/devices/system/node/node%u/cpulist", i);
        if (hpcb_node_read(probe.node, name, list, sizeof(list), NULL) == 0 &&
            hpcb_cpus_parse(list, cpus) == 0 && hpcb_cpus_count(cpus) > 0)
            probe.n++;
    }
    if (probe.n == 0 &&
        hpcb_node_read(probe.node, "sys/devices/system/cpu/online", list, sizeof(list),
                       NULL) == 0 &&
        hpcb_cpus_parse(list, &probe.domains[0].cpus) == 0)
        probe.n = 1;
}

static int open_domains(hpcb_error_t *err)
{
    uint64_t memory =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    size_t block = hpcb_probe_block(probe.node, memory, err);

    if (block == 0)
        return -1;
    find_domains();
    for (size_t i = 0; i < probe.n; i++) {
        if (hpcb_probe_open(block, &probe.domains[i].probe, err) < 0)
            return -1;
    }
    return probe.n > 0 ? 0 : hpcb_error(err, "the kernel names no CPUs");
}

/* The next CPU of the domain that was idle; HPCB_CPUS_MAX: none. */
static unsigned idle_cpu(const domain_t *domain)
{
    unsigned count = hpcb_cpus_count(&domain->cpus), cpu = domain->last_cpu;

    for (unsigned i = 0; i < count; i++) {
        hpcb_cpus_t one = {0};

        cpu = hpcb_cpus_from(&domain->cpus, cpu + 1);
        if (cpu == HPCB_CPUS_MAX)
            cpu = hpcb_cpus_from(&domain->cpus, 0);
        hpcb_cpus_add(&one, cpu);
        if (hpcb_idle_part(&probe.before, &probe.after, &one) >= IDLE_PART)
            return cpu;
    }
    return HPCB_CPUS_MAX;
}

/* 0, or -1: no CPU is idle, or it was not for long enough, or the block had to be
 * touched first. */
static int burst(domain_t *domain)
{
    hpcb_burst_t *next = &domain->bursts[domain->next];
    unsigned cpu = idle_cpu(domain);

    if (cpu == HPCB_CPUS_MAX)
        return -1;
    domain->last_cpu = cpu;
    if (!domain->touched) {
        domain->touched = hpcb_probe_touch(domain->probe, cpu) == 0;
        return -1;
    }
    if (hpcb_probe_burst(domain->probe, cpu, &next->memory, &next->cache) < 0)
        return -1;
    next->time_us = us_of(CLOCK_MONOTONIC);
    domain->next = (domain->next + 1) % N;
    domain->count += domain->count < N;
    return 0;
}

/* The node is idle: enough bursts that agree are what others are compared with. */
static void learn_idle(size_t i)
{
    domain_t *domain = &probe.domains[i];
    hpcb_error_t err;

    if (domain->count < N)
        return;
    domain->count = domain->next = 0;
    if (hpcb_saturation_idle(domain->bursts, N, &probe.idle[i]) < 0)
        return;
    hpcb_log(HPCB_LOG_INFO, "one CPU of this idle node reads %.2f GB/s from memory",
             (double)probe.idle[i].memory * 1e-9);
    if (hpcbd_saturation_idle_save(probe.conf->state_dir, probe.idle, probe.n, &err) <
        0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

static const char *reason(const hpcb_saturation_t *verdict, bool has_idle)
{
    if (!has_idle)
        return "this node has not been idle since it was booted";
    switch (verdict->why) {
    case HPCB_SATURATION_FEW:
        return "no CPU was idle for long enough";
    case HPCB_SATURATION_DISTURBED:
        return "the idle CPUs were slowed down by others";
    case HPCB_SATURATION_UNDECIDED:
        return "what one CPU can read varies too much";
    default:
        return "";
    }
}

/* Return the maximum age of a burst.  Those of the slow pace are enough until the fast
 * one has made as many, and if rounds take so long that pauses are longer. */
static uint64_t age_at(uint64_t now_us)
{
    uint64_t age_us = hpcb_saturation_age_us(HPCB_SATURATION_FAST, probe.n);
    uint64_t turns_us = AGE_PAUSES * probe.pause_us * probe.n;

    if (probe.pace == HPCB_SATURATION_SLOW)
        probe.slow_us = now_us;
    if (probe.slow_us && now_us - probe.slow_us < age_us)
        age_us = hpcb_saturation_age_us(HPCB_SATURATION_SLOW, probe.n);
    return age_us > turns_us ? age_us : turns_us;
}

/* Of all NUMA nodes; now and then, and when it changes. */
static void report(void)
{
    uint64_t now_us = us_of(CLOCK_MONOTONIC);
    uint64_t age_us = age_at(now_us);
    hpcb_saturation_t all = {.level = HPCB_SATURATION_FREE};
    bool has_idle = true;

    for (size_t i = 0; i < probe.n; i++) {
        const domain_t *domain = &probe.domains[i];
        hpcb_saturation_t one;

        has_idle &= probe.idle[i].memory > 0;
        hpcb_saturation_judge(domain->bursts, domain->count, now_us, age_us,
                              &probe.idle[i], &one);
        all = i == 0 ? one : hpcb_saturation_worse(&all, &one);
    }
    if (all.level == probe.level &&
        now_us - probe.saved_us <
            (probe.pace == HPCB_SATURATION_FAST ? SAVE_US : SAVE_SLOW_US))
        return;
    probe.level = all.level;
    probe.saved_us = now_us;
    save(&all, reason(&all, has_idle));
}

/* The bursts of the idle node are few, and nothing else runs there. */
static bool is_learning(void)
{
    for (size_t i = 0; i < probe.n; i++)
        if (probe.idle[i].memory == 0)
            return !hpcbd_has_jobs(probe.conf->state_dir) &&
                   !hpcbd_is_busy(&probe.before, &probe.after);
    return false;
}

static void take_turn(bool learns)
{
    size_t i = probe.turn++ % probe.n;
    bool is_new = probe.idle[i].memory == 0;

    if (is_new && !learns)
        return;
    if (burst(&probe.domains[i]) == 0 && is_new)
        learn_idle(i);
}

static bool is_touched(void)
{
    for (size_t i = 0; i < probe.n; i++)
        if (!probe.domains[i].touched)
            return false;
    return true;
}

static void set_pace(bool learns)
{
    uint64_t now_us = us_of(CLOCK_MONOTONIC);

    if (probe.looked_us > 0 && now_us - probe.looked_us < GUESTS_US && !learns)
        return;
    probe.looked_us = now_us;
    probe.pace = learns || !is_touched() || hpcbd_has_guests(probe.conf->state_dir)
                     ? HPCB_SATURATION_FAST
                     : HPCB_SATURATION_SLOW;
}

static void go_on(void)
{
    hpcb_error_t err;
    bool learns;

    if (hpcb_idle_read(probe.node, &probe.after, &err) < 0)
        return;
    if (probe.before.time_us > 0) {
        learns = is_learning();
        take_turn(learns);
        set_pace(learns);
    }
    probe.before = probe.after;
    report();
}

/* A verdict that is saved more rarely would be stale. */
static uint64_t pause_after(uint64_t used_us)
{
    uint64_t pause_us = hpcb_saturation_pause_us(used_us, probe.pace);

    return pause_us < SAVE_SLOW_US ? pause_us : SAVE_SLOW_US;
}

static int work(void *arg)
{
    static const struct sched_param none;
    const char *sensor;
    hpcb_error_t err;
    uint64_t used, begin;

    probe.conf = arg;
    sched_setscheduler(0, SCHED_IDLE, &none);
    if (hpcb_node_open("/", &probe.node, &err) < 0)
        return give_up(err.text);
    sensor = measures_memory();
    if (sensor) {
        snprintf(err.text, sizeof(err.text), "%s measures it", sensor);
        return give_up(err.text);
    }
    if (open_domains(&err) < 0)
        return give_up(err.text);
    hpcbd_saturation_idle_load(probe.conf->state_dir, probe.idle, probe.n);
    probe.pace = HPCB_SATURATION_FAST;
    begin = us_of(CLOCK_PROCESS_CPUTIME_ID); /* earlier work is not part of a round */
    for (;;) {
        used = us_of(CLOCK_PROCESS_CPUTIME_ID);
        probe.pause_us = pause_after(used - begin);
        sleep_us(probe.pause_us);
        begin = used;
        go_on();
    }
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    return conf->memory_probe;
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: probe", .wanted = is_wanted, .work = work};

const hpcbd_part_t hpcbd_probe = {.name = "probe", .worker = &worker};
