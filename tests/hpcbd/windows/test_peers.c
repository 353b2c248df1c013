/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What peers say of the clock, and for how long that counts; what somebody without a
 * key can take of munged.  MUNGE, child processes and timers are the test's.
 */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hpcbd/child.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/windows/peers_talk.h"
#include "hpcbd/windows/windows.h"
#include "tests/common/scratch.h"

#define AHEAD_NS INT64_C(1000000000)
#define BAD      200 /* datagrams */

static hpcbd_t daemon_;
static const char *suspended;
static const hpcbd_peers_talk_t *asked; /* NULL: nobody is */
static hpcb_loop_fn on_timer;
static int64_t passed_ns, timer_ns;

void hpcbd_window_suspend(const char *why)
{
    suspended = why;
}

hpcbd_child_t *__wrap_hpcbd_child_start(hpcb_loop_t *loop, const char *name,
                                        int (*work)(void *arg), void *arg,
                                        hpcb_error_t *err);
hpcbd_child_t *__wrap_hpcbd_child_start(hpcb_loop_t *loop, const char *name,
                                        int (*work)(void *arg), void *arg,
                                        hpcb_error_t *err)
{
    (void)loop;
    (void)name;
    (void)work;
    (void)err;
    asked = arg;
    return arg;
}

void __wrap_hpcbd_child_stop(hpcbd_child_t *child);
void __wrap_hpcbd_child_stop(hpcbd_child_t *child)
{
    (void)child;
    asked = NULL;
}

hpcb_source_t *__wrap_hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock,
                                      hpcb_loop_fn fn, void *arg, hpcb_error_t *err);
hpcb_source_t *__wrap_hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock,
                                      hpcb_loop_fn fn, void *arg, hpcb_error_t *err)
{
    (void)loop;
    (void)clock;
    (void)arg;
    (void)err;
    on_timer = fn;
    return (hpcb_source_t *)&on_timer;
}

int __wrap_hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns);
int __wrap_hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    (void)timer;
    (void)interval_ns;
    timer_ns = passed_ns + (int64_t)first_ns;
    return 0;
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = __real_clock_gettime(clock, now);

    if (clock == CLOCK_MONOTONIC)
        now->tv_sec += passed_ns / 1000000000;
    return rc;
}

static void pass(int seconds)
{
    passed_ns += seconds * INT64_C(1000000000);
    if (timer_ns && passed_ns >= timer_ns) {
        timer_ns = 0;
        on_timer(NULL, 1);
    }
}

static void set_peers(const char *list)
{
    strcpy(daemon_.conf.window_peers, list);
}

static void start(const char *list)
{
    hpcb_conf_defaults(&daemon_.conf);
    set_peers(list);
    ck_assert_int_eq(hpcbd_peers.start(&daemon_, NULL), 0);
}

START_TEST(a_peer_that_is_silent_stops_nobody)
{
    int64_t offset_ns = 0;

    start("a,b");
    ck_assert(!hpcbd_peers_offset(&offset_ns));
    hpcbd_peers_answer(asked->list, 0, AHEAD_NS, 1000);
    ck_assert_ptr_nonnull(suspended);
    ck_assert(hpcbd_peers_offset(&offset_ns));
    ck_assert_int_eq(offset_ns, AHEAD_NS);
    pass(50);
    ck_assert_ptr_nonnull(suspended);
    pass(20);
    ck_assert_ptr_null(suspended);
    ck_assert(!hpcbd_peers_offset(&offset_ns));
}
END_TEST

START_TEST(another_list_counts_from_its_own_answers)
{
    unsigned before;

    start("a,b");
    before = asked->list;
    hpcbd_peers_answer(before, 1, AHEAD_NS, 1000);
    ck_assert_ptr_nonnull(suspended);
    set_peers("c,d");
    daemon_.conf.window_port++;
    hpcbd_peers.reload(&daemon_);
    ck_assert_uint_eq(asked->port, daemon_.conf.window_port);
    /* It stands until somebody says something else. */
    ck_assert_ptr_nonnull(suspended);
    /* What was on its way from a peer of the list before. */
    hpcbd_peers_answer(before, 0, 0, 1000);
    ck_assert_ptr_nonnull(suspended);
    hpcbd_peers_answer(asked->list, 0, 0, 1000);
    ck_assert_ptr_null(suspended);
}
END_TEST

