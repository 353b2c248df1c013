/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The database of records: its schema, older and damaged ones, who may read it, and
 * what earlier releases have left. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "common/record_fields.h"
#include "records/database.h"
#include "records/import.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

static sqlite3 *open_at(const char *dir, bool *repaired, hpcb_error_t *err)
{
    sqlite3 *db = hpcb_database_open(dir, repaired, err);

    ck_assert_msg(db != NULL, "%s", err->text);
    return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    hpcb_error_t err = {""};
    int64_t value = -1;

    ck_assert_msg(hpcb_database_number(db, sql, &value, &err) == 0, "%s", err.text);
    return value;
}

static void run(sqlite3 *db, const char *sql)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_database_run(db, sql, &err) == 0, "%s", err.text);
}

/* count runs of one node each. */
static void fill(const char *dir, uint32_t count)
{
    hpcb_error_t err = {""};
    hpcb_store_t *store = hpcb_store_new(dir, false, &err);

    for (uint32_t job = 1; job <= count; job++) {
        char *text = collector_record(job, 0, 0, 1);
        hpcb_rjson_t *object = hpcb_rjson_parse(text);

        ck_assert_msg(hpcb_store_add(store, object, 0, &err) == 1, "%s", err.text);
        json_object_put(object);
        free(text);
    }
    ck_assert_msg(hpcb_store_commit(store, 0, &err) == 0, "%s", err.text);
    hpcb_store_free(store);
}

static const char *file_of(const char *dir)
{
    static char path[PATH_MAX];

    ck_assert_int_eq(hpcb_database_path(dir, path, NULL), 0);
    return path;
}

START_TEST(files_are_roots_and_the_groups)
{
    const char *dir = scratch("c");
    char path[PATH_MAX];

    fill(dir, 1);
    snprintf(path, sizeof(path), "%s/records", dir);
    ck_assert_uint_eq(mode_of(path) & 07777, 0750);
    ck_assert_uint_eq(mode_of(file_of(dir)) & 07777, 0640);
    snprintf(path, sizeof(path), "%s-wal", file_of(dir));
    ck_assert_uint_eq(mode_of(path) & 07777, 0640);
    snprintf(path, sizeof(path), "%s-shm", file_of(dir));
    ck_assert_uint_eq(mode_of(path) & 07777, 0640);
}
END_TEST

START_TEST(rules_hold_for_those_who_write_by_hand)
{
    hpcb_error_t err = {""};
    sqlite3 *db = open_at(scratch("c"), NULL, &err);
    static const char *const wrong[] = {
        "INSERT INTO run (cluster, job_id, restart, user_id, partition, class, policy)"
        " VALUES ('c', -1, 0, 0, '', '', '')",
        "INSERT INTO run (cluster, job_id, restart, user_id, partition, class, policy)"
        " VALUES ('c', 'x', 0, 0, '', '', '')",
        "INSERT INTO run (cluster, job_id, restart, user_id, partition, class, policy)"
        " VALUES (NULL, 1, 0, 0, '', '', '')",
        "INSERT INTO node (run, node, begin, \"end\", wall_seconds, cpus, cpu_seconds,"
        " run_delay_seconds, memory_peak_bytes) VALUES (7, 'n', 1, 2, 1, 1, 1, 1, 1)",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_int_eq(hpcb_database_run(db, wrong[i], &err), -1);
        ck_assert_msg(strstr(err.text, "constraint failed") != NULL, "%s", err.text);
    }
    sqlite3_close(db);
}
END_TEST

START_TEST(the_database_describes_its_columns)
{
    hpcb_error_t err = {""};
    sqlite3 *db = open_at(scratch("c"), NULL, &err);

    ck_assert_int_eq(number(db, "SELECT count(*) FROM field"), (int64_t)hpcb_n_fields);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM field WHERE name = 'cpu_seconds'"
                                " AND unit = 's' AND type = 'number'"),
                     2);
    sqlite3_close(db);
}
END_TEST

