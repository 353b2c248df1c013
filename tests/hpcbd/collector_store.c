/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's store: whatever is cut off, read again or sent twice, each record
 * that was acknowledged counts once.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "hpcbd/collector_file.h"
#include "hpcbd/collector_index.h"
#include "hpcbd/collector_store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector_records.h"

#define DAY "2023-11-14" /* of the end of jobs whose number is a multiple of 4 */

static hpcbd_store_t *open_at(const char *dir)
{
    hpcb_error_t err = {""};
    hpcbd_store_t *store = hpcbd_store_open(dir, 1000, &err);

    ck_assert_msg(store != NULL, "%s", err.text);
    return store;
}

static int add_to(hpcbd_store_t *store, uint32_t job_id, uint32_t restart,
                  unsigned node, unsigned nodes)
{
    char *text = collector_record(job_id, restart, node, nodes);
    hpcb_rjson_t *object = hpcb_rjson_parse(text);
    hpcb_error_t err = {""};
    int status = hpcbd_store_add(store, object, 1000, &err);

    json_object_put(object);
    free(text);
    return status;
}

static void add(hpcbd_store_t *store, uint32_t job_id, unsigned node, unsigned nodes)
{
    ck_assert_int_eq(add_to(store, job_id, 0, node, nodes), 0);
}

static void commit(hpcbd_store_t *store)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcbd_store_commit(store, 1000, &err) == 0, "%s", err.text);
}

static void expect(const char *dir, unsigned runs, unsigned nodes)
{
    collector_totals_t totals;

    collector_totals(dir, &totals);
    ck_assert_uint_eq(totals.runs, runs);
    ck_assert_uint_eq(totals.nodes, nodes);
    ck_assert(totals.cpu_seconds > nodes - 0.5 && totals.cpu_seconds < nodes + 0.5);
}

START_TEST(a_complete_run_is_one_line)
{
    const char *dir = scratch("c");
    hpcbd_store_t *store = open_at(dir);
    collector_totals_t totals;

    add(store, 4, 0, 1);
    add(store, 8, 0, 2);
    ck_assert(hpcbd_store_dirty(store));
    commit(store);
    ck_assert(!hpcbd_store_dirty(store));
    expect(dir, 1, 1);
    ck_assert_uint_eq(hpcbd_store_pending(store), 1);
    add(store, 8, 1, 2);
    commit(store);
    collector_totals(dir, &totals);
    ck_assert_uint_eq(totals.lines, 2);
    ck_assert_uint_eq(totals.complete, 2);
    expect(dir, 2, 3);
    hpcbd_store_close(store);
}
END_TEST

START_TEST(what_is_sent_twice_counts_once)
{
    const char *dir = scratch("c");
    hpcbd_store_t *store = open_at(dir);
    collector_totals_t totals;

    for (int round = 0; round < 4; round++) {
        for (uint32_t job = 1; job <= 20; job++)
            for (unsigned node = 0; node < 2; node++)
                add(store, job, node, 2);
        commit(store);
        if (round == 2) {
            hpcbd_store_close(store);
            store = open_at(dir);
        }
    }
    collector_totals(dir, &totals);
    ck_assert_uint_eq(totals.lines, 20);
    expect(dir, 20, 40);
    ck_assert_uint_eq(hpcbd_store_stats(store)->duplicates, 40);
    hpcbd_store_close(store);
}
END_TEST

START_TEST(runs_of_a_job_are_told_apart)
{
    const char *dir = scratch("c");
    hpcbd_store_t *store = open_at(dir);

    for (uint32_t restart = 0; restart < 3; restart++)
        ck_assert_int_eq(add_to(store, 4, restart, 0, 1), 0);
    commit(store);
    expect(dir, 3, 3);
    hpcbd_store_close(store);
}
END_TEST

