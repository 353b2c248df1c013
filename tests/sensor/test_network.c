/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The network sensor against real interfaces: a veth pair between two network
 * namespaces, loads at ten rates, and what the interface itself has counted.  For root
 * on a machine with BPF and a cgroup2 mount beside v1.
 */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "sensor/rows.h"
#include "tests/cgroup/real_kernel.h"

#define PORT     7777
#define RATES    10
#define RUN_MS   250
#define DATAGRAM 1400
#define ETHERNET 14 /* bytes of a frame that are no IP packet */

static const char *const here = "10.77.0.1", *const there = "10.77.0.2";

typedef struct {
    uint64_t rx, tx;
} bytes_t;

/* A command of the test's machine; it must succeed. */
static void run(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

static struct sockaddr_in address(const char *host)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};

    inet_pton(AF_INET, host, &to.sin_addr);
    return to;
}

static int listening(int type)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ||
        (type == SOCK_STREAM && listen(fd, 4) < 0))
        abort();
    return fd;
}

/* Swallow everything that comes, until killed. */
static void sink(int type)
{
    static char buffer[1 << 18];
    int fd = listening(type);

    for (;;) {
        int peer = type == SOCK_STREAM ? accept(fd, NULL, NULL) : fd;

        while (recv(peer, buffer, sizeof(buffer), 0) > 0)
            ;
        if (peer != fd)
            close(peer);
    }
}

/* A process in a network namespace of its own; byte tells when it is ready. */
static pid_t other_host(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = real_fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNET) < 0)
            _exit(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Enter a namespace of the caller's own with a veth to that of process other. */
static void connect_hosts(pid_t other)
{
    char command[512];

    ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
    snprintf(command, sizeof(command),
             "ip link set lo up && ip link add v0 type veth peer name v1 netns %d && "
             "ip address add %s/24 dev v0 && ip link set v0 up && "
             "nsenter -t %d -n sh -c 'ip link set lo up; "
             "ip address add %s/24 dev v1; ip link set v1 up'",
             (int)other, here, (int)other, there);
    run(command);
}

/* The caller, a child, enters the network namespace of process other. */
static void enter_network(pid_t other)
{
    char path[64];
    FILE *ns;

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)other);
    ns = fopen(path, "r");
    if (!ns || setns(fileno(ns), CLONE_NEWNET) < 0)
        _exit(1);
    fclose(ns);
}

/* A sink in the namespace of process other. */
static pid_t sink_there(pid_t other, int type)
{
    pid_t pid = real_fork();

    if (pid != 0)
        return pid;
    enter_network(other);
    sink(type);
    return 0;
}

/* What interface v0 has moved, Ethernet headers taken off. */
static bytes_t interface(void)
{
    unsigned long long rx, rx_packets, tx, tx_packets;
    FILE *file = fopen("/proc/thread-self/net/dev", "r");
    bytes_t found = {0};
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, " v0: %llu %llu %*u %*u %*u %*u %*u %*u %llu %llu", &rx,
                   &rx_packets, &tx, &tx_packets) == 4)
            found = (bytes_t){rx - ETHERNET * rx_packets, tx - ETHERNET * tx_packets};
    }
    if (file)
        fclose(file);
    return found;
}

