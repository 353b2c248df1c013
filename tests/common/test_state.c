/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"
#include "tests/common/crash.h"
#include "tests/common/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OTHER_USER   54321
#define WRITERS      8

static char log_text[2048];

static void keep_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    snprintf(log_text, sizeof(log_text), "%s", line);
}

static void catch_log(void)
{
    hpcb_log_set_sink(keep_log);
}

/* A job as the prolog sees it; its uid tells it from others. */
static hpcb_job_state_t job(uint32_t id, uid_t uid)
{
    hpcb_job_state_t state = {
        .job_id = id,
        .uid = uid,
        .klass = HPCB_CLASS_GUEST,
        .policy = HPCB_POLICY_AUTO,
        .yield_waits = true,
        .partition = "guest",
        .begin_us = UINT64_C(1700000000123456),
    };

    return state;
}

static int save(uint32_t id, uid_t uid, hpcb_error_t *err)
{
    hpcb_job_state_t state = job(id, uid);

    return hpcb_state_save(scratch("run"), &state, err);
}

static void expect_equal(const hpcb_job_state_t *a, const hpcb_job_state_t *b)
{
    ck_assert_uint_eq(a->job_id, b->job_id);
    ck_assert_uint_eq(a->uid, b->uid);
    ck_assert_int_eq(a->klass, b->klass);
    ck_assert_int_eq(a->policy, b->policy);
    ck_assert_int_eq(a->yield_waits, b->yield_waits);
    ck_assert_str_eq(a->partition, b->partition);
    ck_assert_str_eq(a->sluid, b->sluid);
    ck_assert(a->begin_us == b->begin_us);
    ck_assert_uint_eq(a->window.period_us, b->window.period_us);
    ck_assert_uint_eq(a->window.favoured_us, b->window.favoured_us);
}

START_TEST(what_is_saved_is_loaded)
{
    hpcb_job_state_t state = job(4294967295u, 4294967294u), back;

    umask(077);
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), state.job_id, &back, NULL), 0);
    expect_equal(&state, &back);
    ck_assert_uint_eq(mode_of(scratch("run")), 0755);
    ck_assert_uint_eq(mode_of(scratch("run/jobs")), 0755);
    ck_assert_uint_eq(mode_of(scratch("run/jobs/4294967295")), 0644);
    state = (hpcb_job_state_t){.job_id = 1, .klass = HPCB_CLASS_PRIMARY};
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 1, &back, NULL), 0);
    expect_equal(&state, &back);
}
END_TEST

START_TEST(a_sluid_is_kept_and_checked)
{
    static const char *const bad[] = {"s8B9M7Y1A9MR00X", "../../../etc", "s8 9",
                                      "a\nUid=0"};
    hpcb_job_state_t state = job(7, 1), back;

    setenv("SLURM_JOB_SLUID", "s8B9M7Y1A9MR00", 1);
    hpcb_state_sluid(state.sluid);
    ck_assert_str_eq(state.sluid, "s8B9M7Y1A9MR00");
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    expect_equal(&state, &back);
    for (size_t i = 0; i < COUNT(bad); i++) {
        setenv("SLURM_JOB_SLUID", bad[i], 1);
        hpcb_state_sluid(state.sluid);
        ck_assert_str_eq(state.sluid, "");
    }
    unsetenv("SLURM_JOB_SLUID");
    strcpy(state.sluid, "a/b");
    state.job_id = 8;
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, NULL), -1);
}
END_TEST

START_TEST(a_window_is_kept)
{
    hpcb_job_state_t state = job(7, 1), back;

    state.window = (hpcb_window_spec_t){500000, 450001};
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    expect_equal(&state, &back);
}
END_TEST

START_TEST(a_missing_record_is_enoent)
{
    hpcb_job_state_t state = job(7, 7), before = job(7, 7);
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(save(8, 0, &err), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 0, &state, &err), -1);
    expect_equal(&state, &before);
}
END_TEST

