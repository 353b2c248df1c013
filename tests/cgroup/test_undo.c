/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The undo log on plain files and on real children: replay, hostile content, reverts of
 * a single mechanism, many writers, compaction.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/file.h"
#include "common/log.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/tmp.h"

#define JOB 42

static char dir[TEST_TMP_MAX], log_file[PATH_MAX], knob[PATH_MAX], other[PATH_MAX];
static int errors_logged;

static void count_errors(hpcb_log_level_t level, const char *line)
{
    (void)line;
    errors_logged += level == HPCB_LOG_ERROR;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static const char *get(const char *path)
{
    static char text[4096];

    ck_assert_int_ge(hpcb_file_read(path, text, sizeof(text), NULL), 0);
    return text;
}

#define NOTES 3000

/* How many of the files none/0 ... none/2999 the log names, each counted once. */
static int count_notes(void)
{
    static char text[4 << 20], found[NOTES];
    int count = 0, number;

    ck_assert_int_ge(hpcb_file_read(log_file, text, sizeof(text), NULL), 0);
    for (const char *p = text; (p = strstr(p, "/none/")); p++) {
        if (sscanf(p, "/none/%d ", &number) == 1 && number < NOTES && !found[number]++)
            count++;
    }
    return count;
}

static void setup(void)
{
    test_tmp_dir(dir);
    snprintf(log_file, sizeof(log_file), "%s/jobs/%d.undo", dir, JOB);
    snprintf(knob, sizeof(knob), "%s/kn ob\\", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    put(knob, "first");
    put(other, "-");
    errors_logged = 0;
    hpcb_log_set_sink(count_errors);
}

static void teardown(void)
{
    char command[TEST_TMP_MAX + 16];

    hpcb_log_set_sink(NULL);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static hpcb_undo_t *open_undo(void)
{
    hpcb_undo_t *undo;
    hpcb_error_t err;

    ck_assert_msg(hpcb_undo_open(dir, JOB, &undo, &err) == 0, "%s", err.text);
    return undo;
}

static int replay(void)
{
    hpcb_error_t err = {""};

    return hpcb_undo_replay(dir, JOB, &err);
}

START_TEST(replays_backwards_to_the_first_value)
{
    hpcb_undo_t *undo = open_undo();
    struct stat status;

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    put(knob, "second");
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    put(other, "x");
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "second", NULL), 0);
    put(knob, "third");
    hpcb_undo_close(undo);
    ck_assert_int_eq(stat(log_file, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(replay(), 3);
    ck_assert_str_eq(get(knob), "first");
    ck_assert_str_eq(get(other), "-");
    ck_assert_int_eq(access(log_file, F_OK), -1);
    ck_assert_int_eq(replay(), 0);
}
END_TEST

START_TEST(keeps_odd_values)
{
    static const char odd[] = "a b\\040\t\n\x01\xff-";
    hpcb_undo_t *undo = open_undo();

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, odd, NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "", NULL), 0);
    hpcb_undo_close(undo);
    put(other, "x");
    ck_assert_int_eq(replay(), 1 + 1);
    ck_assert_str_eq(get(knob), odd);
}
END_TEST

START_TEST(skips_malformed_lines)
{
    hpcb_undo_t *undo = open_undo();
    FILE *file;

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    put(knob, "second");
    file = fopen(log_file, "a");
    ck_assert_ptr_nonnull(file);
    fputs("\nfile\nfile x\nfile relative 1\ntask 1 2 3\ntask x 1 nice 0\n"
          "task 1 -1 nice 0\ntask 1 99999999999999999999999 nice 0\nnonsense a b\n"
          "task 0 0 nice 0\nfile a b c d e f g\n\x80\xff\n\\\n\\777\nfile /x",
          file);
    ck_assert_int_eq(fclose(file), 0);
    /* The torn record does not spoil the one after it. */
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    hpcb_undo_close(undo);
    put(other, "x");
    ck_assert_int_eq(replay(), 2);
    ck_assert_str_eq(get(knob), "first");
    ck_assert_str_eq(get(other), "-");
    ck_assert_int_eq(errors_logged, 14);
}
END_TEST

START_TEST(leaves_other_tasks_alone)
{
    hpcb_undo_t *undo = open_undo();
    char old[64], line[128];
    uint64_t start;
    FILE *file;

    ck_assert_int_eq(hpcb_task_get(getpid(), "oom_score_adj", old, sizeof(old), NULL),
                     0);
    ck_assert_int_eq(hpcb_task_start(getpid(), &start), 0);
    hpcb_undo_close(undo);
    snprintf(line, sizeof(line), "task %d %" PRIu64 " oom_score_adj 777\n",
             (int)getpid(), start + 1);
    file = fopen(log_file, "w");
    ck_assert_ptr_nonnull(file);
    fputs(line, file);
    fputs("task 2147483647 1 nice 3\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(replay(), 0);
    ck_assert_int_eq(hpcb_task_get(getpid(), "oom_score_adj", line, sizeof(line), NULL),
                     0);
    ck_assert_str_eq(line, old);
}
END_TEST

static pid_t sleeper(void)
{
    pid_t pid = real_fork();

    ck_assert_int_ge(pid, 0);
    while (pid == 0)
        pause();
    return pid;
}

START_TEST(restores_each_attribute)
{
    static const char *const changes[][2] = {
        {"nice", "7"},
        {"ioprio", "24576"},
        {"policy", "5 0"},
        {"affinity", "1"},
        {"oom_score_adj", "555"},
        {"rlimit-nice", "0 0"},
        {"rlimit-rtprio", "0 0"},
    };
    const int count = sizeof(changes) / sizeof(changes[0]);
    char old[7][HPCB_TASK_TEXT_MAX], now[HPCB_TASK_TEXT_MAX];
    hpcb_undo_t *undo = open_undo();
    pid_t pid = sleeper();
    hpcb_error_t err;
    int changed = 0;

    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(
            hpcb_task_get(pid, changes[i][0], old[i], sizeof(old[i]), NULL), 0);
        ck_assert_int_eq(hpcb_undo_note_task(undo, pid, changes[i][0], old[i], NULL),
                         0);
        changed += hpcb_task_set(pid, changes[i][0], changes[i][1], &err) == 0;
    }
    ck_assert_int_ge(changed, geteuid() == 0 ? count : 3);
    hpcb_undo_close(undo);
    if (geteuid() == 0)
        ck_assert_int_eq(replay(), count);
    for (int i = 0; i < count && geteuid() == 0; i++) {
        ck_assert_int_eq(hpcb_task_get(pid, changes[i][0], now, sizeof(now), NULL), 0);
        ck_assert_str_eq(now, old[i]);
    }
    real_reap(pid);
}
END_TEST

/* The kernel's own is given back as that: whoever chose one keeps it. */
START_TEST(restores_slices)
{
    static const char *const before[] = {"0", "7000000"};
    char old[HPCB_TASK_TEXT_MAX], now[HPCB_TASK_TEXT_MAX];
    hpcb_undo_t *undo;
    pid_t pid;

    if (hpcb_task_get(getpid(), "slice", old, sizeof(old), NULL) < 0)
        return; /* before Linux 6.12 */
    undo = open_undo();
    pid = sleeper();
    ck_assert_int_eq(hpcb_task_set(pid, "slice", before[_i], NULL), 0);
    ck_assert_int_eq(hpcb_task_get(pid, "slice", old, sizeof(old), NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_task(undo, pid, "slice", old, NULL), 0);
    ck_assert_int_eq(hpcb_task_set(pid, "slice", "100000000", NULL), 0);
    ck_assert_int_eq(hpcb_task_get(pid, "slice", now, sizeof(now), NULL), 0);
    ck_assert_str_eq(now, "100000000");
    hpcb_undo_close(undo);
    ck_assert_int_eq(replay(), 1);
    ck_assert_int_eq(hpcb_task_get(pid, "slice", now, sizeof(now), NULL), 0);
    ck_assert_str_eq(now, old);
    real_reap(pid);
}
END_TEST

START_TEST(refuses_odd_attributes)
{
    static const char *const bad[][2] = {
        {"nice", "20"},       {"nice", ""},
        {"nice", "1x"},       {"ioprio", "-1"},
        {"policy", "5"},      {"policy", "5 0 x"},
        {"affinity", ""},     {"affinity", "0x1"},
        {"affinity", "G"},    {"oom_score_adj", "5000"},
        {"rlimit-nice", "0"}, {"rlimit-rtprio", "0"},
        {"flavour", "sour"},  {"cgroup", "/nonexistent"},
        {"slice", "-1"},      {"slice", "1 ms"},
    };
    hpcb_error_t err = {""};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(hpcb_task_set(getpid(), bad[i][0], bad[i][1], &err), -1);
        ck_assert_str_ne(err.text, "");
    }
    ck_assert_int_eq(hpcb_task_set(0, "nice", "1", &err), -1);
    ck_assert_int_eq(hpcb_task_set(-1, "nice", "1", &err), -1);
}
END_TEST

START_TEST(reverts_only_its_own)
{
    hpcb_undo_t *undo = open_undo();

    hpcb_undo_scope(undo, "one", 10);
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    hpcb_undo_scope(undo, "two", 10);
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    hpcb_undo_scope(undo, "one", 11);
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "eleven", NULL), 0);
    put(knob, "second");
    put(other, "x");
    ck_assert_int_eq(hpcb_undo_revert(undo, "one", 10, NULL), 0);
    ck_assert_str_eq(get(knob), "first");
    ck_assert_str_eq(get(other), "x");
    put(knob, "third");
    ck_assert_int_eq(hpcb_undo_revert(undo, "one", 10, NULL), 0);
    ck_assert_str_eq(get(knob), "third");
    hpcb_undo_close(undo);
}
END_TEST

