/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The store of records: whatever is cut off, sent twice or refused by the disk, each
 * record that was acknowledged counts once.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "records/database.h"
#include "records/store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

static hpcb_store_t *open_at(const char *dir)
{
    hpcb_error_t err = {""};
    hpcb_store_t *store = hpcb_store_new(dir, true, &err);

    ck_assert_msg(store && hpcb_store_open(store, 1000, &err) == 0, "%s", err.text);
    return store;
}

static int add_text(hpcb_store_t *store, const char *text, uint64_t now_ms)
{
    hpcb_rjson_t *object = hpcb_rjson_parse(text);
    hpcb_error_t err = {""};
    int status = hpcb_store_add(store, object, now_ms, &err);
    int saved = errno;

    json_object_put(object);
    errno = saved;
    return status;
}

static int add_to(hpcb_store_t *store, uint32_t job_id, uint32_t restart, unsigned node,
                  unsigned nodes)
{
    char *text = collector_record(job_id, restart, node, nodes);
    int status = add_text(store, text, 1000);

    free(text);
    return status;
}

static void add(hpcb_store_t *store, uint32_t job_id, unsigned node, unsigned nodes)
{
    ck_assert_int_ge(add_to(store, job_id, 0, node, nodes), 0);
}

static void commit(hpcb_store_t *store)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_store_commit(store, 1000, &err) == 0, "%s", err.text);
}

static void expire(hpcb_store_t *store, uint64_t now_ms)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_store_expire(store, now_ms, 1000, &err) == 0, "%s", err.text);
    commit(store);
}

static void expect(const char *dir, unsigned runs, unsigned nodes)
{
    collector_totals_t totals;

    collector_totals(dir, &totals);
    ck_assert_uint_eq(totals.runs, runs);
    ck_assert_uint_eq(totals.nodes, nodes);
    ck_assert(totals.cpu_seconds > nodes - 0.5 && totals.cpu_seconds < nodes + 0.5);
}

/* A column of the run of a job, as text. */
static const char *run_has(hpcb_store_t *store, uint32_t job_id, const char *column)
{
    static char value[256];
    char *sql = sqlite3_mprintf("SELECT %s FROM run WHERE job_id = %u", column, job_id);
    sqlite3_stmt *row;

    ck_assert_int_eq(
        sqlite3_prepare_v2(hpcb_store_database(store), sql, -1, &row, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
    snprintf(value, sizeof(value), "%s",
             sqlite3_column_text(row, 0) ? (const char *)sqlite3_column_text(row, 0)
                                         : "NULL");
    sqlite3_finalize(row);
    sqlite3_free(sql);
    return value;
}

START_TEST(a_complete_run_is_published)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);

    add(store, 4, 0, 1);
    add(store, 8, 0, 2);
    commit(store);
    expect(dir, 1, 1);
    ck_assert_uint_eq(hpcb_store_pending(store), 1);
    add(store, 8, 1, 2);
    commit(store);
    expect(dir, 2, 3);
    ck_assert_str_eq(run_has(store, 8, "complete"), "1");
    ck_assert_str_eq(run_has(store, 8, "cpu_seconds"), "2.0");
    ck_assert_str_eq(run_has(store, 8, "cpus"), "2");
    ck_assert_str_eq(run_has(store, 8, "wall_seconds"), "10.0");
    ck_assert_str_eq(run_has(store, 8, "allocated_cpu_seconds"), "20.0");
    ck_assert_str_eq(run_has(store, 8, "efficiency"), "0.1");
    ck_assert_str_eq(run_has(store, 8, "guests_beside"), "NULL");
    ck_assert_uint_eq(hpcb_store_pending(store), 0);
    hpcb_store_free(store);
}
END_TEST

/* A week at 200 GB/s is 2^56.7 bytes: on a hundred nodes the sum has no place in 63
 * bits.  One that no other record could be committed after would stop all of them. */
