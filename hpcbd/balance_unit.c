/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * From top to bottom: what a step is and whether anything can be won (read_ranks to
 * begin), then what is done to it (apply), then when (hpcbd_unit_tick).
 *
 * Whether: ranks that have a core each win nothing by weights, and ranks that Slurm has
 * bound to several CPUs each have those to themselves.  Ranks that are bound to
 * nothing are given a CPU each first, by number, where the policy goes on to place
 * them (policy/balance.h); else they stay free.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "common/log.h"
#include "common/state.h"
#include "hpcbd/balance_places.h"
#include "hpcbd/balance_unit.h"
#include "policy/share.h"

/* How far below its weight a rank is that spins while it waits.  It has to run now and
 * then, or it would not see its message: with a difference of 3 in one of 16 slices. */
#define SPINNING 3

#define NS_PER_MS 1000000

/* A rank is let alone for so long after its start, and so long at most until its
 * threads may all run in the same places. */
#define INIT_MS    2000
#define SETTLED_MS 10000

/* A turn of the daemon's loop stays short. */
#define LOOKS_AT_A_TIME 16

/* The job's parameters come behind the site's, and so win. */
static int parse_policy(const char *text, const char *site, hpcb_balance_conf_t *conf)
{
    char whole[HPCB_BALANCE_TEXT_MAX + HPCB_LIST_MAX];
    size_t name = strcspn(text, ":");
    const char *bad;

    if (hpcb_balance_conf_parse(text, conf, &bad))
        return -1;
    if (conf->kind == HPCB_BALANCE_STATIC || !*site)
        return 0;
    snprintf(whole, sizeof(whole), "%.*s:%s%s%s", (int)name, text, site,
             text[name] ? "," : "", text[name] ? text + name + 1 : "");
    if (hpcb_balance_conf_parse(whole, conf, &bad) == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR,
             "BalanceParameters=%.200s does not hold: wrong from "
             "\"%.64s\" on",
             site, bad);
    return 0;
}

