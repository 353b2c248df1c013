/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector with a munged that is slow, refuses, or hangs, and with a disk that is
 * slow or full: hpcbd/records/seal.c is not linked, its functions are here; linked with
 * --wrap for hpcb_store_commit.  Clients are a process of their own.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hpcbd/hpcbd.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/records/sealer.h"
#include "hpcbd/records/conn.h"
#include "hpcbd/records/wire.h"
#include "records/store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

#define MS_NS UINT64_C(1000000)

static const hpcbd_origin_t alice = {.address = {1}}, bob = {.address = {2}};

/* What all processes of a test share. */
static struct {
    unsigned munge_ms, opened, sealed;
    unsigned disk_ms, commits;
    bool disk_full;
    unsigned fsyncs; /* of loops_pid */
    unsigned binds;  /* to reserved ports, when there is none */
} * shared;

static pid_t loops_pid;
static bool no_reserved_port;

static hpcb_loop_t *loop;
static hpcbd_t hpcbd;

static void sleep_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

char *hpcbd_unseal(const char *credential, hpcb_error_t *err)
{
    shared->opened++;
    sleep_ms(shared->munge_ms);
    if (strncmp(credential, "root:", 5) == 0)
        return strdup(credential + 5);
    hpcb_error(err, "MUNGE: Invalid credential");
    errno = EPERM;
    return NULL;
}

char *hpcbd_seal(const char *text, size_t length, hpcb_error_t *err)
{
    char *credential = malloc(length + 6);

    (void)err;
    shared->sealed++;
    sleep_ms(shared->munge_ms);
    snprintf(credential, length + 6, "root:%s", text);
    return credential;
}

int __real_hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);
int __wrap_hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

int __wrap_hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    shared->commits++;
    sleep_ms(shared->disk_ms);
    if (!shared->disk_full)
        return __real_hpcb_store_commit(store, now_ms, err);
    hpcb_store_rollback(store);
    return hpcb_error(err, "database or disk is full");
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    shared->fsyncs += getpid() == loops_pid;
    return __real_fsync(fd);
}

int __real_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    if (!no_reserved_port)
        return __real_bind(fd, address, length);
    shared->binds++;
    errno = EADDRINUSE;
    return -1;
}

static void make_loop(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    loop = hpcb_loop_new(NULL);
    ck_assert_ptr_nonnull(loop);
}

static void free_loop(void)
{
    hpcb_loop_free(loop);
    munmap(shared, sizeof(*shared));
}

/* A port that was free. */
static uint16_t find_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void start_collector(unsigned munge_ms)
{
    hpcb_error_t err = {""};

    shared->munge_ms = munge_ms;
    hpcb_conf_defaults(&hpcbd.conf);
    hpcbd.loop = loop;
    snprintf(hpcbd.conf.collector_dir, sizeof(hpcbd.conf.collector_dir), "%s",
             scratch("collector"));
    hpcbd.conf.collector_port = find_port();
    ck_assert_msg(hpcbd_collector.start(&hpcbd, &err) == 0, "%s", err.text);
}

/* In a client. */

static int dial(const char *from, bool reserved)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)hpcbd.conf.collector_port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || inet_pton(AF_INET, from, &own.sin_addr) != 1 ||
        (reserved ? hpcbd_bind_reserved(fd, AF_INET)
                  : bind(fd, (struct sockaddr *)&own, sizeof(own))) ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)))
        _exit(3);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static int send_frame(int fd, const char *text)
{
    unsigned char header[HPCBD_FRAME_HEADER];
    size_t length = strlen(text);

    hpcbd_frame_header(header, length);
    return send(fd, header, sizeof(header), MSG_NOSIGNAL) == sizeof(header) &&
                   send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length
               ? 0
               : -1;
}

/* Send one record. */
static void send_record(int fd, uint32_t job_id)
{
    hpcb_rjson_t *request = hpcbd_request_new("abc");
    char *record = collector_record(job_id, 0, 0, 1), *text, frame[4096] = "root:";

    hpcbd_request_add(request, "a", record, NULL);
    text = hpcb_rjson_print(request, "", NULL);
    strncat(frame, text, sizeof(frame) - 6);
    json_object_put(request);
    free(record);
    free(text);
    (void)send_frame(fd, frame);
}