START_TEST(a_sum_beyond_the_largest_number_stops_nobody)
{
    static const char *const names[] = {"memory_bytes", "network_bytes"};
    hpcb_store_t *store = open_at(scratch("c"));

    for (unsigned node = 0; node < 2; node++) {
        char *text = collector_record(4, 0, node, 2);
        hpcb_rjson_t *object = hpcb_rjson_parse(text);
        hpcb_error_t err = {""};

        json_object_object_add(object, names[_i], json_object_new_int64(INT64_MAX - 9));
        ck_assert_msg(hpcb_store_add(store, object, 1000, &err) >= 0, "%s", err.text);
        json_object_put(object);
        free(text);
    }
    add(store, 8, 0, 1);
    commit(store);
    ck_assert_str_eq(run_has(store, 4, names[_i]), "9223372036854775807");
    hpcb_store_free(store);
}
END_TEST

START_TEST(what_is_sent_twice_counts_once)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);

    for (int round = 0; round < 4; round++) {
        for (uint32_t job = 1; job <= 20; job++)
            for (unsigned node = 0; node < 2; node++)
                add(store, job, node, 2);
        commit(store);
        if (round == 2) {
            hpcb_store_free(store);
            store = open_at(dir);
        }
    }
    expect(dir, 20, 40);
    ck_assert_uint_eq(hpcb_store_stats(store)->duplicates, 40);
    ck_assert_uint_eq(hpcb_store_stats(store)->records, 0);
    hpcb_store_free(store);
}
END_TEST

START_TEST(runs_of_a_job_are_told_apart)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);

    for (uint32_t restart = 0; restart < 3; restart++)
        ck_assert_int_eq(add_to(store, 4, restart, 0, 1), 1);
    commit(store);
    expect(dir, 3, 3);
    hpcb_store_free(store);
}
END_TEST

/* ---- Ids that Slurm gives again ---- */

/* A job of one node, as far as its runs are told apart; submit 0: not known. */
typedef struct {
    uint64_t submit;
    double begin, end;
    unsigned node;
} told_t;

static int add_told(hpcb_store_t *store, const told_t *told, unsigned nodes)
{
    char *text = collector_record(4, 0, told->node, nodes);
    hpcb_rjson_t *object = hpcb_rjson_parse(text);
    hpcb_error_t err = {""};
    int status;

    if (told->submit)
        json_object_object_add(object, "submit",
                               json_object_new_int64((int64_t)told->submit));
    json_object_object_add(object, "begin", json_object_new_double(told->begin));
    json_object_object_add(object, "end", json_object_new_double(told->end));
    status = hpcb_store_add(store, object, 1000, &err);
    ck_assert_msg(status >= 0, "%s", err.text);
    json_object_put(object);
    free(text);
    return status;
}

/* Two records of jobs of the same id, and how many runs they are. */
static const struct {
    told_t one, other;
    const char *runs, *nodes;
} same_ids[] = {
    /* Another job of that id, on the same node or on another one; at once, or soon. */
    {{100, 110, 120, 0}, {200, 210, 220, 0}, "2", "2"},
    {{100, 110, 120, 0}, {200, 210, 220, 1}, "2", "2"},
    {{100, 110, 120, 0}, {119, 121, 130, 0}, "2", "2"},
    /* Both records of the same run. */
    {{100, 110, 120, 0}, {100, 110, 120, 0}, "1", "1"},
    {{100, 110, 120, 0}, {100, 111, 121, 1}, "1", "2"},
    {{100, 110, 120, 0}, {100, 9110, 9120, 1}, "1", "2"},
    /* One of them does not know when it was submitted … */
    {{100, 110, 120, 0}, {0, 111, 121, 1}, "1", "2"},
    {{0, 110, 120, 0}, {100, 111, 121, 1}, "1", "2"},
    {{100, 110, 120, 0}, {0, 9110, 9120, 1}, "2", "2"},
    {{100, 110, 120, 0}, {0, 121, 130, 0}, "2", "2"},
    /* … or neither: clocks may be apart. */
    {{0, 110, 120, 0}, {0, 110, 120, 0}, "1", "1"},
    {{0, 110, 111, 0}, {0, 130, 131, 1}, "1", "2"},
    {{0, 130, 131, 0}, {0, 110, 111, 1}, "1", "2"},
    {{0, 110, 120, 0}, {0, 121, 130, 0}, "2", "2"},
    {{0, 121, 130, 0}, {0, 110, 120, 0}, "2", "2"},
    /* The epilog is run a second time, hours later. */
    {{0, 110, 120, 0}, {0, 9120, 9120, 0}, "1", "1"},
    {{100, 110, 120, 0}, {0, 9120, 9120, 0}, "1", "1"},
};