START_TEST(what_cannot_be_a_job_is_not_saved)
{
    hpcb_job_state_t state;
    hpcb_error_t err;

    ck_assert_int_eq(save(0, 1, &err), -1);
    state = job(1, 1);
    state.klass = HPCB_CLASS_UNKNOWN;
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, &err), -1);
    state = job(1, 1);
    strcpy(state.partition, "a\nUid=0");
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &state, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(access(scratch("run"), F_OK), -1);
}
END_TEST

START_TEST(the_first_record_wins)
{
    hpcb_job_state_t second = job(7, 1000), back;

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    second.klass = HPCB_CLASS_PRIMARY;
    second.begin_us++;
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &second, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_int_eq(back.klass, HPCB_CLASS_GUEST);
}
END_TEST

/* A requeued job's step has the last word. */
START_TEST(cores_of_the_latest_step_count)
{
    char cores[16] = "?", damaged[] = "0-3\0,5";

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(hpcb_state_load_cores(scratch("run"), 7, cores, 16, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(cores, "?");
    ck_assert_int_eq(hpcb_state_save_cores(scratch("run"), 7, "0-3,8", NULL), 0);
    ck_assert_int_eq(hpcb_state_save_cores(scratch("run"), 7, "4", NULL), 0);
    ck_assert_int_eq(hpcb_state_save_cores(scratch("run"), 7, "4", NULL), 0);
    ck_assert_int_eq(hpcb_state_load_cores(scratch("run"), 7, cores, 16, NULL), 0);
    ck_assert_str_eq(cores, "4");
    ck_assert_int_eq(hpcb_file_replace(scratch("run/jobs/7.cores"), damaged,
                                       sizeof(damaged), 0644, NULL),
                     0);
    ck_assert_int_eq(hpcb_state_load_cores(scratch("run"), 7, cores, 16, NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_state_save_cores(scratch("run"), 7, "5", NULL), 0);
    ck_assert_int_eq(chmod(scratch("run/jobs/7.cores"), 0666), 0);
    ck_assert_int_eq(hpcb_state_load_cores(scratch("run"), 7, cores, 16, NULL), -1);
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, NULL), 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.cores"), F_OK), -1);
}
END_TEST

START_TEST(another_users_leftover_is_replaced)
{
    const hpcb_usage_t usage = {1, 2, 3};
    hpcb_job_state_t back;
    hpcb_usage_t sum;

    catch_log();
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, NULL), 0);
    put_file(scratch("run/jobs/7.undo"), "to be undone still");
    put_file(scratch("run/jobs/7.measured"), "by the other one");
    ck_assert_int_eq(save(7, 2000, NULL), 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.measured"), F_OK), -1);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_uint_eq(back.uid, 2000);
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    ck_assert_uint_eq(sum.cpu_us, 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.undo"), F_OK), 0);
    ck_assert_str_eq(log_text, "replacing an old record of job 7: it is of uid 1000");
}
END_TEST

/* Of the same user, with the same number: slurmctld has lost its state, say, or begins
 * with 1 again. */
static void leave_behind(void)
{
    const hpcb_usage_t usage = {1, 2, 3};

    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, NULL), 0);
    put_file(scratch("run/jobs/7.undo"), "task 5 6 nice 0\n");
    put_file(scratch("run/jobs/7.measured"), "something");
    put_file(scratch("run/jobs/7.tmpabcdef"), "somebody is writing");
}

static uint64_t used(void)
{
    hpcb_usage_t sum;

    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    return sum.cpu_us;
}

START_TEST(a_record_of_an_earlier_boot_is_replaced)
{
    static const char old[] = "JobId=7\nUid=1000\nClass=guest\nPolicy=none\n"
                              "YieldWaits=no\nPartition=p\nBegin=1\n"
                              "Boot=01234567-89ab-cdef-0123-456789abcdef\n";
    hpcb_job_state_t now = job(7, 1000), back;

    catch_log();
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_uint_eq(strlen(back.boot), HPCB_BOOT_MAX - 1);
    leave_behind();
    put_file(scratch("run/jobs/7"), old);
    now.klass = HPCB_CLASS_PRIMARY;
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &now, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_int_eq(back.klass, HPCB_CLASS_PRIMARY);
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.undo"), F_OK), -1);
    ck_assert_int_eq(access(scratch("run/jobs/7.measured"), F_OK), -1);
    ck_assert_str_eq(log_text, "replacing an old record of job 7: the node has been "
                               "booted since");
}
END_TEST

