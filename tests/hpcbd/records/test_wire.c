/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Frames, requests, answers, connections, and the spool of a node. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/records/spool.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

START_TEST(frames_have_limits)
{
    unsigned char header[HPCBD_FRAME_HEADER];
    size_t length = 7;

    hpcbd_frame_header(header, 12345);
    ck_assert_int_eq(hpcbd_frame_length(header, &length), 0);
    ck_assert_uint_eq(length, 12345);
    hpcbd_frame_header(header, 0);
    ck_assert_int_eq(hpcbd_frame_length(header, &length), -1);
    hpcbd_frame_header(header, HPCBD_FRAME_MAX + 1);
    ck_assert_int_eq(hpcbd_frame_length(header, &length), -1);
    hpcbd_frame_header(header, 1);
    header[3]++;
    ck_assert_int_eq(hpcbd_frame_length(header, &length), -1);
    ck_assert_uint_eq(length, 12345);
}
END_TEST

static char *print(hpcb_rjson_t *object)
{
    char *text = hpcb_rjson_print(object, "", NULL);

    json_object_put(object);
    return text;
}

START_TEST(a_request_is_read_back)
{
    char *record = collector_record(4, 0, 0, 1), *text;
    hpcb_rjson_t *made = hpcbd_request_new("abc");
    hpcbd_request_t request;

    ck_assert_int_eq(hpcbd_request_add(made, "4.n0.json", record, NULL), 0);
    ck_assert_int_eq(hpcbd_request_add(made, "x", "[]", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    text = print(made);
    ck_assert_int_eq(hpcbd_request_parse(text, &request, NULL), 0);
    ck_assert_uint_eq(request.count, 1);
    ck_assert_str_eq(request.nonce, "abc");
    ck_assert_str_eq(request.entries[0].id, "4.n0.json");
    json_object_put(request.object);
    free(text);
    free(record);
}
END_TEST

static const char *const no_requests[] = {
    "",
    "{}",
    "{\"version\":1,\"type\":\"records\",\"nonce\":\"a\"}",
    "{\"version\":2,\"type\":\"records\",\"nonce\":\"a\",\"records\":[]}",
    "{\"version\":1,\"type\":\"ack\",\"nonce\":\"a\",\"records\":[]}",
    "{\"version\":1,\"type\":\"records\",\"nonce\":\"a\",\"records\":[1]}",
    "{\"version\":1,\"type\":\"records\",\"nonce\":\"a\",\"records\":[{\"id\":\"../x\","
    "\"record\":{}}]}",
    "{\"version\":1,\"type\":\"records\",\"nonce\":\"a\",\"records\":[{\"id\":\"x\","
    "\"record\":[]}]}",
    "{\"version\":1,\"type\":\"records\",\"nonce\":"
    "\"012345678901234567890123456789012\","
    "\"records\":[]}",
};

START_TEST(what_is_no_request_is_refused)
{
    hpcbd_request_t request = {.count = 99};
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcbd_request_parse(no_requests[_i], &request, &err), -1);
    ck_assert_str_ne(err.text, "");
    ck_assert_uint_eq(request.count, 99);
}
END_TEST

static void note_id(const char *id, hpcbd_verdict_t verdict, void *arg)
{
    char *seen = arg;

    sprintf(seen + strlen(seen), "%s=%d ", id, (int)verdict);
}

START_TEST(an_answer_counts_for_its_own_request)
{
    hpcb_rjson_t *answer = hpcbd_answer_new("abc");
    char seen[256] = "", *text;

    ck_assert_int_eq(hpcbd_answer_add(answer, "a", HPCBD_KEPT), 0);
    ck_assert_int_eq(hpcbd_answer_add(answer, "b", HPCBD_REFUSED), 0);
    text = print(answer);
    ck_assert_int_eq(hpcbd_answer_parse(text, "abd", note_id, seen, NULL), -1);
    ck_assert_int_eq(hpcbd_answer_parse("{}", "abc", note_id, seen, NULL), -1);
    ck_assert_str_eq(seen, "");
    ck_assert_int_eq(hpcbd_answer_parse(text, "abc", note_id, seen, NULL), 0);
    ck_assert_str_eq(seen, "a=0 b=1 ");
    free(text);
}
END_TEST

/* Connections: a server that answers with what it got. */

static hpcb_loop_t *loop;
static hpcbd_conns_t *conns;

static int echo(void *arg, hpcbd_conn_t *conn, const char *frame)
{
    (void)arg;
    if (strcmp(frame, "close") == 0)
        return -1;
    if (strcmp(frame, "wait") != 0)
        hpcbd_conn_answer(conn, frame);
    return 0;
}

static void open_server(void)
{
    loop = hpcb_loop_new(NULL);
    conns = hpcbd_conns_open(loop, 0, echo, NULL, NULL);
    ck_assert_ptr_nonnull(conns);
}

static void close_server(void)
{
    hpcbd_conns_close(conns);
    hpcb_loop_free(loop);
}

static void run(int rounds)
{
    for (int i = 0; i < rounds; i++)
        ck_assert_int_eq(hpcb_loop_once(loop, 20, NULL), 0);
}

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(hpcbd_conns_port(conns)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 5};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static void send_frame(int fd, const char *text, size_t step)
{
    char frame[256];
    size_t length = strlen(text);

    hpcbd_frame_header((unsigned char *)frame, length);
    memcpy(frame + HPCBD_FRAME_HEADER, text, length);
    length += HPCBD_FRAME_HEADER;
    for (size_t sent = 0; sent < length; sent += step) {
        size_t n = length - sent < step ? length - sent : step;

        ck_assert_int_eq(send(fd, frame + sent, n, MSG_NOSIGNAL), (ssize_t)n);
        run(2);
    }
    run(3);
}

static void expect_frame(int fd, const char *text)
{
    char frame[256];
    size_t length = HPCBD_FRAME_HEADER + strlen(text);

    ck_assert_int_eq(recv(fd, frame, length, MSG_WAITALL), (ssize_t)length);
    ck_assert_mem_eq(frame + HPCBD_FRAME_HEADER, text, strlen(text));
}

static bool is_closed(int fd)
{
    char byte;

    run(3);
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

START_TEST(frames_come_in_any_pieces)
{
    int fd = dial();

    for (size_t step = 1; step < 20; step += 3) {
        send_frame(fd, "hello, world", step);
        expect_frame(fd, "hello, world");
    }
    ck_assert(!is_closed(fd));
    send_frame(fd, "close", 99);
    ck_assert(is_closed(fd));
    close(fd);
}
END_TEST

START_TEST(what_is_no_frame_ends_the_connection)
{
    int fd = dial();

    ck_assert_int_eq(send(fd, "GET / HTTP/1.1\r\n", 16, 0), 16);
    ck_assert(is_closed(fd));
    ck_assert_uint_eq(hpcbd_conns_stats(conns)->malformed, 1);
    close(fd);
}
END_TEST

START_TEST(silent_ones_make_room)
{
    static int fds[HPCBD_CONNS_MAX + 8];
    unsigned count = 0;
    int fd;

    /* Descriptors of both ends are in this process. */
    while (count < 400) {
        fds[count++] = dial();
        run(1);
    }
    fd = dial();
    send_frame(fd, "still served", 99);
    expect_frame(fd, "still served");
    while (count > 0)
        close(fds[--count]);
    run(3);
    close(fd);
}
END_TEST

START_TEST(one_that_waits_is_answered_later)
{
    int fd = dial();

    send_frame(fd, "wait", 99);
    ck_assert(!is_closed(fd));
    /* More input waits, too. */
    ck_assert_int_eq(send(fd, "HPB1", 4, 0), 4);
    run(3);
    ck_assert_uint_eq(hpcbd_conns_stats(conns)->frames, 1);
    close(fd);
    run(3);
}
END_TEST

/* The spool of a node. */

static void make_conf(hpcb_conf_t *conf)
{
    hpcb_conf_defaults(conf);
    snprintf(conf->spool_dir, sizeof(conf->spool_dir), "%s", scratch("spool"));
    snprintf(conf->state_dir, sizeof(conf->state_dir), "%s", scratch("state"));
}

/* place: "spool" or "state". */
static void put_record(const char *place, const char *name, uint32_t job_id)
{
    char path[128], *text = collector_record(job_id, 0, 0, 1);

    snprintf(path, sizeof(path), "%s/records/%s", place, name);
    put_file(scratch(path), text);
    free(text);
}

START_TEST(records_wait_in_two_places_and_go_to_sent)
{
    hpcb_conf_t conf;
    hpcbd_spool_t spool;
    hpcb_rjson_t *request;

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    put_record("spool", "4.n0.json", 4);
    put_record("state", "8.n0.json", 8);
    put_record("spool", "9.n0.json.tmpABCDEF", 9);
    request = hpcbd_request_new("a");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 2);
    hpcbd_spool_settle(&spool, "4.n0.json", HPCBD_KEPT);
    hpcbd_spool_settle(&spool, "8.n0.json", HPCBD_KEPT);
    hpcbd_spool_settle(&spool, "../../etc/passwd", HPCBD_KEPT);
    json_object_put(request);
    ck_assert_int_eq(access(scratch("spool/sent/4.n0.json"), F_OK), 0);
    ck_assert_int_eq(access(scratch("spool/sent/8.n0.json"), F_OK), 0);
    ck_assert_int_eq(count_entries(scratch("state/records")), 0);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 1);
}
END_TEST

