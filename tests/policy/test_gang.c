/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>

#include "policy/gang.h"

#define MB UINT64_C(1000000)

static const hpcb_bw_t capacity = {1000 * MB, 100 * MB};

static hpcb_gang_job_t job_on(uint32_t job_id, const char *cpus)
{
    hpcb_gang_job_t job = {.job_id = job_id};

    ck_assert_int_eq(hpcb_cpus_parse(cpus, &job.cpus), 0);
    return job;
}

static void moves(hpcb_gang_job_t *job, uint64_t mem, uint64_t net)
{
    hpcb_gang_sample(job, &(hpcb_fit_sample_t){mem * MB, net * MB});
}

/* One quantum; who runs, as bits 1 << job_id. */
static unsigned step(hpcb_gang_t *gang)
{
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned who = 0;

    hpcb_gang_select(gang, &capacity, 0, run);
    for (size_t i = 0; i < gang->count; i++)
        who |= run[i] ? 1U << gang->list[i]->job_id : 0;
    hpcb_gang_begin(gang, run);
    return who;
}

START_TEST(predicts_from_the_last_samples)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t job = job_on(1, "0");
    hpcb_bw_t use = hpcb_gang_predict(&gang, &job);

    ck_assert_uint_eq(use.mem, 0);
    moves(&job, 900, 90);
    use = hpcb_gang_predict(&gang, &job);
    ck_assert_uint_eq(use.mem, 990 * MB);
    ck_assert_uint_eq(use.net, 90 * MB);
    moves(&job, 100, 10);
    moves(&job, 300, 30);
    use = hpcb_gang_predict(&gang, &job);
    ck_assert_uint_eq(use.mem, 220 * MB);
    ck_assert_uint_eq(use.net, 20 * MB);
    for (unsigned i = 0; i < 2 * HPCB_GANG_WINDOW_MAX; i++)
        moves(&job, i, 0);
    ck_assert_uint_eq(job.n_samples, HPCB_GANG_WINDOW_MAX);
    gang.window = HPCB_GANG_WINDOW_MAX;
    use = hpcb_gang_predict(&gang, &job);
    ck_assert_uint_eq(use.mem, 23500000);
}
END_TEST

/* Section 6: two that need much and two that need little, on two CPUs. */
START_TEST(pairs_who_needs_much_with_who_needs_little)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "1"), job_on(3, "0"),
                              job_on(4, "1")};

    for (size_t i = 0; i < 4; i++)
        hpcb_gang_add(&gang, &jobs[i]);
    moves(&jobs[0], 900, 0);
    moves(&jobs[1], 900, 0);
    moves(&jobs[2], 50, 0);
    moves(&jobs[3], 50, 0);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(step(&gang), 1U << 1 | 1U << 4);
        ck_assert_uint_eq(step(&gang), 1U << 2 | 1U << 3);
    }
    ck_assert_uint_eq(jobs[0].turns, 4);
    ck_assert(jobs[1].runs && !jobs[0].runs);
}
END_TEST

/* GangWindow=0: the same jobs in their order, likes together. */
START_TEST(without_a_window_bandwidth_does_not_count)
{
    hpcb_gang_t gang = {.window = 0};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "1"), job_on(3, "0"),
                              job_on(4, "1")};

    for (size_t i = 0; i < 4; i++) {
        hpcb_gang_add(&gang, &jobs[i]);
        moves(&jobs[i], i < 2 ? 900 : 50, 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(step(&gang), 1U << 1 | 1U << 2);
        ck_assert_uint_eq(step(&gang), 1U << 3 | 1U << 4);
    }
}
END_TEST

/* Who has nothing to compare with is judged by what the others use. */
START_TEST(pairs_them_without_a_capacity_too)
{
    hpcb_gang_t gang = {.window = 1};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "1"), job_on(3, "0"),
                              job_on(4, "1")};
    const hpcb_bw_t unknown = {0, 0};
    bool run[HPCB_GANG_JOBS_MAX];

    for (size_t i = 0; i < 4; i++) {
        hpcb_gang_add(&gang, &jobs[i]);
        moves(&jobs[i], 0, i < 2 ? 5 : 80);
    }
    for (unsigned i = 0; i < 8; i++) {
        hpcb_gang_select(&gang, &unknown, 0, run);
        hpcb_gang_begin(&gang, run);
        ck_assert(jobs[0].runs == jobs[3].runs);
        ck_assert(jobs[1].runs == jobs[2].runs);
        ck_assert(jobs[0].runs != jobs[1].runs);
    }
}
END_TEST

