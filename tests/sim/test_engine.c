/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Events, chance, detours and jobs in lockstep. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "sim/exchange.h"
#include "sim/heap.h"
#include "sim/lockstep.h"

START_TEST(a_barrier_begins_a_round_with_the_message_of_the_one_before)
{
    hpcb_sim_exchange_t barrier = hpcb_sim_exchange(5, false, 2);
    int64_t sent[5] = {1, 1, 1, 1, 0};

    ck_assert_uint_eq(barrier.rounds, 3);
    ck_assert(!hpcb_sim_exchange_has(&barrier, sent, 0)); /* of 4, in round 0 */
    ck_assert(hpcb_sim_exchange_has(&barrier, sent, 1));
    sent[1] = 2;
    ck_assert(!hpcb_sim_exchange_has(&barrier, sent, 1)); /* of 4, in round 1 */
    sent[4] = 2;
    ck_assert(hpcb_sim_exchange_has(&barrier, sent, 1));
    ck_assert(!hpcb_sim_exchange_ends_call(&barrier, 2));
    ck_assert(hpcb_sim_exchange_ends_call(&barrier, 3));
    ck_assert(!hpcb_sim_exchange_ends(&barrier, 3));
    ck_assert(hpcb_sim_exchange_ends(&barrier, 6));
}
END_TEST

START_TEST(a_ring_waits_for_both_neighbours)
{
    hpcb_sim_exchange_t ring = hpcb_sim_exchange(4, true, 1);
    int64_t sent[4] = {1, 1, 0, 0};

    ck_assert(!hpcb_sim_exchange_has(&ring, sent, 0));
    sent[3] = 1;
    ck_assert(hpcb_sim_exchange_has(&ring, sent, 0));
    ck_assert(!hpcb_sim_exchange_has(&ring, sent, 1));
    ck_assert(hpcb_sim_exchange_ends(&ring, 1));
}
END_TEST

START_TEST(heap_gives_earliest_first_and_of_equals_the_lowest_id)
{
    hpcb_sim_heap_t heap = {0};
    hpcb_sim_stream_t chance = hpcb_sim_stream(1, 2);
    int64_t last = -1;
    uint32_t id = 0;

    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(
            hpcb_sim_heap_push(&heap,
                               (hpcb_sim_event_t){
                                   .at_ns = (int64_t)hpcb_sim_below(&chance, 50),
                                   .id = 1000 - i,
                               }),
            0);
    for (unsigned i = 0; i < 1000; i++) {
        hpcb_sim_event_t first = *hpcb_sim_heap_first(&heap);

        ck_assert(first.at_ns > last || (first.at_ns == last && first.id > id));
        last = first.at_ns;
        id = first.id;
        hpcb_sim_heap_pop(&heap);
    }
    ck_assert_ptr_null(hpcb_sim_heap_first(&heap));
    hpcb_sim_heap_free(&heap);
}
END_TEST

/* Written down once: another compiler or machine must draw the same. */
START_TEST(chance_is_the_same_everywhere)
{
    hpcb_sim_stream_t chance = hpcb_sim_stream(42, 7);
    hpcb_sim_dist_t dist = {.kind = HPCB_SIM_EXPONENTIAL, .a = 1000000};

    ck_assert_uint_eq(hpcb_sim_bits(&chance), UINT64_C(0x06b4c88c89c5dfcd));
    ck_assert_int_eq(hpcb_sim_draw(&dist, &chance), 112559);
    ck_assert_int_eq(hpcb_sim_draw(&dist, &chance), 869384);
}
END_TEST

START_TEST(logarithm_is_right)
{
    ck_assert_double_eq_tol(hpcb_sim_ln(1), 0, 1e-15);
    ck_assert_double_eq_tol(hpcb_sim_ln(2.718281828459045), 1, 1e-15);
    ck_assert_double_eq_tol(hpcb_sim_ln(1e-12), -27.631021115928547, 1e-13);
    ck_assert_double_eq_tol(hpcb_sim_ln(12345.678), 9.421061321291832, 1e-13);
}
END_TEST

START_TEST(distributions_keep_their_ends)
{
    hpcb_sim_stream_t chance = hpcb_sim_stream(3, 4);
    hpcb_sim_dist_t dist = {.kind = HPCB_SIM_UNIFORM, .a = -2, .b = 2};
    unsigned seen = 0;

    for (unsigned i = 0; i < 1000; i++) {
        int64_t drawn = hpcb_sim_draw(&dist, &chance);

        ck_assert(drawn >= -2 && drawn <= 2);
        seen |= 1U << (drawn + 2);
    }
    ck_assert_uint_eq(seen, 31);
}
END_TEST