/* A release of ours before this one did not say. */
START_TEST(a_record_that_names_no_boot_is_kept)
{
    static const char old[] = "JobId=7\nUid=1000\nClass=guest\nPolicy=none\n"
                              "YieldWaits=no\nPartition=p\nBegin=1\n";
    hpcb_job_state_t now = job(7, 1000), back;

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    leave_behind();
    put_file(scratch("run/jobs/7"), old);
    now.klass = HPCB_CLASS_PRIMARY;
    ck_assert_int_eq(hpcb_state_save(scratch("run"), &now, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_int_eq(back.klass, HPCB_CLASS_GUEST);
    ck_assert_uint_eq(used(), 1);
}
END_TEST

START_TEST(files_without_a_record_are_of_an_earlier_run)
{
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    leave_behind();
    ck_assert_int_eq(unlink(scratch("run/jobs/7")), 0);
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.measured"), F_OK), -1);
    ck_assert_int_eq(access(scratch("run/jobs/7.undo"), F_OK), 0);
    ck_assert_int_eq(access(scratch("run/jobs/7.tmpabcdef"), F_OK), 0);
}
END_TEST

START_TEST(a_damaged_leftover_is_replaced)
{
    hpcb_job_state_t back;
    char kept[16];

    catch_log();
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    put_file(scratch("run/jobs/7"), "junk\n");
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_int_eq(unlink(scratch("run/jobs/7")), 0);
    put_file(scratch("precious"), "kept\n");
    ck_assert_int_eq(symlink("../../precious", scratch("run/jobs/7")), 0);
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &back, NULL), 0);
    ck_assert_int_eq(hpcb_file_read(scratch("precious"), kept, sizeof(kept), NULL), 5);
}
END_TEST

START_TEST(damaged_records_are_refused)
{
    static const char good[] = "JobId=7\nUid=1\nClass=guest\nPolicy=none\n"
                               "YieldWaits=no\nPartition=p\nBegin=5\n";
    static const char *const lines[] = {
        "JobId=7", "JobId=8\n", "Uid=2\n",       "Unknown\n",     "\n",
        "=\n",     "JobId=7\n", "Class=guest\n", "Partition=p\n", "Sluid=a/b\n",
    };
    hpcb_job_state_t state = job(1, 1), before = job(1, 1);
    char text[512];
    hpcb_error_t err;

    for (size_t cut = 0; cut < strlen(good); cut++)
        ck_assert_int_eq(hpcb_state_parse(good, cut, &state, &err), -1);
    for (size_t i = 0; i < COUNT(lines); i++) {
        snprintf(text, sizeof(text), "%s%s", good, lines[i]);
        ck_assert_msg(hpcb_state_parse(text, strlen(text), &state, &err) == -1, "%s",
                      lines[i]);
        ck_assert_int_eq(errno, EINVAL);
    }
    expect_equal(&state, &before);
    ck_assert_int_eq(hpcb_state_parse(good, strlen(good), &state, &err), 0);
    snprintf(text, sizeof(text), "%sFromTheFuture=yes\n", good);
    ck_assert_int_eq(hpcb_state_parse(text, strlen(text), &state, &err), 0);
    ck_assert_int_eq(hpcb_state_parse("a\0b\n", 4, &state, &err), -1);
}
END_TEST

/* Replace the line of key by text in a good record and expect a refusal. */
static void expect_bad_line(const char *key, const char *text)
{
    static const char *const lines[] = {"JobId=7",     "Uid=1",         "Class=guest",
                                        "Policy=none", "YieldWaits=no", "Partition=p",
                                        "Begin=5"};
    char record[1024] = "";
    hpcb_job_state_t state;

    for (size_t i = 0; i < COUNT(lines); i++) {
        bool this = strncmp(lines[i], key, strlen(key)) == 0;

        snprintf(record + strlen(record), sizeof(record) - strlen(record), "%s\n",
                 this ? text : lines[i]);
    }
    ck_assert_msg(hpcb_state_parse(record, strlen(record), &state, NULL) == -1, "%s",
                  text);
}