/* Two that use the network and two that use nothing of it, on a node that has measured
 * its memory's bandwidth but has no sensor of it. */
START_TEST(what_is_not_measured_decides_nothing)
{
    hpcb_gang_t gang = {.window = 1};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "1"), job_on(3, "0"),
                              job_on(4, "1")};
    const hpcb_bw_t node = {20000 * MB, 100 * MB};
    bool run[HPCB_GANG_JOBS_MAX];

    for (size_t i = 0; i < 4; i++) {
        hpcb_gang_add(&gang, &jobs[i]);
        moves(&jobs[i], 0, i < 2 ? 90 : 0);
        jobs[i].net_known = true;
    }
    for (unsigned i = 0; i < 8; i++) {
        hpcb_bw_t told = hpcb_gang_capacity(&gang, &node);

        hpcb_gang_select(&gang, &told, 0, run);
        hpcb_gang_begin(&gang, run);
        ck_assert(jobs[0].runs == jobs[3].runs);
        ck_assert(jobs[1].runs == jobs[2].runs);
        ck_assert(jobs[0].runs != jobs[1].runs);
    }
}
END_TEST

START_TEST(a_capacity_counts_if_all_are_measured)
{
    hpcb_gang_t gang = {.window = 1};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "1"), job_on(3, "0")};

    for (size_t i = 0; i < 3; i++) {
        hpcb_gang_add(&gang, &jobs[i]);
        jobs[i].mem_known = jobs[i].net_known = true;
        moves(&jobs[i], 1, 1);
    }
    ck_assert_uint_eq(hpcb_gang_capacity(&gang, &capacity).mem, capacity.mem);
    jobs[1].mem_known = false;
    ck_assert_uint_eq(hpcb_gang_capacity(&gang, &capacity).mem, 0);
    ck_assert_uint_eq(hpcb_gang_capacity(&gang, &capacity).net, capacity.net);
    jobs[1].paused = true;
    ck_assert_uint_eq(hpcb_gang_capacity(&gang, &capacity).mem, capacity.mem);
    jobs[2].n_samples = 0;
    jobs[2].net_known = false;
    ck_assert_uint_eq(hpcb_gang_capacity(&gang, &capacity).net, capacity.net);
}
END_TEST

START_TEST(no_two_on_a_cpu_and_no_cpu_left)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t wide = job_on(1, "0-3"), left = job_on(2, "0-1"),
                    right = job_on(3, "2-3"), alone = job_on(4, "4");

    hpcb_gang_add(&gang, &wide);
    hpcb_gang_add(&gang, &left);
    hpcb_gang_add(&gang, &alone);
    ck_assert(hpcb_gang_contends(&gang));
    hpcb_gang_add(&gang, &right);
    ck_assert_uint_eq(step(&gang), 1U << 1 | 1U << 4);
    ck_assert_uint_eq(step(&gang), 1U << 2 | 1U << 3 | 1U << 4);
    ck_assert_uint_eq(step(&gang), 1U << 1 | 1U << 4);
    ck_assert_uint_eq(alone.turns, 3);
    hpcb_gang_remove(&gang, &wide);
    ck_assert_uint_eq(gang.count, 3);
    ck_assert(!hpcb_gang_contends(&gang));
    ck_assert_uint_eq(step(&gang), 1U << 2 | 1U << 3 | 1U << 4);
}
END_TEST

START_TEST(who_is_paused_or_has_no_cpus_is_not_elected)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t first = job_on(1, "0"), second = job_on(2, "0"),
                    nowhere = job_on(3, "");

    hpcb_gang_add(&gang, &first);
    hpcb_gang_add(&gang, &nowhere);
    ck_assert(!hpcb_gang_contends(&gang));
    hpcb_gang_add(&gang, &second);
    first.paused = true;
    ck_assert_uint_eq(step(&gang), 1U << 2);
    ck_assert_uint_eq(step(&gang), 1U << 2);
    ck_assert_uint_eq(first.waited, 0);
    first.paused = false;
    ck_assert_uint_eq(step(&gang), 1U << 1);
    ck_assert_uint_eq(step(&gang), 1U << 2);
    first.paused = second.paused = true;
    ck_assert_uint_eq(step(&gang), 0);
    second.waited = 7;
    second.paused = false;
    hpcb_gang_rest(&gang);
    ck_assert(!first.runs && second.runs && nowhere.runs);
    ck_assert_uint_eq(second.waited, 0);
    ck_assert_uint_eq(second.turns, 3);
}
END_TEST