static hpcb_sim_noise_t noise_of(int64_t pause, int64_t length)
{
    return (hpcb_sim_noise_t){.pause = {.a = pause}, .length = {.a = length}};
}

START_TEST(a_task_sleeps_and_runs)
{
    hpcb_sim_noise_t noise = noise_of(1000, 10);
    hpcb_sim_extra_t extra = {0};
    hpcb_sim_task_t task;
    hpcb_sim_detour_t first, second;

    hpcb_sim_task_begin(&noise, hpcb_sim_stream(1, 1), 0, &task, &extra);
    first = hpcb_sim_task_next(&noise, &task, &extra);
    second = hpcb_sim_task_next(&noise, &task, &extra);
    ck_assert(first.from_ns >= 0 && first.from_ns <= 1000);
    ck_assert(first.to_ns > first.from_ns && first.to_ns <= first.from_ns + 10);
    ck_assert_int_eq(second.from_ns, first.to_ns + 1000);
}
END_TEST

START_TEST(slices_alternate_with_the_job)
{
    hpcb_sim_noise_t noise = noise_of(1000, 25);
    hpcb_sim_extra_t extra = {0};
    hpcb_sim_task_t task;
    hpcb_sim_detour_t a, b, c;

    noise.slice_ns = 10;
    hpcb_sim_task_begin(&noise, hpcb_sim_stream(1, 1), 0, &task, &extra);
    task.left_ns = 25;
    a = hpcb_sim_task_next(&noise, &task, &extra);
    b = hpcb_sim_task_next(&noise, &task, &extra);
    c = hpcb_sim_task_next(&noise, &task, &extra);
    ck_assert_int_eq(a.to_ns - a.from_ns, 10);
    ck_assert_int_eq(b.from_ns - a.to_ns, 10);
    ck_assert_int_eq(c.to_ns - c.from_ns, 5);
    ck_assert_int_eq(hpcb_sim_task_next(&noise, &task, &extra).from_ns, c.to_ns + 1000);
}
END_TEST

/* By the node's own clock, which is 3 ms fast. */
START_TEST(in_favoured_parts_a_task_waits)
{
    const hpcb_window_t window = {.period_ns = 10000000, .favoured_ns = 9000000};
    const hpcb_sim_dist_t on_time = {.a = 0};
    hpcb_sim_noise_t noise = noise_of(1000000, 5000000);
    hpcb_sim_extra_t extra = {0};
    hpcb_sim_task_t task;

    noise.window = &window;
    noise.edge_late = &on_time;
    hpcb_sim_task_begin(&noise, hpcb_sim_stream(1, 1), 3000000, &task, &extra);
    for (unsigned i = 0; i < 100; i++) {
        hpcb_sim_detour_t detour = hpcb_sim_task_next(&noise, &task, &extra);

        ck_assert(detour.to_ns > detour.from_ns);
        ck_assert_int_ge((detour.from_ns + 3000000) % 10000000, 9000000);
        ck_assert_int_le(detour.to_ns - detour.from_ns, 1000000);
    }
}
END_TEST

/* It has 1 % and needs 2: stopped when its patience of 3 s is over. */
START_TEST(the_guard_stops_a_guest_that_gets_crumbs)
{
    const hpcb_crumbs_conf_t guard = {.min_share = 0.02,
                                      .patience_ns = UINT64_C(3000000000),
                                      .starved_ns = UINT64_MAX};
    hpcb_sim_noise_t noise = noise_of(99000000, 1000000);
    hpcb_sim_detour_t detour = {0}, last;
    hpcb_sim_task_t task;
    hpcb_sim_extra_t extra = {0};

    noise.guard = &guard;
    hpcb_sim_task_begin(&noise, hpcb_sim_stream(1, 1), 0, &task, &extra);
    do {
        last = detour;
        detour = hpcb_sim_task_next(&noise, &task, &extra);
    } while (detour.from_ns < HPCB_SIM_NEVER);
    ck_assert_int_ge(last.from_ns, INT64_C(3800000000));
    ck_assert_int_lt(last.from_ns, INT64_C(4000000000));
}
END_TEST

static hpcb_sim_lockstep_t lockstep(hpcb_sim_job_t *job, uint64_t seed)
{
    hpcb_sim_progress_t progress;
    hpcb_sim_lockstep_t result;
    hpcb_error_t err = {""};

    hpcb_sim_progress_begin(&progress, 1);
    ck_assert_msg(hpcb_sim_lockstep(job, seed, &progress, &result, &err) == 0, "%s",
                  err.text);
    return result;
}