static int connected(int type, const char *host)
{
    const struct sockaddr_in to = address(host);
    int fd = socket(AF_INET, type, 0);

    for (int i = 0; i < 200; i++) {
        if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
            return fd;
        real_sleep_ms(10);
    }
    return -1;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whether pages are handed to the socket (splice) instead of being copied. */
static bool splices;

static ssize_t spliced(int fd, const char *buffer, size_t n)
{
    static int ends[2] = {-1, -1};
    ssize_t done;

    if (ends[0] < 0 && pipe(ends) < 0)
        return -1;
    /* A pipe takes a page at least. */
    done = write(ends[1], buffer, n < 4096 ? n : 4096);
    return done > 0 ? splice(ends[0], NULL, fd, NULL, (size_t)done, 0) : done;
}

/* Send at rate bytes a second for RUN_MS, to the last byte: what were still under way
 * would be counted by whoever is asked later.  Returns the bytes of payload. */
static uint64_t load(int type, const char *host, double rate)
{
    const struct linger until_sent = {.l_onoff = 1, .l_linger = 60};
    static char buffer[1 << 16];
    int fd = connected(type, host);
    size_t most = type == SOCK_STREAM ? sizeof(buffer) : DATAGRAM;
    double start = seconds(), end = start + RUN_MS / 1000.0;
    uint64_t sent = 0;

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &until_sent, sizeof(until_sent)) < 0)
        _exit(1);
    for (double now = start; now < end; now = seconds()) {
        double due = (now - start) * rate - (double)sent;
        ssize_t done = 0;

        if (due > 0)
            done = splices ? spliced(fd, buffer, most) : send(fd, buffer, most, 0);

        if (done > 0)
            sent += (uint64_t)done;
        else
            real_sleep_ms(1);
    }
    close(fd);
    return sent;
}

/* The load in a process that enters group first, as a task of a job does. */
static uint64_t load_in(const char *group, int type, const char *host, double rate)
{
    uint64_t *sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = real_fork();
    uint64_t result;
    int status;

    if (pid == 0) {
        if (hpcb_knob_write(group, "cgroup.procs", "0", NULL) < 0)
            _exit(1);
        *sent = load(type, host, rate);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    result = *sent;
    munmap(sent, sizeof(*sent));
    return result;
}

static bytes_t measured(void *handle)
{
    uint64_t values[HPCB_FIGURES] = {0};
    hpcb_error_t err;

    ck_assert_msg(hpcb_sensor_network.sample(handle, values, &err) == 0, "%s",
                  err.text);
    return (bytes_t){values[HPCB_FIGURE_NETWORK_RX], values[HPCB_FIGURE_NETWORK_TX]};
}

typedef struct {
    hpcb_node_t *node;
    char group[128], task[160];
    void *handle;
    pid_t other, sink;
} bed_t;

/* False, with a line, where this machine cannot do it. */
static bool start(bed_t *bed, int type)
{
    hpcb_error_t err;
    hpcb_sensor_job_t job = {.job_id = 5, .dir = bed->group};

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return false;
    }
    ck_assert_int_eq(hpcb_node_open("/", &bed->node, NULL), 0);
    if (hpcb_sensor_network.probe(bed->node, &err) < 0) {
        fprintf(stderr, "# skipped: %s\n", err.text);
        hpcb_node_close(bed->node);
        return false;
    }
    job.node = bed->node;
    snprintf(bed->group, sizeof(bed->group), "%s/job",
             hpcb_node_mount(bed->node, HPCB_CTL_UNIFIED));
    snprintf(bed->task, sizeof(bed->task), "%s/0.0", bed->group);
    ck_assert_int_eq(hpcb_knob_mkdir(bed->group, "", NULL), 0);
    ck_assert_int_eq(hpcb_knob_mkdir(bed->task, "", NULL), 0);
    bed->other = other_host();
    connect_hosts(bed->other);
    bed->sink = sink_there(bed->other, type);
    ck_assert_msg(hpcb_sensor_network.open(&job, &bed->handle, &err) == 0, "%s",
                  err.text);
    return true;
}

static void stop(bed_t *bed)
{
    if (bed->handle)
        hpcb_sensor_network.close(bed->handle);
    real_reap(bed->sink);
    real_reap(bed->other);
    hpcb_node_close(bed->node);
}

/* The kernel of the other side sends a few packets of its own: neighbours, groups. */
#define OF_THE_KERNEL 1000

