/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "cpus": more ranks than CPUs, as in bench/balance, with the policies of
 * policy/balance and their weights of ranks on one CPU.
 *
 * A CPU runs the rank that has had least relative to its weight, for a slice (CFS).
 * Unbound ranks run on any free CPU; dlrb and auto place them, static has its places
 * from the scenario.  A rank that has completed its part of an iteration waits for all
 * others (barriers) or for its two neighbours (ring): one that polls continues to take
 * its turns, one that sleeps yields them until there is a message for it.  Either
 * receives a message, and sends those that follow from it (sim/exchange), only while it
 * has a CPU.
 *
 * As hpcbd leaves ranks alone at first (hpcbd/balance/begin.c), policies act from a
 * certain time on.  Ranks that poll under a policy are scanned like hpcbd does
 * (policy/waiter): with "waiters" one that spins in a wait gets less of its CPU until
 * it continues.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/balance.h"
#include "policy/waiter.h"
#include "sim/exchange.h"
#include "sim/model.h"
#include "sim/random.h"
#include "sim/scenario.h"

#define RANKS_MAX    64
#define CPUS_MAX     32
#define PROGRAMS_MAX 32
#define CASES_MAX    32
#define BARRIERS_MAX 16   /* in an iteration */
#define TOP          1024 /* a usual weight */
#define NOBODY       RANKS_MAX
#define SCAN_NS      4000000 /* TICK_NS of hpcbd/balance */

typedef struct {
    const char *name;
    unsigned n;
    int64_t load_ns[RANKS_MAX]; /* CPU time of an iteration */
    hpcb_sim_exchange_t exchange;
    int64_t reverse_every;
    json_object *fixed; /* places of static, or NULL */
} program_t;

typedef struct {
    const char *name;
    bool polls, bound;
    bool acts;    /* there is a policy */
    bool waiters; /* BalanceWaiters=yes */
    hpcb_balance_conf_t conf;
} case_t;

typedef struct {
    int64_t cpus, slice_ns, iterations;
    int64_t acts_after_ns; /* policies, from the begin on */
} setting_t;

typedef struct {
    bool waits, news;
    bool awake;            /* though it sleeps in waits: there is a message for it */
    int64_t left_ns, used; /* used: CPU time by weight */
    int64_t ended;         /* iterations */
    uint64_t blocked;      /* odd in a blocking call (common/page.h: waits) */
    int64_t began_ns, done_ns;
    hpcb_balance_sample_t sample; /* of the iteration before */
    hpcb_waiter_t waiter;
} rank_t;

typedef struct {
    unsigned rank; /* NOBODY: idle */
    int64_t left_ns;
} cpu_t;

typedef struct {
    const setting_t *setting;
    const program_t *program;
    const case_t *how;
    hpcb_balance_places_t places;
    hpcb_balance_t balance;
    rank_t rank[RANKS_MAX];
    int64_t sent[RANKS_MAX]; /* messages of each (sim/exchange.h) */
    cpu_t cpu[CPUS_MAX];
    int64_t now_ns, half_ns;
    int64_t scan_ns; /* time of the next scan */
    bool spun;       /* a rank, since the last step */
    bool acting;
    int64_t changes;
} run_t;

static const bool nobody[RANKS_MAX];

static bool is_running(const run_t *run, unsigned rank)
{
    for (int64_t i = 0; i < run->setting->cpus; i++)
        if (run->cpu[i].rank == rank)
            return true;
    return false;
}

static bool wants_cpu(const run_t *run, unsigned rank)
{
    const rank_t *found = &run->rank[rank];

    return found->ended < run->setting->iterations &&
           (!found->waits || found->awake || run->how->polls);
}

static uint32_t weight(const run_t *run, unsigned rank)
{
    const case_t *how = run->how;
    uint32_t usual;

    if (!run->acting)
        return TOP;
    usual = hpcb_balance_weight(&run->places, &run->balance, rank, TOP);
    return hpcb_waiter_is_lowered(&run->rank[rank].waiter, how->waiters, &how->conf,
                                  &run->balance)
               ? hpcb_waiter_weight(usual)
               : usual;
}