START_TEST(does_not_grow_when_repeated)
{
    hpcb_undo_t *undo = open_undo();
    struct stat before, after;

    hpcb_undo_scope(undo, "freeze", 10);
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    ck_assert_int_eq(stat(log_file, &before), 0);
    for (int i = 0; i < 100; i++) {
        put(knob, "frozen");
        ck_assert_int_eq(hpcb_undo_revert(undo, "freeze", 10, NULL), 0);
        ck_assert_str_eq(get(knob), "first");
        ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    }
    ck_assert_int_eq(stat(log_file, &after), 0);
    ck_assert_int_eq(before.st_size, after.st_size);
    hpcb_undo_close(undo);
}
END_TEST

/* hpcbctl release beside a daemon that lives: it goes on with the same handle. */
START_TEST(notes_are_durable_after_somebody_replayed_the_log)
{
    hpcb_undo_t *undo = open_undo();

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    put(knob, "second");
    ck_assert_int_eq(replay(), 2);
    ck_assert_int_eq(access(log_file, F_OK), -1);
    ck_assert_int_eq(hpcb_undo_renew(undo, NULL), 0);
    put(knob, "third");
    put(other, "changed");
    ck_assert_int_eq(replay(), 2);
    ck_assert_str_eq(get(knob), "first");
    ck_assert_str_eq(get(other), "-");
    /* And if what is done next is a note that the handle knows. */
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    put(other, "changed");
    hpcb_undo_close(undo);
    ck_assert_int_eq(replay(), 2);
    ck_assert_str_eq(get(other), "-");
}
END_TEST