START_TEST(peers_that_never_answer_after_a_reload_stop_nobody)
{
    start("a,b");
    hpcbd_peers_answer(asked->list, 1, AHEAD_NS, 1000);
    set_peers("c");
    hpcbd_peers.reload(&daemon_);
    ck_assert_ptr_nonnull(suspended);
    pass(70);
    ck_assert_ptr_null(suspended);
    /* And without peers nobody waits for them. */
    hpcbd_peers_answer(asked->list, 0, AHEAD_NS, 1000);
    ck_assert_ptr_nonnull(suspended);
    set_peers("");
    hpcbd_peers.reload(&daemon_);
    ck_assert_ptr_null(suspended);
    ck_assert_ptr_null(asked);
}
END_TEST

START_TEST(one_wrong_clock_of_three_stops_nobody)
{
    start("a,b,c");
    hpcbd_peers_answer(asked->list, 0, 0, 1000);
    hpcbd_peers_answer(asked->list, 1, 1000, 1000);
    hpcbd_peers_answer(asked->list, 2, -AHEAD_NS * 1000, 1000);
    ck_assert_ptr_null(suspended);
    hpcbd_peers_answer(asked->list, 3, AHEAD_NS, 1000);
    hpcbd_peers_answer(asked->list, UINT64_MAX, AHEAD_NS, 1000);
    ck_assert_ptr_null(suspended);
}
END_TEST

/* ---- The child ---- */

static struct {
    unsigned opened, good;
} * shared;

char *hpcbd_unseal(const char *credential, hpcb_error_t *err)
{
    (void)err;
    shared->opened++;
    if (strncmp(credential, "MUNGE:good", 10) != 0)
        return NULL;
    shared->good++;
    return strdup("{}");
}

char *hpcbd_seal(const char *text, size_t length, hpcb_error_t *err)
{
    (void)text;
    (void)length;
    hpcb_error(err, "no munged");
    return NULL;
}

static int udp_from(const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(inet_pton(AF_INET, address, &from.sin_addr), 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    return fd;
}

static void say(int fd, uint16_t port, const char *text)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof(to));
}

/* Both ends of a second are in it. */
START_TEST(who_has_no_key_does_not_keep_others_from_munged)
{
    hpcbd_peers_talk_t talk = {.state_dir = scratch_dir(), .count = 1};
    struct timespec while_ = {.tv_nsec = 20000000};
    int mallory, alice;
    pid_t talker;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    talk.port = (uint16_t)(20000 + getpid() % 20000);
    strcpy(talk.names[0], "127.0.0.9");
    talker = fork();
    if (talker == 0)
        _exit(hpcbd_peers_talk(&talk));
    mallory = udp_from("127.0.0.2");
    alice = udp_from("127.0.0.3");
    for (int i = 0; i < 100 && shared->good == 0; i++) {
        say(alice, talk.port, "MUNGE:good");
        nanosleep(&while_, NULL);
    }
    ck_assert_uint_gt(shared->good, 0);
    shared->opened = shared->good = 0;
    for (int i = 0; i < BAD; i++)
        say(mallory, talk.port, "MUNGE:bad");
    say(alice, talk.port, "MUNGE:good");
    for (int i = 0; i < 100 && shared->good == 0; i++)
        nanosleep(&while_, NULL);
    ck_assert_uint_eq(shared->good, 1);
    ck_assert_uint_le(shared->opened - shared->good, 20);
    kill(talker, SIGKILL);
    waitpid(talker, NULL, 0);
}
END_TEST

static hpcbd_origin_t origin(const char *text)
{
    struct sockaddr_in6 peer = {.sin6_family = AF_INET6, .sin6_port = htons(40000)};

    ck_assert_int_eq(inet_pton(AF_INET6, text, &peer.sin6_addr), 1);
    return hpcbd_origin_of(&peer);
}

static bool same(const char *a, const char *b)
{
    hpcbd_origin_t x = origin(a), y = origin(b);

    return memcmp(&x, &y, sizeof(x)) == 0;
}

START_TEST(addresses_of_one_network_are_one_origin)
{
    ck_assert(same("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"));
    ck_assert(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    ck_assert(same("::ffff:192.0.2.1", "::ffff:192.0.2.1"));
    ck_assert(!same("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peers");
    TCase *tc = scratch_case("peers");

    tcase_add_test(tc, a_peer_that_is_silent_stops_nobody);
    tcase_add_test(tc, another_list_counts_from_its_own_answers);
    tcase_add_test(tc, peers_that_never_answer_after_a_reload_stop_nobody);
    tcase_add_test(tc, one_wrong_clock_of_three_stops_nobody);
    tcase_add_test(tc, who_has_no_key_does_not_keep_others_from_munged);
    tcase_add_test(tc, addresses_of_one_network_are_one_origin);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