START_TEST(without_noise_nothing_is_lost)
{
    hpcb_sim_job_t job = {
        .work_ns = 1000, .operations = 12345, .limit_ns = 1000000000, .nodes = 100};
    hpcb_sim_lockstep_t result = lockstep(&job, 1);

    ck_assert_int_eq(result.operations, 12345);
    ck_assert_int_eq(result.elapsed_ns, 12345000);
    ck_assert_int_eq(result.shortest_ns, 1000);
    ck_assert_int_eq(result.longest_ns, 1000);
}
END_TEST

/* One node loses what its own detours take, and nothing else. */
START_TEST(one_node_loses_its_detours)
{
    hpcb_sim_noise_t noise = noise_of(900000, 100000);
    hpcb_sim_job_t job = {.work_ns = 1000,
                          .operations = INT64_MAX,
                          .limit_ns = 1000000000,
                          .nodes = 1,
                          .noise = &noise,
                          .noises = 1};
    hpcb_sim_lockstep_t result = lockstep(&job, 1);

    ck_assert_int_ge(result.operations, 899000);
    ck_assert_int_le(result.operations, 901000);
    ck_assert_int_eq(result.longest_ns, 101000);
}
END_TEST

/* With operations much shorter than detours, each detour that does not meet another one
 * costs its length: 1 - (1 - 0.01)^16 of the time is somebody's. */
START_TEST(detours_of_all_nodes_add_up)
{
    hpcb_sim_noise_t noise = {.pause = {HPCB_SIM_UNIFORM, 0, 19800000, NULL, 0},
                              .length = {.a = 100000}};
    hpcb_sim_job_t job = {.work_ns = 1000,
                          .operations = INT64_MAX,
                          .limit_ns = INT64_C(20000000000),
                          .nodes = 16,
                          .noise = &noise,
                          .noises = 1};
    hpcb_sim_lockstep_t result = lockstep(&job, 1);
    double lost = 1 - (double)result.operations * 1000 / (double)result.elapsed_ns;

    ck_assert_double_eq_tol(lost, 0.1485, 0.01);
}
END_TEST

START_TEST(what_lasts_into_the_next_operation_holds_it_up)
{
    hpcb_sim_noise_t noise = noise_of(1000000, 1000000);
    hpcb_sim_job_t job = {.work_ns = 10000,
                          .operations = INT64_MAX,
                          .limit_ns = INT64_C(1000000000),
                          .nodes = 64,
                          .noise = &noise,
                          .noises = 1};
    hpcb_sim_lockstep_t result = lockstep(&job, 1);

    /* Half of 64 nodes are always away: an operation takes most of a detour, and that
     * of the other half another one. */
    ck_assert_int_gt(result.elapsed_ns / result.operations, 500000);
    ck_assert_int_le(result.longest_ns, 2010000);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_run)
{
    hpcb_sim_noise_t noise = {.pause = {.kind = HPCB_SIM_EXPONENTIAL, .a = 1000000},
                              .length = {HPCB_SIM_UNIFORM, 0, 50000, NULL, 0}};
    hpcb_sim_job_t job = {.work_ns = 1000,
                          .operations = 100000,
                          .limit_ns = INT64_C(1000000000),
                          .nodes = 50,
                          .noise = &noise,
                          .noises = 1};
    hpcb_sim_lockstep_t a = lockstep(&job, 9), b = lockstep(&job, 9),
                        c = lockstep(&job, 10);

    ck_assert_int_eq(a.elapsed_ns, b.elapsed_ns);
    ck_assert_uint_eq(a.detours, b.detours);
    ck_assert_int_ne(a.elapsed_ns, c.elapsed_ns);
}
END_TEST

START_TEST(lost_messages_and_dead_nodes_cost_their_time)
{
    hpcb_sim_job_t job = {.work_ns = 1000,
                          .operations = 100000,
                          .limit_ns = INT64_C(10000000000),
                          .nodes = 10,
                          .lost = 0.0001,
                          .resend_ns = 5000};
    int64_t lost = lockstep(&job, 1).elapsed_ns - 100000000;

    /* One operation in a thousand has a message lost. */
    ck_assert_int_gt(lost, 80 * 5000);
    ck_assert_int_lt(lost, 120 * 5000);
    job.lost = 0;
    job.dead = 3;
    job.dead_ns = 50000000;
    job.detect_ns = 70000;
    ck_assert_int_eq(lockstep(&job, 1).elapsed_ns, 100070000);
}
END_TEST

/* Of 100: busy from 10 to 15 and from 40 to 60. */
static hpcb_sim_recorded_t two[] = {{10, 5}, {40, 20}};
static const hpcb_sim_recording_t recording = {
    .detour = two, .n = 2, .tape_ns = 100, .busy_ns = 25};