/* srun binds ranks of static, hpcbd those that it places. */
static bool is_bound(const run_t *run)
{
    return run->how->bound &&
           (run->acting || run->how->conf.kind == HPCB_BALANCE_STATIC);
}

static unsigned pick(const run_t *run, unsigned cpu)
{
    unsigned found = NOBODY;

    for (unsigned i = 0; i < run->program->n; i++)
        if (wants_cpu(run, i) && !is_running(run, i) &&
            (!is_bound(run) || run->balance.rank[i].place == cpu) &&
            (found == NOBODY || run->rank[i].used < run->rank[found].used))
            found = i;
    return found;
}

static void fill_cpus(run_t *run)
{
    for (unsigned i = 0; i < run->setting->cpus; i++) {
        if (run->cpu[i].rank != NOBODY)
            continue;
        run->cpu[i] = (cpu_t){pick(run, i), run->setting->slice_ns};
    }
}

/* Until the next CPU has something to decide; 0: all are idle. */
static int64_t next_step(const run_t *run)
{
    int64_t step = run->scan_ns > run->now_ns ? run->scan_ns - run->now_ns : 0;

    for (unsigned i = 0; i < run->setting->cpus; i++) {
        const cpu_t *cpu = &run->cpu[i];
        int64_t own = cpu->left_ns;

        if (cpu->rank == NOBODY)
            continue;
        if (!run->rank[cpu->rank].waits && run->rank[cpu->rank].left_ns < own)
            own = run->rank[cpu->rank].left_ns;
        step = step == 0 || own < step ? own : step;
    }
    return step;
}

static bool is_scanned(const run_t *run)
{
    return run->acting && run->how->polls;
}

/* Unbound ranks take turns on all CPUs. */
static bool share_cpu(const run_t *run, unsigned a, unsigned b)
{
    return !is_bound(run) || run->balance.rank[a].place == run->balance.rank[b].place;
}

/* Return the weighted mean of what the ranks of its CPU, except those of without, have
 * had (EEVDF's V); usual if there are none. */
static int64_t had_there(const run_t *run, unsigned rank, const bool without[],
                         int64_t usual)
{
    int64_t least = INT64_MAX, sum = 0, weights = 0;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < run->program->n; i++) {
            int64_t used = run->rank[i].used, own;

            if (!wants_cpu(run, i) || without[i] || !share_cpu(run, i, rank))
                continue;
            if (pass == 0) {
                least = used < least ? used : least;
                continue;
            }
            own = weight(run, i);
            sum += (used - least) * own;
            weights += own;
        }
    }
    return weights > 0 ? least + sum / weights : usual;
}

/* One that polls always wants its CPU. */
static void scan_rank(run_t *run, unsigned number)
{
    rank_t *rank = &run->rank[number];
    int64_t before = weight(run, number),
            had = had_there(run, number, nobody, rank->used);
    hpcb_waiter_said_t said = hpcb_waiter_scan(&rank->waiter, rank->blocked);

    if (said == HPCB_WAITER_ASK)
        hpcb_waiter_wants(&rank->waiter, true);
    run->spun |= rank->waiter.spins;
    /* The kernel keeps the time that a task is ahead or behind, whatever its weight. */
    rank->used = had + (rank->used - had) * before / weight(run, number);
}

static void scan(run_t *run)
{
    if (!is_scanned(run) || run->now_ns < run->scan_ns)
        return;
    for (unsigned i = 0; i < run->program->n; i++)
        if (run->rank[i].ended < run->setting->iterations)
            scan_rank(run, i);
    run->scan_ns = run->now_ns + SCAN_NS;
}

/* Its part of an iteration is done: into the first call that waits. */
static void end_part(run_t *run, unsigned number)
{
    rank_t *rank = &run->rank[number];

    rank->waits = true;
    rank->blocked++;
    rank->ended++;
    rank->done_ns = run->now_ns;
    run->sent[number]++;
}

