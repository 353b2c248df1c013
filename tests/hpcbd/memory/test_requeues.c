/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Notes of guests that are to be requeued (hpcbd/memory/requeues.c), with a slurmctld
 * of the test's. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hpcbd/memory/notice.h"
#include "hpcbd/memory/requeues.h"
#include "hpcbd/requeue.h"
#include "tests/common/scratch.h"

#define GUEST 7
#define ENDED "run/" HPCBD_REQUEUE_DIR

/* What slurmctld says of the run, and to a requeue; when it is asked. */
static hpcbd_outcome_t end_of_run, answer;
static unsigned requeued;
static time_t asked_then;
static bool said_ended;

static hpcbd_outcome_t how_it_ended(uint32_t job_id, time_t then)
{
    ck_assert_uint_eq(job_id, GUEST);
    asked_then = then;
    return end_of_run;
}

static hpcbd_outcome_t requeue(uint32_t job_id, const char *text, bool ended)
{
    (void)text;
    ck_assert_uint_eq(job_id, GUEST);
    said_ended = ended;
    requeued++;
    return answer;
}

static const hpcbd_slurm_t slurm = {.requeue = requeue, .how_it_ended = how_it_ended};

const hpcbd_slurm_t *hpcbd_slurm_load(hpcb_error_t *err)
{
    (void)err;
    return &slurm;
}

void hpcbd_notice_append(uid_t uid, const char *path, uint32_t job_id, uint64_t used)
{
    (void)uid;
    (void)path;
    (void)job_id;
    (void)used;
}

static hpcbd_requeues_t requeues;

static void begin(void)
{
    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch(ENDED), 0755), 0);
    requeues = (hpcbd_requeues_t){.state_dir = scratch("run")};
    end_of_run = HPCBD_NOT_ENDED;
    answer = HPCBD_DONE;
    requeued = 0;
}

static const char *path_of(hpcbd_requeue_t reason)
{
    static char path[4096];

    ck_assert_int_eq(
        hpcbd_requeue_path(scratch("run"), GUEST, reason, path, sizeof(path), NULL), 0);
    return path;
}

/* So many seconds ago. */
static void leave_note(hpcbd_requeue_t reason, time_t age)
{
    const struct timespec at = {.tv_sec = time(NULL) - age};

    ck_assert_int_eq(hpcbd_requeue_note(scratch("run"), GUEST, reason, 0, NULL), 0);
    ck_assert_int_eq(
        utimensat(AT_FDCWD, path_of(reason), (const struct timespec[]){at, at}, 0), 0);
}

/* True if the note is still there. */
static bool carry_out(hpcbd_requeue_t reason)
{
    hpcbd_requeues_carry_out(&requeues);
    return access(path_of(reason), F_OK) == 0;
}

static const hpcbd_requeue_t of_running[] = {HPCBD_REQUEUE_HARM, HPCBD_REQUEUE_STARVED};

START_TEST(who_runs_is_requeued)
{
    begin();
    leave_note(of_running[_i], 100);
    ck_assert(!carry_out(of_running[_i]));
    ck_assert_uint_eq(requeued, 1);
    ck_assert(!said_ended);
    ck_assert_int_le(asked_then, time(NULL) - 100);
    ck_assert_int_ge(asked_then, time(NULL) - 110);
}
END_TEST

/* It was done, or another run of it has begun, while slurmctld did not answer. */
START_TEST(who_has_ended_meanwhile_is_not)
{
    static const hpcbd_outcome_t ended[] = {HPCBD_NO_REQUEUE, HPCBD_DONE};

    begin();
    for (int i = 0; i < 2; i++) {
        leave_note(of_running[_i], 100);
        end_of_run = ended[i];
        ck_assert(!carry_out(of_running[_i]));
        ck_assert_uint_eq(requeued, 0);
    }
}
END_TEST

START_TEST(a_note_waits_for_slurmctld)
{
    begin();
    leave_note(of_running[_i], 3000);
    end_of_run = HPCBD_FAILED;
    ck_assert(carry_out(of_running[_i]));
    ck_assert_uint_eq(requeued, 0);
    end_of_run = HPCBD_NOT_ENDED;
    answer = HPCBD_FAILED;
    ck_assert(carry_out(of_running[_i]));
    ck_assert_uint_eq(requeued, 1);
    answer = HPCBD_NO_REQUEUE;
    ck_assert(!carry_out(of_running[_i]));
}
END_TEST

/* Whoever left it may have been down since. */
START_TEST(an_old_note_is_dropped)
{
    begin();
    leave_note(of_running[_i], 3700);
    ck_assert(!carry_out(of_running[_i]));
    leave_note(HPCBD_REQUEUE_MEMORY, 3700);
    ck_assert(!carry_out(HPCBD_REQUEUE_MEMORY));
    ck_assert_uint_eq(requeued, 0);
}
END_TEST

/* Its processes are gone, whatever Slurm calls that. */
START_TEST(whose_memory_was_needed_is_requeued)
{
    begin();
    end_of_run = HPCBD_NO_REQUEUE;
    leave_note(HPCBD_REQUEUE_MEMORY, 10);
    ck_assert(!carry_out(HPCBD_REQUEUE_MEMORY));
    ck_assert_uint_eq(requeued, 1);
    ck_assert(said_ended);
}
END_TEST

/* Two nodes ended it, and one could not tell slurmctld for some minutes. */
START_TEST(the_next_run_of_a_guest_that_was_ended_stays)
{
    begin();
    end_of_run = HPCBD_RUNS_ANEW;
    leave_note(HPCBD_REQUEUE_MEMORY, 300);
    ck_assert(!carry_out(HPCBD_REQUEUE_MEMORY));
    ck_assert_uint_eq(requeued, 0);
    end_of_run = HPCBD_NO_REQUEUE;
    leave_note(HPCBD_REQUEUE_MEMORY, 300);
    ck_assert(!carry_out(HPCBD_REQUEUE_MEMORY));
    ck_assert_uint_eq(requeued, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("requeues");
    TCase *tc = scratch_case("requeues");

    tcase_add_loop_test(tc, who_runs_is_requeued, 0, 2);
    tcase_add_loop_test(tc, who_has_ended_meanwhile_is_not, 0, 2);
    tcase_add_loop_test(tc, a_note_waits_for_slurmctld, 0, 2);
    tcase_add_loop_test(tc, an_old_note_is_dropped, 0, 2);
    tcase_add_test(tc, whose_memory_was_needed_is_requeued);
    tcase_add_test(tc, the_next_run_of_a_guest_that_was_ended_stays);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
