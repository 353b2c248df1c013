/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Reports of live state: on the wire, and in the collector's file. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hpcbd/collector/live_reports.h"
#include "hpcbd/records/wire.h"
#include "hpcbd/records/wire_live.h"
#include "tests/common/scratch.h"

static hpcb_live_job_t jobs[] = {
    {.job_id = 7, .used = 100, .growth = 5, .peak = 120},
    {.job_id = UINT32_MAX, .guest = true, .used = 1, .peak = 2},
};

static hpcb_live_node_t make_node(const char *name, int64_t time)
{
    hpcb_live_node_t node = {.time = time,
                             .memory = 1 << 30,
                             .available = 12345,
                             .protects = true,
                             .mem_bandwidth = 17,
                             .net_bandwidth = 18,
                             .saturation = HPCB_LIVE_SATURATED,
                             .memory_part = 432,
                             .n_jobs = 2,
                             .jobs = jobs};

    strcpy(node.name, name);
    return node;
}

START_TEST(a_report_is_read_back)
{
    hpcb_live_node_t node = make_node("n1", 1000), read;
    char *text = hpcbd_live_print(&node, NULL);

    ck_assert(hpcbd_live_is_report(text));
    ck_assert_int_eq(hpcbd_live_parse(text, &read, NULL), 0);
    ck_assert_str_eq(read.name, "n1");
    ck_assert_int_eq(read.time, 1000);
    ck_assert_uint_eq(read.memory, 1 << 30);
    ck_assert_uint_eq(read.available, 12345);
    ck_assert(read.protects);
    ck_assert_uint_eq(read.mem_bandwidth, 17);
    ck_assert_uint_eq(read.net_bandwidth, 18);
    ck_assert_uint_eq(read.saturation, HPCB_LIVE_SATURATED);
    ck_assert_uint_eq(read.memory_part, 432);
    ck_assert_uint_eq(read.n_jobs, 2);
    ck_assert_uint_eq(read.jobs[0].growth, 5);
    ck_assert_uint_eq(read.jobs[0].peak, 120);
    ck_assert(!read.jobs[0].guest && read.jobs[1].guest);
    ck_assert_uint_eq(read.jobs[1].job_id, UINT32_MAX);
    free(read.jobs);
    free(text);
}
END_TEST

START_TEST(a_node_full_of_jobs_fits_a_frame)
{
    static hpcb_live_job_t many[HPCB_LIVE_NODE_JOBS_MAX];
    hpcb_live_node_t node = make_node("n1", 1), read;
    char *text;

    for (uint32_t i = 0; i < HPCB_LIVE_NODE_JOBS_MAX; i++)
        many[i] = (hpcb_live_job_t){UINT32_MAX, false, UINT64_MAX, UINT64_MAX,
                                    UINT64_MAX, true,  UINT64_MAX};
    node.jobs = many;
    node.n_jobs = HPCB_LIVE_NODE_JOBS_MAX;
    text = hpcbd_live_print(&node, NULL);
    ck_assert_uint_lt(strlen(text), HPCBD_BATCH_BYTES);
    ck_assert_int_eq(hpcbd_live_parse(text, &read, NULL), 0);
    ck_assert_uint_eq(read.jobs[1000].used, INT64_MAX);
    free(read.jobs);
    free(text);
}
END_TEST

#define NODE "\"name\":\"n1\",\"time\":1,\"memory\":2,\"available\":1,\"protects\":true"