START_TEST(jobs_of_the_same_id_are_told_apart)
{
    hpcb_store_t *store = open_at(scratch("c"));

    for (int round = 0; round < 2; round++) {
        add_told(store, &same_ids[_i].one, 1);
        if (round == 1)
            commit(store);
        add_told(store, &same_ids[_i].other, 1);
        commit(store);
    }
    ck_assert_str_eq(run_has(store, 4, "(SELECT count(*) FROM run)"),
                     same_ids[_i].runs);
    ck_assert_str_eq(run_has(store, 4, "(SELECT count(*) FROM node)"),
                     same_ids[_i].nodes);
    hpcb_store_free(store);
}
END_TEST

/* A node that does not know when its job was submitted: of two jobs of that id. */
START_TEST(a_record_joins_the_run_of_its_time)
{
    static const told_t told[] = {
        {100, 110, 120, 0},
        {500, 510, 520, 0},
        {0, 110, 120, 1},
        {0, 511, 521, 2},
        /* Of the last one that had begun. */
        {0, 9000, 9000, 3},
        {0, 300, 300, 4},
    };
    hpcb_store_t *store = open_at(scratch("c"));

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        ck_assert_int_eq(add_told(store, &told[i], 3), 1);
    commit(store);
    ck_assert_str_eq(run_has(store, 4, "(SELECT count(*) FROM run)"), "2");
    ck_assert_str_eq(run_has(store, 4,
                             "(SELECT group_concat(node) FROM (SELECT node FROM node"
                             " JOIN run r ON r.id = run WHERE r.submit = 100"
                             " ORDER BY node))"),
                     "n0,n1,n4");
    ck_assert_str_eq(run_has(store, 4,
                             "(SELECT group_concat(node) FROM (SELECT node FROM node"
                             " JOIN run r ON r.id = run WHERE r.submit = 500"
                             " ORDER BY node))"),
                     "n0,n2,n3");
    hpcb_store_free(store);
}
END_TEST

START_TEST(a_node_of_a_run_tells_the_next_one_apart)
{
    static const told_t told[] = {
        {0, 110, 120, 0}, {0, 110, 120, 1}, {0, 121, 130, 0}, {0, 121, 130, 1}};
    hpcb_store_t *store = open_at(scratch("c"));

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        ck_assert_int_eq(add_told(store, &told[i], 2), 1);
    commit(store);
    ck_assert_str_eq(run_has(store, 4, "(SELECT count(*) FROM run WHERE complete)"),
                     "2");
    hpcb_store_free(store);
}
END_TEST

START_TEST(who_waits_too_long_is_published_and_completed_later)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);
    char seq[32];

    add(store, 4, 0, 3);
    commit(store);
    expire(store, 1999);
    expect(dir, 0, 0);
    expire(store, 2000);
    expect(dir, 1, 1);
    ck_assert_uint_eq(hpcb_store_stats(store)->incomplete, 1);
    ck_assert_uint_eq(hpcb_store_pending(store), 0);
    snprintf(seq, sizeof(seq), "%s", run_has(store, 4, "seq"));
    add(store, 4, 0, 3);
    commit(store);
    ck_assert_str_eq(run_has(store, 4, "seq"), seq);
    add(store, 4, 1, 3);
    add(store, 4, 2, 3);
    commit(store);
    /* Whoever follows the numbers sees it again. */
    ck_assert_str_ne(run_has(store, 4, "seq"), seq);
    ck_assert_str_eq(run_has(store, 4, "complete"), "1");
    expect(dir, 1, 3);
    hpcb_store_free(store);
}
END_TEST