START_TEST(the_manual_describes_its_columns)
{
    const char *top = getenv("HPCB_SRCDIR");
    char path[PATH_MAX], row[1024];
    const char *page;

    snprintf(path, sizeof(path), "%s/doc/records-database.md", top ? top : ".");
    page = get_file(path);
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        const hpcb_field_t *field = &hpcb_fields[i];

        snprintf(row, sizeof(row), "\n| `%s` | %s | %s | %s |\n", field->name,
                 hpcb_field_type_name(field->type), *field->unit ? field->unit : "-",
                 field->what);
        ck_assert_msg(strstr(page, row) != NULL, "no row %s", row);
    }
}
END_TEST

/* As a release wrote it that did not know the field yet. */
START_TEST(an_older_database_gets_its_columns)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    sqlite3 *db;

    fill(dir, 3);
    db = open_at(dir, NULL, &err);
    run(db, "ALTER TABLE run RENAME COLUMN guest_cpu_seconds TO other;"
            "ALTER TABLE node RENAME COLUMN tasks TO theirs;"
            "DELETE FROM field WHERE name = 'tasks'");
    sqlite3_close(db);
    db = open_at(dir, NULL, &err);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run WHERE other IS NULL AND"
                                " guest_cpu_seconds IS NULL"),
                     3);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM node WHERE tasks IS NULL"), 3);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM field WHERE name = 'tasks'"), 1);
    ck_assert_int_eq(
        hpcb_database_run(db, "UPDATE run SET guest_cpu_seconds = -1", &err), -1);
    sqlite3_close(db);
}
END_TEST

/* A job whose id was given before. */
static const char again[] =
    "INSERT INTO run (cluster, job_id, restart, user_id, partition, class, policy,"
    " submit) SELECT cluster, job_id, restart, user_id, partition, class, policy, 77"
    " FROM run WHERE job_id = 1";

/* As version 1 had it: submit is not part of the key. */
static void make_first_version(const char *dir)
{
    hpcb_error_t err = {""};
    sqlite3 *db = open_at(dir, NULL, &err);
    sqlite3_stmt *row = NULL;

    run(db, "PRAGMA foreign_keys = OFF");
    ck_assert_int_eq(
        sqlite3_prepare_v2(db,
                           "SELECT replace(replace(sql, 'restart, submit)',"
                           " 'restart)'), 'CREATE TABLE run', 'CREATE TABLE first')"
                           " FROM sqlite_master WHERE name = 'run'",
                           -1, &row, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
    run(db, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    run(db, "INSERT INTO first SELECT * FROM run; DROP TABLE run;"
            "ALTER TABLE first RENAME TO run; PRAGMA user_version = 1");
    ck_assert_int_eq(hpcb_database_run(db, again, &err), -1);
    sqlite3_close(db);
}

START_TEST(the_first_version_gets_its_key)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    sqlite3 *db;

    fill(dir, 3);
    db = open_at(dir, NULL, &err);
    run(db, "UPDATE run SET seq = 40 + id, submit = 7 WHERE job_id = 2");
    sqlite3_close(db);
    make_first_version(dir);
    db = open_at(dir, NULL, &err);
    ck_assert_int_eq(number(db, "PRAGMA user_version"), HPCB_DATABASE_VERSION);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run"), 3);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM node JOIN run ON id = run AND"
                                " node.cpu_seconds = run.cpu_seconds"),
                     3);
    ck_assert_int_eq(number(db, "SELECT seq FROM run WHERE job_id = 2 AND submit = 7"),
                     42);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM sqlite_master WHERE name IN"
                                " ('run_end', 'run_again', 'run_alone')"),
                     3);
    ck_assert_int_eq(hpcb_database_verify(db, &err), 0);
    run(db, again);
    ck_assert_int_eq(hpcb_database_run(db, again, &err), -1);
    run(db, "DELETE FROM run WHERE job_id = 2");
    ck_assert_int_eq(number(db, "SELECT count(*) FROM node"), 2);
    sqlite3_close(db);
}
END_TEST