static void advance(run_t *run, int64_t step)
{
    run->now_ns += step;
    for (unsigned i = 0; i < run->setting->cpus; i++) {
        cpu_t *cpu = &run->cpu[i];
        rank_t *rank;

        if (cpu->rank == NOBODY)
            continue;
        rank = &run->rank[cpu->rank];
        rank->used += step * TOP / weight(run, cpu->rank);
        cpu->left_ns -= step;
        if (!rank->waits) {
            rank->left_ns -= step;
            if (rank->left_ns == 0)
                end_part(run, cpu->rank);
        }
        if (cpu->left_ns == 0 || !wants_cpu(run, cpu->rank))
            cpu->rank = NOBODY;
    }
}

static int64_t load_of(const run_t *run, unsigned rank)
{
    const program_t *program = run->program;
    unsigned other = (rank ^ 1) < program->n ? rank ^ 1 : rank;
    bool reversed = program->reverse_every > 0 &&
                    run->rank[rank].ended / program->reverse_every % 2 == 1;

    return program->load_ns[reversed ? other : rank];
}

static void begin_iteration(run_t *run, unsigned number)
{
    rank_t *rank = &run->rank[number];

    rank->sample = (hpcb_balance_sample_t){
        .compute_ns = (uint64_t)(rank->done_ns - rank->began_ns),
        .wait_ns = (uint64_t)(run->now_ns - rank->done_ns),
    };
    rank->news = true;
    rank->began_ns = run->now_ns;
    rank->left_ns = load_of(run, number);
    rank->waits = false;
}

static bool has_message(const run_t *run, unsigned rank)
{
    return run->rank[rank].waits && run->rank[rank].ended < run->setting->iterations &&
           hpcb_sim_exchange_has(&run->program->exchange, run->sent, rank);
}

/* A rank that has a CPU takes the message that it waits for: and goes on to the next
 * round, the next call or the next iteration. */
static void take_message(run_t *run, unsigned number)
{
    const hpcb_sim_exchange_t *exchange = &run->program->exchange;
    rank_t *rank = &run->rank[number];

    rank->awake = false;
    if (hpcb_sim_exchange_ends_call(exchange, run->sent[number]))
        rank->blocked++;
    if (hpcb_sim_exchange_ends(exchange, run->sent[number])) {
        begin_iteration(run, number);
        return;
    }
    if (hpcb_sim_exchange_ends_call(exchange, run->sent[number]))
        rank->blocked++;
    run->sent[number]++;
}

/* A rank that slept has no claim to what it did not use then. */
static int64_t least_used(const run_t *run, unsigned but)
{
    int64_t least = INT64_MAX;

    for (unsigned i = 0; i < run->program->n; i++)
        if (i != but && wants_cpu(run, i) && share_cpu(run, i, but) &&
            run->rank[i].used < least)
            least = run->rank[i].used;
    return least == INT64_MAX ? 0 : least;
}

static void wake_up(run_t *run)
{
    for (unsigned i = 0; i < run->program->n; i++) {
        rank_t *rank = &run->rank[i];
        int64_t least;

        if (run->how->polls || rank->awake || !has_message(run, i))
            continue;
        least = least_used(run, i) - run->setting->slice_ns;
        rank->used = rank->used < least ? least : rank->used;
        rank->awake = true;
    }
}

/* Give CPUs to ranks, and messages to those that have one, until neither changes. */
static void deal(run_t *run)
{
    bool again = true;

    while (again) {
        again = false;
        wake_up(run);
        fill_cpus(run);
        for (unsigned i = 0; i < run->setting->cpus; i++) {
            unsigned rank = run->cpu[i].rank;

            if (rank == NOBODY || !has_message(run, rank))
                continue;
            take_message(run, rank);
            again = true;
            if (!wants_cpu(run, rank))
                run->cpu[i].rank = NOBODY;
        }
    }
}