START_TEST(runs_wait_anew_after_a_restart)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);

    add(store, 4, 0, 2);
    commit(store);
    hpcb_store_free(store);
    store = open_at(dir);
    ck_assert_uint_eq(hpcb_store_pending(store), 1);
    expire(store, 1500);
    expect(dir, 0, 0);
    expire(store, 2500);
    expect(dir, 1, 1);
    hpcb_store_free(store);
}
END_TEST

#define NODE_RECORD(node, cpu, klass, user, beside)                                    \
    "{\"version\":1,\"job_id\":4,\"node\":\"" node "\",\"cluster\":\"tiny\","          \
    "\"class\":\"" klass "\",\"policy\":\"none\",\"user_id\":1000,"                    \
    "\"partition\":\"p\",\"begin\":100.5,\"end\":110.75,\"cpus\":2,\"cpu_"             \
    "seconds\":" cpu                                                                   \
    ",\"run_delay_seconds\":1,\"memory_peak_bytes\":7,\"nodes\":2,\"user\":" user      \
    ",\"guests_beside\":" beside ",\"unknown_member\":[{}],\"tasks\":[]}"

START_TEST(a_node_counts_once_and_what_knows_more_wins)
{
    hpcb_store_t *store = open_at(scratch("c"));

    ck_assert_int_eq(
        add_text(store, NODE_RECORD("a", "5", "unknown", "null", "null"), 0), 1);
    ck_assert_int_eq(
        add_text(store, NODE_RECORD("a", "4.5", "guest", "null", "null"), 0), 0);
    ck_assert_int_eq(add_text(store,
                              NODE_RECORD("a", "6", "primary", "\"ada\"",
                                          "[5,9],\"guest_cpu_seconds\":2.5"),
                              0),
                     1);
    ck_assert_int_eq(add_text(store,
                              NODE_RECORD("b", "1", "guest", "\"eve\"",
                                          "[5,7],\"guest_cpu_seconds\":0.5"),
                              0),
                     1);
    commit(store);
    ck_assert_str_eq(run_has(store, 4, "cpu_seconds"), "7.0");
    ck_assert_str_eq(run_has(store, 4, "user"), "ada");
    ck_assert_str_eq(run_has(store, 4, "class"), "primary");
    ck_assert_str_eq(run_has(store, 4, "wall_seconds"), "10.25");
    ck_assert_str_eq(run_has(store, 4, "guests_beside"), "3");
    ck_assert_str_eq(run_has(store, 4, "guest_cpu_seconds"), "3.0");
    ck_assert_str_eq(run_has(store, 4, "evictions"), "0");
    hpcb_store_free(store);
}
END_TEST

static const char *const no_records[] = {
    "{}",
    "{\"version\":2}",
    "{\"version\":1,\"job_id\":-1}",
    NODE_RECORD("a", "-5", "guest", "null", "null"),
    NODE_RECORD("a", "5", "guest", "7", "null"),
    NODE_RECORD("a", "5", "guest", "null", "[7,\"x\"]"),
    NODE_RECORD("a/b", "5", "guest", "null", "null"),
    NODE_RECORD("a", "1e300", "guest", "null", "null"),
};

START_TEST(what_is_no_record_is_refused_and_leaves_nothing)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);

    ck_assert_int_eq(add_text(store, no_records[_i], 0), -1);
    ck_assert_int_eq(errno, EINVAL);
    add(store, 8, 0, 1);
    commit(store);
    ck_assert_str_eq(run_has(store, 8, "(SELECT count(*) FROM run)"), "1");
    hpcb_store_free(store);
}
END_TEST

/* ---- Crashes ---- */

/* Add records of one node a commit until killed; acknowledged counts them.  Check notes
 * each assertion in a file that it shares with the test: none here, where a kill would
 * leave half a note. */
static void __attribute__((noreturn))
write_for_ever(const char *dir, volatile unsigned *acknowledged)
{
    hpcb_store_t *store = hpcb_store_new(dir, true, NULL);

    if (!store || hpcb_store_open(store, 1000, NULL) < 0)
        _exit(EXIT_FAILURE);
    while (add_to(store, *acknowledged + 1, 0, 0, 1) >= 0 &&
           hpcb_store_commit(store, 1000, NULL) == 0)
        (*acknowledged)++;
    _exit(EXIT_FAILURE);
}

