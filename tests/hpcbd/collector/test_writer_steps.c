/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The writer of AdminComment (hpcbd/collector/writer_steps.c), with a slurmdbd and a
 * clock of the test's. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcbd/collector/writer_steps.h"
#include "records/store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

#define JOBS     512
#define PAUSE_MS 100

/* What slurmdbd knows of the job of this id. */
typedef struct {
    hpcbd_outcome_t get, set; /* its answers */
    unsigned asked;           /* how often it was asked for the comment */
    char comment[1024];
} known_t;

static known_t known[JOBS];
static bool is_away;
static uint64_t now_ms;
static hpcbd_writer_t writer;

static hpcbd_outcome_t get_comment(const char *cluster, uint32_t job_id, char **comment)
{
    if (is_away)
        return HPCBD_FAILED;
    if (job_id == 0)
        return HPCBD_NOT_ENDED;
    ck_assert_str_eq(cluster, "tiny");
    ck_assert_uint_lt(job_id, JOBS);
    known[job_id].asked++;
    if (known[job_id].get == HPCBD_DONE)
        *comment = strdup(known[job_id].comment);
    return known[job_id].get;
}

static hpcbd_outcome_t set_comment(const char *cluster, uint32_t job_id,
                                   const char *comment)
{
    (void)cluster;
    if (is_away)
        return HPCBD_FAILED;
    if (known[job_id].set == HPCBD_DONE)
        snprintf(known[job_id].comment, sizeof(known[job_id].comment), "%s", comment);
    return known[job_id].set;
}

static const hpcbd_slurm_t slurm = {.get = get_comment, .set = set_comment};

/* As after a start of the collector: from the position that was saved. */
static void start(int64_t position)
{
    memset(&writer, 0, sizeof(writer));
    writer.slurm = &slurm;
    writer.dir = scratch("c");
    writer.pause_ms = PAUSE_MS;
    writer.read = position;
}

static void begin(void)
{
    memset(known, 0, sizeof(known));
    is_away = false;
    now_ms = 1000;
    start(0);
}

/* Runs of one node each, of jobs first to last. */
static void add_runs(uint32_t first, uint32_t last, uint32_t restart)
{
    hpcb_error_t err = {""};
    hpcb_store_t *store = hpcb_store_new(scratch("c"), true, &err);

    for (uint32_t job = first; job <= last; job++) {
        char *text = collector_record(job, restart, 0, 1);
        hpcb_rjson_t *object = hpcb_rjson_parse(text);

        ck_assert_int_ge(hpcb_store_add(store, object, 1000, &err), 0);
        json_object_put(object);
        free(text);
    }
    ck_assert_msg(hpcb_store_commit(store, 1000, &err) == 0, "%s", err.text);
    hpcb_store_free(store);
}

static void go_on(uint64_t ms)
{
    uint64_t until_ms = now_ms + ms;

    while (now_ms < until_ms) {
        uint32_t wait_ms = hpcbd_writer_step(&writer, now_ms);

        ck_assert_uint_gt(wait_ms, 0);
        ck_assert_uint_le(wait_ms, 60000);
        now_ms += wait_ms;
    }
}

static bool is_written(uint32_t job)
{
    return strstr(known[job].comment, "\"wall\"") != NULL;
}

static unsigned count_written(uint32_t first, uint32_t last)
{
    unsigned count = 0;

    for (uint32_t job = first; job <= last; job++)
        count += is_written(job);
    return count;
}

START_TEST(each_run_is_written_once)
{
    begin();
    add_runs(1, 100, 0);
    go_on(60000);
    ck_assert_uint_eq(count_written(1, 100), 100);
    ck_assert_uint_eq(writer.totals.written, 100);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 100);
    add_runs(101, 101, 0);
    go_on(3000);
    ck_assert(is_written(101));
    ck_assert_uint_eq(known[1].asked, 1);
}
END_TEST

