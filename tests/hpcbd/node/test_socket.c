/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The node daemon as a process of its own, with a StateDir in a scratch directory: what
 * it answers to whom, and that a job's process is favoured and regular in turns.  The
 * job's "cgroup" is a plain directory with a cgroup.procs.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/state.h"
#include "common/tell.h"
#include "tests/common/scratch.h"

#define OTHER_USER 54321
#define JOB        7

static pid_t daemon_pid;

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static int open_log(void)
{
    return open(scratch("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static void write_conf(const char *pages, const char *more)
{
    char conf[3 * PATH_MAX + 256];

    snprintf(
        conf, sizeof(conf),
        "StateDir=%s\nSpoolDir=%s\nBalancePages=%s\nGuestCgroup=hpcb_test_socket\n%s",
        scratch("run"), scratch("spool"), scratch(pages), more);
    ck_assert_int_eq(hpcb_file_replace(scratch("conf"), conf, strlen(conf), 0644, NULL),
                     0);
}

/* It answers when this returns. */
static void start_daemon(const char *more)
{
    const char *build = getenv("HPCB_BUILDDIR");
    char program[PATH_MAX];
    int fd = -1;

    write_conf("pages", more);
    snprintf(program, sizeof(program), "%s/hpcbd/hpcbd", build ? build : ".");
    daemon_pid = fork();
    if (daemon_pid == 0) {
        int log = open_log();

        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        execl(program, "hpcbd", "--config", scratch("conf"), NULL);
        _exit(127);
    }
    for (int i = 0; i < 1000 && fd < 0; i++) {
        sleep_ms(10);
        fd = hpcb_tell_connect(scratch("run"), NULL);
    }
    ck_assert_msg(fd >= 0, "hpcbd does not answer");
    close(fd);
}

static void stop_daemon(void)
{
    if (daemon_pid > 0) {
        kill(daemon_pid, SIGTERM);
        waitpid(daemon_pid, NULL, 0);
    }
    daemon_pid = 0;
}

/* The packets of one answer, one after the other; "" where the connection was cut. */
static void ask(const char *message, size_t length, char *text, size_t size)
{
    int fd = hpcb_tell_connect(scratch("run"), NULL);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t used = 0;

    ck_assert_int_ge(fd, 0);
    text[0] = '\0';
    if (send(fd, message, length, MSG_NOSIGNAL) == (ssize_t)length) {
        while (!strstr(text, "\"end\"") && poll(&wait, 1, 3000) == 1) {
            ssize_t n = recv(fd, text + used, size - used - 1, 0);

            if (n <= 0)
                break;
            used += (size_t)n;
            text[used] = '\0';
        }
    }
    close(fd);
}

static const char *answer_to(const char *message)
{
    static char text[16384];

    ask(message, strlen(message), text, sizeof(text));
    return text;
}

static void record_job(const hpcb_window_spec_t *window)
{
    const hpcb_job_state_t job = {.job_id = JOB,
                                  .uid = geteuid(),
                                  .klass = HPCB_CLASS_PRIMARY,
                                  .partition = "p",
                                  .window = *window,
                                  .begin_us = (uint64_t)time(NULL) * 1000000};

    ck_assert_int_eq(hpcb_state_save(scratch("run"), &job, NULL), 0);
}

START_TEST(what_is_no_message_is_refused)
{
    static const char *const bad[] = {
        "{",
        "[]",
        "null",
        "7",
        "{\"verb\":1}",
        "{\"verb\":\"x\"}",
        "{}",
        "{}{}",
        "{\"verb\":\"status\"} x",
        "{\"verb\":[[[[[[[[[[[[]]]]]]]]]]]]}",
        "\xff\xfe",
    };
    static char large[HPCB_TELL_MAX + 1000], text[256];

    start_daemon("");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(strstr(answer_to(bad[i]), "\"error\""), "%s: %s", bad[i],
                      answer_to(bad[i]));
    memset(large, ' ', sizeof(large));
    ask(large, sizeof(large), text, sizeof(text));
    ck_assert_str_eq(text, "");
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"status\"}"), "\"version\""));
}
END_TEST