START_TEST(the_list_ends_somewhere)
{
    static hpcb_gang_job_t jobs[HPCB_GANG_JOBS_MAX + 1];
    hpcb_gang_t gang = {.window = 1};
    bool run[HPCB_GANG_JOBS_MAX];

    for (unsigned i = 0; i <= HPCB_GANG_JOBS_MAX; i++) {
        hpcb_cpus_add(&jobs[i].cpus, 0);
        moves(&jobs[i], UINT64_MAX / MB, UINT64_MAX / MB);
        ck_assert(hpcb_gang_add(&gang, &jobs[i]) == (i < HPCB_GANG_JOBS_MAX));
    }
    for (unsigned i = 0; i < HPCB_GANG_JOBS_MAX; i++) {
        hpcb_gang_select(&gang, &capacity, 0, run);
        hpcb_gang_begin(&gang, run);
    }
    for (unsigned i = 0; i < HPCB_GANG_JOBS_MAX; i++)
        ck_assert_uint_eq(jobs[i].turns, 1);
}
END_TEST

/* ---- by chance: jobs come, go, are paused, move what they like ---- */

#define CPUS 8
#define JOBS 12

static uint32_t chance;

/* Knuth's generator, the same on every machine. */
static unsigned below(unsigned limit)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % limit;
}

static hpcb_gang_job_t some_job(uint32_t job_id)
{
    hpcb_gang_job_t job = {.job_id = job_id};
    unsigned first = below(CPUS), width = 1 + below(CPUS - first);

    for (unsigned cpu = first; cpu < first + width; cpu++)
        hpcb_cpus_add(&job.cpus, cpu);
    return job;
}

static void check_election(const hpcb_gang_t *gang, const bool *run)
{
    hpcb_cpus_t taken = {{0}};

    for (size_t i = 0; i < gang->count; i++) {
        ck_assert(!run[i] || !hpcb_cpus_meet(&gang->list[i]->cpus, &taken));
        ck_assert(!run[i] || !gang->list[i]->paused);
        if (run[i])
            hpcb_cpus_join(&taken, &gang->list[i]->cpus);
    }
    for (size_t i = 0; i < gang->count; i++)
        ck_assert(run[i] || gang->list[i]->paused ||
                  hpcb_cpus_meet(&gang->list[i]->cpus, &taken));
}

typedef struct {
    hpcb_gang_t gang;
    hpcb_gang_job_t jobs[JOBS];
    bool there[JOBS];
    bool wide; /* some jobs are */
} world_t;

static void change_jobs(world_t *world)
{
    unsigned i = below(JOBS);

    if (below(8) == 0) {
        if (world->there[i])
            hpcb_gang_remove(&world->gang, &world->jobs[i]);
        else {
            world->jobs[i] = some_job(i + 1);
            world->jobs[i].wide = world->wide && below(2);
            world->jobs[i].cycle = world->jobs[i].wide && below(2) ? 1U << below(4) : 0;
            world->jobs[i].slot = below(1 + world->jobs[i].cycle / 2);
            ck_assert(hpcb_gang_add(&world->gang, &world->jobs[i]));
        }
        world->there[i] = !world->there[i];
    }
    if (below(8) == 0)
        world->jobs[i].paused = !world->jobs[i].paused;
}

/* Who ran, as a number. */
static uint64_t run_quantum(world_t *world, uint64_t quantum)
{
    bool run[HPCB_GANG_JOBS_MAX];
    uint64_t who = 0;

    change_jobs(world);
    hpcb_gang_select(&world->gang, &capacity, quantum, run);
    check_election(&world->gang, run);
    hpcb_gang_begin(&world->gang, run);
    for (unsigned i = 0; i < JOBS; i++) {
        ck_assert_uint_lt(world->there[i] ? world->jobs[i].waited : 0,
                          world->wide ? 3 * JOBS : JOBS);
        if (!world->there[i] || !world->jobs[i].runs)
            continue;
        who |= UINT64_C(1) << i;
        moves(&world->jobs[i], below(1500), below(150));
    }
    return who;
}

static uint64_t run_world(uint32_t seed, bool wide)
{
    world_t world = {.gang = {.window = 2}, .wide = wide};
    uint64_t all = 0;

    chance = seed;
    for (unsigned i = 0; i < 1000; i++)
        all = all * 31 + run_quantum(&world, i);
    return all;
}

START_TEST(nobody_starves_nothing_is_overcommitted)
{
    for (uint32_t seed = 1; seed <= 8; seed++)
        for (unsigned wide = 0; wide < 2; wide++)
            ck_assert_uint_eq(run_world(seed, wide), run_world(seed, wide));
    ck_assert_uint_ne(run_world(1, false), run_world(2, false));
}
END_TEST

