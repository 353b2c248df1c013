/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * From top to bottom: what a step is (hpcbd_unit_open; how it begins is
 * begin.c's), what is done to its ranks and how that ends, and listening to
 * them and stepping the policy.
 *
 * All of it is in stages that deal with a few ranks in a tick, as the loop of the
 * daemon has others to serve: with a few ranks everything is done in
 * one.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/state.h"
#include "hpcbd/balance/begin.h"
#include "hpcbd/balance/lever.h"
#include "hpcbd/balance/move.h"
#include "hpcbd/balance/stage.h"
#include "hpcbd/balance/unit.h"

#define NS_PER_MS 1000000

/* To ask the kernel of a rank takes some hundredths of a millisecond; its page is read
 * in a microsecond. */
#define LISTEN_AT_A_TIME 64
#define PRICE_OF_ASKING  4 /* in ranks that are listened to */

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
             "BalanceParameters=%.200s is ignored: invalid from "
             "\"%.64s\" on",
             site, bad);
    return 0;
}

static int take_ranks(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                      const hpcb_ranks_t *ranks, hpcb_error_t *err)
{
    hpcb_job_state_t job;

    if (hpcb_state_load(env->conf->state_dir, unit->job_id, &job, err) < 0)
        return -1;
    if (job.klass != HPCB_CLASS_PRIMARY)
        return hpcb_error(err, "job %u is no primary", unit->job_id);
    if (parse_policy(ranks->policy, env->conf->balance_parameters, &unit->conf) < 0)
        return hpcb_error(err, "job %u: %.64s is no policy", unit->job_id,
                          ranks->policy);
    snprintf(unit->policy, sizeof(unit->policy), "%s", ranks->policy);
    snprintf(unit->page, sizeof(unit->page), "%s", ranks->page);
    unit->n = ranks->n;
    unit->job_cpus = ranks->cpus;
    unit->uid = job.uid;
    for (unsigned i = 0; i < ranks->n; i++)
        unit->rank[i] = (hpcbd_rank_t){
            .pid = ranks->task[i].pid, .start = ranks->task[i].start, .page = -1};
    return 0;
}

hpcbd_unit_t *hpcbd_unit_open(const hpcbd_balance_env_t *env, uint32_t job_id,
                              const char *step, hpcb_error_t *err)
{
    static hpcb_ranks_t ranks;
    hpcbd_unit_t *unit;

    if (hpcb_ranks_load(env->conf->state_dir, job_id, step, &ranks, err) < 0)
        return NULL;
    /* Its page is for hpcbd/harm. */
    if (ranks.n < 2) {
        hpcb_error(err, "%s", "");
        return NULL;
    }
    unit = calloc(1, sizeof(*unit));
    if (!unit) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    unit->env = env;
    unit->job_id = job_id;
    snprintf(unit->step, sizeof(unit->step), "%s", step);
    if (take_ranks(env, unit, &ranks, err) == 0)
        return unit;
    free(unit);
    return NULL;
}

static bool rest(hpcbd_unit_t *unit)
{
    if (!hpcbd_move_ended(unit, false))
        return false;
    hpcb_undo_close(unit->undo);
    unit->undo = NULL;
    hpcbd_stage_enter(unit, HPCBD_UNIT_RESTS);
    return false;
}

static bool scatter(hpcbd_unit_t *unit)
{
    hpcbd_stage_enter(unit, HPCBD_UNIT_SCATTERS);
    if (unit->gathered)
        hpcbd_move_start(unit, hpcb_rank_scatter);
    unit->gathered = false;
    return true;
}

/* Undo what is done to a few ranks. */
static bool end_some(hpcbd_unit_t *unit)
{
    unsigned end = hpcbd_stage_slice(unit);

    if (!hpcbd_move_ended(unit, false))
        return false;
    for (; unit->at < end; unit->at++)
        hpcbd_rank_close(&unit->rank[unit->at], unit->gathered);
    return end == unit->n && scatter(unit);
}