START_TEST(kill_9_at_any_moment_loses_and_doubles_nothing)
{
    const char *dir = scratch("c");
    volatile unsigned *acknowledged =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    collector_totals_t totals;
    unsigned before = 0;

    ck_assert(acknowledged != MAP_FAILED);
    for (unsigned round = 0; round < 30; round++) {
        pid_t pid = fork();

        if (pid == 0)
            write_for_ever(dir, acknowledged);
        while (*acknowledged < before + 1 + round % 3)
            usleep(100);
        usleep(round * 137);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        before = *acknowledged;
        collector_totals(dir, &totals);
        /* One more may be on disk and not acknowledged yet. */
        ck_assert_uint_ge(totals.runs, before);
        ck_assert_uint_le(totals.runs, before + 1);
        ck_assert_uint_eq(totals.nodes, totals.runs);
    }
    munmap((void *)acknowledged, 4096);
}
END_TEST

/* RLIMIT_FSIZE stands for a full disk: writes beyond it fail with EFBIG.  Check writes
 * to a file at each assertion: none while the limit is in force. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
}

static bool commit_fails(hpcb_store_t *store, uint64_t now_ms, rlim_t bytes,
                         hpcb_error_t *err)
{
    char *one = collector_record(12, 0, 0, 1), *other = collector_record(16, 0, 0, 2);
    bool failed;

    limit_files(bytes);
    failed = add_text(store, one, now_ms) < 0 || add_text(store, other, now_ms) < 0 ||
             hpcb_store_commit(store, now_ms, err) < 0;
    limit_files(RLIM_INFINITY);
    free(one);
    free(other);
    return failed;
}

START_TEST(a_full_disk_acknowledges_nothing_and_keeps_the_rest)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);
    hpcb_error_t err = {""};
    uint64_t now_ms = 1000;

    add(store, 4, 0, 1);
    add(store, 8, 0, 2);
    commit(store);
    for (rlim_t bytes = 0; commit_fails(store, now_ms, bytes, &err); bytes += 1000) {
        ck_assert_ptr_nonnull(strstr(err.text, "records.db"));
        ck_assert_int_eq(add_to(store, 20, 0, 0, 1), -1);
        ck_assert_int_eq(errno, EAGAIN);
        now_ms += 60000;
    }
    ck_assert_uint_gt(hpcb_store_stats(store)->failures, 5);
    add(store, 8, 1, 2);
    add(store, 16, 1, 2);
    commit(store);
    expect(dir, 4, 6);
    hpcb_store_free(store);
}
END_TEST

/* For ten minutes nodes send something ten times a second. */
START_TEST(a_full_disk_is_tried_now_and_then)
{
    hpcb_store_t *store = open_at(scratch("c"));
    char *record = collector_record(4, 0, 0, 1);
    unsigned taken = 0;

    limit_files(0);
    for (uint64_t ms = 0; ms < 600000; ms += 100)
        taken +=
            add_text(store, record, ms) >= 0 && hpcb_store_commit(store, ms, NULL) == 0;
    limit_files(RLIM_INFINITY);
    ck_assert_uint_eq(taken, 0);
    ck_assert_uint_ge(hpcb_store_stats(store)->failures, 10);
    ck_assert_uint_le(hpcb_store_stats(store)->failures, 30);
    ck_assert_int_eq(add_text(store, record, 640000), 1);
    ck_assert_int_eq(hpcb_store_commit(store, 640000, NULL), 0);
    free(record);
    hpcb_store_free(store);
}
END_TEST

/* A file system of that size of its own at dir; false: this test may not mount. */
static bool mount_small(const char *dir, const char *size)
{
    ck_assert_int_eq(hpcb_file_mkdirs(dir, 0755, NULL), 0);
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, size) == 0;
}

/* Add runs of one node, from first on, until one is not taken; the next number. */
static uint32_t fill_up(hpcb_store_t *store, uint32_t first, uint32_t most,
                        uint64_t now_ms, hpcb_error_t *err)
{
    for (; first < most; first++) {
        char *text = collector_record(first, 0, 0, 1);
        bool taken = add_text(store, text, now_ms) >= 0 &&
                     hpcb_store_commit(store, now_ms, err) == 0;

        free(text);
        if (!taken)
            break;
    }
    return first;
}

