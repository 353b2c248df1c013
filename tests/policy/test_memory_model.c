/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Lending and guard together, on one node: primaries and guests come, grow and go at
 * random, the controller sees reports that are up to 4 s old, guests take what they can
 * get as fast as the kernel gives it, and the guard is killed now and then, forgets all
 * that it knew, and comes back a second later.  A primary gets each byte that it was
 * promised, when it wants it.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/lend.h"
#include "policy/memguard.h"

#define GIB        (UINT64_C(1) << 30)
#define MIB        (UINT64_C(1) << 20)
#define SEQUENCES  1000
#define SECONDS    60
#define STEP_MS    50 /* how often the guard looks at what is available */
#define JOBS       6  /* of each class */
#define REAL       (100 * GIB)
#define RESERVE    (5 * GIB)
#define FREED_MS   300 /* after a SIGKILL */
#define DOWN_MS    1000
#define REPORT_MS  4000
#define SETTLE     2
#define GUEST_RATE (20 * GIB) /* a second */

/* So fast that a second without a guard is within the reserve. */
#define PRIMARY_RATE (3 * GIB)

typedef struct {
    bool runs;
    uint64_t promised, used, target, rate;
    uint64_t reported; /* used, as the controller knows it */
    bool is_reported;
    int64_t begin, killed; /* ms; killed 0: no */
    uint64_t limit;        /* by the guard; 0: as promised */
    hpcb_memrate_t growth;
} job_t;

typedef struct {
    job_t primaries[JOBS], guests[JOBS];
    int64_t now, sample_due, report_due, down_until;
    uint64_t floor; /* of what is available: below it a sample is due at once */
    unsigned started, ended, killed_by_kernel;
} model_t;

static uint64_t state;

/* xorshift64*: the same sequences everywhere. */
static uint64_t below(uint64_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return limit ? state * UINT64_C(2685821657736338717) % limit : 0;
}

static uint64_t sum(const job_t *jobs, bool promised)
{
    uint64_t total = 0;

    for (int i = 0; i < JOBS; i++)
        if (jobs[i].runs)
            total += promised ? jobs[i].promised : jobs[i].used;
    return total;
}