/* A number that nobody understands is none, and not that of all jobs. */
START_TEST(what_is_no_job_is_not_all_jobs)
{
    static const char *const bad[] = {"0",    "-1",   "\"7\"", "null",
                                      "1.5",  "true", "[7]",   "4294967303",
                                      "1e99", "{}",   "\"\"",  "18446744073709551616"};
    char text[64];

    start_daemon("");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "{\"verb\":\"gang-pause\",\"job\":%s}", bad[i]);
        ck_assert_msg(strstr(answer_to(text), "job: not the number of a job"), "%s: %s",
                      text, answer_to(text));
        snprintf(text, sizeof(text), "{\"verb\":\"gang-set\",\"window\":%s}", bad[i]);
        ck_assert_ptr_nonnull(
            strstr(answer_to(text), "window: not a number of quanta"));
    }
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"gang\"}"), "\"paused\":false"));
    ck_assert_ptr_nonnull(
        strstr(answer_to("{\"verb\":\"gang-pause\",\"job\":7}"), "no such job"));
    ck_assert_str_eq(answer_to("{\"verb\":\"gang-pause\"}"), "{\"end\":true}");
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"gang\"}"), "\"paused\":true"));
}
END_TEST

/* In a process of that user's: 0 where all is as it should be. */
static int look_as_user(void)
{
    if (setgroups(0, NULL) || setgid(OTHER_USER) || setuid(OTHER_USER))
        return 1;
    if (!strstr(answer_to("{\"verb\":\"job\",\"job\":7}"), "\"error\""))
        return 2;
    if (!strstr(answer_to("{\"verb\":\"end\",\"job\":7}"), "\"error\""))
        return 3;
    if (strstr(answer_to("{\"verb\":\"status\"}"), "\"job\":7"))
        return 4;
    return strstr(answer_to("{\"verb\":\"status\"}"), "\"version\"") ? 0 : 5;
}

START_TEST(users_see_their_own_jobs_and_say_nothing)
{
    const hpcb_window_spec_t window = {500000, 250000};
    int status;
    pid_t pid;

    if (geteuid() != 0)
        return;
    record_job(&window);
    start_daemon("");
    /* The test's directory, and the one of all tests. */
    ck_assert_int_eq(chmod(scratch_dir(), 0755), 0);
    ck_assert_int_eq(chmod(scratch(".."), 0755), 0);
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"status\"}"), "\"job\":7"));
    pid = fork();
    if (pid == 0)
        _exit(look_as_user());
    waitpid(pid, &status, 0);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(many_connections_and_silence_harm_nobody)
{
    enum { MANY = 500 };
    static int fds[MANY];
    bool answered = false;

    start_daemon("");
    for (int i = 0; i < MANY; i++) {
        fds[i] = hpcb_tell_connect(scratch("run"), NULL);
        /* Asks, and never reads. */
        if (fds[i] >= 0 && i % 2)
            send(fds[i], "{\"verb\":\"status\"}", 17, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    /* The silent are cut off after a while. */
    for (int i = 0; i < 160 && !answered; i++) {
        int fd = hpcb_tell_connect(scratch("run"), NULL);

        if (fd >= 0) {
            close(fd);
            answered = strstr(answer_to("{\"verb\":\"status\"}"), "\"version\"");
        }
        sleep_ms(50);
    }
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    ck_assert(answered);
}
END_TEST

/* A TCP connection over which nothing goes any more, and that lingers when closed. */
static int lingering(void)
{
    const struct linger forever = {.l_onoff = 1, .l_linger = INT_MAX};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int server = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    static char bytes[65536];

    ck_assert_int_eq(bind(server, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(server, 1), 0);
    ck_assert_int_eq(getsockname(server, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, size), 0);
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &forever, sizeof(forever)),
                     0);
    return fd;
}

/* The last reference to it is in the message. */
static void send_file(int to, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec text = {.iov_base = "{\"verb\":\"status\"}", .iov_len = 17};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    /* Or the daemon could be faster, and this close would be the last one. */
    ck_assert_int_eq(kill(daemon_pid, SIGSTOP), 0);
    ck_assert_int_eq(sendmsg(to, &message, MSG_NOSIGNAL), 17);
    close(fd);
    ck_assert_int_eq(kill(daemon_pid, SIGCONT), 0);
}

/* Whoever takes the message or closes its socket closes what it carries. */
START_TEST(descriptors_in_messages_hold_nobody_up)
{
    int fd;

    start_daemon("");
    for (int i = 0; i < 3; i++) {
        fd = hpcb_tell_connect(scratch("run"), NULL);
        ck_assert_int_ge(fd, 0);
        if (i > 0)
            ck_assert_int_eq(send(fd, "{}", 2, MSG_NOSIGNAL), 2);
        send_file(fd, lingering());
        if (i == 2)
            close(fd);
        sleep_ms(100);
        ck_assert_ptr_nonnull(
            strstr(answer_to("{\"verb\":\"status\"}"), "\"version\""));
        if (i < 2)
            close(fd);
    }
    stop_daemon();
}
END_TEST

/* As another user: connect as fast as hpcbd lets us, and say nothing. */
static void __attribute__((noreturn)) flood(void)
{
    enum { HELD = 600 };
    static int fds[HELD];

    if (setgroups(0, NULL) || setgid(OTHER_USER) || setuid(OTHER_USER))
        _exit(1);
    for (int i = 0; i < HELD; i++)
        fds[i] = -1;
    for (unsigned i = 0;; i = (i + 1) % HELD) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = hpcb_tell_connect(scratch("run"), NULL);
        if (fds[i] < 0)
            sleep_ms(1);
    }
}