/* All or nothing: the old one is whole if there is no room for another table. */
START_TEST(a_first_version_that_cannot_be_changed_is_whole)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    sqlite3 *db;

    fill(dir, 3);
    make_first_version(dir);
    ck_assert_int_eq(sqlite3_open(file_of(dir), &db), SQLITE_OK);
    run(db, "CREATE TABLE renewed (x)");
    sqlite3_close(db);
    ck_assert_ptr_null(hpcb_database_open(dir, NULL, &err));
    ck_assert_int_eq(sqlite3_open(file_of(dir), &db), SQLITE_OK);
    ck_assert_int_eq(number(db, "PRAGMA user_version"), 1);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run JOIN node ON id = run"), 3);
    run(db, "DROP TABLE renewed");
    sqlite3_close(db);
    db = open_at(dir, NULL, &err);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run JOIN node ON id = run"), 3);
    sqlite3_close(db);
}
END_TEST

START_TEST(what_is_not_ours_is_left_alone)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    sqlite3 *db;

    fill(dir, 1);
    db = open_at(dir, NULL, &err);
    run(db, "PRAGMA user_version = 9");
    sqlite3_close(db);
    ck_assert_ptr_null(hpcb_database_open(dir, NULL, &err));
    ck_assert_msg(strstr(err.text, "is of version 9; this release writes 2") != NULL,
                  "%s", err.text);
    ck_assert_int_eq(sqlite3_open(file_of(dir), &db), SQLITE_OK);
    run(db, "PRAGMA application_id = 7");
    sqlite3_close(db);
    ck_assert_ptr_null(hpcb_database_open(dir, NULL, &err));
    ck_assert_msg(strstr(err.text, "another program's") != NULL, "%s", err.text);
}
END_TEST

/* ---- Damage ---- */

static off_t size_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_size;
}

static void scribble(const char *path, off_t from, off_t length)
{
    int fd = open(path, O_WRONLY);

    for (off_t at = from; at < from + length; at += 16)
        ck_assert_int_eq(pwrite(fd, "Scribbled here!\n", 16, at), 16);
    close(fd);
}

static int count_damaged(const char *dir)
{
    char pattern[PATH_MAX];
    glob_t found;
    int count;

    snprintf(pattern, sizeof(pattern), "%s/records/records.db.damaged-*Z", dir);
    count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* Parts of a file in percent that are scribbled over, and runs of 5,000 that are kept
 * at least. */
static const struct {
    int from, length, kept;
} damages[] = {{20, 40, 500}, {50, 2, 3000}, {90, 1, 3000}, {0, 1, 0}};

START_TEST(a_damaged_database_is_moved_aside_and_what_is_whole_kept)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    bool repaired = false;
    int64_t kept;
    off_t size;
    sqlite3 *db;

    fill(dir, 5000);
    size = size_of(file_of(dir)) / 4096 * 4096;
    scribble(file_of(dir), size / 100 * damages[_i].from / 16 * 16,
             size / 100 * damages[_i].length / 16 * 16);
    /* Not without being asked: the collector may be at it. */
    ck_assert_ptr_null(hpcb_database_open(dir, NULL, &err));
    ck_assert_int_eq(count_damaged(dir), 0);
    db = open_at(dir, &repaired, &err);
    ck_assert(repaired);
    ck_assert_msg(strstr(err.text, "records.db.damaged-") != NULL, "%s", err.text);
    ck_assert_int_eq(count_damaged(dir), 1);
    ck_assert_int_eq(hpcb_database_verify(db, &err), 0);
    kept = number(db, "SELECT count(*) FROM run");
    ck_assert_int_ge(kept, damages[_i].kept);
    ck_assert_int_le(kept, 5000);
    sqlite3_close(db);
    repaired = false;
    db = open_at(dir, &repaired, &err);
    ck_assert(!repaired);
    sqlite3_close(db);
}
END_TEST

/* kill -9 has left a log; its end is damaged: SQLite drops it by its checksums. */
START_TEST(a_file_that_is_cut_short_is_repaired)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    bool repaired = false;
    sqlite3 *db;

    fill(dir, 2000);
    ck_assert_int_eq(truncate(file_of(dir), size_of(file_of(dir)) / 2), 0);
    db = open_at(dir, &repaired, &err);
    ck_assert(repaired);
    ck_assert_int_gt(number(db, "SELECT count(*) FROM run"), 0);
    sqlite3_close(db);
}
END_TEST