START_TEST(a_record_that_was_replaced_meanwhile_is_sent_again)
{
    hpcb_conf_t conf;
    hpcbd_spool_t spool;
    hpcb_rjson_t *request;

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    put_record("spool", "4.n0.json", 4);
    request = hpcbd_request_new("a");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 1);
    ck_assert_int_eq(
        hpcb_file_replace(scratch("spool/records/4.n0.json"), "{}", 2, 0644, NULL), 0);
    hpcbd_spool_settle(&spool, "4.n0.json", HPCBD_KEPT);
    json_object_put(request);
    ck_assert_int_eq(access(scratch("spool/records/4.n0.json"), F_OK), 0);
}
END_TEST

START_TEST(what_can_never_be_sent_is_put_aside)
{
    hpcb_conf_t conf;
    hpcbd_spool_t spool;
    hpcb_rjson_t *request;
    static char longer[HPCB_RECORD_BYTES + 10];

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    memset(longer, ' ', sizeof(longer) - 1);
    put_file(scratch("spool/records/1.n0.json"), "{\"torn");
    put_file(scratch("spool/records/2.n0.json"), longer);
    put_file(scratch("spool/records/3.n0.json"), "");
    put_record("spool", "4.n0.json", 4);
    request = hpcbd_request_new("a");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 1);
    json_object_put(request);
    ck_assert_int_eq(count_entries(scratch("spool/refused")), 3);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 1);
}
END_TEST