/* The kernel keeps the time that a task is ahead or behind on another CPU, too. */
static int step_policy(run_t *run, const hpcb_balance_sample_t samples[])
{
    unsigned from[RANKS_MAX] = {0};
    int64_t ahead[RANKS_MAX] = {0};
    bool moves[RANKS_MAX] = {false};
    unsigned n = run->program->n;
    unsigned done;

    for (unsigned i = 0; i < n; i++) {
        int64_t used = run->rank[i].used;

        from[i] = run->balance.rank[i].place;
        ahead[i] = used - had_there(run, i, nobody, used);
    }
    done = hpcb_balance_step(&run->how->conf, &run->places, samples, &run->balance);
    for (unsigned i = 0; i < n; i++)
        moves[i] = run->balance.rank[i].place != from[i];
    for (unsigned i = 0; i < n; i++) {
        if (!moves[i])
            continue;
        run->rank[i].used = had_there(run, i, moves, run->rank[i].used) + ahead[i];
        moves[i] = false;
    }
    return done != 0;
}

/* Once all have ended an iteration since the last time. */
static void balance(run_t *run)
{
    hpcb_balance_sample_t samples[RANKS_MAX];

    for (unsigned i = 0; i < run->program->n; i++) {
        if (!run->rank[i].news)
            return;
        samples[i] = run->rank[i].sample;
    }
    for (unsigned i = 0; i < run->program->n; i++)
        run->rank[i].news = false;
    if (!run->acting)
        return;
    hpcb_balance_spun(&run->balance, run->spun);
    run->spun = false;
    run->changes += step_policy(run, samples);
}

/* auto gets the length of earlier iterations (usual_ns), like from a page. */
static void begin_to_act(run_t *run)
{
    int64_t ended = run->rank[0].ended;

    if (run->acting || !run->how->acts || run->now_ns < run->setting->acts_after_ns)
        return;
    run->acting = true;
    if (ended > 0)
        hpcb_balance_usual(&run->balance, (double)run->now_ns / (double)ended / 1e9);
}

static bool is_over(run_t *run, int64_t iterations)
{
    for (unsigned i = 0; i < run->program->n; i++)
        if (run->rank[i].ended < iterations)
            return false;
    return true;
}

static void begin_ranks(run_t *run, uint64_t seed)
{
    hpcb_sim_stream_t chance = hpcb_sim_stream(seed, 1);

    for (unsigned i = 0; i < run->setting->cpus; i++)
        run->cpu[i].rank = NOBODY;
    for (unsigned i = 0; i < run->program->n; i++) {
        run->rank[i] = (rank_t){
            .left_ns = run->program->load_ns[i],
            .used = (int64_t)hpcb_sim_below(&chance, (uint64_t)run->setting->slice_ns)};
    }
}

static void run_program(run_t *run, uint64_t seed)
{
    begin_ranks(run, seed);
    while (!is_over(run, run->setting->iterations)) {
        begin_to_act(run);
        deal(run);
        advance(run, next_step(run));
        if (run->half_ns == 0 && is_over(run, run->setting->iterations / 2))
            run->half_ns = run->now_ns;
        scan(run);
        balance(run);
    }
}

static int read_numbers(json_object *object, const char *where, const char *key,
                        unsigned n, int64_t most, int64_t value[], hpcb_error_t *err)
{
    json_object *list;

    if (hpcb_sim_list(object, where, key, RANKS_MAX, &list, err) < 0)
        return -1;
    if (json_object_array_length(list) != n)
        return hpcb_error(err, "%s: %s: not one for each of %u ranks", where, key, n);
    return hpcb_sim_ints(list, where, key, 0, most, value, err);
}

/* Set the first places of ranks: by number, or those of static. */
static int place(run_t *run, uint16_t at[], hpcb_error_t *err)
{
    unsigned n = run->program->n, cpus = (unsigned)run->setting->cpus;
    int64_t value[RANKS_MAX] = {0};

    run->places.n = run->how->bound ? cpus : 1;
    for (unsigned i = 0; i < cpus; i++)
        run->places.place[i] =
            (hpcb_balance_place_t){.cpu = (uint16_t)i, .core = (uint16_t)i};
    for (unsigned i = 0; i < n; i++)
        at[i] = (uint16_t)(i % run->places.n);
    if (run->how->conf.kind != HPCB_BALANCE_STATIC)
        return 0;
    if (read_numbers(run->program->fixed, run->program->name, "places", n, cpus - 1,
                     value, err) < 0)
        return -1;
    for (unsigned i = 0; i < n; i++)
        at[i] = (uint16_t)value[i];
    return 0;
}