/* Another has begun a log of its own under the name meanwhile. */
START_TEST(notes_are_durable_in_a_log_that_replaced_theirs)
{
    hpcb_undo_t *undo = open_undo(), *another;
    struct stat before, after;

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    ck_assert_int_ge(replay(), 0);
    another = open_undo();
    ck_assert_int_eq(hpcb_undo_note_file(another, other, "-", NULL), 0);
    hpcb_undo_close(another);
    ck_assert_int_eq(hpcb_undo_renew(undo, NULL), 0);
    ck_assert_int_eq(stat(log_file, &before), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(hpcb_undo_renew(undo, NULL), 0);
    ck_assert_int_eq(stat(log_file, &after), 0);
    ck_assert_int_eq(before.st_size, after.st_size);
    hpcb_undo_close(undo);
    put(knob, "second");
    ck_assert_int_eq(replay(), 2);
    ck_assert_str_eq(get(knob), "first");
}
END_TEST

START_TEST(keeps_the_log_when_something_fails)
{
    hpcb_undo_t *undo = open_undo();
    char blocked[PATH_MAX];

    /* A knob that is a directory cannot be written, by root either. */
    snprintf(blocked, sizeof(blocked), "%s/blocked", dir);
    ck_assert_int_eq(mkdir(blocked, 0755), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, blocked, "1", NULL), 0);
    hpcb_undo_close(undo);
    put(knob, "second");
    ck_assert_int_eq(replay(), -1);
    ck_assert_str_eq(get(knob), "first");
    ck_assert_int_eq(rmdir(blocked), 0);
    ck_assert_int_eq(replay(), 1);
    ck_assert_int_eq(access(log_file, F_OK), -1);
}
END_TEST