START_TEST(what_a_killed_writer_left_goes_after_a_day)
{
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 86402},
                                    {.tv_sec = time(NULL) - 86402}};
    static const char *const names[] = {"1.n0.json.tmpaB3dEf", "1.n0.json.refused",
                                        "1.n0.json.tmp", "1.n0.json.tmpaB3dEfg"};
    hpcb_conf_t conf;
    hpcbd_spool_t spool;
    hpcb_rjson_t *request = hpcbd_request_new("a");
    char path[128];

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "spool/records/%s", names[i]);
        put_file(scratch(path), "{\"torn");
        ck_assert_int_eq(utimensat(AT_FDCWD, scratch(path), old, 0), 0);
    }
    put_file(scratch("spool/records/2.n0.json.tmpaB3dEf"), "{\"new");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 0);
    json_object_put(request);
    ck_assert_int_eq(access(scratch("spool/records/1.n0.json.tmpaB3dEf"), F_OK), -1);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 4);
}
END_TEST

START_TEST(a_batch_has_limits_and_all_get_their_turn)
{
    hpcb_conf_t conf;
    hpcbd_spool_t spool;
    int left = 300;

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    for (uint32_t job = 0; job < 300; job++) {
        char name[32];

        snprintf(name, sizeof(name), "%u.n0.json", job);
        put_record("spool", name, job);
    }
    while (left > 0) {
        hpcb_rjson_t *request = hpcbd_request_new("a");
        int count = hpcbd_spool_read(&spool, request, NULL);

        ck_assert_int_eq(count,
                         left < HPCBD_BATCH_RECORDS ? left : HPCBD_BATCH_RECORDS);
        for (int i = 0; i < count; i++) {
            char name[HPCBD_ID_MAX];

            memcpy(name, spool.waiting[i].name, sizeof(name));
            hpcbd_spool_settle(&spool, name, HPCBD_KEPT);
        }
        json_object_put(request);
        left -= count;
    }
    ck_assert_int_eq(count_entries(scratch("spool/sent")), 300);
}
END_TEST