/* The policy with the program's own settings, if it is static. */
static int settle(const program_t *program, case_t *how, hpcb_error_t *err)
{
    int64_t value[RANKS_MAX] = {0};

    if (how->conf.kind != HPCB_BALANCE_STATIC)
        return 0;
    if (!program->fixed)
        return hpcb_error(err, "%s: static is missing", program->name);
    if (read_numbers(program->fixed, program->name, "priorities", program->n, 6, value,
                     err) < 0)
        return -1;
    how->conf.n_fixed = program->n;
    for (unsigned i = 0; i < program->n; i++)
        how->conf.fixed[i] = (unsigned char)value[i];
    return 0;
}

static int run_case(const setting_t *setting, const program_t *program, case_t how,
                    uint64_t seed, json_object *rows, hpcb_error_t *err)
{
    run_t run = {.setting = setting, .program = program, .how = &how};
    uint16_t at[RANKS_MAX];
    json_object *row;

    if (settle(program, &how, err) < 0 || place(&run, at, err) < 0)
        return -1;
    if (how.acts &&
        hpcb_balance_begin(&how.conf, &run.places, program->n, at, &run.balance) < 0)
        return hpcb_error(err, "%s: %s: the ranks cannot be placed so", program->name,
                          how.name);
    run_program(&run, seed);
    row = hpcb_sim_row(rows);
    hpcb_sim_put_text(row, "program", program->name);
    hpcb_sim_put_text(row, "case", how.name);
    hpcb_sim_put_real(row, "seconds", (double)run.now_ns / 1e9);
    hpcb_sim_put_real(row, "steady_seconds", (double)(run.now_ns - run.half_ns) / 1e9);
    hpcb_sim_put_int(row, "changes", run.changes);
    return 0;
}

static int read_loads(json_object *object, const char *name, int64_t unit_ns,
                      program_t *program, hpcb_error_t *err)
{
    double load[RANKS_MAX];
    json_object *list;

    if (hpcb_sim_list(object, name, "loads", RANKS_MAX, &list, err) < 0)
        return -1;
    program->n = (unsigned)json_object_array_length(list);
    if (hpcb_sim_reals(list, name, "loads", 0.001, 1000, load, err) < 0)
        return -1;
    for (unsigned i = 0; i < program->n; i++)
        program->load_ns[i] = (int64_t)(load[i] * (double)unit_ns);
    return 0;
}

static int read_program(json_object *object, int64_t unit_ns, program_t *program,
                        hpcb_error_t *err)
{
    static const char *const known[] = {
        "name", "loads", "exchange", "barriers", "reverse_every", "static", NULL};
    const char *exchange;
    int64_t barriers = 1;
    bool ring;

    *program = (program_t){0};
    if (!json_object_is_type(object, json_type_object))
        return hpcb_error(err, "programs: not a list of objects");
    if (hpcb_sim_text(object, "programs", "name", &program->name, err) < 0 ||
        hpcb_sim_known(object, program->name, known, err) < 0 ||
        read_loads(object, program->name, unit_ns, program, err) < 0 ||
        hpcb_sim_text(object, program->name, "exchange", &exchange, err) < 0 ||
        (hpcb_sim_has(object, "barriers") &&
         hpcb_sim_int(object, program->name, "barriers", 1, BARRIERS_MAX, &barriers,
                      err) < 0) ||
        (hpcb_sim_has(object, "reverse_every") &&
         hpcb_sim_int(object, program->name, "reverse_every", 1, 1000000,
                      &program->reverse_every, err) < 0) ||
        (hpcb_sim_has(object, "static") &&
         hpcb_sim_object(object, program->name, "static", &program->fixed, err) < 0))
        return -1;
    ring = strcmp(exchange, "ring") == 0;
    if (!ring && strcmp(exchange, "barrier") != 0)
        return hpcb_error(err, "%s: exchange=%s: not barrier or ring", program->name,
                          exchange);
    program->exchange = hpcb_sim_exchange(program->n, ring, (unsigned)barriers);
    return 0;
}