START_TEST(values_of_a_record_are_checked)
{
    expect_bad_line("JobId", "JobId=0");
    expect_bad_line("JobId", "JobId=-1");
    expect_bad_line("JobId", "JobId=4294967296");
    expect_bad_line("Uid", "Uid= 1");
    expect_bad_line("Uid", "Uid=4294967296");
    expect_bad_line("Class", "Class=unknown");
    expect_bad_line("Class", "Class=root");
    expect_bad_line("Class", "class=guest");
    expect_bad_line("Policy", "Policy=");
    expect_bad_line("Policy", "Policy=fast");
    expect_bad_line("YieldWaits", "YieldWaits=YES");
    expect_bad_line("Partition", "Partition=a b");
    expect_bad_line("Partition",
                    "Partition=0123456789012345678901234567890123456789012345678901234"
                    "567890123");
    expect_bad_line("Begin", "Begin=1.5");
    expect_bad_line("Begin", "Begin=18446744073709551616");
}
END_TEST

START_TEST(a_record_is_believed_only_under_its_own_name)
{
    hpcb_job_state_t state;
    hpcb_error_t err;

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(rename(scratch("run/jobs/7"), scratch("run/jobs/8")), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 8, &state, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "another job"));
}
END_TEST

START_TEST(what_others_could_have_written_is_not_believed)
{
    static const char *const names[] = {"run", "run/jobs", "run/jobs/7"};
    const hpcb_usage_t usage = {1, 2, 3};
    hpcb_job_state_t state;
    hpcb_error_t err;

    catch_log();
    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert_int_eq(save(7, 1000, NULL), 0);
        ck_assert_int_eq(chmod(scratch(names[i]), i < 2 ? 0777 : 0666), 0);
        ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, &err), -1);
        ck_assert_int_eq(errno, EPERM);
        if (i < 2) {
            ck_assert_int_eq(save(9, 1000, &err), -1);
            ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, &err), -1);
            ck_assert_int_eq(
                hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, &err),
                -1);
        }
        ck_assert_int_eq(chmod(scratch(names[i]), 0755), 0);
    }
}
END_TEST

START_TEST(links_are_not_followed)
{
    hpcb_job_state_t state;

    catch_log();
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(rename(scratch("run/jobs/7"), scratch("elsewhere")), 0);
    ck_assert_int_eq(symlink(scratch("elsewhere"), scratch("run/jobs/7")), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, NULL), -1);
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, NULL), 0);
    ck_assert_int_eq(access(scratch("elsewhere"), F_OK), 0);
    ck_assert_int_eq(rename(scratch("run/jobs"), scratch("moved")), 0);
    ck_assert_int_eq(symlink(scratch("moved"), scratch("run/jobs")), 0);
    ck_assert_int_eq(save(8, 1000, NULL), -1);
    ck_assert_int_eq(count_entries(scratch("moved")), 0);
}
END_TEST

START_TEST(another_users_files_are_not_believed)
{
    hpcb_job_state_t state;
    hpcb_error_t err;
    hpcb_usage_t sum = {9, 9, 9};

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(save(7, OTHER_USER, NULL), 0);
    put_file(scratch("run/jobs/7.usage"),
             "step cpu_us=1 run_delay_us=1 memory_peak=1 end\n");
    ck_assert_int_eq(chown(scratch("run/jobs/7.usage"), OTHER_USER, 0), 0);
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, &err), -1);
    ck_assert_uint_eq(sum.cpu_us, 9);
    ck_assert_int_eq(chown(scratch("run/jobs/7"), OTHER_USER, 0), 0);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, &err), -1);
    ck_assert_int_eq(errno, EPERM);
}
END_TEST