/* 2d + n - 1 quanta, where a CPU has up to d of the n jobs. */
static void check_bound(uint32_t seed)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t jobs[JOBS];
    unsigned on[CPUS] = {0}, depth = 0;
    bool run[HPCB_GANG_JOBS_MAX];

    chance = seed;
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = some_job(1 + below(1000) * 20 + i);
        jobs[i].wide = below(4) > 0;
        hpcb_gang_add(&gang, &jobs[i]);
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            hpcb_cpus_t one = {{0}};

            hpcb_cpus_add(&one, cpu);
            on[cpu] += hpcb_cpus_meet(&one, &jobs[i].cpus);
            depth = on[cpu] > depth ? on[cpu] : depth;
        }
    }
    for (uint64_t quantum = 0; quantum < 2500; quantum++) {
        hpcb_gang_select(&gang, &capacity, quantum, run);
        hpcb_gang_begin(&gang, run);
        for (unsigned i = 0; i < JOBS; i++)
            ck_assert_uint_lt(jobs[i].waited, 2 * depth + JOBS - 1);
    }
}

START_TEST(nobody_waits_longer_than_promised)
{
    for (uint32_t seed = 1; seed <= 30; seed++)
        check_bound(seed);
}
END_TEST

/* ---- several nodes ---- */

/* With many jobs on a node it takes long until one of them is overdue. */
START_TEST(a_job_of_two_nodes_leaves_others_their_turns)
{
    static const char *const cpu[] = {"0", "1", "2", "3"};
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t wide = job_on(1, "0-3"), narrow[4];
    bool run[HPCB_GANG_JOBS_MAX];

    wide.wide = true;
    hpcb_gang_add(&gang, &wide);
    for (unsigned i = 0; i < 4; i++) {
        narrow[i] = job_on(i + 2, cpu[i]);
        hpcb_gang_add(&gang, &narrow[i]);
    }
    for (uint64_t quantum = 0; quantum < 1000; quantum++) {
        hpcb_gang_select(&gang, &capacity, quantum, run);
        hpcb_gang_begin(&gang, run);
    }
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_gt(narrow[i].turns, 400);
    ck_assert_uint_gt(wide.turns, 400);
}
END_TEST

/* Jobs of several nodes on CPUs of their own, which own all quanta together, and one of
 * this node that meets all of them. */
static uint64_t turns_beside(unsigned wide_jobs, unsigned cpus_each)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t jobs[64], narrow = {.job_id = 99};
    bool run[HPCB_GANG_JOBS_MAX];

    for (unsigned i = 0; i < wide_jobs; i++) {
        jobs[i] = (hpcb_gang_job_t){.job_id = 100 + i, .wide = true};
        for (unsigned cpu = i * cpus_each; cpu < (i + 1) * cpus_each; cpu++) {
            hpcb_cpus_add(&jobs[i].cpus, cpu);
            hpcb_cpus_add(&narrow.cpus, cpu);
        }
        hpcb_gang_add(&gang, &jobs[i]);
    }
    hpcb_gang_add(&gang, &narrow);
    for (uint64_t quantum = 0; quantum < 4096; quantum++) {
        hpcb_gang_select(&gang, &capacity, quantum, run);
        hpcb_gang_begin(&gang, run);
    }
    for (unsigned i = 0; i < wide_jobs; i++)
        ck_assert_uint_ge(jobs[i].turns, 4096 / 4);
    return narrow.turns;
}

START_TEST(owners_of_all_quanta_leave_a_job_its_turns)
{
    ck_assert_uint_ge(turns_beside(2, 8), 4096 / 4);
    ck_assert_uint_ge(turns_beside(64, 1), 4096 / 4);
}
END_TEST

/* Three jobs of two nodes, whose ids lie a whole cycle apart; one of the nodes has a
 * job of its own, which has the quanta that nobody owns. */
START_TEST(no_ids_meet_for_good)
{
    hpcb_gang_t gangs[2] = {{.window = 2}, {.window = 2}};
    hpcb_gang_job_t jobs[2][3], own = job_on(9, "0");
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned whole[3] = {0};

    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 3; i++) {
            jobs[node][i] = job_on(100 + 4 * i, "0");
            jobs[node][i].wide = true;
            hpcb_gang_add(&gangs[node], &jobs[node][i]);
        }
    hpcb_gang_add(&gangs[0], &own);
    for (uint64_t quantum = 0; quantum < 8192; quantum++) {
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&gangs[node], &capacity, quantum, run);
            hpcb_gang_begin(&gangs[node], run);
        }
        for (unsigned i = 0; i < 3; i++)
            whole[i] += jobs[0][i].runs && jobs[1][i].runs;
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_ge(whole[i], 8192 / 8);
}
END_TEST