START_TEST(the_last_thousand_that_were_sent_stay)
{
    hpcb_conf_t conf;
    hpcbd_spool_t spool;

    make_conf(&conf);
    hpcbd_spool_open(&spool, &conf);
    for (unsigned i = 0; i < HPCBD_SENT_KEPT + 300; i++) {
        char name[64];

        snprintf(name, sizeof(name), "spool/sent/%u.n0.json", i);
        put_file(scratch(name), "{}");
    }
    hpcbd_spool_prune(&spool);
    ck_assert_int_eq(count_entries(scratch("spool/sent")), HPCBD_SENT_KEPT);
    ck_assert_int_eq(access(scratch("spool/sent/1299.n0.json"), F_OK), 0);
}
END_TEST

/* A spool on a file system of its own, of 32 files that were sent and one that was not.
 * False where this user may not mount: nothing is tested then. */
static bool open_small_spool(hpcbd_spool_t *spool, const char *size)
{
    static hpcb_conf_t conf;

    make_conf(&conf);
    ck_assert_int_eq(mkdir(conf.spool_dir, 0755), 0);
    if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", conf.spool_dir, "tmpfs", 0, size))
        return false;
    hpcbd_spool_open(spool, &conf);
    for (unsigned i = 0; i < 32; i++) {
        char name[64];

        snprintf(name, sizeof(name), "spool/sent/%u.n0.json", i);
        put_file(scratch(name), "{}");
    }
    put_record("spool", "99.n0.json", 99);
    return true;
}

static long long bytes_of(const char *name)
{
    struct stat status;

    ck_assert_int_eq(lstat(scratch(name), &status), 0);
    return status.st_size;
}

/* Nothing fits any more. */
static void fill_spool(void)
{
    static const char zeros[4096];
    FILE *stream = fopen(scratch("spool/full"), "w");

    while (fwrite(zeros, sizeof(zeros), 1, stream) == 1 && fflush(stream) == 0)
        ;
    fclose(stream);
}

START_TEST(on_a_full_spool_what_was_sent_is_a_name)
{
    hpcb_error_t err = {""};
    hpcbd_spool_t spool;

    if (!open_small_spool(&spool, "size=256k,mode=755"))
        return;
    hpcbd_spool_prune(&spool);
    ck_assert_int_eq(bytes_of("spool/sent/0.n0.json"), 2);
    fill_spool();
    ck_assert_int_eq(
        hpcb_file_replace(scratch("spool/records/1.n0.json"), "{}", 2, 0640, &err), -1);
    hpcbd_spool_prune(&spool);
    ck_assert_int_eq(count_entries(scratch("spool/sent")), 32);
    for (unsigned i = 0; i < 32; i++) {
        char name[64];

        snprintf(name, sizeof(name), "spool/sent/%u.n0.json", i);
        ck_assert_int_eq(bytes_of(name), 0);
    }
    ck_assert_int_gt(bytes_of("spool/records/99.n0.json"), 2);
    ck_assert_msg(
        hpcb_file_replace(scratch("spool/records/1.n0.json"), "{}", 2, 0640, &err) == 0,
        "%s", err.text);
}
END_TEST