START_TEST(who_waits_too_long_is_written_and_completed_later)
{
    const char *dir = scratch("c");
    hpcbd_store_t *store = open_at(dir);
    collector_totals_t totals;

    add(store, 4, 0, 3);
    commit(store);
    hpcbd_store_expire(store, 1999, 1000);
    commit(store);
    expect(dir, 0, 0);
    hpcbd_store_expire(store, 2000, 1000);
    commit(store);
    expect(dir, 1, 1);
    ck_assert_uint_eq(hpcbd_store_stats(store)->incomplete, 1);
    ck_assert_uint_eq(hpcbd_store_pending(store), 0);
    /* Two come late, one of them twice. */
    add(store, 4, 1, 3);
    add(store, 4, 0, 3);
    commit(store);
    add(store, 4, 1, 3);
    add(store, 4, 2, 3);
    commit(store);
    collector_totals(dir, &totals);
    ck_assert_uint_eq(totals.lines, 2);
    ck_assert_uint_eq(totals.complete, 1);
    expect(dir, 1, 3);
    hpcbd_store_close(store);
}
END_TEST

static size_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) ? 0 : (size_t)st.st_size;
}

static void copy_file(const char *from, const char *to, size_t length)
{
    char *text = malloc(length + 1);
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    ck_assert(in >= 0 && out >= 0);
    ck_assert_int_eq(read(in, text, length), (ssize_t)length);
    ck_assert_int_eq(write(out, text, length), (ssize_t)length);
    close(in);
    close(out);
    free(text);
}

/* One run is acknowledged in each of the two files; then a commit of two more is cut
 * short at every byte of the journal and of the records, in the order in which they are
 * written, and what was not acknowledged is sent again. */
static void crash_at(const char *full, size_t record_bytes, size_t journal_bytes)
{
    static unsigned number;
    char name[32], path[256], from[256];
    hpcbd_store_t *store;
    const char *dir;

    snprintf(name, sizeof(name), "crash%u", number++);
    dir = scratch(name);
    snprintf(path, sizeof(path), "%s/records", dir);
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    snprintf(path, sizeof(path), "%s/records/" DAY ".jsonl", dir);
    snprintf(from, sizeof(from), "%s/records/" DAY ".jsonl", full);
    copy_file(from, path, record_bytes);
    snprintf(path, sizeof(path), "%s/journal.jsonl", dir);
    snprintf(from, sizeof(from), "%s/journal.jsonl", full);
    copy_file(from, path, journal_bytes);

    store = open_at(dir);
    add(store, 12, 0, 1);
    add(store, 16, 0, 2);
    commit(store);
    add(store, 8, 1, 2);
    add(store, 16, 1, 2);
    commit(store);
    expect(dir, 4, 6);
    ck_assert_uint_eq(hpcbd_store_pending(store), 0);
    hpcbd_store_close(store);
    store = open_at(dir);
    ck_assert_uint_eq(hpcbd_store_pending(store), 0);
    hpcbd_store_close(store);
}

START_TEST(a_crash_at_any_byte_loses_and_doubles_nothing)
{
    char dir[192], records[256], journal[256];
    size_t record_start, journal_start;
    hpcbd_store_t *store;

    /* What scratch() returns is reused after a while. */
    snprintf(dir, sizeof(dir), "%s", scratch("full"));
    store = open_at(dir);

    snprintf(records, sizeof(records), "%s/records/" DAY ".jsonl", dir);
    snprintf(journal, sizeof(journal), "%s/journal.jsonl", dir);
    add(store, 4, 0, 1);
    add(store, 8, 0, 2);
    commit(store);
    record_start = size_of(records);
    journal_start = size_of(journal);
    add(store, 12, 0, 1);
    add(store, 16, 0, 2);
    commit(store);
    ck_assert_uint_gt(size_of(records), record_start);
    ck_assert_uint_gt(size_of(journal), journal_start);
    for (size_t at = record_start; at <= size_of(records); at++)
        crash_at(dir, at, journal_start);
    for (size_t at = journal_start; at <= size_of(journal); at++)
        crash_at(dir, size_of(records), at);
    hpcbd_store_close(store);
}
END_TEST

/* RLIMIT_FSIZE stands for a full disk: writes beyond it fail with EFBIG. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Check writes to a file as well: no assertion while the limit is in force. */
static bool commit_fails(hpcbd_store_t *store, uint64_t now_ms, rlim_t bytes)
{
    bool failed;

    limit_files(bytes);
    failed = hpcbd_store_commit(store, now_ms, NULL) < 0;
    limit_files(RLIM_INFINITY);
    return failed;
}