START_TEST(the_user_reads_what_root_wrote)
{
    hpcb_job_state_t state = job(7, OTHER_USER);

    if (geteuid() != 0)
        return;
    /* Relative, because the way here is root's alone. */
    ck_assert_int_eq(chmod(scratch_dir(), 0755), 0);
    ck_assert_int_eq(chdir(scratch_dir()), 0);
    ck_assert_int_eq(hpcb_state_save("run", &state, NULL), 0);
    ck_assert_int_eq(seteuid(OTHER_USER), 0);
    ck_assert_int_eq(hpcb_state_load("run", 7, &state, NULL), 0);
    state.job_id = 8;
    ck_assert_int_eq(hpcb_state_save("run", &state, NULL), -1);
    ck_assert_int_eq(hpcb_state_remove("run", 7, NULL), -1);
    ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

static void save_guest(void)
{
    save(7, 1000, NULL);
}

static void expect_good_or_none(void)
{
    hpcb_job_state_t state;

    if (access(scratch("run/jobs/7"), F_OK) != 0)
        return;
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, NULL), 0);
    ck_assert_uint_eq(state.uid, 1000);
}

START_TEST(saving_survives_a_crash_anywhere)
{
    hpcb_job_state_t state;

    ck_assert_int_ge(crash_everywhere(save_guest, expect_good_or_none), 8);
    ck_assert_int_eq(hpcb_state_load(scratch("run"), 7, &state, NULL), 0);
    /* What the crashes left behind goes with the job. */
    ck_assert_int_gt(count_entries(scratch("run/jobs")), 1);
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, NULL), 0);
    ck_assert_int_eq(count_entries(scratch("run/jobs")), 0);
}
END_TEST

START_TEST(of_many_savers_the_first_wins)
{
    hpcb_job_state_t state = job(7, 1000), back;
    int status, gate[2];
    char byte;

    ck_assert_int_eq(pipe(gate), 0);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            close(gate[1]);
            state.klass = i % 2 ? HPCB_CLASS_GUEST : HPCB_CLASS_PRIMARY;
            if (read(gate[0], &byte, 1) != 0 ||
                hpcb_state_save(scratch("run"), &state, NULL) ||
                hpcb_state_load(scratch("run"), 7, &back, NULL))
                _exit(99);
            _exit((int)back.klass);
        }
    }
    close(gate[1]);
    for (int i = 0, seen = -1; i < WRITERS; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_ne(WEXITSTATUS(status), 99);
        ck_assert(seen < 0 || seen == WEXITSTATUS(status));
        seen = WEXITSTATUS(status);
    }
}
END_TEST

START_TEST(removing_takes_this_job_only)
{
    static const char *const kept[] = {"71", "71.usage", "17", "7x", "007"};
    const hpcb_usage_t usage = {1, 2, 3};
    hpcb_error_t err;
    char name[64];

    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, &err), 0);
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    for (size_t i = 0; i < COUNT(kept); i++) {
        snprintf(name, sizeof(name), "run/jobs/%s", kept[i]);
        put_file(scratch(name), "");
    }
    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, &err), 0);
    put_file(scratch("run/jobs/7.undo"), "x");
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, &err), 0);
    ck_assert_int_eq(count_entries(scratch("run/jobs")), COUNT(kept));
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, &err), 0);
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 0, &err), 0);
    ck_assert_int_eq(mkdir(scratch("run/jobs/7.dir"), 0755), 0);
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), 7, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "7.dir"));
}
END_TEST

START_TEST(what_a_removal_left_does_not_count_for_the_next_run)
{
    const hpcb_usage_t usage = {1, 2, 3};
    hpcb_usage_t sum;

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert(!hpcb_state_is_over(scratch("run"), 7));
    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, NULL), 0);
    ck_assert_int_eq(rename(scratch("run/jobs/7"), scratch("run/jobs/7.over")), 0);
    ck_assert(hpcb_state_is_over(scratch("run"), 7));
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert(!hpcb_state_is_over(scratch("run"), 7));
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    ck_assert_uint_eq(sum.cpu_us, 0);
    ck_assert_int_eq(count_entries(scratch("run/jobs")), 1);
}
END_TEST