static const char *const no_reports[] = {
    "",
    "{\"version\":1,\"type\":\"live\"}",
    "{\"version\":2,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[]}}",
    "{\"version\":1,\"type\":\"records\",\"node\":{" NODE ",\"jobs\":[]}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE "}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[1]}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[{\"job_id\":0,"
    "\"guest\":true,\"used\":1,\"growth\":0,\"peak\":1}]}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[{\"job_id\":1,"
    "\"guest\":true,\"used\":-1,\"growth\":0,\"peak\":1}]}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{\"name\":\"../n\",\"time\":1,"
    "\"memory\":2,\"available\":1,\"protects\":true,\"jobs\":[]}}",
};

START_TEST(what_is_no_report_is_refused)
{
    hpcb_live_node_t node = {.time = 77};
    hpcb_error_t err;

    for (size_t i = 0; i < sizeof(no_reports) / sizeof(no_reports[0]); i++) {
        ck_assert_msg(hpcbd_live_parse(no_reports[i], &node, &err) == -1, "%zu", i);
        ck_assert_int_eq(errno, EINVAL);
    }
    ck_assert_int_eq(node.time, 77);
}
END_TEST

static void take(hpcbd_live_t *live, const char *name, int64_t time)
{
    hpcb_live_node_t node = make_node(name, time);
    char *text = hpcbd_live_print(&node, NULL);

    ck_assert_int_eq(hpcbd_live_take(live, text), 0);
    free(text);
}

static unsigned disk_ms;

int __real_hpcb_live_write(const hpcb_live_table_t *table, const char *dir,
                           hpcb_error_t *err);
int __wrap_hpcb_live_write(const hpcb_live_table_t *table, const char *dir,
                           hpcb_error_t *err);

int __wrap_hpcb_live_write(const hpcb_live_table_t *table, const char *dir,
                           hpcb_error_t *err)
{
    usleep(disk_ms * 1000);
    return __real_hpcb_live_write(table, dir, err);
}

static void wait_for_file(void)
{
    for (int i = 0; i < 500 && access(scratch(HPCB_LIVE_FILE), F_OK); i++)
        usleep(10000);
    ck_assert_int_eq(access(scratch(HPCB_LIVE_FILE), F_OK), 0);
}

START_TEST(the_loop_does_not_wait_for_the_file)
{
    hpcb_loop_t *loop = hpcb_loop_new(NULL);
    hpcbd_live_t *live = hpcbd_live_open(loop, scratch_dir(), NULL);
    hpcb_histogram_t turns = {.count = 0};
    hpcb_live_known_t known = {0};
    hpcb_live_t read = {0};

    disk_ms = 500;
    hpcb_loop_note_turns(loop, &turns);
    take(live, "n1", 1);
    ck_assert_int_eq(hpcb_loop_once(loop, 2000, NULL), 0);
    ck_assert_uint_le(turns.max_ns, 100 * 1000000);
    /* What comes meanwhile is written after that, and at the latest at the end. */
    take(live, "n2", (int64_t)time(NULL));
    hpcbd_live_close(live);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &read, NULL), 1);
    ck_assert_uint_eq(read.n_nodes, 1);
    ck_assert_str_eq(read.nodes[0].name, "n2");
    hpcb_live_clear(&read);
    hpcb_loop_free(loop);
}
END_TEST

START_TEST(reports_are_in_the_file_within_two_seconds)
{
    hpcb_loop_t *loop = hpcb_loop_new(NULL);
    hpcbd_live_t *live = hpcbd_live_open(loop, scratch_dir(), NULL);
    int64_t now = (int64_t)time(NULL);
    hpcb_live_known_t known = {0};
    hpcb_live_t read = {0};

    take(live, "n2", now);
    take(live, "n1", now + 1000);
    take(live, "n2", now - 5);
    ck_assert_int_eq(hpcbd_live_take(live, "{}"), -1);
    ck_assert_int_eq(access(scratch(HPCB_LIVE_FILE), F_OK), -1);
    ck_assert_int_eq(hpcb_loop_once(loop, 2000, NULL), 0);
    wait_for_file();
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &read, NULL), 1);
    ck_assert_uint_eq(read.n_nodes, 2);
    ck_assert_int_ge(read.nodes[0].time, now);
    ck_assert_int_le(read.nodes[0].time, now + 10);
    ck_assert_int_eq(read.nodes[1].time, now - 5);
    hpcb_live_clear(&read);
    hpcbd_live_close(live);
    hpcb_loop_free(loop);
}
END_TEST

START_TEST(a_collector_that_restarts_knows_what_it_knew)
{
    hpcb_loop_t *loop = hpcb_loop_new(NULL);
    hpcbd_live_t *live = hpcbd_live_open(loop, scratch_dir(), NULL);
    int64_t now = (int64_t)time(NULL);

    take(live, "n1", now);
    take(live, "old", now - 10000);
    hpcbd_live_close(live);
    live = hpcbd_live_open(loop, scratch_dir(), NULL);
    ck_assert_uint_eq(hpcbd_live_count(live), 1);
    hpcbd_live_close(live);
    hpcb_loop_free(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector_live");
    TCase *tcase = scratch_case("live"), *timed = scratch_case("how long a turn takes");

    tcase_add_test(tcase, a_report_is_read_back);
    tcase_add_test(tcase, a_node_full_of_jobs_fits_a_frame);
    tcase_add_test(tcase, what_is_no_report_is_refused);
    tcase_add_test(tcase, reports_are_in_the_file_within_two_seconds);
    tcase_add_test(tcase, a_collector_that_restarts_knows_what_it_knew);
    tcase_set_tags(timed, "timed");
    tcase_add_test(timed, the_loop_does_not_wait_for_the_file);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, timed);
    return run_suite(suite);
}