static int64_t age_ms(uint64_t start_ticks)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
           (int64_t)(start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* What binds its threads apart for good is for hpcb_rank_pin() to refuse. */
static bool has_settled(pid_t pid, int64_t age)
{
    char mask[HPCB_TASK_TEXT_MAX];

    return age >= SETTLED_MS ||
           hpcb_task_get(pid, "process-affinity", mask, sizeof(mask), NULL) == 0;
}

/* Before that, Slurm still binds them, and hwloc in MPI_Init() each in turn to every
 * CPU for a moment (x86). */
static bool have_begun(const hpcb_ranks_t *ranks)
{
    for (unsigned i = 0; i < ranks->n; i++) {
        int64_t age = age_ms(ranks->task[i].start);

        if (age < INIT_MS || !hpcb_task_begun(ranks->task[i].pid) ||
            !has_settled(ranks->task[i].pid, age))
            return false;
    }
    return true;
}

static int read_ranks(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit, uid_t *uid,
                      hpcb_ranks_t *ranks, hpcb_error_t *err)
{
    hpcb_job_state_t job;

    if (hpcb_ranks_load(env->conf->state_dir, unit->job_id, unit->step, ranks, err) <
            0 ||
        hpcb_state_load(env->conf->state_dir, unit->job_id, &job, err) < 0)
        return -1;
    if (job.klass != HPCB_CLASS_PRIMARY)
        return hpcb_error(err, "job %u is no primary", unit->job_id);
    if (ranks->n < 2)
        return hpcb_error(err, "job %u: a rank alone", unit->job_id);
    if (parse_policy(ranks->policy, env->conf->balance_parameters, &unit->conf) < 0)
        return hpcb_error(err, "job %u: %.64s is no policy", unit->job_id,
                          ranks->policy);
    if (hpcb_node_live(env->node) && !have_begun(ranks)) {
        errno = EAGAIN;
        return hpcb_error(err, "job %u: its tasks have not begun", unit->job_id);
    }
    snprintf(unit->policy, sizeof(unit->policy), "%s", ranks->policy);
    snprintf(unit->page, sizeof(unit->page), "%s", ranks->page);
    unit->n = ranks->n;
    *uid = job.uid;
    for (unsigned i = 0; i < ranks->n; i++)
        unit->rank[i] = (hpcbd_rank_t){
            .pid = ranks->task[i].pid, .start = ranks->task[i].start, .page = -1};
    return 0;
}

/* On cgroup v1 both windows and we want the tasks in a group of ours. */
static int check_windows(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    hpcb_job_state_t job;

    if (hpcb_node_version(env->node, HPCB_CTL_CPU) != 1 ||
        hpcb_state_load(env->conf->state_dir, unit->job_id, &job, NULL) < 0 ||
        job.window.period_us == 0)
        return 0;
    return hpcb_error(&unit->why, "the job has windows, and this node cgroup v1");
}

typedef struct {
    hpcb_cpus_t all;
    bool single; /* each rank is bound to one CPU */
    bool same;   /* each one may use all of them */
} bound_t;

static int find_bound(const hpcbd_unit_t *unit, hpcb_cpus_t *masks, bound_t *bound,
                      hpcb_error_t *err)
{
    *bound = (bound_t){.single = true, .same = true};
    for (unsigned i = 0; i < unit->n; i++) {
        if (!hpcbd_rank_lives(&unit->rank[i]))
            return hpcb_error(err, "task %d has ended", (int)unit->rank[i].pid);
        if (hpcb_task_cpus(unit->rank[i].pid, &masks[i], err) < 0)
            return -1;
        hpcb_cpus_join(&bound->all, &masks[i]);
        bound->single = bound->single && hpcb_cpus_count(&masks[i]) == 1;
    }
    for (unsigned i = 0; i < unit->n; i++)
        bound->same = bound->same && hpcb_cpus_equal(&masks[i], &bound->all);
    return 0;
}

/* Ranks that may run anywhere are better placed by the kernel than by number, unless
 * the policy goes on to place them by load.  Among them each competes with each. */
static void leave_free(hpcbd_unit_t *unit)
{
    static const uint16_t at[HPCB_RANKS_MAX];

    unit->free = true;
    unit->places.n = 1;
    unit->conf.linear = true;
    hpcb_balance_begin(&unit->conf, &unit->places, unit->n, at, &unit->balance);
}

static bool places_ranks(const hpcb_balance_conf_t *conf)
{
    return conf->kind == HPCB_BALANCE_DLRB || conf->kind == HPCB_BALANCE_AUTO;
}

/* Where each rank is to begin, and whether anything can be won; -1 with why. */
static int place(const hpcbd_balance_env_t *env, uint32_t cpus, hpcbd_unit_t *unit,
                 bool *pin)
{
    static hpcb_cpus_t masks[HPCB_RANKS_MAX];
    uint16_t at[HPCB_RANKS_MAX];
    bound_t bound;

    if (find_bound(unit, masks, &bound, &unit->why) < 0 ||
        hpcbd_places(env->node, &bound.all, &unit->places, &unit->why) < 0)
        return -1;
    unit->n_cpus = unit->places.n;
    if (!bound.single && !bound.same)
        return hpcb_error(&unit->why, "ranks are bound to several CPUs each");
    if (!bound.single && cpus > 0 && unit->places.n > cpus)
        return hpcb_error(&unit->why, "ranks are not bound to the job's CPUs");
    for (unsigned i = 0; bound.single && i < unit->n; i++)
        at[i] = (uint16_t)hpcbd_place_of(&unit->places, hpcb_cpus_from(&masks[i], 0));
    unit->conf.linear = !hpcbd_places_smt(&unit->places);
    if (hpcb_balance_begin(&unit->conf, &unit->places, unit->n,
                           bound.single ? at : NULL, &unit->balance))
        return hpcb_error(&unit->why, "%u ranks on %u CPUs", unit->n, unit->places.n);
    if (hpcb_balance_groups(&unit->places, &unit->balance) == 0)
        return hpcb_error(&unit->why,
                          "each rank has a core to itself: weights move nothing");
    *pin = !bound.single && places_ranks(&unit->conf);
    if (!bound.single && !*pin)
        leave_free(unit);
    return 0;
}

static bool share_a_cpu(const hpcbd_unit_t *unit)
{
    for (unsigned i = 0; i < unit->n; i++)
        for (unsigned j = 0; j < i; j++)
            if (unit->balance.rank[i].place == unit->balance.rank[j].place)
                return true;
    return false;
}

static int take_hands(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    for (unsigned i = 0; i < unit->n; i++) {
        hpcb_rank_spec_t spec = {.node = env->node,
                                 .job_id = unit->job_id,
                                 .step = unit->step,
                                 .task = i,
                                 .pid = unit->rank[i].pid,
                                 .cgroup = env->conf->balance_cgroup,
                                 .undo = unit->undo};

        if (hpcb_rank_open(&spec, &unit->rank[i].hands, &unit->why) < 0)
            return -1;
        for (unsigned j = 0; j < i; j++)
            if (strcmp(hpcb_rank_group(unit->rank[i].hands),
                       hpcb_rank_group(unit->rank[j].hands)) == 0)
                return hpcb_error(&unit->why, "ranks have no cpu groups of their own");
    }
    return 0;
}

static void release(hpcbd_unit_t *unit)
{
    unit->acting = false;
    for (unsigned i = 0; i < unit->n; i++)
        hpcbd_rank_close(&unit->rank[i]);
    hpcb_undo_close(unit->undo);
    unit->undo = NULL;
}

uint32_t hpcbd_unit_weight(const hpcbd_unit_t *unit, unsigned rank)
{
    uint32_t top, weight;

    if (!unit->acting || !unit->rank[rank].hands)
        return 0;
    top = hpcb_rank_top(unit->rank[rank].hands);
    weight = hpcb_balance_weight(&unit->places, &unit->balance, rank, top);
    return unit->rank[rank].spins ? hpcb_share_weight(SPINNING, weight) : weight;
}

static void weigh(hpcbd_unit_t *unit, unsigned rank)
{
    hpcb_error_t err;

    if (hpcb_rank_weigh(unit->rank[rank].hands, hpcbd_unit_weight(unit, rank), &err) <
            0 &&
        !hpcb_knob_gone(errno) && !unit->why.text[0]) {
        unit->why = err;
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s", unit->job_id, err.text);
    }
}

static int pin_all(hpcbd_unit_t *unit, hpcb_error_t *err)
{
    for (unsigned i = 0; i < unit->n; i++) {
        unsigned cpu = unit->places.place[unit->balance.rank[i].place].cpu;

        if (hpcb_rank_pin(unit->rank[i].hands, cpu, err) < 0)
            return -1;
    }
    return 0;
}

static void apply(hpcbd_unit_t *unit, unsigned what)
{
    hpcb_error_t err;

    unit->weighs = share_a_cpu(unit);
    if (what & HPCB_BALANCE_MOVED && pin_all(unit, &err) < 0) {
        unit->why = err;
        hpcb_log(HPCB_LOG_INFO, "job %u: its ranks are not balanced any more: %s",
                 unit->job_id, err.text);
        release(unit);
        return;
    }
    for (unsigned i = 0; i < unit->n; i++)
        weigh(unit, i);
}

static int begin(const hpcbd_balance_env_t *env, uint32_t cpus, uid_t uid,
                 hpcbd_unit_t *unit)
{
    char path[PATH_MAX + 16];
    bool pin = false;

    if (check_windows(env, unit) < 0 || place(env, cpus, unit, &pin) < 0 ||
        hpcb_undo_open(env->state_dir, unit->job_id, &unit->undo, &unit->why) < 0 ||
        take_hands(env, unit) < 0 || (pin && pin_all(unit, &unit->why) < 0))
        return -1;
    for (unsigned i = 0; *unit->page && i < unit->n; i++) {
        snprintf(path, sizeof(path), "%s.%u", unit->page, i);
        hpcbd_rank_page(&unit->rank[i], path, uid);
    }
    unit->acting = true;
    apply(unit, 0);
    if (!unit->weighs)
        hpcb_error(&unit->why,
                   "ranks share cores, but no CPUs: they are placed, weights "
                   "move nothing");
    return 0;
}

hpcbd_unit_t *hpcbd_unit_open(const hpcbd_balance_env_t *env, uint32_t job_id,
                              const char *step, hpcb_error_t *err)
{
    static hpcb_ranks_t ranks;
    hpcbd_unit_t *unit = calloc(1, sizeof(*unit));
    uid_t uid = 0;

    if (!unit) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    unit->job_id = job_id;
    snprintf(unit->step, sizeof(unit->step), "%s", step);
    if (read_ranks(env, unit, &uid, &ranks, err) < 0) {
        free(unit);
        return NULL;
    }
    if (begin(env, ranks.cpus, uid, unit) < 0)
        release(unit);
    hpcb_log(HPCB_LOG_INFO, "job %u step %s: %u ranks on %u CPUs, %.64s%s%s", job_id,
             step, unit->n, unit->n_cpus, unit->acting ? unit->policy : "not balanced",
             unit->why.text[0] ? ": " : "", unit->why.text);
    return unit;
}

void hpcbd_unit_close(hpcbd_unit_t *unit)
{
    if (!unit)
        return;
    release(unit);
    free(unit);
}

void hpcbd_unit_forget(const hpcbd_unit_t *unit)
{
    char path[PATH_MAX + 16];

    for (unsigned i = 0; *unit->page && i < unit->n; i++) {
        snprintf(path, sizeof(path), "%s.%u", unit->page, i);
        unlink(path);
    }
}

static bool is_over(const hpcbd_unit_t *unit)
{
    for (unsigned i = 0; i < unit->n; i++)
        if (hpcbd_rank_lives(&unit->rank[i]))
            return false;
    return true;
}

void hpcbd_unit_look(hpcbd_unit_t *unit)
{
    hpcb_error_t err;

    if (!unit->acting)
        return;
    if (is_over(unit)) {
        release(unit);
        hpcb_error(&unit->why, "all ranks have ended");
        return;
    }
    for (unsigned i = 0; i < LOOKS_AT_A_TIME && i < unit->n; i++) {
        hpcbd_rank_t *rank = &unit->rank[unit->turn++ % unit->n];

        if (!hpcbd_rank_lives(rank) || hpcb_rank_look(rank->hands, &err) == 0)
            continue;
        unit->lost |= errno == ENOENT || errno == ESTALE;
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", unit->job_id, err.text);
    }
}

/* Their intervals say other things than their iterations: what was learnt is void,
 * where they are is not. */
static void start_anew(hpcbd_unit_t *unit)
{
    uint16_t at[HPCB_RANKS_MAX];

    for (unsigned i = 0; i < unit->n; i++)
        at[i] = unit->balance.rank[i].place;
    hpcb_balance_begin(&unit->conf, &unit->places, unit->n, at, &unit->balance);
    apply(unit, 0);
}

/* Whether it is time for a step. */
static bool listen(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit, int64_t now_ns)
{
    int64_t interval = (int64_t)env->conf->balance_interval_ms * NS_PER_MS;
    bool speaking = false, all = true;

    for (unsigned i = 0; i < unit->n; i++) {
        hpcbd_rank_t *rank = &unit->rank[i];

        if (hpcbd_rank_listen(rank, now_ns, interval) && env->conf->balance_waiters)
            weigh(unit, i);
        speaking |= rank->speaks;
        all = all && (!rank->speaks || hpcbd_rank_has_news(rank));
    }
    if (speaking != unit->speaking) {
        unit->speaking = speaking;
        unit->stepped_ns = now_ns;
        start_anew(unit);
        return false;
    }
    return speaking ? all : now_ns - unit->stepped_ns >= interval;
}

/* Of ranks that speak the length of an iteration, of the others what they did since the
 * last step, as if it had been as long. */
static int collect(hpcbd_unit_t *unit, int64_t now_ns, hpcb_balance_sample_t *samples)
{
    uint64_t total = 0;
    unsigned heard = 0;

    for (unsigned i = 0; i < unit->n; i++) {
        if (!unit->rank[i].speaks)
            continue;
        if (hpcbd_rank_hear(&unit->rank[i], &samples[i]) < 0)
            return -1;
        total += samples[i].compute_ns + samples[i].wait_ns;
        heard++;
    }
    for (unsigned i = 0; i < unit->n; i++) {
        hpcb_balance_sample_t *sample = &samples[i];
        double scale;

        if (unit->rank[i].speaks)
            continue;
        hpcbd_rank_measure(&unit->rank[i], now_ns, sample);
        if (heard == 0 || sample->compute_ns + sample->wait_ns == 0)
            continue;
        scale = (double)total / heard / (double)(sample->compute_ns + sample->wait_ns);
        sample->compute_ns = (uint64_t)((double)sample->compute_ns * scale);
        sample->wait_ns = (uint64_t)((double)sample->wait_ns * scale);
    }
    return 0;
}

void hpcbd_unit_tick(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit, int64_t now_ns)
{
    static hpcb_balance_sample_t samples[HPCB_RANKS_MAX];
    unsigned what;

    if (!unit->acting || !listen(env, unit, now_ns) || !unit->acting ||
        collect(unit, now_ns, samples) < 0)
        return;
    unit->stepped_ns = now_ns;
    what = hpcb_balance_step(&unit->conf, &unit->places, samples, &unit->balance);
    if (!what)
        return;
    unit->changes++;
    unit->last_change = unit->balance.steps;
    apply(unit, what);
}