/* Whether what was sent is acknowledged. */
static bool is_answered(int fd)
{
    char frame[4096];
    ssize_t n = recv(fd, frame, sizeof(frame) - 1, 0);

    close(fd);
    frame[n > 0 ? n : 0] = '\0';
    return n > HPCBD_FRAME_HEADER &&
           strstr(frame + HPCBD_FRAME_HEADER, "\"kept\":[\"a\"]") != NULL;
}

static bool is_taken(const char *from, bool reserved, uint32_t job_id)
{
    int fd = dial(from, reserved);

    send_record(fd, job_id);
    return is_answered(fd);
}

/* The same for count records at once, over connections of their own. */
static bool are_taken(const char *from, uint32_t first_job, uint32_t count)
{
    int *fds = calloc(count, sizeof(*fds));
    uint32_t taken = 0;

    for (uint32_t i = 0; i < count; i++) {
        fds[i] = dial(from, false);
        send_record(fds[i], first_job + i);
    }
    for (uint32_t i = 0; i < count; i++)
        taken += is_answered(fds[i]);
    free(fds);
    return taken == count;
}

/* Send what munged refuses over many connections at once, for ever. */
static void __attribute__((noreturn)) flood(const char *from)
{
    enum { CONNS = 100 };
    static int fds[CONNS];

    for (;;) {
        for (int i = 0; i < CONNS; i++) {
            fds[i] = dial(from, false);
            (void)send_frame(fds[i], "MUNGE:rubbish:");
        }
        sleep_ms(50);
        for (int i = 0; i < CONNS; i++)
            close(fds[i]);
    }
}