typedef struct {
    int count, limit;
    uint64_t id_sum;
    bool remove;
} walk_t;

static int visit(const hpcb_job_state_t *state, void *arg)
{
    walk_t *walk = arg;

    walk->count++;
    walk->id_sum += state->job_id;
    if (walk->remove)
        ck_assert_int_eq(hpcb_state_remove(scratch("run"), state->job_id, NULL), 0);
    return walk->count == walk->limit;
}

START_TEST(each_job_is_visited_once)
{
    walk_t walk = {0};

    catch_log();
    ck_assert_int_eq(hpcb_state_each(scratch("run"), visit, &walk, NULL), 0);
    for (uint32_t id = 1; id <= 100; id++)
        ck_assert_int_eq(save(id, 1000, NULL), 0);
    put_file(scratch("run/jobs/5.usage"), "");
    put_file(scratch("run/jobs/200"), "damaged");
    put_file(scratch("run/jobs/99999999999"), "");
    put_file(scratch("run/jobs/readme"), "");
    ck_assert_int_eq(hpcb_state_each(scratch("run"), visit, &walk, NULL), 100);
    ck_assert_uint_eq(walk.id_sum, 5050);
    ck_assert_ptr_nonnull(strstr(log_text, "jobs/200"));
    walk = (walk_t){.limit = 3};
    ck_assert_int_eq(hpcb_state_each(scratch("run"), visit, &walk, NULL), 3);
    walk = (walk_t){.remove = true};
    ck_assert_int_eq(hpcb_state_each(scratch("run"), visit, &walk, NULL), 100);
    ck_assert_int_eq(hpcb_state_each(scratch("run"), visit, &walk, NULL), 0);
}
END_TEST

static hpcb_usage_t usage_of(const char *text)
{
    hpcb_usage_t usage = {9, 9, 9};

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    put_file(scratch("run/jobs/7.usage"), text);
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &usage, NULL), 0);
    return usage;
}

static void expect_usage(hpcb_usage_t usage, uint64_t cpu, uint64_t delay,
                         uint64_t peak)
{
    ck_assert_uint_eq(usage.cpu_us, cpu);
    ck_assert_uint_eq(usage.run_delay_us, delay);
    ck_assert_uint_eq(usage.memory_peak, peak);
}

START_TEST(steps_add_up_and_the_largest_total_counts)
{
    static const struct {
        hpcb_usage_scope_t scope;
        hpcb_usage_t usage;
    } rows[] = {
        {HPCB_USAGE_STEP, {100, 10, 7}},
        {HPCB_USAGE_JOB, {5000, 40, 2}},
        {HPCB_USAGE_STEP, {200, 20, 90}},
        {HPCB_USAGE_JOB, {4000, 50, 3}},
    };
    hpcb_usage_t sum = {9, 9, 9};

    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    expect_usage(sum, 0, 0, 0);
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_int_eq(hpcb_state_add_usage(scratch("run"), 7, rows[i].scope,
                                              &rows[i].usage, NULL),
                         0);
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    expect_usage(sum, 300 + 5000, 30 + 50, 90);
}
END_TEST

/* A user may run as many steps as MaxStepCount allows (40,000), in every job. */
#define STEPS  500
#define ADDERS 2

static void add_steps(void)
{
    const hpcb_usage_t usage = {3, 2, 1};

    for (int i = 0; i < STEPS; i++)
        ck_assert_int_eq(
            hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, NULL), 0);
}

START_TEST(usage_of_many_steps_stays_small)
{
    const hpcb_usage_t total = {100, 200, 300};
    hpcb_usage_t sum = {0};
    struct stat status;
    pid_t pids[ADDERS];

    ck_assert_int_eq(save(7, 1000, NULL), 0);
    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_JOB, &total, NULL), 0);
    for (int i = 0; i < ADDERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            add_steps();
            _exit(0);
        }
    }
    for (int i = 0; i < ADDERS; i++)
        waitpid(pids[i], NULL, 0);
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    expect_usage(sum, 100 + 3 * STEPS * ADDERS, 200 + 2 * STEPS * ADDERS, 300);
    ck_assert_int_eq(stat(scratch("run/jobs/7.usage"), &status), 0);
    ck_assert_int_lt(status.st_size, 32768);
}
END_TEST