/* What the kernel says then, not a limit of this process. */
START_TEST(a_file_system_without_space_keeps_what_was_acknowledged)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    hpcb_store_t *store;
    uint32_t next;

    if (!mount_small(dir, "size=1m"))
        return;
    store = open_at(dir);
    next = fill_up(store, 1, 10000, 1000, &err);
    ck_assert_uint_gt(next, 10);
    ck_assert_uint_lt(next, 10000);
    ck_assert_msg(strstr(err.text, "full") != NULL, "%s", err.text);
    ck_assert_int_eq(add_to(store, next, 0, 0, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    ck_assert_uint_eq(fill_up(store, next, next + 50, 60000, &err), next + 50);
    expect(dir, next + 49, next + 49);
    hpcb_store_free(store);
}
END_TEST

START_TEST(a_read_only_file_system_takes_nothing_and_can_be_read)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    hpcb_store_t *store;

    if (!mount_small(dir, "size=8m"))
        return;
    store = open_at(dir);
    ck_assert_uint_eq(fill_up(store, 1, 5, 1000, &err), 5);
    hpcb_store_free(store);
    ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
    store = hpcb_store_new(dir, true, &err);
    ck_assert_int_eq(hpcb_store_open(store, 1000, &err), -1);
    ck_assert_msg(strstr(err.text, "records.db") != NULL, "%s", err.text);
    ck_assert_int_eq(add_to(store, 7, 0, 0, 1), -1);
    expect(dir, 4, 4);
    ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", MS_REMOUNT, NULL), 0);
    ck_assert_uint_eq(fill_up(store, 5, 9, 60000, &err), 9);
    expect(dir, 8, 8);
    hpcb_store_free(store);
}
END_TEST

START_TEST(a_database_that_was_removed_is_made_anew)
{
    const char *dir = scratch("c");
    hpcb_store_t *store = open_at(dir);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[PATH_MAX];

    add(store, 4, 0, 1);
    commit(store);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/" HPCB_DATABASE_FILE "%s", dir, suffixes[i]);
        ck_assert_int_eq(unlink(path), 0);
    }
    add(store, 8, 0, 1);
    commit(store);
    expect(dir, 1, 1);
    hpcb_store_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store of records");
    TCase *test = scratch_case("store");

    tcase_set_timeout(test, 120);
    tcase_add_test(test, a_complete_run_is_published);
    tcase_add_loop_test(test, a_sum_beyond_the_largest_number_stops_nobody, 0, 2);
    tcase_add_test(test, what_is_sent_twice_counts_once);
    tcase_add_test(test, runs_of_a_job_are_told_apart);
    tcase_add_loop_test(test, jobs_of_the_same_id_are_told_apart, 0,
                        sizeof(same_ids) / sizeof(same_ids[0]));
    tcase_add_test(test, a_record_joins_the_run_of_its_time);
    tcase_add_test(test, a_node_of_a_run_tells_the_next_one_apart);
    tcase_add_test(test, who_waits_too_long_is_published_and_completed_later);
    tcase_add_test(test, runs_wait_anew_after_a_restart);
    tcase_add_test(test, a_node_counts_once_and_what_knows_more_wins);
    tcase_add_loop_test(test, what_is_no_record_is_refused_and_leaves_nothing, 0,
                        sizeof(no_records) / sizeof(no_records[0]));
    tcase_add_test(test, kill_9_at_any_moment_loses_and_doubles_nothing);
    tcase_add_test(test, a_full_disk_acknowledges_nothing_and_keeps_the_rest);
    tcase_add_test(test, a_full_disk_is_tried_now_and_then);
    tcase_add_test(test, a_file_system_without_space_keeps_what_was_acknowledged);
    tcase_add_test(test, a_read_only_file_system_takes_nothing_and_can_be_read);
    tcase_add_test(test, a_database_that_was_removed_is_made_anew);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