static pid_t fork_client(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* Run the loop until the client ends; its exit status. */
static int run_until_end(pid_t client)
{
    int status;

    while (waitpid(client, &status, WNOHANG) == 0)
        ck_assert_int_eq(hpcb_loop_once(loop, 10, NULL), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void end_client(pid_t client)
{
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
}

/* The longest turn of the loop in ns while one record is acknowledged in the middle of
 * a flood, and munged takes 50 ms for each call. */
static uint64_t longest_turn(uint32_t job_id)
{
    static hpcb_histogram_t turns;
    pid_t enemy = fork_client(), node;
    int status;

    if (enemy == 0)
        flood("127.0.0.66");
    node = fork_client();
    if (node == 0) {
        sleep_ms(100);
        _exit(is_taken("127.0.0.2", false, job_id) ? 0 : 1);
    }
    turns = (hpcb_histogram_t){.count = 0};
    hpcb_loop_note_turns(loop, &turns);
    status = run_until_end(node);
    end_client(enemy);
    ck_assert_int_eq(status, 0);
    return turns.max_ns;
}

/* A machine that is busy with other things makes some turns longer; a loop that waits
 * for munged has long ones whenever it is looked at. */
START_TEST(a_slow_munged_does_not_keep_the_loop)
{
    uint64_t best = UINT64_MAX;

    start_collector(50);
    for (uint32_t round = 0; round < 8 && best > 10 * MS_NS; round++) {
        uint64_t longest = longest_turn(4 + round);

        best = longest < best ? longest : best;
    }
    ck_assert_uint_le(best, 10 * MS_NS);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

START_TEST(refused_credentials_are_few_per_second)
{
    pid_t enemy, node;
    uint64_t start = hpcbd_now_ms(), seconds;

    start_collector(1);
    enemy = fork_client();
    if (enemy == 0)
        flood("127.0.0.66");
    node = fork_client();
    if (node == 0) {
        sleep_ms(2500);
        _exit(is_taken("127.0.0.2", false, 4) ? 0 : 1);
    }
    ck_assert_int_eq(run_until_end(node), 0);
    seconds = hpcbd_now_ms() / 1000 - start / 1000 + 1;
    end_client(enemy);
    ck_assert_uint_gt(shared->opened, 10);
    ck_assert_uint_le(shared->opened, 10 * seconds + 1);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

/* Each node's daemon has a port of root's, or the flood would keep out records of its
 * own node. */
START_TEST(users_of_a_node_do_not_keep_its_daemon_out)
{
    pid_t enemy, node;

    if (geteuid() != 0)
        return;
    start_collector(1);
    enemy = fork_client();
    if (enemy == 0)
        flood("127.0.0.1");
    node = fork_client();
    if (node == 0) {
        sleep_ms(500);
        for (uint32_t job_id = 4; job_id < 14; job_id++)
            if (!is_taken("127.0.0.1", true, job_id))
                _exit(1);
        _exit(0);
    }
    ck_assert_int_eq(run_until_end(node), 0);
    end_client(enemy);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

/* The longest turn of the loop in ns while clients send a record each and the disk
 * takes 300 ms for a commit. */
static uint64_t longest_turn_of_disk(uint32_t first_job)
{
    enum { CLIENTS = 40 };
    static hpcb_histogram_t turns;
    pid_t clients[CLIENTS];

    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = fork_client();
        if (clients[i] == 0)
            _exit(is_taken("127.0.0.2", false, first_job + i) ? 0 : 1);
    }
    turns = (hpcb_histogram_t){.count = 0};
    hpcb_loop_note_turns(loop, &turns);
    for (uint32_t i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(run_until_end(clients[i]), 0);
    return turns.max_ns;
}

START_TEST(a_slow_disk_does_not_keep_the_loop_and_requests_share_commits)
{
    collector_totals_t totals;
    uint64_t best = UINT64_MAX;
    uint32_t rounds = 0;

    start_collector(0);
    shared->disk_ms = 300;
    for (; rounds < 5 && best > 10 * MS_NS; rounds++) {
        uint64_t longest = longest_turn_of_disk(100 * (rounds + 1));

        best = longest < best ? longest : best;
    }
    ck_assert_uint_le(best, 10 * MS_NS);
    ck_assert_uint_le(shared->commits, 15 * rounds);
    hpcbd_collector.stop(&hpcbd);
    collector_totals(hpcbd.conf.collector_dir, &totals);
    ck_assert_uint_eq(totals.runs, 40 * rounds);
}
END_TEST

/* What the collector itself writes while records come, statistics and the live state of
 * nodes: a disk that takes its time for that would keep everybody. */
START_TEST(the_loop_waits_for_no_disk)
{
    pid_t client;

    start_collector(0);
    loops_pid = getpid();
    shared->fsyncs = 0;
    client = fork_client();
    if (client == 0)
        _exit(is_taken("127.0.0.2", false, 7) ? 0 : 1);
    ck_assert_int_eq(run_until_end(client), 0);
    for (int i = 0; i < 50 && access(scratch("collector/stats.json"), F_OK); i++) {
        kill(getpid(), SIGUSR1);
        ck_assert_int_eq(hpcb_loop_once(loop, 100, NULL), 0);
    }
    ck_assert_int_eq(access(scratch("collector/stats.json"), F_OK), 0);
    ck_assert_uint_eq(shared->fsyncs, 0);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

/* Services hold them all, or connections that have just ended. */
START_TEST(without_a_reserved_port_records_go_all_the_same)
{
    pid_t client;

    start_collector(0);
    client = fork_client();
    if (client == 0) {
        hpcb_conf_t conf = hpcbd.conf;
        int fd;

        strcpy(conf.collector_hosts, "127.0.0.1");
        no_reserved_port = true;
        fd = hpcbd_ship_connect(&conf, 20, NULL);
        if (fd < 0 || shared->binds < 100)
            _exit(3);
        send_record(fd, 8);
        _exit(is_answered(fd) ? 0 : 1);
    }
    ck_assert_int_eq(run_until_end(client), 0);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

/* More requests than may wait for the disk: the rest waits in the network. */
START_TEST(many_requests_wait_and_none_is_lost)
{
    enum { CLIENTS = 6, EACH = 50 };
    collector_totals_t totals;
    pid_t clients[CLIENTS];
    char from[32];

    start_collector(0);
    shared->disk_ms = 500;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        snprintf(from, sizeof(from), "127.0.0.%u", 10 + i);
        clients[i] = fork_client();
        if (clients[i] == 0)
            _exit(are_taken(from, 1 + EACH * i, EACH) ? 0 : 1);
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(run_until_end(clients[i]), 0);
    hpcbd_collector.stop(&hpcbd);
    collector_totals(hpcbd.conf.collector_dir, &totals);
    ck_assert_uint_eq(totals.runs, CLIENTS * EACH);
}
END_TEST

START_TEST(a_full_disk_acknowledges_nothing)
{
    collector_totals_t totals;
    pid_t node;

    start_collector(0);
    for (int round = 0; round < 3; round++) {
        shared->disk_full = round < 2;
        node = fork_client();
        if (node == 0)
            _exit(is_taken("127.0.0.2", false, 4) ? 0 : 1);
        ck_assert_int_eq(run_until_end(node), shared->disk_full);
    }
    hpcbd_collector.stop(&hpcbd);
    collector_totals(hpcbd.conf.collector_dir, &totals);
    ck_assert_uint_eq(totals.runs, 1);
}
END_TEST

/* The process of this one's children that has that name. */
static pid_t find_child(const char *name)
{
    char path[128], text[4096], comm[64];
    FILE *stream;
    pid_t found = 0;

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)getpid(),
             (long)getpid());
    stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    text[fread(text, 1, sizeof(text) - 1, stream)] = '\0';
    fclose(stream);
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
        snprintf(path, sizeof(path), "/proc/%s/comm", word);
        stream = fopen(path, "r");
        if (stream && fgets(comm, sizeof(comm), stream) &&
            strncmp(comm, name, strlen(name)) == 0)
            found = (pid_t)atol(word);
        if (stream)
            fclose(stream);
    }
    ck_assert_int_gt(found, 0);
    return found;
}

/* The keeper is killed: what was not acknowledged is sent again to the next one. */
START_TEST(a_keeper_that_ends_is_replaced)
{
    uint64_t start;
    pid_t node;
    int status = 1;

    start_collector(0);
    shared->disk_ms = 1000;
    node = fork_client();
    if (node == 0)
        _exit(is_taken("127.0.0.2", false, 4) ? 0 : 1);
    while (shared->commits == 0)
        ck_assert_int_eq(hpcb_loop_once(loop, 10, NULL), 0);
    kill(find_child("hpcbd: keeper"), SIGKILL);
    ck_assert_int_eq(run_until_end(node), 1);
    shared->disk_ms = 0;
    start = hpcbd_now_ms();
    while (status && hpcbd_now_ms() < start + 20000) {
        node = fork_client();
        if (node == 0)
            _exit(is_taken("127.0.0.2", false, 4) ? 0 : 1);
        status = run_until_end(node);
    }
    ck_assert_int_eq(status, 0);
    hpcbd_collector.stop(&hpcbd);
}
END_TEST

/* The sealer by itself. */

static unsigned ended;
static char results[256];

static void note(void *arg, const char *text, int error, const char *why)
{
    const char *name = arg;
    size_t used = strlen(results);

    (void)why;
    ended++;
    snprintf(results + used, sizeof(results) - used, "%s=%s ", name,
             text              ? text
             : error == EPERM  ? "EPERM"
             : error == EAGAIN ? "EAGAIN"
                               : "?");
}

static char *shout(const char *text, hpcb_error_t *err)
{
    sleep_ms(1);
    if (strcmp(text, "hang") == 0)
        sleep_ms(3600000);
    if (strcmp(text, "end") == 0)
        _exit(1);
    if (strcmp(text, "bad") != 0)
        return strdup(text);
    errno = EPERM;
    hpcb_error(err, "bad");
    return NULL;
}

/* An answer is waited for so long: a busy machine may take its time. */
#define PATIENCE_MS 10000

static hpcbd_sealer_t *start_sealer(unsigned answer_ms)
{
    hpcb_error_t err = {""};
    hpcbd_sealer_t *sealer =
        hpcbd_sealer_start(loop, "test: seal", shout, answer_ms, &err);

    ck_assert_msg(sealer != NULL, "%s", err.text);
    ended = 0;
    results[0] = '\0';
    return sealer;
}

static hpcbd_call_t *ask(hpcbd_sealer_t *sealer, const hpcbd_origin_t *origin,
                         const char *text, char *name)
{
    return hpcbd_sealer_call(sealer, origin, text, note, name);
}

static void run_until_ended(unsigned calls)
{
    for (int i = 0; ended < calls && i < 500; i++)
        ck_assert_int_eq(hpcb_loop_once(loop, 20, NULL), 0);
    ck_assert_uint_eq(ended, calls);
}

START_TEST(origins_take_turns)
{
    hpcbd_sealer_t *sealer = start_sealer(PATIENCE_MS);

    ask(sealer, &alice, "x", "a");
    ask(sealer, &alice, "bad", "b");
    ask(sealer, &alice, "", "c");
    ask(sealer, &bob, "y", "d");
    ask(sealer, &bob, "z", "e");
    ck_assert_uint_eq(hpcbd_sealer_waiting(sealer, &alice), 2);
    ck_assert_uint_eq(ended, 0);
    run_until_ended(5);
    ck_assert_str_eq(results, "a=x d=y b=EPERM e=z c= ");
    hpcbd_sealer_stop(sealer);
}
END_TEST

START_TEST(a_cancelled_call_is_not_heard_of)
{
    hpcbd_sealer_t *sealer = start_sealer(PATIENCE_MS);
    char *text = strdup("x");
    hpcbd_call_t *first = ask(sealer, &alice, text, "a"),
                 *second = ask(sealer, &alice, text, "b");

    ask(sealer, &alice, "y", "c");
    hpcbd_call_cancel(first);
    hpcbd_call_cancel(second);
    free(text);
    run_until_ended(1);
    ck_assert_str_eq(results, "c=y ");
    ask(sealer, &alice, "z", "d");
    hpcbd_sealer_stop(sealer);
}
END_TEST

static const char *const mishaps[] = {"hang", "end"};

START_TEST(who_hangs_or_ends_is_replaced)
{
    hpcbd_sealer_t *sealer = start_sealer(200);
    uint64_t start = hpcbd_now_ms();

    ask(sealer, &alice, mishaps[_i], "a");
    ask(sealer, &bob, "x", "b");
    run_until_ended(2);
    ck_assert_str_eq(results, "a=EAGAIN b=EAGAIN ");
    ck_assert_ptr_null(ask(sealer, &alice, "x", "c"));
    while (hpcbd_now_ms() < start + 10000 && !ask(sealer, &alice, "x", "d"))
        ck_assert_int_eq(hpcb_loop_once(loop, 100, NULL), 0);
    run_until_ended(3);
    ck_assert_str_eq(results, "a=EAGAIN b=EAGAIN d=x ");
    hpcbd_sealer_stop(sealer);
}
END_TEST

/* Longer than what the socket takes at once. */
START_TEST(long_texts_go_through)
{
    hpcbd_sealer_t *sealer = start_sealer(PATIENCE_MS);
    char *text = malloc(HPCBD_SEALER_MAX + 2);

    memset(text, 'x', HPCBD_SEALER_MAX + 1);
    text[HPCBD_SEALER_MAX + 1] = '\0';
    ck_assert_ptr_null(ask(sealer, &alice, text, "a"));
    text[HPCBD_SEALER_MAX] = '\0';
    ck_assert_ptr_nonnull(ask(sealer, &alice, text, "a"));
    run_until_ended(1);
    ck_assert_mem_eq(results, "a=xxxxxxx", 9);
    hpcbd_sealer_stop(sealer);
    free(text);
}
END_TEST

static TCase *make_case(const char *name)
{
    TCase *test = scratch_case(name);

    tcase_add_checked_fixture(test, make_loop, free_loop);
    return test;
}

int main(void)
{
    Suite *suite = suite_create("collector and munged");
    TCase *timed = make_case("how long a turn takes"),
          *collector = make_case("collector"), *sealer = make_case("sealer");

    tcase_set_tags(timed, "timed");
    tcase_set_timeout(timed, 60);
    tcase_add_test(timed, a_slow_munged_does_not_keep_the_loop);
    tcase_add_test(timed,
                   a_slow_disk_does_not_keep_the_loop_and_requests_share_commits);
    tcase_add_test(collector, refused_credentials_are_few_per_second);
    tcase_add_test(collector, users_of_a_node_do_not_keep_its_daemon_out);
    tcase_set_timeout(collector, 60);
    tcase_add_test(collector, the_loop_waits_for_no_disk);
    tcase_add_test(collector, without_a_reserved_port_records_go_all_the_same);
    tcase_add_test(collector, many_requests_wait_and_none_is_lost);
    tcase_add_test(collector, a_full_disk_acknowledges_nothing);
    tcase_add_test(collector, a_keeper_that_ends_is_replaced);
    tcase_add_test(sealer, origins_take_turns);
    tcase_add_test(sealer, a_cancelled_call_is_not_heard_of);
    tcase_add_loop_test(sealer, who_hangs_or_ends_is_replaced, 0,
                        sizeof(mishaps) / sizeof(mishaps[0]));
    tcase_add_test(sealer, long_texts_go_through);
    suite_add_tcase(suite, timed);
    suite_add_tcase(suite, collector);
    suite_add_tcase(suite, sealer);
    return run_suite(suite);
}