#define FOLDED 400

static void fill_usage(void)
{
    static char text[FOLDED * 64 + 128];
    size_t used = 0;

    for (int i = 0; i < FOLDED; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "\nstep cpu_us=3 run_delay_us=2 memory_peak=1 end\n");
    /* What somebody who was killed has left. */
    snprintf(text + used, sizeof(text) - used, "\nstep cpu_us=1000 run_del");
    put_file(scratch("run/jobs/7.usage"), text);
}

static void add_one(void)
{
    const hpcb_usage_t usage = {3, 2, 1};

    (void)hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &usage, NULL);
}

static unsigned folds;

static void check_sums(void)
{
    hpcb_usage_t sum = {0};
    struct stat status;

    ck_assert_int_eq(stat(scratch("run/jobs/7.usage"), &status), 0);
    folds += status.st_size < 1024;
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    ck_assert(sum.cpu_us == 3 * FOLDED || sum.cpu_us == 3 * (FOLDED + 1));
    fill_usage();
}

/* Others add one, or so much that one of them folds, unless it is being folded. */
static uint64_t others;

static void add_many(void)
{
    hpcb_autoclose int lock =
        open(scratch("run/jobs/7.usage.lock"), O_RDWR | O_CREAT, 0600);
    bool many = flock(lock, LOCK_SH | LOCK_NB) == 0;

    for (int i = 0; many && i < FOLDED; i++)
        ck_assert_int_eq(
            hpcb_file_append(scratch("run/jobs/7.usage"),
                             "\nstep cpu_us=3 run_delay_us=2 memory_peak=1 end\n", 0644,
                             NULL),
            0);
    flock(lock, LOCK_UN);
    others += 3 * (many ? FOLDED : 0) + 3;
    add_one();
}

static uint64_t added;

static void check_sum_of_all(void)
{
    hpcb_usage_t sum = {0};
    struct stat status;

    added += others + 3;
    others = 0;
    ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
    ck_assert_uint_eq(sum.cpu_us, added);
    ck_assert_int_eq(stat(scratch("run/jobs/7.usage"), &status), 0);
    folds += status.st_size < 1024;
}

/* Wherever who adds is stopped while others add and fold: its own counts, once. */
START_TEST(a_writer_that_is_stopped_loses_nothing)
{
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    add_one();
    folds = 0;
    added = 3;
    ck_assert_int_gt(stop_everywhere(add_one, add_many, check_sum_of_all), 3);
    ck_assert_uint_gt(folds, 0);
}
END_TEST

/* Wherever who folds is killed: what was there counts, once. */
START_TEST(a_crash_loses_nothing_that_was_folded)
{
    ck_assert_int_eq(save(7, 1000, NULL), 0);
    fill_usage();
    ck_assert_int_gt(crash_everywhere(add_one, check_sums), 3);
    ck_assert_uint_gt(folds, 0);
}
END_TEST

START_TEST(every_cut_of_a_usage_line_is_skipped)
{
    static const char line[] =
        "\nstep cpu_us=1234 run_delay_us=567 memory_peak=89 end\n";
    static const hpcb_usage_t next = {1, 1, 1};
    char text[128];
    hpcb_usage_t sum;

    for (size_t cut = 0; cut < strlen(line) - 1; cut++) {
        snprintf(text, sizeof(text), "%.*s", (int)cut, line);
        expect_usage(usage_of(text), 0, 0, 0);
        ck_assert_int_eq(
            hpcb_state_add_usage(scratch("run"), 7, HPCB_USAGE_STEP, &next, NULL), 0);
        ck_assert_int_eq(hpcb_state_usage(scratch("run"), 7, &sum, NULL), 0);
        expect_usage(sum, 1, 1, 1);
    }
    expect_usage(usage_of(line), 1234, 567, 89);
}
END_TEST

