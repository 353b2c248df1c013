/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's store on a disk that takes nothing for a while: how often it reads
 * and writes.  Linked with --wrap for hpcbd_index_open and hpcbd_file_append.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hpcbd/collector_file.h"
#include "hpcbd/collector_index.h"
#include "hpcbd/collector_store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector_records.h"

static unsigned opens, appends;
static unsigned good_appends; /* so many more succeed */

hpcbd_index_t *__real_hpcbd_index_open(const char *dir, hpcb_error_t *err);
hpcbd_index_t *__wrap_hpcbd_index_open(const char *dir, hpcb_error_t *err);
int64_t __real_hpcbd_file_append(const char *path, const char *text, size_t length,
                                 hpcb_error_t *err);
int64_t __wrap_hpcbd_file_append(const char *path, const char *text, size_t length,
                                 hpcb_error_t *err);

hpcbd_index_t *__wrap_hpcbd_index_open(const char *dir, hpcb_error_t *err)
{
    opens++;
    return __real_hpcbd_index_open(dir, err);
}

int64_t __wrap_hpcbd_file_append(const char *path, const char *text, size_t length,
                                 hpcb_error_t *err)
{
    appends++;
    if (good_appends == 0) {
        errno = ENOSPC;
        return hpcb_error(err, "%.300s: %s", path, strerror(errno));
    }
    good_appends--;
    return __real_hpcbd_file_append(path, text, length, err);
}

static hpcbd_store_t *open_store(void)
{
    hpcb_error_t err = {""};
    hpcbd_store_t *store = hpcbd_store_open(scratch("c"), 0, &err);

    ck_assert_msg(store != NULL, "%s", err.text);
    return store;
}

static int add(hpcbd_store_t *store, uint32_t job_id, unsigned node)
{
    char *text = collector_record(job_id, 0, node, 2);
    hpcb_rjson_t *object = hpcb_rjson_parse(text);
    int status = hpcbd_store_add(store, object, 0, NULL);

    json_object_put(object);
    free(text);
    return status;
}

/* For ten minutes nodes send something ten times a second, new and known things. */
START_TEST(a_full_disk_is_tried_now_and_then)
{
    hpcbd_store_t *store = open_store();
    collector_totals_t totals;

    ck_assert_int_eq(add(store, 4, 0), 0);
    for (uint64_t ms = 0; ms < 600000; ms += 100) {
        (void)add(store, 4, 0);
        (void)add(store, 8 + (uint32_t)ms, 0);
        ck_assert(hpcbd_store_dirty(store));
        ck_assert_int_eq(hpcbd_store_commit(store, ms, NULL), -1);
    }
    ck_assert_uint_eq(opens, 1);
    ck_assert_uint_ge(appends, 10);
    ck_assert_uint_le(appends, 30);
    ck_assert_uint_eq(hpcbd_store_stats(store)->failures, appends);
    ck_assert_uint_le(hpcbd_store_pending(store), 2);

    good_appends = 100;
    ck_assert_int_eq(hpcbd_store_commit(store, 630000, NULL), 0);
    ck_assert_int_eq(add(store, 4, 1), 0);
    ck_assert_int_eq(hpcbd_store_commit(store, 630000, NULL), 0);
    collector_totals(scratch("c"), &totals);
    ck_assert_uint_eq(totals.complete, 1);
    hpcbd_store_close(store);
}
END_TEST

/* Four runs of four days, and room for two of them. */
START_TEST(what_was_written_is_not_written_again)
{
    hpcbd_store_t *store = open_store();
    collector_totals_t totals;

    for (uint32_t job_id = 4; job_id < 8; job_id++)
        for (unsigned node = 0; node < 2; node++)
            ck_assert_int_eq(add(store, job_id, node), 0);
    good_appends = 2;
    ck_assert_int_eq(hpcbd_store_commit(store, 0, NULL), -1);
    ck_assert_uint_eq(hpcbd_store_pending(store), 2);
    good_appends = 2;
    ck_assert_int_eq(hpcbd_store_commit(store, 999, NULL), -1);
    ck_assert_int_eq(hpcbd_store_commit(store, 1000, NULL), 0);
    ck_assert_uint_eq(hpcbd_store_pending(store), 0);
    ck_assert_uint_eq(hpcbd_store_stats(store)->runs, 4);
    collector_totals(scratch("c"), &totals);
    ck_assert_uint_eq(totals.lines, 4);
    ck_assert_uint_eq(totals.nodes, 8);
    hpcbd_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector on a full disk");
    TCase *test = scratch_case("full");

    tcase_add_test(test, a_full_disk_is_tried_now_and_then);
    tcase_add_test(test, what_was_written_is_not_written_again);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