static uint64_t available(const model_t *model)
{
    return REAL - sum(model->primaries, false) - sum(model->guests, false);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Slurm's: guests are not looked at. */
static void start_primary(model_t *model, job_t *job)
{
    uint64_t promised = GIB + below(REAL - GIB);

    if (job->runs || sum(model->primaries, true) + promised > REAL)
        return;
    *job = (job_t){.runs = true,
                   .promised = promised,
                   .target = below(promised + 1),
                   .rate = MIB + below(PRIMARY_RATE / JOBS),
                   .begin = model->now};
}

static uint64_t expected(const model_t *model, const job_t *job)
{
    hpcb_lend_job_t lend = {
        .promised = job->promised,
        .reported = job->is_reported,
        .used = job->reported,
        .peak = job->reported,
        .age = (uint64_t)(model->now - job->begin) / 1000,
    };

    return hpcb_lend_expected(&lend, SETTLE);
}

static void start_guest(model_t *model, job_t *job)
{
    uint64_t promised = 100 * MIB + below(60 * GIB), all = 0;

    for (int i = 0; i < JOBS; i++)
        if (model->primaries[i].runs)
            all += expected(model, &model->primaries[i]);
    if (job->runs ||
        hpcb_lend_free(REAL, RESERVE, all, sum(model->guests, true)) < promised)
        return;
    *job = (job_t){.runs = true,
                   .promised = promised,
                   .target = promised,
                   .rate = below(GUEST_RATE / JOBS),
                   .begin = model->now};
    model->started++;
}

/* One STEP_MS of it. */
static void grow(job_t *job)
{
    uint64_t most = job->limit ? least(job->limit, job->target) : job->target;

    if (job->runs && !job->killed && job->used < most)
        job->used += least(job->rate * STEP_MS / 1000, most - job->used);
}

/* At our limit, and wanting more: reclaim gives nothing here. */
static void kernel_kills(model_t *model, job_t *guest)
{
    if (!guest->runs || guest->killed || !guest->limit || guest->used < guest->limit)
        return;
    guest->killed = model->now;
    model->killed_by_kernel++;
}

static void free_killed(model_t *model)
{
    for (int i = 0; i < JOBS; i++)
        if (model->guests[i].killed && model->now - model->guests[i].killed >= FREED_MS)
            model->guests[i] = (job_t){0};
}

static void report(model_t *model)
{
    for (int i = 0; i < JOBS; i++) {
        model->primaries[i].reported = model->primaries[i].used;
        model->primaries[i].is_reported = model->primaries[i].runs;
    }
    model->report_due = model->now + REPORT_MS;
}

static void rates(model_t *model, hpcb_memnode_t *node, hpcb_memguest_t *guests)
{
    for (int i = 0; i < JOBS; i++) {
        job_t *primary = &model->primaries[i], *guest = &model->guests[i];

        if (primary->runs)
            hpcb_memrate_add(&primary->growth, primary->used, model->now);
        if (guest->runs)
            hpcb_memrate_add(&guest->growth, guest->used, model->now);
        node->growth += primary->runs ? primary->growth.per_sec : 0;
        guests[i] = (hpcb_memguest_t){.used = guest->used,
                                      .growth = guest->growth.per_sec,
                                      .begin = guest->begin,
                                      .ending = guest->killed || !guest->runs,
                                      .own = guest->promised};
    }
}

static void guard(model_t *model)
{
    hpcb_memnode_t node = {.real = REAL,
                           .reserve = RESERVE,
                           .available = available(model),
                           .primaries = sum(model->primaries, false)};
    hpcb_memguest_t guests[JOBS];
    hpcb_memdecision_t decision;

    rates(model, &node, guests);
    hpcb_memguard_decide(&node, guests, JOBS, &decision);
    hpcb_memguard_divide(decision.limit, guests, JOBS);
    for (int i = 0; i < JOBS; i++) {
        if (guests[i].end)
            model->guests[i].killed = model->now;
        model->ended += guests[i].end;
        model->guests[i].limit = guests[i].limit < guests[i].own ? guests[i].limit : 0;
    }
    model->sample_due = model->now + decision.next_ms;
    model->floor = node.available - least(node.available, decision.headroom / 2);
}

/* Killed: what it knew is gone, and Slurm's limits are in force again when it is back.
 */
static void kill_guard(model_t *model)
{
    for (int i = 0; i < JOBS; i++) {
        model->primaries[i].growth = (hpcb_memrate_t){0};
        model->guests[i].growth = (hpcb_memrate_t){0};
        model->guests[i].limit = 0;
    }
    model->down_until = model->now + DOWN_MS;
    model->sample_due = model->down_until;
}

static void something_happens(model_t *model)
{
    job_t *primary = &model->primaries[below(JOBS)],
          *guest = &model->guests[below(JOBS)];

    uint64_t what = below(200);

    if (what < 8)
        start_primary(model, primary);
    else if (what < 9)
        *primary = (job_t){0};
    else if (what < 10)
        *guest = (job_t){0};
    else if (what < 14) /* --mem=0 at last, all of it */
        primary->target = primary->promised;
    else if (what < 15 && below(2))
        kill_guard(model);
    else if (what > 180)
        start_guest(model, guest);
}

static void step(model_t *model)
{
    bool is_up;

    model->now += STEP_MS;
    something_happens(model);
    free_killed(model);
    for (int i = 0; i < JOBS; i++) {
        grow(&model->primaries[i]);
        grow(&model->guests[i]);
        kernel_kills(model, &model->guests[i]);
    }
    is_up = model->now >= model->down_until;
    if (is_up && (model->now >= model->sample_due || available(model) < model->floor))
        guard(model);
    if (is_up && model->now >= model->report_due)
        report(model);
}

START_TEST(a_primary_gets_what_it_was_promised)
{
    unsigned started = 0, ended = 0, killed = 0;

    state = 88172645463325252;
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        model_t model = {.now = 1000};

        while (model.now < SECONDS * 1000) {
            step(&model);
            ck_assert_msg(
                sum(model.primaries, false) + sum(model.guests, false) <= REAL,
                "sequence %d, %ld ms: memory ends", sequence, (long)model.now);
        }
        started += model.started;
        ended += model.ended;
        killed += model.killed_by_kernel;
    }
    fprintf(stderr,
            "# %u guests started, %u ended for memory, %u more at their limit\n",
            started, ended, killed);
    ck_assert_uint_gt(ended, 0);
    ck_assert_uint_gt(started, ended + killed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_model");
    TCase *tcase = tcase_create("memory_model");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_set_tags(tcase, "long"); /* valgrind sees the same in test_memguard */
    tcase_add_test(tcase, a_primary_gets_what_it_was_promised);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