START_TEST(a_recording_is_found_by_time)
{
    ck_assert_uint_eq(hpcb_sim_recording_find(&recording, 0), 0);
    ck_assert_uint_eq(hpcb_sim_recording_find(&recording, 14), 0);
    ck_assert_uint_eq(hpcb_sim_recording_find(&recording, 15), 1);
    ck_assert_uint_eq(hpcb_sim_recording_find(&recording, 59), 1);
    ck_assert_uint_eq(hpcb_sim_recording_find(&recording, 60), 2);
}
END_TEST

/* Whether a time on the tape is a detour's. */
static bool is_busy(int64_t at)
{
    return (at >= 10 && at < 15) || (at >= 40 && at < 60);
}

/* There is an offset that puts each nanosecond of two laps where the tape has it. */
static bool plays_from(int64_t offset, const hpcb_sim_detour_t *detour, size_t n)
{
    for (int64_t t = 0, i = 0; t < 200; t++) {
        while (i < (int64_t)n && detour[i].to_ns <= t)
            i++;
        if ((detour[i].from_ns <= t) != is_busy((t + offset) % 100))
            return false;
    }
    return true;
}

START_TEST(a_recording_is_played_from_a_random_place_on)
{
    hpcb_sim_noise_t noise = {.recording = &recording};
    unsigned in_detour = 0, at_the_end = 0;

    for (uint64_t stream = 0; stream < 400; stream++) {
        hpcb_sim_detour_t detour[8];
        hpcb_sim_extra_t extra = {0};
        hpcb_sim_task_t task;
        int64_t offset = 0;

        hpcb_sim_task_begin(&noise, hpcb_sim_stream(1, stream), 0, &task, &extra);
        for (unsigned i = 0; i < 8; i++)
            detour[i] = hpcb_sim_task_next(&noise, &task, &extra);
        while (offset < 100 && !plays_from(offset, detour, 8))
            offset++;
        ck_assert_int_lt(offset, 100);
        in_detour += is_busy(offset);
        at_the_end += offset >= 60;
    }
    /* A quarter, and two fifths. */
    ck_assert_uint_ge(in_detour, 70);
    ck_assert_uint_le(in_detour, 130);
    ck_assert_uint_ge(at_the_end, 120);
    ck_assert_uint_le(at_the_end, 200);
}
END_TEST

/* A node alone loses what the tape says; two of them nearly twice as much. */
START_TEST(a_recording_on_two_nodes)
{
    static hpcb_sim_recorded_t one[] = {{500000, 10000}};
    const hpcb_sim_recording_t rare = {one, 1, 1000000, 10000};
    hpcb_sim_noise_t noise = {.recording = &rare};
    hpcb_sim_job_t job = {.work_ns = 1000,
                          .operations = INT64_MAX,
                          .limit_ns = INT64_C(1000000000),
                          .nodes = 1,
                          .noise = &noise,
                          .noises = 1};

    ck_assert_int_eq(lockstep(&job, 1).operations, 990000);
    job.nodes = 2;
    ck_assert_int_eq(lockstep(&job, 1).operations, 980000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = tcase_create("engine");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, a_barrier_begins_a_round_with_the_message_of_the_one_before);
    tcase_add_test(tcase, a_ring_waits_for_both_neighbours);
    tcase_add_test(tcase, heap_gives_earliest_first_and_of_equals_the_lowest_id);
    tcase_add_test(tcase, chance_is_the_same_everywhere);
    tcase_add_test(tcase, logarithm_is_right);
    tcase_add_test(tcase, distributions_keep_their_ends);
    tcase_add_test(tcase, a_task_sleeps_and_runs);
    tcase_add_test(tcase, slices_alternate_with_the_job);
    tcase_add_test(tcase, in_favoured_parts_a_task_waits);
    tcase_add_test(tcase, the_guard_stops_a_guest_that_gets_crumbs);
    tcase_add_test(tcase, without_noise_nothing_is_lost);
    tcase_add_test(tcase, one_node_loses_its_detours);
    tcase_add_test(tcase, detours_of_all_nodes_add_up);
    tcase_add_test(tcase, what_lasts_into_the_next_operation_holds_it_up);
    tcase_add_test(tcase, the_same_seed_gives_the_same_run);
    tcase_add_test(tcase, lost_messages_and_dead_nodes_cost_their_time);
    tcase_add_test(tcase, a_recording_is_found_by_time);
    tcase_add_test(tcase, a_recording_is_played_from_a_random_place_on);
    tcase_add_test(tcase, a_recording_on_two_nodes);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