/* Two jobs whose turns began at different moments on two nodes. */
START_TEST(nodes_out_of_step_get_into_step)
{
    hpcb_gang_t gangs[2] = {{.window = 2}, {.window = 2}};
    hpcb_gang_job_t jobs[2][2];
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned alike = 0;

    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 2; i++) {
            jobs[node][i] = job_on(i + 1, "0");
            jobs[node][i].wide = true;
            jobs[node][i].waited = i == node;
            hpcb_gang_add(&gangs[node], &jobs[node][i]);
        }
    for (uint64_t quantum = 0; quantum < 100; quantum++) {
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&gangs[node], &capacity, quantum, run);
            hpcb_gang_begin(&gangs[node], run);
        }
        alike += jobs[0][0].runs == jobs[1][0].runs;
    }
    ck_assert_uint_gt(alike, 90);
}
END_TEST

/* Two nodes with the same jobs, which see other figures of them and hear nothing of
 * each other; on the first there is a job of its own. */
START_TEST(nodes_agree_without_a_word)
{
    hpcb_gang_t gangs[2] = {{.window = 2}, {.window = 2}};
    hpcb_gang_job_t jobs[2][3], own = job_on(9, "0");
    unsigned turns[3] = {0}, alike = 0;

    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 3; i++) {
            jobs[node][i] = job_on(i + 1, i == 2 ? "0-1" : i ? "1" : "0");
            jobs[node][i].wide = true;
        }
    /* They came in another order. */
    for (unsigned i = 0; i < 3; i++) {
        hpcb_gang_add(&gangs[0], &jobs[0][i]);
        hpcb_gang_add(&gangs[1], &jobs[1][2 - i]);
    }
    chance = 3;
    for (uint64_t quantum = 0; quantum < 1000; quantum++) {
        bool run[2][HPCB_GANG_JOBS_MAX];

        if (quantum == 500)
            hpcb_gang_add(&gangs[0], &own);
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&gangs[node], &capacity, quantum, run[node]);
            hpcb_gang_begin(&gangs[node], run[node]);
        }
        for (unsigned i = 0; i < 3; i++) {
            turns[i] += jobs[0][i].runs && jobs[1][i].runs;
            alike += jobs[0][i].runs == jobs[1][i].runs;
            ck_assert(quantum >= 500 || jobs[0][i].runs == jobs[1][i].runs);
            moves(&jobs[0][i], below(900), below(90));
            moves(&jobs[1][i], below(900), below(90));
        }
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_gt(turns[i], 250);
    ck_assert_msg(alike > 2300, "alike %u", alike);
    ck_assert_uint_gt(own.turns, 100);
}
END_TEST

/* Two nodes with a component each, whose ids follow one another, beside a job of both:
 * each component's node must give it the same quanta. */
START_TEST(components_of_a_job_run_at_once)
{
    hpcb_gang_t gangs[2] = {{.window = 2}, {.window = 2}};
    hpcb_gang_job_t components[2], others[2][2];
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned alike = 0;

    for (unsigned node = 0; node < 2; node++) {
        components[node] = job_on(101 + node, "0");
        components[node].wide = true;
        components[node].of_job = 101;
        hpcb_gang_add(&gangs[node], &components[node]);
        for (unsigned i = 0; i < 2; i++) {
            others[node][i] = job_on(103 + i, "0");
            others[node][i].wide = true;
            hpcb_gang_add(&gangs[node], &others[node][i]);
        }
    }
    for (uint64_t quantum = 0; quantum < 1000; quantum++) {
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&gangs[node], &capacity, quantum, run);
            hpcb_gang_begin(&gangs[node], run);
        }
        alike += components[0].runs && components[1].runs;
        ck_assert(components[0].runs == components[1].runs);
    }
    ck_assert_uint_ge(alike, 250);
}
END_TEST

/* Components that have a CPU in common cannot run at once; nodes choose the same one,
 * whichever is the first in their lists. */
START_TEST(of_components_on_a_cpu_nodes_choose_the_same)
{
    hpcb_gang_t gangs[2] = {{.window = 2}, {.window = 2}};
    hpcb_gang_job_t jobs[2][2];
    bool run[HPCB_GANG_JOBS_MAX];

    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 2; i++) {
            unsigned which = node ? 1 - i : i;

            jobs[node][which] = job_on(101 + which, "0");
            jobs[node][which].wide = true;
            jobs[node][which].of_job = 101;
            hpcb_gang_add(&gangs[node], &jobs[node][which]);
        }
    for (uint64_t quantum = 0; quantum < 1000; quantum++) {
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&gangs[node], &capacity, quantum, run);
            hpcb_gang_begin(&gangs[node], run);
        }
        ck_assert(jobs[0][0].runs == jobs[1][0].runs);
    }
    ck_assert_uint_ge(jobs[0][0].turns, 333);
    ck_assert_uint_ge(jobs[0][1].turns, 333);
}
END_TEST

