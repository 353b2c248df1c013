/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Whatever is, or is not, at the other end of hpcbd's socket: nobody waits. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/tell.h"
#include "tests/common/scratch.h"

#define MANY 256 /* tasks of a step */

static unsigned lines;

static void count_line(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
    lines++;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int listen_at(const char *name, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, scratch(name));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (backlog >= 0)
        ck_assert_int_eq(listen(fd, backlog), 0);
    return fd;
}

static void no_socket(void)
{
}

/* Killed with SIGKILL: the names stay. */
static void killed(void)
{
    close(listen_at("run/hpcbd.sock", 1));
    close(listen_at("run/hpcbd.root.sock", 1));
}

static void no_listener(void)
{
    listen_at("run/hpcbd.sock", -1);
}

/* It hangs: what is told waits until there is no more room. */
static void hangs(void)
{
    listen_at("run/hpcbd.sock", 4);
}

static void no_socket_but_a_file(void)
{
    ck_assert_int_eq(mkdir(scratch("run/hpcbd.sock"), 0755), 0);
}

static const struct {
    void (*prepare)(void);
    int error;
} rows[] = {
    {no_socket, ENOENT},
    {killed, ECONNREFUSED},
    {no_listener, ECONNREFUSED},
    {hangs, EAGAIN},
    {no_socket_but_a_file, ECONNREFUSED},
};

START_TEST(nobody_waits_for_a_daemon_that_is_not_there)
{
    hpcb_error_t err;
    double begin;
    int rc = 0;

    hpcb_log_set_sink(count_line);
    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    rows[_i].prepare();
    begin = seconds();
    for (int i = 0; i < MANY; i++)
        rc = hpcb_tell(scratch("run"), "job", 7, &err);
    ck_assert_double_lt(seconds() - begin, 0.5);
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(errno, rows[_i].error);
    ck_assert_uint_eq(lines, 0);
}
END_TEST

static void on_alarm(int signo)
{
    (void)signo;
}

/* The epilog waits for an answer, but for no longer than it says, whatever signals
 * come. */
START_TEST(an_answer_is_waited_for_and_no_longer)
{
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
    const struct sigaction action = {.sa_handler = on_alarm};
    double begin;

    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    hangs();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    begin = seconds();
    ck_assert_int_eq(hpcb_tell_wait(scratch("run"), "measure", 7, 300, NULL), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_double_ge(seconds() - begin, 0.29);
    ck_assert_double_lt(seconds() - begin, 2);
    setitimer(ITIMER_REAL, &never, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tell");
    TCase *tc = scratch_case("tell");

    tcase_add_loop_test(tc, nobody_waits_for_a_daemon_that_is_not_there, 0,
                        sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tc, an_answer_is_waited_for_and_no_longer);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