void hpcbd_unit_end(hpcbd_unit_t *unit)
{
    unit->acting = unit->waits = false;
    if (unit->stage == HPCBD_UNIT_RESTS)
        return;
    if (unit->stage != HPCBD_UNIT_ENDS && unit->stage != HPCBD_UNIT_SCATTERS)
        hpcbd_stage_enter(unit, HPCBD_UNIT_ENDS);
    if (unit->stage == HPCBD_UNIT_SCATTERS || end_some(unit))
        rest(unit);
}

bool hpcbd_unit_rests(const hpcbd_unit_t *unit)
{
    return unit->waits || unit->stage == HPCBD_UNIT_RESTS;
}

/* Apply the policy's result to a few ranks. */
static bool apply_some(hpcbd_unit_t *unit)
{
    unsigned end = hpcbd_stage_slice(unit);
    hpcb_error_t err;

    for (; unit->at < end; unit->at++) {
        if (unit->changed & HPCB_BALANCE_MOVED &&
            hpcbd_stage_pin(unit, unit->at, &err) < 0) {
            unit->why = err;
            hpcb_log(HPCB_LOG_INFO, "job %u: its ranks are not balanced any more: %s",
                     unit->job_id, err.text);
            hpcbd_unit_end(unit);
            return false;
        }
        hpcbd_lever_pull(unit, unit->at);
    }
    if (end == unit->n)
        hpcbd_stage_enter(unit, HPCBD_UNIT_LISTENS);
    return false;
}

static void apply(hpcbd_unit_t *unit, unsigned what)
{
    unit->changed = what;
    hpcbd_lever_find(unit);
    hpcbd_stage_enter(unit, HPCBD_UNIT_APPLIES);
}

void hpcbd_unit_close(hpcbd_unit_t *unit)
{
    if (!unit)
        return;
    do {
        hpcbd_move_ended(unit, true);
        hpcbd_unit_end(unit);
    } while (unit->stage != HPCBD_UNIT_RESTS);
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

    unit->waits = false;
    if (!unit->acting)
        return;
    if (is_over(unit)) {
        hpcbd_unit_end(unit);
        hpcb_error(&unit->why, "all ranks have ended");
        return;
    }
    for (unsigned i = 0; i < HPCBD_STAGE_RANKS && i < unit->n; i++) {
        hpcbd_rank_t *rank = &unit->rank[unit->turn++ % unit->n];

        if (!hpcbd_rank_lives(rank) || hpcb_rank_look(rank->hands, &err) == 0)
            continue;
        unit->lost |= errno == ENOENT || errno == ESTALE;
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", unit->job_id, err.text);
    }
}

/* Their intervals say other things than their iterations: what was learnt is void,
 * where they are is not. */
static bool start_anew(hpcbd_unit_t *unit)
{
    uint16_t at[HPCB_RANKS_MAX];

    for (unsigned i = 0; i < unit->n; i++)
        at[i] = unit->balance.rank[i].place;
    hpcb_balance_begin(&unit->conf, &unit->places, unit->n, at, &unit->balance);
    if (unit->speaking)
        hpcb_balance_usual(&unit->balance, unit->usual);
    apply(unit, 0);
    return true;
}

/* All ranks have been listened to: is it time for a step? */
static bool is_time(hpcbd_unit_t *unit, int64_t now_ns, int64_t interval_ns)
{
    bool speaking = unit->round.speaking;

    if (speaking ? !unit->round.all_news : now_ns - unit->stepped_ns < interval_ns)
        return false;
    unit->stepped_ns = now_ns;
    return true;
}

static bool listen_some(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                        int64_t now_ns)
{
    int64_t interval = (int64_t)env->conf->balance_interval_ms * NS_PER_MS;

    if (unit->at == 0)
        unit->round = (hpcbd_round_t){.all_news = true};
    for (unsigned i = 0; i < LISTEN_AT_A_TIME && unit->at < unit->n; i++, unit->at++) {
        hpcbd_rank_t *rank = &unit->rank[unit->at];

        if (hpcbd_rank_listen(rank, now_ns, interval) && env->conf->balance_waiters)
            hpcbd_lever_pull(unit, unit->at);
        unit->spun |= rank->waiter.spins;
        unit->round.speaking |= rank->speaks;
        unit->round.all_news =
            unit->round.all_news && (!rank->speaks || hpcbd_rank_has_news(rank));
    }
    if (unit->at < unit->n)
        return false;
    unit->at = 0;
    if (unit->round.speaking != unit->speaking) {
        unit->speaking = unit->round.speaking;
        unit->stepped_ns = now_ns;
        return start_anew(unit);
    }
    if (!is_time(unit, now_ns, interval))
        return false;
    hpcbd_stage_enter(unit, HPCBD_UNIT_COLLECTS);
    return true;
}