/* Not more than AdminCommentRate in a second. */
START_TEST(slurmdbd_is_asked_at_the_rate_of_the_site)
{
    begin();
    add_runs(1, 100, 0);
    go_on(1000);
    ck_assert_uint_eq(count_written(1, 100), 1000 / PAUSE_MS);
}
END_TEST

START_TEST(a_requeued_run_keeps_no_other_waiting)
{
    begin();
    known[1].get = HPCBD_NOT_ENDED;
    add_runs(1, 10, 0);
    go_on(HPCBD_END_PAUSE_MS / 2);
    ck_assert_uint_eq(count_written(2, 10), 9);
    ck_assert(!is_written(1));
    known[1].get = HPCBD_DONE;
    go_on(2 * HPCBD_END_PAUSE_MS);
    ck_assert(is_written(1));
    ck_assert_uint_eq(writer.totals.unknown, 0);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 10);
}
END_TEST

START_TEST(a_run_without_end_is_given_up)
{
    begin();
    known[1].get = HPCBD_NOT_ENDED;
    add_runs(1, 2, 0);
    go_on((HPCBD_END_TRIES - 2) * (HPCBD_END_PAUSE_MS + PAUSE_MS));
    ck_assert_uint_eq(writer.totals.unknown, 0);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 0);
    go_on(60000);
    ck_assert_uint_eq(known[1].asked, HPCBD_END_TRIES);
    ck_assert_uint_eq(writer.totals.unknown, 1);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 2);
}
END_TEST

/* Of those that were read, those that are done are asked for again, and keep their
 * comments. */
START_TEST(a_restart_loses_nothing)
{
    begin();
    known[3].get = known[7].get = HPCBD_NOT_ENDED;
    add_runs(1, 10, 0);
    go_on(HPCBD_END_PAUSE_MS);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 2);
    start(hpcbd_writer_done(&writer));
    known[3].get = known[7].get = HPCBD_DONE;
    go_on(HPCBD_END_PAUSE_MS);
    ck_assert_uint_eq(count_written(1, 10), 10);
    ck_assert_uint_eq(known[2].asked, 1);
    ck_assert_uint_eq(writer.totals.written, 2);
    ck_assert_uint_eq(writer.totals.unchanged, 6);
}
END_TEST

START_TEST(what_slurmdbd_refuses_keeps_no_other_waiting)
{
    begin();
    if (_i == 0)
        known[1].set = HPCBD_FAILED;
    else
        known[1].get = HPCBD_FAILED;
    add_runs(1, 10, 0);
    go_on(HPCBD_END_PAUSE_MS / 2);
    ck_assert_uint_eq(count_written(2, 10), 9);
    go_on(60000);
    ck_assert_uint_eq(known[1].asked, HPCBD_END_TRIES);
    ck_assert_uint_eq(writer.totals.unknown, 1);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 10);
    ck_assert(!writer.away);
}
END_TEST

START_TEST(while_slurmdbd_is_away_nothing_is_given_up)
{
    begin();
    add_runs(1, 3, 0);
    is_away = true;
    go_on(UINT64_C(24) * 3600 * 1000);
    ck_assert(writer.away);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 0);
    is_away = false;
    go_on(2000);
    ck_assert(!writer.away);
    ck_assert_uint_eq(writer.totals.written, 3);
    ck_assert_uint_eq(writer.totals.unknown, 0);
}
END_TEST

START_TEST(a_job_of_a_cluster_without_slurmdbd_is_passed_over)
{
    begin();
    known[1].get = HPCBD_NO_DBD;
    add_runs(1, 2, 0);
    go_on(1000);
    ck_assert_uint_eq(known[1].asked, 1);
    ck_assert(is_written(2));
    ck_assert_int_eq(hpcbd_writer_done(&writer), 2);
}
END_TEST