START_TEST(does_not_trust_a_foreign_log)
{
    hpcb_undo_t *undo = open_undo();
    char target[PATH_MAX];

    hpcb_undo_close(undo);
    put(log_file, "");
    ck_assert_int_eq(chmod(log_file, 0666), 0);
    ck_assert_int_eq(replay(), -1);
    ck_assert_int_eq(unlink(log_file), 0);
    snprintf(target, sizeof(target), "%s/target", dir);
    put(target, "precious");
    ck_assert_int_eq(symlink(target, log_file), 0);
    ck_assert_int_eq(replay(), -1);
    undo = open_undo();
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "x", NULL), -1);
    ck_assert(hpcb_undo_broken(undo));
    hpcb_undo_close(undo);
    ck_assert_str_eq(get(target), "precious");
}
END_TEST

START_TEST(many_writers_lose_nothing)
{
    const int writers = 8, notes = 50;
    char text[32];

    for (int w = 0; w < writers; w++) {
        pid_t pid = real_fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            for (int i = 0; i < notes; i++) {
                hpcb_undo_t *undo = open_undo();

                snprintf(text, sizeof(text), "%d.%d", w, i);
                if (hpcb_undo_note_file(undo, knob, text, NULL) < 0)
                    _exit(1);
                hpcb_undo_close(undo);
            }
            _exit(0);
        }
    }
    for (int w = 0; w < writers; w++) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(replay(), writers * notes);
}
END_TEST

static void add_dead_tasks(void)
{
    FILE *file = fopen(log_file, "a");

    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 12000; i++)
        fprintf(file, "\ntask 2147483000 %d nice 0\n", i);
    ck_assert_int_eq(fclose(file), 0);
}

/* A disk that takes its time over one compaction must not let the log grow for ever. */
static bool log_is_short(void)
{
    struct stat status;

    return stat(log_file, &status) == 0 && status.st_size < 1 << 20;
}

/* One process compacts again and again while another one notes. */
START_TEST(compaction_loses_nothing)
{
    hpcb_undo_t *undo = open_undo();
    char text[32];
    int status;
    pid_t pid;

    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    hpcb_undo_close(undo);
    pid = real_fork();
    ck_assert_int_ge(pid, 0);
    while (pid == 0) {
        if (log_is_short())
            add_dead_tasks();
        hpcb_undo_close(open_undo());
        if (access(other, F_OK) < 0)
            _exit(0);
    }
    undo = open_undo();
    for (int i = 0; i < NOTES; i++) {
        char path[TEST_TMP_MAX + 32];

        snprintf(text, sizeof(text), "%d", i);
        snprintf(path, sizeof(path), "%s/none/%d", dir, i);
        ck_assert_int_eq(hpcb_undo_note_file(undo, path, text, NULL), 0);
    }
    hpcb_undo_close(undo);
    ck_assert_int_eq(unlink(other), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(count_notes(), NOTES);
}
END_TEST

START_TEST(forgets_ended_tasks_when_large)
{
    hpcb_undo_t *undo = open_undo();
    pid_t pid = sleeper();
    struct stat status;

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "second", NULL), 0);
    ck_assert_int_eq(hpcb_undo_note_task(undo, pid, "oom_score_adj", "0", NULL), 0);
    hpcb_undo_close(undo);
    add_dead_tasks();
    undo = open_undo();
    ck_assert_int_eq(stat(log_file, &status), 0);
    ck_assert_int_lt(status.st_size, 1000);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(hpcb_undo_note_file(undo, other, "-", NULL), 0);
    hpcb_undo_close(undo);
    put(knob, "third");
    ck_assert_int_eq(replay(), 3);
    ck_assert_str_eq(get(knob), "first");
    real_reap(pid);
}
END_TEST

/* A rank that starts processes all the time, each with a line of its own. */
START_TEST(a_log_that_stays_open_forgets_ended_tasks)
{
    hpcb_undo_t *undo = open_undo();
    pid_t pid = sleeper();
    struct stat status;
    char text[16];

    ck_assert_int_eq(hpcb_undo_note_task(undo, pid, "oom_score_adj", "7", NULL), 0);
    for (int i = 0; i < 1000; i++) {
        pid_t other_pid = sleeper();

        for (int k = 0; k < 16; k++) {
            snprintf(text, sizeof(text), "%d", k);
            ck_assert_int_eq(hpcb_undo_note_task(undo, other_pid, "nice", text, NULL),
                             0);
        }
        real_reap(other_pid);
    }
    ck_assert_int_eq(stat(log_file, &status), 0);
    ck_assert_int_lt(status.st_size, 320000);
    hpcb_undo_close(undo);
    ck_assert_int_ge(replay(), 1);
    ck_assert_int_eq(hpcb_task_get(pid, "oom_score_adj", text, sizeof(text), NULL), 0);
    ck_assert_str_eq(text, "7");
    real_reap(pid);
}
END_TEST