/* Also when it moves: all others on its CPU are of this node. */
START_TEST(an_owner_has_a_quantum_in_each_cycle)
{
    const unsigned cycle = 1U << _i;
    hpcb_gang_job_t jobs[128], *owner = &jobs[0];
    hpcb_gang_t gang = {.window = 2};
    bool run[HPCB_GANG_JOBS_MAX];

    for (unsigned i = 0; i < cycle; i++) {
        jobs[i] = job_on(4711 + i, "0");
        hpcb_gang_add(&gang, &jobs[i]);
    }
    owner->wide = true;
    for (uint64_t quantum = 0; quantum < 20000; quantum++) {
        hpcb_gang_select(&gang, &capacity, quantum, run);
        hpcb_gang_begin(&gang, run);
        ck_assert_msg(owner->waited < cycle, "%u of %u in %lu", owner->waited, cycle,
                      (unsigned long)quantum);
    }
}
END_TEST

/* Jobs of one to four nodes of a core each, as bench/gang has them. */
#define NODES  4
#define SPREAD 8

static const unsigned nodes_of[SPREAD] = {1, 4, 3, 12, 7, 14, 15, 15}; /* bits */

typedef struct {
    hpcb_gang_t gangs[NODES];
    hpcb_gang_job_t jobs[NODES][SPREAD];
    unsigned whole[SPREAD], some[SPREAD]; /* elected on all its nodes, on some only */
    uint64_t last[SPREAD];                /* quantum of the last whole turn */
    uint64_t longest[SPREAD];             /* from one to the next */
    unsigned late; /* whole turns that came later than a cycle after the last */
} cluster_t;

static void add_jobs(cluster_t *cluster, const uint32_t *ids)
{
    for (unsigned node = 0; node < NODES; node++) {
        cluster->gangs[node].window = 2;
        for (unsigned i = 0; i < SPREAD; i++) {
            if (!(nodes_of[i] >> node & 1))
                continue;
            cluster->jobs[node][i] = job_on(ids[i], "0");
            cluster->jobs[node][i].wide = nodes_of[i] & (nodes_of[i] - 1);
            hpcb_gang_add(&cluster->gangs[node], &cluster->jobs[node][i]);
        }
    }
}

static void count_turn(cluster_t *cluster, unsigned i, uint64_t quantum)
{
    unsigned where = 0;

    for (unsigned node = 0; node < NODES; node++)
        where |= (unsigned)cluster->jobs[node][i].runs << node;
    if (where != nodes_of[i]) {
        cluster->some[i] += where != 0;
        return;
    }
    cluster->whole[i]++;
    cluster->late += quantum - cluster->last[i] > SPREAD;
    if (quantum - cluster->last[i] > cluster->longest[i])
        cluster->longest[i] = quantum - cluster->last[i];
    cluster->last[i] = quantum;
}

static void run_cluster(cluster_t *cluster, uint64_t quanta)
{
    bool run[HPCB_GANG_JOBS_MAX];

    for (uint64_t quantum = 0; quantum < quanta; quantum++) {
        for (unsigned node = 0; node < NODES; node++) {
            hpcb_gang_select(&cluster->gangs[node], &capacity, quantum, run);
            hpcb_gang_begin(&cluster->gangs[node], run);
        }
        for (unsigned i = 0; i < SPREAD; i++)
            count_turn(cluster, i, quantum);
    }
    /* Who never had one has waited all the time. */
    for (unsigned i = 0; i < SPREAD; i++)
        if (quanta - cluster->last[i] > cluster->longest[i])
            cluster->longest[i] = quanta - cluster->last[i];
}

/* Nodes that have other jobs besides elect a job of several of them at once, also while
 * jobs move. */