static void expect_within(double percent, uint64_t found, uint64_t truth)
{
    double off = ((double)found - (double)truth) / (double)truth * 100;
    bool close = found + OF_THE_KERNEL >= truth && found <= truth + OF_THE_KERNEL;

    ck_assert_msg(close || (off <= percent && off >= -percent),
                  "%llu bytes instead of %llu: %+.2f %%", (unsigned long long)found,
                  (unsigned long long)truth, off);
}

/* What the sensor has counted since before, when all that a program has written to a
 * stream has left: at the program's end a part of it waits in the kernel. */
static uint64_t sent_since(const bed_t *bed, const bytes_t *before, uint64_t written)
{
    uint64_t found = 0;

    for (int i = 0; i < 1000 && found < written; i++) {
        found = measured(bed->handle).tx - before->tx;
        if (found < written)
            usleep(10000);
    }
    ck_assert_uint_ge(found, written);
    return found;
}

/* A link that is up drops what is sent until the kernel has noticed, and a neighbour
 * has to answer first. */
static void wait_until_it_sends(void)
{
    char data[DATAGRAM] = "";
    uint64_t before = interface().tx;
    int fd = connected(SOCK_DGRAM, there);

    for (int i = 0; i < 1000 && interface().tx < before + sizeof(data); i++) {
        send(fd, data, sizeof(data), 0);
        usleep(10000);
    }
    close(fd);
}

static void ten_rates(int type)
{
    bed_t bed = {0};

    if (!start(&bed, type))
        return;
    if (type == SOCK_DGRAM)
        wait_until_it_sends();
    for (int i = 0; i < RATES; i++) {
        double rate = 1e6 * (double)(1 << i);
        bytes_t wire = interface(), count = measured(bed.handle);
        uint64_t sent = load_in(bed.task, type, there, rate);
        uint64_t found = sent_since(&bed, &count, sent);
        uint64_t truth = interface().tx - wire.tx;

        fprintf(stderr, "# %s %6.0f MB/s: sent %llu, interface %llu, sensor %llu\n",
                type == SOCK_STREAM ? "TCP" : "UDP", rate / 1e6,
                (unsigned long long)sent, (unsigned long long)truth,
                (unsigned long long)found);
        expect_within(2, found, truth);
        /* The headers of a datagram of 1400 bytes are 2.0 % of it; those of a stream's
         * segments are as many as these are small. */
        if (type == SOCK_DGRAM)
            expect_within(2.1, found, sent);
    }
    stop(&bed);
}

START_TEST(counts_tcp_at_ten_rates)
{
    ten_rates(SOCK_STREAM);
}
END_TEST

START_TEST(counts_udp_at_ten_rates)
{
    ten_rates(SOCK_DGRAM);
}
END_TEST

START_TEST(splice_hides_nothing)
{
    bed_t bed = {0};
    bytes_t wire, count;
    uint64_t sent, truth, found;

    if (!start(&bed, SOCK_STREAM))
        return;
    wire = interface();
    count = measured(bed.handle);
    splices = true;
    sent = load_in(bed.task, SOCK_STREAM, there, 3e7);
    splices = false;
    found = sent_since(&bed, &count, sent);
    truth = interface().tx - wire.tx;
    fprintf(stderr, "# spliced: sent %llu, interface %llu, sensor %llu\n",
            (unsigned long long)sent, (unsigned long long)truth,
            (unsigned long long)found);
    ck_assert_uint_gt(sent, 1000000);
    expect_within(2, found, truth);
    stop(&bed);
}
END_TEST

#define HIDDEN 2000 /* datagrams */

/* Not faster than the other side takes them. */
static void send_all(int fd, const struct sockaddr *to, socklen_t length)
{
    static char data[DATAGRAM];

    for (int i = 0; i < HIDDEN; i++) {
        while (sendto(fd, data, sizeof(data), 0, to, length) < 0) {
            if (errno != ENOBUFS)
                _exit(2);
            usleep(1000);
        }
        if (i % 50 == 49)
            usleep(1000);
    }
}