START_TEST(without_inodes_what_was_sent_goes)
{
    hpcbd_spool_t spool;

    if (!open_small_spool(&spool, "nr_inodes=38,mode=755"))
        return;
    hpcbd_spool_prune(&spool);
    ck_assert_int_eq(count_entries(scratch("spool/sent")), 0);
    ck_assert_int_gt(bytes_of("spool/records/99.n0.json"), 2);
}
END_TEST

/* It cannot be moved to the spool's file system: it stays, and is asked for once. */
START_TEST(what_waited_in_memory_and_is_refused_is_kept)
{
    hpcbd_spool_t spool;
    hpcb_rjson_t *request;

    if (!open_small_spool(&spool, "size=256k,mode=755"))
        return;
    put_record("state", "8.n0.json", 8);
    put_file(scratch("state/records/9.n0.json"), "{\"torn");
    request = hpcbd_request_new("a");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 2);
    json_object_put(request);
    hpcbd_spool_settle(&spool, "8.n0.json", HPCBD_REFUSED);
    ck_assert_int_gt(bytes_of("state/records/8.n0.json.refused"), 2);
    ck_assert_int_eq(bytes_of("state/records/9.n0.json.refused"), 6);
    request = hpcbd_request_new("b");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 1);
    json_object_put(request);
}
END_TEST

/* Where the spool was full, from another file system. */
START_TEST(what_waited_in_memory_leaves_its_name)
{
    hpcbd_spool_t spool;
    hpcb_rjson_t *request;

    if (!open_small_spool(&spool, "size=256k,mode=755"))
        return;
    fill_spool();
    put_record("state", "8.n0.json", 8);
    request = hpcbd_request_new("a");
    ck_assert_int_eq(hpcbd_spool_read(&spool, request, NULL), 2);
    json_object_put(request);
    hpcbd_spool_settle(&spool, "8.n0.json", HPCBD_KEPT);
    ck_assert_int_eq(count_entries(scratch("state/records")), 0);
    ck_assert_int_eq(bytes_of("spool/sent/8.n0.json"), 0);
}
END_TEST

static TCase *wire_case(void)
{
    TCase *test = scratch_case("wire");

    tcase_add_test(test, frames_have_limits);
    tcase_add_test(test, a_request_is_read_back);
    tcase_add_loop_test(test, what_is_no_request_is_refused, 0,
                        sizeof(no_requests) / sizeof(no_requests[0]));
    tcase_add_test(test, an_answer_counts_for_its_own_request);
    return test;
}

static TCase *conn_case(void)
{
    TCase *test = scratch_case("connections");

    tcase_add_checked_fixture(test, open_server, close_server);
    tcase_add_test(test, frames_come_in_any_pieces);
    tcase_add_test(test, what_is_no_frame_ends_the_connection);
    tcase_add_test(test, silent_ones_make_room);
    tcase_add_test(test, one_that_waits_is_answered_later);
    return test;
}

static TCase *spool_case(void)
{
    TCase *test = scratch_case("spool");

    tcase_add_test(test, records_wait_in_two_places_and_go_to_sent);
    tcase_add_test(test, a_record_that_was_replaced_meanwhile_is_sent_again);
    tcase_add_test(test, what_can_never_be_sent_is_put_aside);
    tcase_add_test(test, what_a_killed_writer_left_goes_after_a_day);
    tcase_add_test(test, a_batch_has_limits_and_all_get_their_turn);
    tcase_add_test(test, the_last_thousand_that_were_sent_stay);
    tcase_add_test(test, on_a_full_spool_what_was_sent_is_a_name);
    tcase_add_test(test, without_inodes_what_was_sent_goes);
    tcase_add_test(test, what_waited_in_memory_leaves_its_name);
    tcase_add_test(test, what_waited_in_memory_and_is_refused_is_kept);
    return test;
}

int main(void)
{
    Suite *suite = suite_create("collector wire");

    suite_add_tcase(suite, wire_case());
    suite_add_tcase(suite, conn_case());
    suite_add_tcase(suite, spool_case());
    return run_suite(suite);
}