static int read_case(json_object *object, case_t *how, hpcb_error_t *err)
{
    static const char *const known[] = {"name", "waits", "policy", "waiters", NULL};
    const char *waits, *policy, *bad;

    *how = (case_t){0};
    if (!json_object_is_type(object, json_type_object))
        return hpcb_error(err, "cases: not a list of objects");
    if (hpcb_sim_text(object, "cases", "name", &how->name, err) < 0 ||
        hpcb_sim_known(object, how->name, known, err) < 0 ||
        hpcb_sim_text(object, how->name, "waits", &waits, err) < 0)
        return -1;
    how->polls = strcmp(waits, "poll") == 0;
    if (!how->polls && strcmp(waits, "sleep") != 0)
        return hpcb_error(err, "%s: waits=%s: not poll or sleep", how->name, waits);
    if (hpcb_sim_has(object, "waiters") &&
        hpcb_sim_bool(object, how->name, "waiters", &how->waiters, err) < 0)
        return -1;
    if (!hpcb_sim_has(object, "policy"))
        return 0;
    if (hpcb_sim_text(object, how->name, "policy", &policy, err) < 0)
        return -1;
    if (strcmp(policy, "static") == 0)
        how->conf = hpcb_balance_conf(HPCB_BALANCE_STATIC);
    else if (hpcb_balance_conf_parse(policy, &how->conf, &bad) < 0)
        return hpcb_error(err, "%s: policy=%s: wrong from '%s' on", how->name, policy,
                          bad);
    how->acts = true;
    how->conf.linear = true;
    how->bound =
        how->conf.kind == HPCB_BALANCE_STATIC || hpcb_balance_places_ranks(&how->conf);
    return 0;
}

static int read_setting(json_object *scenario, setting_t *setting, int64_t *unit_ns,
                        hpcb_error_t *err)
{
    static const char *const known[] = {"model",    "cpus",       "slice_ns",
                                        "unit_ns",  "iterations", "acts_after_ns",
                                        "programs", "cases",      NULL};

    return hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "cpus", 1, CPUS_MAX,
                                &setting->cpus, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "slice_ns", 1000, 1000000000,
                                &setting->slice_ns, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "unit_ns", 1000000, 1000000000,
                                unit_ns, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "iterations", 2, 100000,
                                &setting->iterations, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "acts_after_ns", 0,
                                INT64_C(1000000000000), &setting->acts_after_ns,
                                err) < 0
               ? -1
               : 0;
}

int hpcb_sim_cpus_model(json_object *scenario, uint64_t seed,
                        hpcb_sim_progress_t *progress, json_object *rows,
                        hpcb_error_t *err)
{
    setting_t setting = {0};
    json_object *programs = NULL, *cases = NULL;
    int64_t unit_ns = 0;
    size_t n;

    if (read_setting(scenario, &setting, &unit_ns, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "programs", PROGRAMS_MAX, &programs, err) <
            0 ||
        hpcb_sim_list(scenario, "scenario", "cases", CASES_MAX, &cases, err) < 0)
        return -1;
    n = json_object_array_length(cases);
    hpcb_sim_progress_begin(progress,
                            (unsigned)(json_object_array_length(programs) * n));
    for (size_t i = 0; i < json_object_array_length(programs) * n; i++) {
        program_t program;
        case_t how;

        if (read_program(json_object_array_get_idx(programs, i / n), unit_ns, &program,
                         err) < 0 ||
            read_case(json_object_array_get_idx(cases, i % n), &how, err) < 0 ||
            run_case(&setting, &program, how, seed, rows, err) < 0)
            return -1;
        hpcb_sim_progress_step(progress);
    }
    return 0;
}