START_TEST(verify_tells_damage)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    off_t size;
    sqlite3 *db;

    fill(dir, 2000);
    db = hpcb_database_open_reader(dir, &err);
    ck_assert_int_eq(hpcb_database_verify(db, &err), 0);
    sqlite3_close(db);
    size = size_of(file_of(dir));
    scribble(file_of(dir), size / 2 / 4096 * 4096, 8192);
    db = hpcb_database_open_reader(dir, &err);
    ck_assert_int_eq(hpcb_database_verify(db, &err), 1);
    ck_assert_ptr_nonnull(strstr(err.text, "records.db"));
    sqlite3_close(db);
}
END_TEST

/* ---- Readers who may not write ---- */

#define GROUP 54321

/* The number of runs that a user of the group reads, or -1. */
static int read_as_user(const char *dir)
{
    gid_t group = GROUP;
    int64_t runs = -1;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        static sqlite3 *db; /* it is left open: valgrind finds it there */

        if (setgroups(1, &group) == 0 && setgid(65534) == 0 && setuid(65534) == 0)
            db = hpcb_database_open_reader(dir, NULL);
        if (!db || hpcb_database_number(db, "SELECT count(*) FROM run", &runs, NULL))
            _exit(255);
        _exit((int)runs);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

/* Others may pass the directories above dir. */
static void open_way(const char *dir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", dir);
    while (strrchr(path, '/') > path + strlen("/tmp")) {
        *strrchr(path, '/') = '\0';
        (void)chmod(path, 0755);
    }
}

/* kill -9 leaves a log with what was committed last. */
static void remove_run_and_die(const char *dir)
{
    pid_t pid = fork();

    if (pid == 0) {
        sqlite3 *db = hpcb_database_open(dir, NULL, NULL);

        _exit(!db || hpcb_database_run(db, "DELETE FROM run WHERE job_id = 2", NULL));
    }
    waitpid(pid, NULL, 0);
}

/* With a collector, after it has ended or was killed, and after another program has
 * removed the log. */
START_TEST(a_group_reads_and_others_do_not)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    char records[PATH_MAX], wal[PATH_MAX];
    static sqlite3 *db; /* valgrind finds it there in children, too */

    if (geteuid() != 0)
        return;
    open_way(dir);
    snprintf(records, sizeof(records), "%s/records", dir);
    ck_assert_int_eq(hpcb_file_mkdirs(records, 0755, NULL), 0);
    ck_assert_int_eq(chown(records, 0, GROUP), 0);
    ck_assert_int_eq(chmod(records, 02750), 0);
    fill(dir, 3);
    ck_assert_int_eq(read_as_user(dir), 3);
    db = open_at(dir, NULL, &err);
    run(db, "BEGIN; DELETE FROM run WHERE job_id = 1");
    ck_assert_int_eq(read_as_user(dir), 3);
    run(db, "COMMIT");
    ck_assert_int_eq(read_as_user(dir), 2);
    sqlite3_close(db);
    remove_run_and_die(dir);
    ck_assert_int_eq(read_as_user(dir), 1);
    db = open_at(dir, NULL, &err);
    sqlite3_close(db);
    snprintf(wal, sizeof(wal), "%s-wal", file_of(dir));
    ck_assert_int_eq(unlink(wal), 0);
    snprintf(wal, sizeof(wal), "%s-shm", file_of(dir));
    ck_assert_int_eq(unlink(wal), 0);
    ck_assert_int_eq(read_as_user(dir), 1);
    ck_assert_int_eq(chown(records, 0, 0), 0);
    ck_assert_int_eq(read_as_user(dir), -1);
}
END_TEST

/* ---- What earlier releases have left ---- */

#define PART(node, cpu)                                                                \
    "{\"node\":\"" node "\",\"begin\":100.000000,\"end\":110.000000,"                  \
    "\"wall_seconds\":10.000000,\"cpus\":2,\"cpu_seconds\":" cpu                       \
    ",\"run_delay_seconds"                                                             \
    "\":1.000000,\"memory_peak_bytes\":4096,\"guests_beside\":[3],"                    \
    "\"guest_cpu_seconds\":2.5,\"tasks\":[{\"step\":\"0\",\"task\":0,\"cpu_seconds\":" \
    "1,"                                                                               \
    "\"run_delay_seconds\":0}]}"
