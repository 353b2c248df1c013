/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hpcbctl/run.h"
#include "tests/common/scratch.h"

#define QUICK_MS  300
#define ENOUGH_MS 20000
#define ROOM      4096

static int shell(const char *script, unsigned timeout_ms, size_t max, char **output,
                 hpcb_error_t *err)
{
    char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};

    return hpcb_run(argv, timeout_ms, max, output, err);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What any child gets besides the three, from whoever started the test. */
static int count_inherited(void)
{
    int inherited = 0;

    for (int fd = 3; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);

        inherited += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return inherited;
}

static int count_fds(void)
{
    return count_entries("/proc/self/fd");
}

START_TEST(gives_output_and_exit_code)
{
    char *output = NULL;
    hpcb_error_t err = {""};

    ck_assert_int_eq(shell("echo a; echo b", ENOUGH_MS, ROOM, &output, &err), 0);
    ck_assert_str_eq(output, "a\nb\n");
    free(output);
    output = NULL;
    ck_assert_int_eq(shell("echo out; printf 'why\\nmore\\n' >&2; exit 3", ENOUGH_MS,
                           ROOM, &output, &err),
                     3);
    ck_assert_str_eq(output, "out\n");
    ck_assert_str_eq(err.text, "sh: why");
    free(output);
    output = NULL;
    ck_assert_int_eq(shell("exit 4", ENOUGH_MS, ROOM, &output, &err), 4);
    ck_assert_str_eq(output, "");
    free(output);
}
END_TEST

START_TEST(gives_no_input_and_waits_for_none)
{
    char *output = NULL;

    ck_assert_int_eq(shell("cat", ENOUGH_MS, ROOM, &output, NULL), 0);
    ck_assert_str_eq(output, "");
    free(output);
}
END_TEST

/* Nobody may hold us: one who sleeps, one who sleeps behind a closed output, and one
 * whose child keeps the output open. */
START_TEST(ends_what_does_not)
{
    static const char *const scripts[] = {
        "sleep 60",
        "exec >&- 2>&-; sleep 60",
        "sleep 60 & exit 0",
        "trap '' TERM INT HUP; while :; do :; done",
    };
    char *output = (char *)"untouched";
    hpcb_error_t err;
    double start = now();

    ck_assert_int_eq(shell(scripts[_i], QUICK_MS, ROOM, &output, &err), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_double_lt(now() - start, 10);
    ck_assert_str_eq(output, "untouched");
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* What it started in its process group ends with it. */
START_TEST(leaves_no_grandchild)
{
    char script[PATH_MAX + 64], *output = NULL;
    const char *path = scratch("pid");

    snprintf(script, sizeof(script), "sleep 60 & echo $! > %s; wait", path);
    ck_assert_int_eq(shell(script, 1000, ROOM, &output, NULL), -1);
    for (int i = 0; i < 100 && kill(atoi(get_file(path)), 0) == 0; i++)
        usleep(20000);
    ck_assert_int_eq(kill(atoi(get_file(path)), 0), -1);
}
END_TEST

START_TEST(bounds_the_output)
{
    char *output = (char *)"untouched";
    hpcb_error_t err;

    ck_assert_int_eq(shell("yes", ENOUGH_MS, ROOM, &output, &err), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_str_eq(output, "untouched");
    ck_assert_int_eq(shell("printf 12345", ENOUGH_MS, 4, &output, &err), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_int_eq(shell("printf 1234", ENOUGH_MS, 4, &output, &err), 0);
    ck_assert_str_eq(output, "1234");
    free(output);
    /* Complaints are cut instead. */
    ck_assert_int_eq(shell("head -c 100000 /dev/zero | tr '\\0' e >&2; exit 1",
                           ENOUGH_MS, ROOM, &output, &err),
                     1);
    ck_assert_uint_gt(strlen(err.text), 100);
    free(output);
}
END_TEST

START_TEST(tells_of_signals_and_of_what_is_not_there)
{
    char *argv[] = {"/nonexistent/scontrol", NULL}, *output = NULL;
    hpcb_error_t err;

    ck_assert_int_eq(shell("kill -9 $$", ENOUGH_MS, ROOM, &output, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "signal 9"));
    ck_assert_int_eq(hpcb_run(argv, ENOUGH_MS, ROOM, &output, &err), 127);
    free(output);
}
END_TEST

START_TEST(leaks_no_descriptors)
{
    char *output = NULL;
    int before = count_fds();

    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(shell("exit 0", ENOUGH_MS, ROOM, &output, NULL), 0);
        free(output);
    }
    shell("sleep 60", QUICK_MS, ROOM, &output, NULL);
    shell("yes", ENOUGH_MS, 10, &output, NULL);
    ck_assert_int_eq(count_fds(), before);
    /* Nor does the child get any: ls has the three and its directory. */
    ck_assert_int_eq(shell("ls /proc/self/fd | wc -l", ENOUGH_MS, ROOM, &output, NULL),
                     0);
    ck_assert_int_eq(atoi(output), 4 + count_inherited());
    free(output);
}
END_TEST

static void put_program(const char *dir, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    put_file(path, "#!/bin/sh\n");
    ck_assert_int_eq(chmod(path, 0755), 0);
}

/* A user's directory must not give root a scontrol, whatever PATH says of ".". */
START_TEST(finds_programs_in_absolute_directories_only)
{
    char path[PATH_MAX], expected[PATH_MAX], dirs[PATH_MAX * 2];
    hpcb_error_t err;

    ck_assert_int_eq(mkdir(scratch("user"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch("good"), 0755), 0);
    ck_assert_int_eq(chdir(scratch("user")), 0);
    put_program(scratch("user"), "hpcb-no-such-program");
    setenv("PATH", ".::user:./:../user", 1);
    ck_assert_int_eq(hpcb_run_find("hpcb-no-such-program", path, sizeof(path), &err),
                     -1);
    ck_assert_int_eq(errno, ENOENT);
    put_program(scratch("good"), "hpcb-no-such-program");
    snprintf(dirs, sizeof(dirs), ".:/nonexistent:%s:", scratch("good"));
    snprintf(expected, sizeof(expected), "%s/hpcb-no-such-program", scratch("good"));
    setenv("PATH", dirs, 1);
    ck_assert_int_eq(hpcb_run_find("hpcb-no-such-program", path, sizeof(path), &err),
                     0);
    ck_assert_str_eq(path, expected);
    /* A prolog's environment has no PATH. */
    unsetenv("PATH");
    ck_assert_int_eq(hpcb_run_find("env", path, sizeof(path), &err), 0);
    ck_assert_int_eq(path[0], '/');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tc = scratch_case("run");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, gives_output_and_exit_code);
    tcase_add_test(tc, gives_no_input_and_waits_for_none);
    tcase_add_loop_test(tc, ends_what_does_not, 0, 4);
    tcase_add_test(tc, leaves_no_grandchild);
    tcase_add_test(tc, bounds_the_output);
    tcase_add_test(tc, tells_of_signals_and_of_what_is_not_there);
    tcase_add_test(tc, leaks_no_descriptors);
    tcase_add_test(tc, finds_programs_in_absolute_directories_only);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