START_TEST(a_full_disk_acknowledges_nothing_and_keeps_the_rest)
{
    const char *dir = scratch("c");
    hpcbd_store_t *store = open_at(dir);
    uint64_t now_ms = 1000;

    add(store, 4, 0, 1);
    add(store, 8, 0, 2);
    commit(store);
    add(store, 12, 0, 1);
    add(store, 16, 0, 2);
    for (rlim_t bytes = 0; commit_fails(store, now_ms, bytes); bytes += 50) {
        ck_assert_int_eq(add_to(store, 20, 0, 0, 1), -1);
        ck_assert_int_eq(errno, EAGAIN);
        now_ms += 60000;
    }
    ck_assert_uint_gt(hpcbd_store_stats(store)->failures, 5);
    add(store, 8, 1, 2);
    add(store, 16, 1, 2);
    commit(store);
    expect(dir, 4, 6);
    hpcbd_store_close(store);
}
END_TEST

static const char *const no_records[] = {
    "{}",
    "{\"version\":2}",
    "{\"version\":1,\"job_id\":-1}",
};

START_TEST(what_is_no_record_is_refused)
{
    hpcbd_store_t *store = open_at(scratch("c"));
    hpcb_rjson_t *object = hpcb_rjson_parse(no_records[_i]);
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcbd_store_add(store, object, 0, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(!hpcbd_store_dirty(store));
    json_object_put(object);
    hpcbd_store_close(store);
}
END_TEST

START_TEST(damaged_files_do_not_stop_it)
{
    const char *dir = scratch("c");
    char path[256];
    hpcbd_store_t *store = open_at(dir);

    add(store, 4, 0, 1);
    commit(store);
    hpcbd_store_close(store);
    snprintf(path, sizeof(path), "%s/journal.jsonl", dir);
    put_file(path, "\n{}\n{\"version\":1,\"kind\":\"job\"}\nrubbish\n[1]\n\x01\n{\"a");
    snprintf(path, sizeof(path), "%s/records/2023-11-13.jsonl", dir);
    put_file(path, "{\"version\":1,\"kind\":\"job\",\"cluster\":\"tiny\",\"job_id\":8,"
                   "\"restart\":0,oops\n");
    store = open_at(dir);
    add(store, 4, 0, 1);
    add(store, 8, 0, 1);
    commit(store);
    ck_assert_int_eq(unlink(path), 0);
    expect(dir, 2, 2);
    hpcbd_store_close(store);
}
END_TEST

/* A journal that grows is written anew with what is still waited for. */
START_TEST(the_journal_does_not_grow_without_end)
{
    const char *dir = scratch("c");
    char path[256];
    hpcbd_store_t *store = open_at(dir);

    snprintf(path, sizeof(path), "%s/journal.jsonl", dir);
    add(store, 4, 0, 2);
    commit(store);
    for (uint32_t job = 5; job < 10000; job++)
        add(store, job, 0, 2);
    commit(store);
    ck_assert_uint_gt(size_of(path), 4000000);
    for (uint32_t job = 5; job < 10000; job++)
        add(store, job, 1, 2);
    commit(store);
    for (uint32_t job = 10000; job < 14000; job++)
        add(store, job, 0, 2);
    commit(store);
    for (uint32_t job = 10000; job < 14000; job++)
        add(store, job, 1, 2);
    commit(store);
    ck_assert_uint_lt(size_of(path), 3000000);
    hpcbd_store_close(store);
    store = open_at(dir);
    ck_assert_uint_eq(hpcbd_store_pending(store), 1);
    add(store, 4, 1, 2);
    commit(store);
    ck_assert_uint_eq(size_of(path), 0);
    hpcbd_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector store");
    TCase *test = scratch_case("store");

    tcase_set_timeout(test, 300);
    tcase_add_test(test, a_complete_run_is_one_line);
    tcase_add_test(test, what_is_sent_twice_counts_once);
    tcase_add_test(test, runs_of_a_job_are_told_apart);
    tcase_add_test(test, who_waits_too_long_is_written_and_completed_later);
    tcase_add_test(test, a_crash_at_any_byte_loses_and_doubles_nothing);
    tcase_add_test(test, a_full_disk_acknowledges_nothing_and_keeps_the_rest);
    tcase_add_loop_test(test, what_is_no_record_is_refused, 0,
                        sizeof(no_records) / sizeof(no_records[0]));
    tcase_add_test(test, damaged_files_do_not_stop_it);
    tcase_add_test(test, the_journal_does_not_grow_without_end);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