#define LINE(job, complete, nodes, parts)                                              \
    "{\"version\":1,\"kind\":\"job\",\"cluster\":\"c\",\"job_id\":" job                \
    ",\"restart\":0,\"array_job_id\":null,\"user_id\":1000,\"user\":\"ada\","          \
    "\"partition\":\"p\",\"class\":\"primary\",\"policy\":\"none\",\"submit\":90,"     \
    "\"complete\":" complete ",\"nodes\":" nodes ",\"node_records\":[" parts "]}\n"

static void leave_old_files(const char *dir)
{
    char path[PATH_MAX];
    char *waits = collector_record(12, 0, 0, 2);

    snprintf(path, sizeof(path), "%s/records", dir);
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0750, NULL), 0);
    snprintf(path, sizeof(path), "%s/records/2023-11-14.jsonl", dir);
    put_file(path, LINE("4", "false", "2", PART("a", "5.25")) "rubbish\n" LINE(
                       "4", "true", "2", PART("a", "5.25") "," PART("b", "1")));
    snprintf(path, sizeof(path), "%s/records/2023-11-15.jsonl", dir);
    put_file(path, LINE("5", "false", "1", PART("a", "3")));
    snprintf(path, sizeof(path), "%s/journal.jsonl", dir);
    put_file(path, waits);
    free(waits);
}

START_TEST(files_of_earlier_releases_are_taken_over_once)
{
    const char *dir = scratch("c");
    hpcb_error_t err = {""};
    hpcb_import_t totals = {.records = 0};
    hpcb_store_t *store = hpcb_store_new(dir, true, &err);
    char path[PATH_MAX];
    sqlite3 *db;

    leave_old_files(dir);
    ck_assert_int_eq(hpcb_import_old(store, dir, &totals, &err), 3);
    ck_assert_uint_eq(totals.records, 4);
    ck_assert_uint_eq(totals.known, 1);
    ck_assert_uint_eq(totals.refused, 1);
    db = hpcb_store_database(store);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run WHERE job_id = 4 AND complete"
                                " AND seq < 0 AND cpu_seconds = 6.25 AND cpus = 4 AND"
                                " user = 'ada' AND guests_beside = 1 AND start = 100"),
                     1);
    /* Nobody knew of how many nodes. */
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run WHERE job_id = 5 AND"
                                " NOT complete AND seq < 0 AND nodes IS NULL"),
                     1);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM run WHERE job_id = 12 AND"
                                " seq IS NULL"),
                     1);
    ck_assert_int_eq(hpcb_import_old(store, dir, &totals, &err), 0);
    snprintf(path, sizeof(path), "%s/records/imported", dir);
    ck_assert_int_eq(count_entries(path), 3);
    hpcb_store_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("database of records");
    TCase *test = scratch_case("database"), *more = scratch_case("more damage");

    tcase_set_timeout(test, 120);
    tcase_set_timeout(more, 120);
    tcase_set_tags(more, "long"); /* valgrind sees the same in the first of them */
    tcase_add_test(test, files_are_roots_and_the_groups);
    tcase_add_test(test, rules_hold_for_those_who_write_by_hand);
    tcase_add_test(test, the_database_describes_its_columns);
    tcase_add_test(test, the_manual_describes_its_columns);
    tcase_add_test(test, an_older_database_gets_its_columns);
    tcase_add_test(test, the_first_version_gets_its_key);
    tcase_add_test(test, a_first_version_that_cannot_be_changed_is_whole);
    tcase_add_test(test, what_is_not_ours_is_left_alone);
    tcase_add_loop_test(test, a_damaged_database_is_moved_aside_and_what_is_whole_kept,
                        0, 1);
    tcase_add_loop_test(more, a_damaged_database_is_moved_aside_and_what_is_whole_kept,
                        1, sizeof(damages) / sizeof(damages[0]));
    tcase_add_test(test, a_file_that_is_cut_short_is_repaired);
    tcase_add_test(test, verify_tells_damage);
    tcase_add_test(test, a_group_reads_and_others_do_not);
    tcase_add_test(test, files_of_earlier_releases_are_taken_over_once);
    suite_add_tcase(suite, test);
    suite_add_tcase(suite, more);
    return run_suite(suite);
}