/* However large it has grown: what it says would be left as it is until a reboot. */
START_TEST(replays_a_log_of_any_size)
{
    hpcb_undo_t *undo = open_undo();
    char line[4000];
    FILE *file;

    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    hpcb_undo_close(undo);
    memset(line, 'x', sizeof(line));
    for (size_t i = 0; i < sizeof(line); i += 200)
        line[i] = '/';
    file = fopen(log_file, "a");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 17000; i++)
        fprintf(file, "\nfile %.*s 0\n", (int)sizeof(line), line);
    ck_assert_int_eq(fclose(file), 0);
    put(knob, "second");
    hpcb_undo_close(open_undo());
    ck_assert_int_ge(replay(), 1);
    ck_assert_str_eq(get(knob), "first");
}
END_TEST

START_TEST(works_without_a_log)
{
    hpcb_undo_t *undo;

    ck_assert_int_eq(hpcb_undo_open(NULL, JOB, &undo, NULL), 0);
    hpcb_undo_scope(undo, "one", 10);
    ck_assert_int_eq(hpcb_undo_note_file(undo, knob, "first", NULL), 0);
    put(knob, "second");
    ck_assert_int_eq(hpcb_undo_revert(undo, "one", 10, NULL), 0);
    ck_assert_str_eq(get(knob), "first");
    ck_assert(!hpcb_undo_broken(undo));
    hpcb_undo_close(undo);
    ck_assert_int_eq(access(log_file, F_OK), -1);
}
END_TEST

START_TEST(what_was_noted_without_a_log_goes_to_one)
{
    hpcb_undo_t *memory, *undo;

    ck_assert_int_eq(hpcb_undo_open(NULL, JOB, &memory, NULL), 0);
    ck_assert(hpcb_undo_empty(memory));
    hpcb_undo_scope(memory, "one", 10);
    ck_assert_int_eq(hpcb_undo_note_file(memory, knob, "first", NULL), 0);
    put(knob, "second");
    ck_assert(!hpcb_undo_empty(memory));
    undo = open_undo();
    ck_assert_int_eq(mkdir(log_file, 0700), 0);
    ck_assert_int_eq(hpcb_undo_hand_over(memory, undo, NULL), -1);
    ck_assert(hpcb_undo_broken(undo));
    hpcb_undo_close(undo);
    ck_assert_int_eq(rmdir(log_file), 0);
    undo = open_undo();
    ck_assert_int_eq(hpcb_undo_hand_over(memory, undo, NULL), 0);
    hpcb_undo_close(memory);
    hpcb_undo_close(undo);
    ck_assert_int_eq(replay(), 1);
    ck_assert_str_eq(get(knob), "first");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("undo");
    TCase *tcase = tcase_create("undo");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, replays_backwards_to_the_first_value);
    tcase_add_test(tcase, keeps_odd_values);
    tcase_add_test(tcase, skips_malformed_lines);
    tcase_add_test(tcase, leaves_other_tasks_alone);
    tcase_add_test(tcase, restores_each_attribute);
    tcase_add_loop_test(tcase, restores_slices, 0, 2);
    tcase_add_test(tcase, refuses_odd_attributes);
    tcase_add_test(tcase, reverts_only_its_own);
    tcase_add_test(tcase, does_not_grow_when_repeated);
    tcase_add_test(tcase, notes_are_durable_after_somebody_replayed_the_log);
    tcase_add_test(tcase, notes_are_durable_in_a_log_that_replaced_theirs);
    tcase_add_test(tcase, keeps_the_log_when_something_fails);
    tcase_add_test(tcase, does_not_trust_a_foreign_log);
    tcase_add_test(tcase, many_writers_lose_nothing);
    tcase_add_test(tcase, compaction_loses_nothing);
    tcase_add_test(tcase, forgets_ended_tasks_when_large);
    tcase_add_test(tcase, a_log_that_stays_open_forgets_ended_tasks);
    tcase_add_test(tcase, replays_a_log_of_any_size);
    tcase_add_test(tcase, works_without_a_log);
    tcase_add_test(tcase, what_was_noted_without_a_log_goes_to_one);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