START_TEST(a_job_runs_on_all_its_nodes_at_once)
{
    static const uint32_t ids[SPREAD] = {1, 2, 3, 4, 5, 6, 7, 8};
    cluster_t cluster = {.gangs = {{0}}};
    unsigned whole = 0, some = 0;

    add_jobs(&cluster, ids);
    run_cluster(&cluster, 8 * 1024);
    for (unsigned i = 0; i < SPREAD; i++) {
        whole += nodes_of[i] & (nodes_of[i] - 1) ? cluster.whole[i] : 0;
        some += cluster.some[i];
        ck_assert_msg(cluster.longest[i] < 2 * SPREAD, "job %u: %lu quanta", ids[i],
                      (unsigned long)cluster.longest[i]);
    }
    ck_assert_msg(cluster.late <= 24, "%u late turns", cluster.late);
    ck_assert_msg(4 * some <= 5 * whole, "on all %u times, on some %u", whole, some);
}
END_TEST

/* Also if their ids say nothing: of two with the same turn one waits. */
START_TEST(whatever_their_ids_jobs_run_on_all_their_nodes)
{
    unsigned whole = 0, some = 0, least = 16384;

    chance = 5;
    for (unsigned world = 0; world < 20; world++) {
        cluster_t cluster = {.gangs = {{0}}};
        uint32_t ids[SPREAD];

        for (unsigned i = 0; i < SPREAD; i++)
            ids[i] = i * 1000 + below(1000);
        add_jobs(&cluster, ids);
        run_cluster(&cluster, 16384);
        for (unsigned i = 0; i < SPREAD; i++) {
            whole += cluster.whole[i];
            some += cluster.some[i];
            least = cluster.whole[i] < least ? cluster.whole[i] : least;
        }
    }
    ck_assert_msg(least > 600 && 4 * whole >= some,
                  "on all %u times, on some %u, least %u", whole, some, least);
}
END_TEST

/* ---- quanta that were dealt ---- */

/* The paper's setting: each job on both nodes.  The first two move much. */
typedef struct {
    hpcb_gang_t gangs[2];
    hpcb_gang_job_t jobs[2][4];
    unsigned whole[4], some[4]; /* on both nodes, on one only */
    unsigned alike;             /* quanta in which the first two ran together */
} pair_t;

static void add_pair(pair_t *pair)
{
    *pair = (pair_t){.gangs = {{.window = 2}, {.window = 2}}};
    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 4; i++) {
            pair->jobs[node][i] = job_on(i + 1, i % 2 ? "1" : "0");
            pair->jobs[node][i].wide = true;
            hpcb_gang_add(&pair->gangs[node], &pair->jobs[node][i]);
        }
}

/* On all nodes from first on. */
static void deal_pair(pair_t *pair, unsigned first, const unsigned *slots)
{
    for (unsigned node = first; node < 2; node++)
        for (unsigned i = 0; i < 4; i++) {
            pair->jobs[node][i].cycle = slots ? 2 : 0;
            pair->jobs[node][i].slot = slots ? slots[i] : 0;
        }
}

static void run_pair(pair_t *pair, uint64_t from, uint64_t quanta)
{
    bool run[HPCB_GANG_JOBS_MAX];

    for (uint64_t quantum = from; quantum < from + quanta; quantum++) {
        for (unsigned node = 0; node < 2; node++) {
            hpcb_gang_select(&pair->gangs[node], &capacity, quantum, run);
            check_election(&pair->gangs[node], run);
            hpcb_gang_begin(&pair->gangs[node], run);
        }
        for (unsigned i = 0; i < 4; i++) {
            bool here = pair->jobs[0][i].runs, there = pair->jobs[1][i].runs;

            pair->whole[i] += here && there;
            pair->some[i] += here != there;
        }
        pair->alike += pair->jobs[0][0].runs && pair->jobs[0][1].runs;
    }
}

static const unsigned apart[] = {0, 1, 1, 0}, others[] = {1, 0, 0, 1};

START_TEST(nodes_follow_a_deal)
{
    pair_t pair;

    add_pair(&pair);
    deal_pair(&pair, 0, apart);
    run_pair(&pair, 0, 100);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(pair.whole[i], 50);
        ck_assert_uint_eq(pair.some[i], 0);
    }
    ck_assert_uint_eq(pair.alike, 0);
}
END_TEST

/* For as long as they differ they may have no turn in common; nobody starves on either,
 * and then all is well. */
START_TEST(nodes_with_other_deals_lose_turns_only)
{
    pair_t pair;

    for (unsigned with = 0; with < 2; with++) {
        add_pair(&pair);
        deal_pair(&pair, 0, apart);
        run_pair(&pair, 0, 100);
        deal_pair(&pair, 1, with ? others : NULL);
        run_pair(&pair, 100, 40);
        for (unsigned i = 0; i < 4; i++)
            for (unsigned node = 0; node < 2; node++)
                ck_assert_uint_ge(pair.jobs[node][i].turns, 60);
        deal_pair(&pair, 0, others);
        for (unsigned i = 0; i < 4; i++)
            pair.whole[i] = pair.some[i] = 0;
        run_pair(&pair, 140, 100);
        for (unsigned i = 0; i < 4; i++)
            ck_assert_msg(pair.whole[i] >= 49 && pair.some[i] <= 2, "%u: %u and %u", i,
                          pair.whole[i], pair.some[i]);
    }
}
END_TEST

