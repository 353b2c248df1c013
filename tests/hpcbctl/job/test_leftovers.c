/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What a guest leaves in memory; a directory stands for /dev/shm.  Needs root. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbctl/job/leftovers.h"
#include "tests/common/tmp.h"

#define USER    1234
#define OTHER   1235
#define STOPPER 61235 /* nobody else's: all that it has is stopped */
#define MANY    2000

/* Of the epilog's five seconds, with room for a machine that does other things. */
#define LONGEST_SECONDS 4

static char state_dir[TEST_TMP_MAX], shm[TEST_TMP_MAX];
static hpcb_job_state_t guest;
static char logged[512];

static void take_line(hpcb_log_level_t level, const char *line)
{
    (void)level;
    snprintf(logged, sizeof(logged), "%s", line);
}

static void start(void)
{
    logged[0] = '\0';
    hpcb_log_set_sink(take_line);
    test_tmp_dir(state_dir);
    test_tmp_dir(shm);
    ck_assert_int_eq(chmod(shm, 01777), 0);
    guest = (hpcb_job_state_t){.job_id = 7,
                               .uid = USER,
                               .klass = HPCB_CLASS_GUEST,
                               .begin_us = (uint64_t)time(NULL) * 1000000};
    ck_assert_int_eq(hpcb_state_save(state_dir, &guest, NULL), 0);
}

static const char *path_of(const char *name)
{
    static char path[2][TEST_TMP_MAX + 64];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", shm, name);
    return path[turn];
}

static void make_file(const char *name, uid_t uid)
{
    int fd = open(path_of(name), O_CREAT | O_EXCL | O_WRONLY, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchown(fd, uid, uid), 0);
    close(fd);
}

static void make_dir(const char *name, uid_t uid)
{
    ck_assert_int_eq(mkdir(path_of(name), 0755), 0);
    ck_assert_int_eq(chown(path_of(name), uid, uid), 0);
}

static bool is_there(const char *name)
{
    struct stat status;

    return lstat(path_of(name), &status) == 0;
}

/* A moment later than what was made last. */
static void end(void)
{
    const struct timespec moment = {.tv_nsec = 20000000};

    nanosleep(&moment, NULL);
    hpcb_leftovers_remove(state_dir, &guest, shm);
}

START_TEST(what_the_guest_left_goes)
{
    start();
    make_file("file", USER);
    make_dir("closed", USER);
    make_dir("closed/deep", USER);
    make_file("closed/deep/file", USER);
    ck_assert_int_eq(chmod(path_of("closed/deep"), 0), 0);
    ck_assert_int_eq(chmod(path_of("closed"), 0), 0);
    end();
    ck_assert(!is_there("file"));
    ck_assert(!is_there("closed"));
    ck_assert_str_eq(logged, "");
}
END_TEST

/* A link of the guest's goes, and what it points to is not touched. */
START_TEST(what_is_another_s_stays)
{
    start();
    make_file("theirs", OTHER);
    make_dir("dir", OTHER);
    make_file("dir/mine", USER);
    ck_assert_int_eq(symlink(path_of("dir"), path_of("link")), 0);
    ck_assert_int_eq(lchown(path_of("link"), USER, USER), 0);
    make_dir("shared", USER);
    make_file("shared/theirs", OTHER);
    end();
    ck_assert(is_there("theirs"));
    ck_assert(is_there("dir/mine"));
    ck_assert(!is_there("link"));
    ck_assert(is_there("shared"));
}
END_TEST

START_TEST(what_cannot_be_removed_is_logged)
{
    start();
    make_dir("shared", USER);
    make_file("shared/theirs", OTHER);
    end();
    ck_assert_msg(strstr(logged, "job 7: ") && strstr(logged, "uid 1234") &&
                      strstr(logged, shm),
                  "the log says \"%s\"", logged);
}
END_TEST