static void enter(const char *group)
{
    if (hpcb_knob_write(group, "cgroup.procs", "0", NULL) < 0)
        _exit(1);
}

/* A socket that was made outside: handed in, or its process was moved into the job. */
static void send_by_a_socket_of_before(const char *group)
{
    int fd = connected(SOCK_DGRAM, there);

    enter(group);
    send_all(fd, NULL, 0);
}

static void send_frames(const char *group)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_IP),
                             .sll_ifindex = (int)if_nametoindex("v0"),
                             .sll_halen = ETH_ALEN};

    memset(to.sll_addr, 0xff, ETH_ALEN);
    enter(group);
    send_all(socket(AF_PACKET, SOCK_DGRAM, 0), (struct sockaddr *)&to, sizeof(to));
}

/* Who is outside sends what the task tells it. */
static void send_by_a_helper(const char *group)
{
    char data[DATAGRAM];
    pid_t helper;
    int ends[2], fd;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
        _exit(1);
    helper = fork();
    if (helper == 0) {
        close(ends[0]);
        fd = connected(SOCK_DGRAM, there);
        while (recv(ends[1], data, sizeof(data), 0) > 0)
            send(fd, data, sizeof(data), 0);
        _exit(0);
    }
    close(ends[1]);
    enter(group);
    send_all(ends[0], NULL, 0);
    close(ends[0]);
    waitpid(helper, NULL, 0);
}

static void (*const ways_to_hide[])(const char *group) = {
    send_by_a_socket_of_before,
    send_frames,
    send_by_a_helper,
};

static void *open_other_job(const bed_t *bed)
{
    char group[128];
    hpcb_sensor_job_t job = {.node = bed->node, .job_id = 6, .dir = group};
    hpcb_error_t err;
    void *handle;

    snprintf(group, sizeof(group), "%s/job6",
             hpcb_node_mount(bed->node, HPCB_CTL_UNIFIED));
    ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
    ck_assert_msg(hpcb_sensor_network.open(&job, &handle, &err) == 0, "%s", err.text);
    return handle;
}