/* One that came after the deal has its turns, too: those for which it is overdue. */
START_TEST(who_has_no_slot_yet_does_not_starve)
{
    hpcb_gang_job_t late[2] = {job_on(9, "0-1"), job_on(9, "0-1")};
    unsigned whole = 0;
    pair_t pair;

    add_pair(&pair);
    deal_pair(&pair, 0, apart);
    for (unsigned node = 0; node < 2; node++) {
        late[node].wide = true;
        hpcb_gang_add(&pair.gangs[node], &late[node]);
    }
    for (uint64_t quantum = 0; quantum < 600; quantum++) {
        run_pair(&pair, quantum, 1);
        whole += late[0].runs && late[1].runs;
    }
    ck_assert_uint_eq(whole, 600 / 6);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_ge(pair.whole[i], 600 / 3);
}
END_TEST

/* A cycle that is long because of another node: it does not run here in between for
 * nothing more often than once in two cycles. */
START_TEST(a_long_cycle_is_waited_for)
{
    hpcb_gang_t gang = {.window = 2};
    hpcb_gang_job_t jobs[] = {job_on(1, "0"), job_on(2, "0")};
    bool run[HPCB_GANG_JOBS_MAX];
    unsigned owned = 0;

    for (unsigned i = 0; i < 2; i++) {
        jobs[i].wide = i == 0;
        hpcb_gang_add(&gang, &jobs[i]);
    }
    jobs[0].cycle = 16;
    jobs[0].slot = 5;
    for (uint64_t quantum = 0; quantum < 1600; quantum++) {
        hpcb_gang_select(&gang, &capacity, quantum, run);
        hpcb_gang_begin(&gang, run);
        owned += jobs[0].runs && quantum % 16 == 5;
    }
    ck_assert_uint_eq(owned, 100);
    ck_assert_uint_eq(jobs[0].turns, 100);
}
END_TEST

/* Thousands of quanta over and over: scripts/valgrind leaves out what has this tag. */
static TCase *worlds(void)
{
    TCase *tc = tcase_create("worlds");

    tcase_set_tags(tc, "long");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nobody_starves_nothing_is_overcommitted);
    tcase_add_test(tc, nobody_waits_longer_than_promised);
    tcase_add_test(tc, owners_of_all_quanta_leave_a_job_its_turns);
    tcase_add_loop_test(tc, an_owner_has_a_quantum_in_each_cycle, 1, 8);
    tcase_add_test(tc, whatever_their_ids_jobs_run_on_all_their_nodes);
    return tc;
}

int main(void)
{
    Suite *suite = suite_create("gang");
    TCase *tc = tcase_create("gang");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, predicts_from_the_last_samples);
    tcase_add_test(tc, pairs_who_needs_much_with_who_needs_little);
    tcase_add_test(tc, without_a_window_bandwidth_does_not_count);
    tcase_add_test(tc, pairs_them_without_a_capacity_too);
    tcase_add_test(tc, what_is_not_measured_decides_nothing);
    tcase_add_test(tc, a_capacity_counts_if_all_are_measured);
    tcase_add_test(tc, no_two_on_a_cpu_and_no_cpu_left);
    tcase_add_test(tc, who_is_paused_or_has_no_cpus_is_not_elected);
    tcase_add_test(tc, the_list_ends_somewhere);
    tcase_add_test(tc, a_job_of_two_nodes_leaves_others_their_turns);
    tcase_add_test(tc, no_ids_meet_for_good);
    tcase_add_test(tc, nodes_out_of_step_get_into_step);
    tcase_add_test(tc, nodes_agree_without_a_word);
    tcase_add_test(tc, components_of_a_job_run_at_once);
    tcase_add_test(tc, of_components_on_a_cpu_nodes_choose_the_same);
    tcase_add_test(tc, a_job_runs_on_all_its_nodes_at_once);
    tcase_add_test(tc, nodes_follow_a_deal);
    tcase_add_test(tc, nodes_with_other_deals_lose_turns_only);
    tcase_add_test(tc, who_has_no_slot_yet_does_not_starve);
    tcase_add_test(tc, a_long_cycle_is_waited_for);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, worlds());
    tcase_set_timeout(tc, 60);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