START_TEST(users_do_not_spend_what_is_roots)
{
    int refused = 0;
    pid_t pid;

    if (geteuid() != 0)
        return;
    start_daemon("");
    ck_assert_int_eq(chmod(scratch_dir(), 0755), 0);
    ck_assert_int_eq(chmod(scratch(".."), 0755), 0);
    pid = fork();
    if (pid == 0)
        flood();
    sleep_ms(500);
    for (int i = 0; i < 100; i++) {
        int fd = hpcb_tell_connect(scratch("run"), NULL);

        refused += fd < 0;
        if (fd >= 0)
            close(fd);
        sleep_ms(5);
    }
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"status\"}"), "\"version\""));
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(refused, 0);
}
END_TEST

/* A process that does nothing but be there, in a job's directory. */
static pid_t fake_task(void)
{
    char text[16];
    pid_t pid = fork();

    if (pid == 0) {
        for (;;)
            pause();
    }
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("cg/job_7/step_0"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("cg/job_7/step_0/user"), 0755, NULL), 0);
    hpcb_file_replace(scratch("cg/job_7/step_0/cgroup.procs"), text, strlen(text), 0644,
                      NULL);
    hpcb_file_replace(scratch("cg/job_7/step_0/user/cgroup.procs"), text, strlen(text),
                      0644, NULL);
    hpcb_file_replace(scratch("cg/job_7/cgroup.procs"), "", 0, 0644, NULL);
    ck_assert_int_eq(
        hpcb_state_save_place(scratch("run"), JOB, scratch("cg/job_7"), NULL), 0);
    return pid;
}

static bool becomes(pid_t pid, bool fifo, int ms)
{
    for (int i = 0; i < ms; i++) {
        if (((sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO) == fifo)
            return true;
        sleep_ms(1);
    }
    return false;
}

static bool realtime_allowed(void)
{
    const struct sched_param param = {.sched_priority = 1}, normal = {0};
    bool allowed = sched_setscheduler(0, SCHED_FIFO, &param) == 0;

    sched_setscheduler(0, SCHED_OTHER, &normal);
    return allowed;
}

START_TEST(a_job_is_favoured_in_turns)
{
    const hpcb_window_spec_t window = {200000, 100000};
    pid_t task;

    if (geteuid() != 0 || !realtime_allowed())
        return;
    record_job(&window);
    task = fake_task();
    start_daemon("WindowMechanism=fifo\n");
    for (int i = 0; i < 3; i++) {
        ck_assert(becomes(task, true, 5000));
        ck_assert(becomes(task, false, 5000));
    }
    ck_assert_ptr_nonnull(
        strstr(answer_to("{\"verb\":\"status\"}"), "\"mechanism\":\"fifo\""));
    /* The job's record goes, as at its end. */
    ck_assert(becomes(task, true, 5000));
    ck_assert_int_eq(hpcb_state_remove(scratch("run"), JOB, NULL), 0);
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"end\",\"job\":7}"), "true"));
    ck_assert(becomes(task, false, 100));
    sleep_ms(300);
    ck_assert(becomes(task, false, 1));
    ck_assert_ptr_null(strstr(answer_to("{\"verb\":\"status\"}"), "\"job\":7"));
    kill(task, SIGKILL);
}
END_TEST

