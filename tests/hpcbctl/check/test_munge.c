/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A munged that is not there, that is no munged, and that says nothing. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hpcbctl/check/munge_probe.h"
#include "tests/common/scratch.h"

#define QUICK_MS 300

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* In time, with a reason, and without a child left. */
static void expect_failure(const char *path, unsigned timeout_ms)
{
    hpcb_error_t err = {""};
    time_t start = now();

    ck_assert_int_eq(hpcb_munge_probe(path, timeout_ms, &err), -1);
    ck_assert_int_le(now() - start, timeout_ms / 1000 + 4);
    ck_assert_uint_gt(strlen(err.text), 0);
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

START_TEST(tells_of_a_missing_socket)
{
    expect_failure(scratch("none"), 5000);
    put_file(scratch("file"), "");
    expect_failure(scratch("file"), 5000);
}
END_TEST

/* As after SIGSTOP: the kernel accepts, nobody answers. */
START_TEST(does_not_wait_for_one_that_is_silent)
{
    int fd = listen_at(scratch("silent"));

    expect_failure(scratch("silent"), QUICK_MS);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("munge");
    TCase *tc = scratch_case("munge");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, tells_of_a_missing_socket);
    tcase_add_test(tc, does_not_wait_for_one_that_is_silent);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
