/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Which runs the writer of AdminComment comes to, and in which order. */
#include "config.h"

#include <stdlib.h>

#include "hpcbd/collector/writer_runs.h"
#include "records/database.h"
#include "records/store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

static hpcbd_writer_run_t runs[HPCBD_WRITER_RUNS];

/* Runs of one node each, from job first to last. */
static void add_runs(const char *dir, uint32_t first, uint32_t last)
{
    hpcb_error_t err = {""};
    hpcb_store_t *store = hpcb_store_new(dir, true, &err);

    for (uint32_t job = first; job <= last; job++) {
        char *text = collector_record(job, 0, 0, 1);
        hpcb_rjson_t *object = hpcb_rjson_parse(text);

        ck_assert_int_ge(hpcb_store_add(store, object, 1000, &err), 0);
        json_object_put(object);
        free(text);
    }
    ck_assert_msg(hpcb_store_commit(store, 1000, &err) == 0, "%s", err.text);
    hpcb_store_free(store);
}

static int next(const char *dir, int64_t *position)
{
    int count = hpcbd_writer_next(dir, position, runs, HPCBD_WRITER_RUNS);

    if (count > 0)
        *position = runs[count - 1].seq;
    return count;
}

START_TEST(runs_come_once_and_in_order)
{
    const char *dir = scratch("c");
    int64_t position = 0;

    ck_assert_int_eq(next(dir, &position), 0);
    add_runs(dir, 1, 100);
    ck_assert_int_eq(next(dir, &position), HPCBD_WRITER_RUNS);
    ck_assert_uint_eq(runs[0].run.job_id, 1);
    ck_assert_str_eq(runs[0].run.cluster, "tiny");
    ck_assert_int_eq(runs[0].run.klass, HPCB_CLASS_PRIMARY);
    ck_assert(!runs[0].run.guests_known);
    ck_assert(runs[3].run.efficiency > 0.099 && runs[3].run.efficiency < 0.101);
    ck_assert(runs[3].run.wall_seconds > 9.9 && runs[3].run.wall_seconds < 10.1);
    ck_assert_int_eq(next(dir, &position), 100 - HPCBD_WRITER_RUNS);
    ck_assert_int_eq(next(dir, &position), 0);
    add_runs(dir, 100, 101);
    ck_assert_int_eq(next(dir, &position), 1);
    ck_assert_uint_eq(runs[0].run.job_id, 101);
}
END_TEST

START_TEST(the_position_is_kept)
{
    const char *dir = scratch_dir();
    char path[PATH_MAX];
    int64_t position = 7;

    ck_assert_int_eq(hpcbd_writer_load(dir, &position, NULL), 0);
    ck_assert_int_eq(position, 0);
    ck_assert_int_eq(hpcbd_writer_save(dir, 4711, NULL), 0);
    ck_assert_int_eq(hpcbd_writer_load(dir, &position, NULL), 0);
    ck_assert_int_eq(position, 4711);
    /* As an earlier release wrote it. */
    snprintf(path, sizeof(path), "%s/writer.pos", dir);
    put_file(path, "2026-01-31 4711\n2026-02-01 99\n");
    ck_assert_int_eq(hpcbd_writer_load(dir, &position, NULL), 0);
    ck_assert_int_eq(position, 0);
}
END_TEST

START_TEST(a_database_that_was_begun_anew_is_followed)
{
    const char *dir = scratch("c");
    int64_t position = 1000;

    add_runs(dir, 1, 3);
    ck_assert_int_eq(next(dir, &position), 0);
    ck_assert_int_eq(position, 3);
    add_runs(dir, 4, 4);
    ck_assert_int_eq(next(dir, &position), 1);
    ck_assert_uint_eq(runs[0].run.job_id, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector writer");
    TCase *test = scratch_case("writer");

    tcase_add_test(test, runs_come_once_and_in_order);
    tcase_add_test(test, the_position_is_kept);
    tcase_add_test(test, a_database_that_was_begun_anew_is_followed);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