START_TEST(what_was_there_before_stays)
{
    struct stat status;

    start();
    make_file("file", USER);
    make_dir("closed", USER);
    ck_assert_int_eq(chmod(path_of("closed"), 0), 0);
    guest.begin_us += 10 * 1000000;
    end();
    ck_assert(is_there("file"));
    ck_assert_int_eq(stat(path_of("closed"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0);
}
END_TEST

START_TEST(another_job_of_the_user_keeps_it)
{
    hpcb_job_state_t other;

    start();
    other = guest;
    other.job_id = 8;
    other.klass = HPCB_CLASS_PRIMARY;
    ck_assert_int_eq(hpcb_state_save(state_dir, &other, NULL), 0);
    make_file("file", USER);
    end();
    ck_assert(is_there("file"));
    ck_assert_int_eq(hpcb_state_remove(state_dir, 8, NULL), 0);
    other.job_id = 9;
    other.uid = OTHER;
    ck_assert_int_eq(hpcb_state_save(state_dir, &other, NULL), 0);
    end();
    ck_assert(!is_there("file"));
}
END_TEST

START_TEST(what_is_root_s_stays)
{
    start();
    guest.uid = 0;
    make_file("file", 0);
    end();
    ck_assert(is_there("file"));
}
END_TEST

static pid_t begin_to_stop_all(uid_t uid)
{
    pid_t attacker = fork();

    ck_assert_int_ge(attacker, 0);
    if (attacker > 0)
        return attacker;
    alarm(60);
    if (setresuid(uid, uid, uid) < 0)
        _exit(EXIT_FAILURE);
    for (;;)
        kill(-1, SIGSTOP);
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* An epilog that does not end drains the node, and one that is killed leaves things
 * undone. */
START_TEST(a_user_who_stops_it_holds_up_nobody)
{
    pid_t attacker;
    char name[32];
    int tries = 0;
    time_t begin;

    start();
    guest.uid = STOPPER;
    ck_assert_int_eq(hpcb_state_save(state_dir, &guest, NULL), 0);
    attacker = begin_to_stop_all(STOPPER);
    do {
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "%d_%d", tries, i);
            make_file(name, STOPPER);
        }
        begin = seconds();
        end();
        ck_assert_int_le(seconds() - begin, LONGEST_SECONDS);
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "%d_%d", tries, i);
            if (is_there(name))
                break;
            *name = '\0';
        }
    } while (!*name && ++tries < 20);
    ck_assert_msg(*name, "nobody was stopped in %d tries", tries);
    ck_assert_ptr_nonnull(strstr(logged, "not all that uid 61235 has left"));
    kill(attacker, SIGKILL);
    ck_assert_int_eq(waitpid(attacker, NULL, 0), attacker);
}
END_TEST

/* One that a process has attached stays. */
START_TEST(shared_memory_of_system_v_goes)
{
    struct shmid_ds status;
    int ids[2];
    void *attached;

    start();
    for (int i = 0; i < 2; i++) {
        ids[i] = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
        ck_assert_int_ge(ids[i], 0);
        ck_assert_int_eq(shmctl(ids[i], IPC_STAT, &status), 0);
        status.shm_perm.uid = USER;
        ck_assert_int_eq(shmctl(ids[i], IPC_SET, &status), 0);
    }
    attached = shmat(ids[1], NULL, 0);
    sleep(1); /* their times have no parts of a second */
    end();
    ck_assert_int_eq(shmctl(ids[0], IPC_STAT, &status), -1);
    ck_assert_int_eq(shmctl(ids[1], IPC_STAT, &status), 0);
    shmctl(ids[1], IPC_RMID, NULL);
    shmdt(attached);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leftovers");
    TCase *tc = tcase_create("leftovers");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_the_guest_left_goes);
    tcase_add_test(tc, what_is_another_s_stays);
    tcase_add_test(tc, what_cannot_be_removed_is_logged);
    tcase_add_test(tc, what_was_there_before_stays);
    tcase_add_test(tc, another_job_of_the_user_keeps_it);
    tcase_add_test(tc, what_is_root_s_stays);
    tcase_add_test(tc, a_user_who_stops_it_holds_up_nobody);
    tcase_add_test(tc, shared_memory_of_system_v_goes);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