START_TEST(an_ordinary_end_leaves_nothing_favoured)
{
    const hpcb_window_spec_t window = {1000000, 900000};
    pid_t task;

    if (geteuid() != 0 || !realtime_allowed())
        return;
    record_job(&window);
    task = fake_task();
    start_daemon("");
    ck_assert(becomes(task, true, 5000));
    stop_daemon();
    ck_assert(becomes(task, false, 1));
    kill(task, SIGKILL);
}
END_TEST

/* The daemon's way to take a port. */
static int bind_udp(uint16_t port)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_port = htons(port),
                                         .sin6_addr = IN6ADDR_ANY_INIT};
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static uint16_t free_port(void)
{
    struct sockaddr_in6 address;
    socklen_t size = sizeof(address);
    int fd = bind_udp(0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin6_port);
}

/* Whether somebody has the port within 3 s, or nobody. */
static bool comes_to_be(uint16_t port, bool taken)
{
    for (int i = 0; i < 300; i++) {
        int fd = bind_udp(port);

        if (fd >= 0)
            close(fd);
        if ((fd < 0) == taken)
            return true;
        sleep_ms(10);
    }
    return false;
}

static bool log_has(const char *text)
{
    static char log[65536];
    ssize_t length = hpcb_file_read(scratch("log"), log, sizeof(log) - 1, NULL);

    ck_assert_int_ge(length, 0);
    log[length] = '\0';
    return strstr(log, text);
}

static bool log_says(const char *text)
{
    for (int i = 0; i < 300; i++) {
        if (log_has(text))
            return true;
        sleep_ms(10);
    }
    return false;
}

static void reload(const char *pages, const char *more)
{
    write_conf(pages, more);
    ck_assert_int_eq(kill(daemon_pid, SIGHUP), 0);
}

START_TEST(sighup_reads_the_peers_anew)
{
    const uint16_t first = free_port(), second = free_port();
    char text[128];

    start_daemon("");
    ck_assert(comes_to_be(first, false));
    snprintf(text, sizeof(text), "WindowPeers=127.0.0.2\nWindowPort=%u\n", first);
    reload("pages", text);
    ck_assert(comes_to_be(first, true));
    snprintf(text, sizeof(text), "WindowPeers=127.0.0.2\nWindowPort=%u\n", second);
    reload("pages", text);
    ck_assert(comes_to_be(second, true) && comes_to_be(first, false));
    reload("pages", "");
    ck_assert(comes_to_be(second, false));
    ck_assert_ptr_nonnull(strstr(answer_to("{\"verb\":\"status\"}"), "\"end\":true"));
}
END_TEST

START_TEST(sighup_says_what_needs_a_restart)
{
    start_daemon("");
    reload("pages", "BalanceInterval=500\n");
    ck_assert(log_says("again"));
    ck_assert(!log_has("restarted"));
    reload("others", "BalanceInterval=\n");
    ck_assert(log_says("the settings stay as they are"));
    reload("others", "BalanceCgroup=other\n");
    ck_assert(log_says("BalancePages changes when hpcbd is restarted"));
    ck_assert(log_says("BalanceCgroup changes when hpcbd is restarted"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node");
    TCase *tc = scratch_case("node");

    tcase_add_checked_fixture(tc, NULL, stop_daemon);
    tcase_add_test(tc, what_is_no_message_is_refused);
    tcase_add_test(tc, what_is_no_job_is_not_all_jobs);
    tcase_add_test(tc, users_see_their_own_jobs_and_say_nothing);
    tcase_add_test(tc, many_connections_and_silence_harm_nobody);
    tcase_add_test(tc, descriptors_in_messages_hold_nobody_up);
    tcase_add_test(tc, users_do_not_spend_what_is_roots);
    tcase_add_test(tc, a_job_is_favoured_in_turns);
    tcase_add_test(tc, an_ordinary_end_leaves_nothing_favoured);
    tcase_add_test(tc, sighup_reads_the_peers_anew);
    tcase_add_test(tc, sighup_says_what_needs_a_restart);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