START_TEST(the_queue_has_an_end)
{
    const unsigned runs = 3 * HPCBD_QUEUE_MAX;

    begin();
    for (uint32_t job = 1; job < runs; job++)
        known[job].get = HPCBD_NOT_ENDED;
    add_runs(1, runs, 0);
    go_on(60000);
    ck_assert_uint_eq(hpcbd_queue_room(&writer.queue), 0);
    ck_assert_int_eq(writer.read, HPCBD_QUEUE_MAX);
    go_on(3600000);
    ck_assert(is_written(runs));
    ck_assert_uint_eq(writer.totals.unknown, runs - 1);
    ck_assert_int_eq(hpcbd_writer_done(&writer), runs);
}
END_TEST

/* slurmdbd has one comment for all runs of a job. */
START_TEST(the_last_run_of_a_job_is_written)
{
    begin();
    known[1].get = HPCBD_NOT_ENDED;
    add_runs(1, 1, 0);
    go_on(1000);
    add_runs(1, 1, 2);
    /* Its last node has reported late. */
    add_runs(1, 1, 1);
    go_on(3000);
    ck_assert_int_eq(writer.read, 3);
    ck_assert_uint_eq(writer.queue.count, 1);
    known[1].get = HPCBD_DONE;
    go_on(6000);
    ck_assert_msg(strstr(known[1].comment, "\"run\":2") != NULL, "%s",
                  known[1].comment);
    ck_assert_uint_eq(writer.totals.written, 1);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 3);
}
END_TEST

/* Slurm may give an id again. */
START_TEST(the_last_job_of_an_id_is_written)
{
    static hpcbd_queue_t queue;
    hpcbd_writer_run_t what = {
        .run = {.cluster = "tiny", .job_id = 1, .restart = 2}, .submit = 100, .seq = 1};

    memset(&queue, 0, sizeof(queue));
    hpcbd_queue_add(&queue, &what, 0);
    what = (hpcbd_writer_run_t){.run = what.run, .submit = 500, .seq = 2};
    what.run.restart = 0;
    hpcbd_queue_add(&queue, &what, 0);
    what = (hpcbd_writer_run_t){.run = what.run, .submit = 100, .seq = 3};
    hpcbd_queue_add(&queue, &what, 0);
    ck_assert_uint_eq(queue.count, 1);
    ck_assert_int_eq(hpcbd_queue_due(&queue, 0)->what.submit, 500);
}
END_TEST

/* The numbers of the old one are not to be taken for numbers of the new one. */
START_TEST(the_position_is_none_beyond_a_database_that_was_begun_anew)
{
    begin();
    known[9].get = HPCBD_NOT_ENDED;
    add_runs(1, 9, 0);
    go_on(1000);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 8);
    ck_assert_int_eq(rename(scratch("c/records"), scratch("old")), 0);
    add_runs(11, 12, 0);
    go_on(4000);
    ck_assert_int_eq(hpcbd_writer_done(&writer), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector writer steps");
    TCase *test = scratch_case("steps");

    tcase_add_test(test, each_run_is_written_once);
    tcase_add_test(test, slurmdbd_is_asked_at_the_rate_of_the_site);
    tcase_add_test(test, a_requeued_run_keeps_no_other_waiting);
    tcase_add_test(test, a_run_without_end_is_given_up);
    tcase_add_test(test, a_restart_loses_nothing);
    tcase_add_loop_test(test, what_slurmdbd_refuses_keeps_no_other_waiting, 0, 2);
    tcase_add_test(test, while_slurmdbd_is_away_nothing_is_given_up);
    tcase_add_test(test, a_job_of_a_cluster_without_slurmdbd_is_passed_over);
    tcase_add_test(test, the_queue_has_an_end);
    tcase_add_test(test, the_last_run_of_a_job_is_written);
    tcase_add_test(test, the_last_job_of_an_id_is_written);
    tcase_add_test(test, the_position_is_none_beyond_a_database_that_was_begun_anew);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