/* Scale the samples of silent ranks since the last step to the length of an iteration
 * of those that report. */
static void scale(hpcbd_unit_t *unit)
{
    uint64_t mean_ns = unit->round.heard ? unit->round.total_ns / unit->round.heard : 0;

    for (unsigned i = 0; mean_ns && i < unit->n; i++) {
        hpcb_balance_sample_t *sample = &unit->sample[i];
        uint64_t length_ns = sample->compute_ns + sample->wait_ns;
        double factor;

        if (unit->rank[i].speaks || length_ns == 0)
            continue;
        factor = (double)mean_ns / (double)length_ns;
        sample->compute_ns = (uint64_t)((double)sample->compute_ns * factor);
        sample->wait_ns = (uint64_t)((double)sample->wait_ns * factor);
    }
}

static bool balance_step(hpcbd_unit_t *unit)
{
    unsigned what;

    scale(unit);
    hpcb_balance_spun(&unit->balance, unit->spun);
    unit->spun = false;
    what = hpcb_balance_step(&unit->conf, &unit->places, unit->sample, &unit->balance);
    hpcbd_stage_enter(unit, HPCBD_UNIT_LISTENS);
    if (!what)
        return false;
    unit->changes++;
    unit->last_change = unit->balance.steps;
    apply(unit, what);
    return true;
}

/* Of ranks that speak the length of an iteration, of the others what the kernel says.
 */
static bool collect_some(hpcbd_unit_t *unit, int64_t now_ns)
{
    for (int left = LISTEN_AT_A_TIME; unit->at < unit->n && left > 0; unit->at++) {
        hpcbd_rank_t *rank = &unit->rank[unit->at];
        hpcb_balance_sample_t *sample = &unit->sample[unit->at];

        left -= rank->speaks ? 1 : PRICE_OF_ASKING;
        if (!rank->speaks) {
            hpcbd_rank_measure(rank, now_ns, sample);
            continue;
        }
        if (hpcbd_rank_hear(rank, sample) < 0) {
            hpcbd_stage_enter(unit, HPCBD_UNIT_LISTENS);
            return false;
        }
        unit->round.total_ns += sample->compute_ns + sample->wait_ns;
        unit->round.heard++;
        if (unit->env->ppr && unit->limits)
            hpcbd_lever_pull(unit, unit->at);
    }
    return unit->at == unit->n && balance_step(unit);
}

/* One stage, or a part of it; true: what follows may be done at once. */
static bool advance(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit, int64_t now_ns)
{
    switch (unit->stage) {
    case HPCBD_UNIT_WAITS:
        return hpcbd_begin_wait(env, unit);
    case HPCBD_UNIT_PLACES:
        return hpcbd_begin_place(env, unit);
    case HPCBD_UNIT_TAKES:
        return hpcbd_begin_take(unit);
    case HPCBD_UNIT_GATHERS:
        return hpcbd_begin_gather(unit);
    case HPCBD_UNIT_LISTENS:
        return listen_some(env, unit, now_ns);
    case HPCBD_UNIT_COLLECTS:
        return collect_some(unit, now_ns);
    case HPCBD_UNIT_APPLIES:
        return apply_some(unit);
    case HPCBD_UNIT_ENDS:
        return end_some(unit);
    case HPCBD_UNIT_SCATTERS:
        return rest(unit);
    case HPCBD_UNIT_RESTS:
        break;
    }
    return false;
}

void hpcbd_unit_tick(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit, int64_t now_ns)
{
    unit->now_ns = now_ns;
    while (!unit->waits && advance(env, unit, now_ns))
        continue;
}