/* As hpcbd(8) says: it is missing in the job's figure, and in no other. */
START_TEST(what_is_hidden_is_nobodys)
{
    bed_t bed = {0};
    bytes_t wire;
    void *other;
    pid_t task;
    int status;

    if (!start(&bed, SOCK_DGRAM))
        return;
    other = open_other_job(&bed);
    wait_until_it_sends();
    wire = interface();
    task = real_fork();
    if (task == 0) {
        ways_to_hide[_i](bed.task);
        _exit(0);
    }
    waitpid(task, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_ge(interface().tx - wire.tx, HIDDEN * DATAGRAM);
    ck_assert_uint_le(measured(bed.handle).tx, OF_THE_KERNEL);
    ck_assert_uint_eq(measured(other).tx, 0);
    ck_assert_uint_eq(measured(other).rx, 0);
    hpcb_sensor_network.close(other);
    stop(&bed);
}
END_TEST

START_TEST(counts_what_comes_in)
{
    bed_t bed = {0};
    bytes_t wire;
    pid_t task, sender;
    int status;

    if (!start(&bed, SOCK_STREAM))
        return;
    wire = interface();
    task = real_fork();
    if (task == 0) {
        if (hpcb_knob_write(bed.task, "cgroup.procs", "0", NULL) < 0)
            _exit(1);
        sink(SOCK_STREAM);
    }
    sender = real_fork();
    if (sender == 0) {
        enter_network(bed.other);
        _exit(load(SOCK_STREAM, here, 5e7) == 0);
    }
    waitpid(sender, &status, 0);
    ck_assert_int_eq(status, 0);
    expect_within(2, measured(bed.handle).rx, interface().rx - wire.rx);
    expect_within(2, measured(bed.handle).tx, interface().tx - wire.tx);
    real_reap(task);
    stop(&bed);
}
END_TEST

START_TEST(leaves_loopback_and_other_groups_out)
{
    bed_t bed = {0};
    pid_t own;

    if (!start(&bed, SOCK_STREAM))
        return;
    own = real_fork();
    if (own == 0)
        sink(SOCK_STREAM);
    load_in(bed.task, SOCK_STREAM, "127.0.0.1", 1e8);
    load_in(bed.task, SOCK_STREAM, here, 1e8);
    load_in(hpcb_node_mount(bed.node, HPCB_CTL_UNIFIED), SOCK_STREAM, there, 1e8);
    ck_assert_uint_eq(measured(bed.handle).tx, 0);
    ck_assert_uint_eq(measured(bed.handle).rx, 0);
    real_reap(own);
    stop(&bed);
}
END_TEST

/* Programs at the group, as bpf(2) says. */
static unsigned attached(const char *group);

START_TEST(leaves_nothing_behind)
{
    bed_t bed = {0};
    pid_t daemon;

    if (!start(&bed, SOCK_STREAM))
        return;
    ck_assert_uint_eq(attached(bed.group), 2);
    hpcb_sensor_network.close(bed.handle);
    bed.handle = NULL;
    ck_assert_uint_eq(attached(bed.group), 0);
    daemon = real_fork();
    if (daemon == 0) {
        hpcb_sensor_job_t job = {.node = bed.node, .job_id = 5, .dir = bed.group};

        if (hpcb_sensor_network.open(&job, &bed.handle, NULL) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    for (int i = 0; i < 500 && attached(bed.group) != 2; i++)
        real_sleep_ms(10);
    ck_assert_uint_eq(attached(bed.group), 2);
    real_reap(daemon); /* kill -9 */
    for (int i = 0; i < 500 && attached(bed.group) != 0; i++)
        real_sleep_ms(10);
    ck_assert_uint_eq(attached(bed.group), 0);
    stop(&bed);
}
END_TEST

START_TEST(outlives_the_group)
{
    bed_t bed = {0};
    bytes_t before;

    if (!start(&bed, SOCK_STREAM))
        return;
    load_in(bed.task, SOCK_STREAM, there, 1e7);
    before = measured(bed.handle);
    ck_assert_uint_gt(before.tx, 1000000);
    ck_assert_int_eq(hpcb_knob_rmdir(bed.task, "", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(bed.group, "", NULL), 0);
    ck_assert_uint_ge(measured(bed.handle).tx, before.tx);
    stop(&bed);
}
END_TEST

#ifdef HAVE_LIBBPF
#include <bpf/bpf.h>
#include <fcntl.h>

static unsigned attached(const char *group)
{
    static const enum bpf_attach_type types[] = {BPF_CGROUP_INET_INGRESS,
                                                 BPF_CGROUP_INET_EGRESS};
    unsigned total = 0;
    int fd = open(group, O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < 2; i++) {
        uint32_t ids[8], flags, count = 8;

        ck_assert_int_eq(bpf_prog_query(fd, types[i], 0, &flags, ids, &count), 0);
        total += count;
    }
    close(fd);
    return total;
}
#else
static unsigned attached(const char *group)
{
    (void)group;
    return 0;
}
#endif

int main(void)
{
    Suite *suite = suite_create("network");
    TCase *tcase = tcase_create("network");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, counts_tcp_at_ten_rates);
    tcase_add_test(tcase, counts_udp_at_ten_rates);
    tcase_add_test(tcase, splice_hides_nothing);
    tcase_add_loop_test(tcase, what_is_hidden_is_nobodys, 0,
                        sizeof(ways_to_hide) / sizeof(ways_to_hide[0]));
    tcase_add_test(tcase, counts_what_comes_in);
    tcase_add_test(tcase, leaves_loopback_and_other_groups_out);
    tcase_add_test(tcase, leaves_nothing_behind);
    tcase_add_test(tcase, outlives_the_group);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