START_TEST(strange_usage_lines_are_skipped)
{
    expect_usage(usage_of("step cpu_us=-1 run_delay_us=1 memory_peak=1 end\n"
                          "node cpu_us=1 run_delay_us=1 memory_peak=1 end\n"
                          "step cpu_us=1 memory_peak=1 run_delay_us=1 end\n"
                          "step cpu_us=1 run_delay_us=1 memory_peak=1 end end\n"
                          "step cpu_us=18446744073709551616 run_delay_us=1 "
                          "memory_peak=1 end\n"
                          "step\n \n=\n"
                          "step cpu_us=5 run_delay_us=6 memory_peak=7 end\n"),
                 5, 6, 7);
}
END_TEST

START_TEST(sums_stop_at_the_largest_figure)
{
    expect_usage(usage_of("step cpu_us=18446744073709551615 run_delay_us=1 "
                          "memory_peak=1 end\n"
                          "job cpu_us=7 run_delay_us=1 memory_peak=1 end\n"),
                 UINT64_MAX, 2, 1);
}
END_TEST

START_TEST(class_names_go_both_ways)
{
    for (hpcb_class_t k = HPCB_CLASS_UNKNOWN; k <= HPCB_CLASS_GUEST; k++) {
        hpcb_class_t back;

        ck_assert_int_eq(hpcb_class_from_name(hpcb_class_name(k), &back), 0);
        ck_assert_int_eq(back, k);
    }
    ck_assert_str_eq(hpcb_class_name((hpcb_class_t)99), "unknown");
    ck_assert_int_eq(hpcb_class_from_name("root", &(hpcb_class_t){0}), -1);
}
END_TEST

static void add_record_tests(TCase *tc)
{
    tcase_add_test(tc, what_is_saved_is_loaded);
    tcase_add_test(tc, a_sluid_is_kept_and_checked);
    tcase_add_test(tc, a_window_is_kept);
    tcase_add_test(tc, a_missing_record_is_enoent);
    tcase_add_test(tc, what_cannot_be_a_job_is_not_saved);
    tcase_add_test(tc, the_first_record_wins);
    tcase_add_test(tc, cores_of_the_latest_step_count);
    tcase_add_test(tc, another_users_leftover_is_replaced);
    tcase_add_test(tc, a_record_of_an_earlier_boot_is_replaced);
    tcase_add_test(tc, a_record_that_names_no_boot_is_kept);
    tcase_add_test(tc, files_without_a_record_are_of_an_earlier_run);
    tcase_add_test(tc, a_damaged_leftover_is_replaced);
    tcase_add_test(tc, damaged_records_are_refused);
    tcase_add_test(tc, values_of_a_record_are_checked);
    tcase_add_test(tc, a_record_is_believed_only_under_its_own_name);
    tcase_add_test(tc, what_others_could_have_written_is_not_believed);
    tcase_add_test(tc, links_are_not_followed);
    tcase_add_test(tc, another_users_files_are_not_believed);
    tcase_add_test(tc, the_user_reads_what_root_wrote);
    tcase_add_test(tc, saving_survives_a_crash_anywhere);
    tcase_add_test(tc, of_many_savers_the_first_wins);
}

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *tc = scratch_case("state");

    add_record_tests(tc);
    tcase_add_test(tc, removing_takes_this_job_only);
    tcase_add_test(tc, what_a_removal_left_does_not_count_for_the_next_run);
    tcase_add_test(tc, each_job_is_visited_once);
    tcase_add_test(tc, steps_add_up_and_the_largest_total_counts);
    tcase_add_test(tc, usage_of_many_steps_stays_small);
    tcase_add_test(tc, a_crash_loses_nothing_that_was_folded);
    tcase_add_test(tc, a_writer_that_is_stopped_loses_nothing);
    tcase_add_test(tc, every_cut_of_a_usage_line_is_skipped);
    tcase_add_test(tc, strange_usage_lines_are_skipped);
    tcase_add_test(tc, sums_stop_at_the_largest_figure);
    tcase_add_test(tc, class_names_go_both_ways);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
