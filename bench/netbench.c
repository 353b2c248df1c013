/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * netbench: sends messages of one size over TCP as fast as the network takes them, and
 * tells how many bytes that were: what myribench is for Koukis and Koziris (section 3).
 * What cannot be sent at once is waited for asleep, or awake as an MPI does that polls.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/usage.h"

#define SIZE_MAX_BYTES (UINT64_C(1) << 20)
#define CLIENTS_MAX    64

static const char help[] =
    "Usage: netbench --listen PORT\n"
    "       netbench --connect HOST --port PORT [--size BYTES] [--wait sleep|poll]\n"
    "                [--seconds S] [--trace FILE [--every-ms MS]]\n"
    "Sends messages as fast as the network takes them, and prints one JSON line with "
    "how\n"
    "many bytes that were.  SIGTERM ends it early, with its result.\n"
    "\n"
    "  --listen PORT   take what comes from up to 64 senders, until SIGTERM\n"
    "  --connect HOST  send to that host\n"
    "  --port PORT     of the host that listens\n"
    "  --size BYTES    of a message, 1 to 1048576 (default 65536)\n"
    "  --wait sleep    sleep while nothing can be sent (default)\n"
    "  --wait poll     try again and again instead\n"
    "  --seconds S     how long, at most 3600 (default 1)\n"
    "  --trace FILE    append lines \"<CLOCK_MONOTONIC> <bytes so far>\"\n"
    "  --every-ms MS   so often (default 20)\n"
    "  --help          this text\n";

typedef struct {
    const char *host, *port, *trace;
    bool listens, polls;
    size_t size;
    double seconds, every;
} config_t;

static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
    (void)signal;
    ended = 1;
}

static const char *port_of(const char *option, const char *text)
{
    (void)bench_arg_count(option, text, 1, 65535);
    return text;
}

static bool parse_wait(const char *text)
{
    if (strcmp(text, "sleep") != 0 && strcmp(text, "poll") != 0)
        errx(2, "--wait: \"%s\" is neither sleep nor poll", text);
    return text[0] == 'p';
}

static void set(config_t *config, int opt)
{
    if (opt == 'l') {
        config->port = port_of("listen", optarg);
        config->listens = true;
    } else if (opt == 'c')
        config->host = optarg;
    else if (opt == 'p')
        config->port = port_of("port", optarg);
    else if (opt == 's')
        config->size = bench_arg_count("size", optarg, 1, SIZE_MAX_BYTES);
    else if (opt == 'w')
        config->polls = parse_wait(optarg);
    else if (opt == 'S')
        config->seconds = bench_arg_real("seconds", optarg, 1e-3, 3600);
    else if (opt == 'f')
        config->trace = optarg;
    else if (opt == 'e')
        config->every = bench_arg_real("every-ms", optarg, 1, 1e6) * 1e-3;
    else if (opt == 'h')
        exit(fputs(help, stdout) < 0);
    else
        exit(2);
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"listen", required_argument, NULL, 'l'},
        {"connect", required_argument, NULL, 'c'},
        {"port", required_argument, NULL, 'p'},
        {"size", required_argument, NULL, 's'},
        {"wait", required_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 'S'},
        {"trace", required_argument, NULL, 'f'},
        {"every-ms", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.size = 65536, .seconds = 1, .every = 0.02};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
        set(&config, opt);
    bench_args_end(argc, argv);
    if (config.listens == (config.host != NULL) || !config.port)
        errx(2, "give either --listen PORT, or --connect HOST and --port PORT");
    return config;
}

static struct addrinfo *resolve(const config_t *config)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = config->listens ? AI_PASSIVE : 0};
    struct addrinfo *found;
    int status = getaddrinfo(config->host, config->port, &hints, &found);

    if (status != 0)
        errx(1, "%s, port %s: %s", config->host ? config->host : "here", config->port,
             gai_strerror(status));
    return found;
}

/* ---- the receiver ---- */

static int begin_to_listen(const config_t *config)
{
    struct addrinfo *where = resolve(config);
    int on = 1, fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, where->ai_addr, where->ai_addrlen) < 0 || listen(fd, CLIENTS_MAX) < 0)
        err(1, "port %s", config->port);
    freeaddrinfo(where);
    return fd;
}

/* False: its sender has ended. */
static bool take(int fd)
{
    static char scratch[1 << 20];
    ssize_t n = recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT);

    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void receive(const config_t *config)
{
    struct pollfd fds[CLIENTS_MAX + 1] = {
        {.fd = begin_to_listen(config), .events = POLLIN}};
    nfds_t count = 1;

    while (!ended) {
        fds[0].events = count <= CLIENTS_MAX ? POLLIN : 0;
        if (poll(fds, count, 1000) < 0 && errno != EINTR)
            err(1, "poll");
        for (nfds_t i = count; !ended && i-- > 1;) {
            if (!fds[i].revents || take(fds[i].fd))
                continue;
            close(fds[i].fd);
            fds[i] = fds[--count];
        }
        if (!ended && fds[0].revents & POLLIN) {
            int fd = accept4(fds[0].fd, NULL, NULL, SOCK_CLOEXEC);

            if (fd >= 0)
                fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    }
}

/* ---- the sender ---- */

typedef struct {
    const config_t *config;
    char *message;
    int fd, trace;
    uint64_t bytes;
    double traced; /* when */
} sender_t;

static int reach(const config_t *config)
{
    struct addrinfo *where = resolve(config);
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, where->ai_addr, where->ai_addrlen) < 0)
        err(1, "%s, port %s", config->host, config->port);
    freeaddrinfo(where);
    return fd;
}

/* A line in one write: a reader never sees a torn one. */
static void trace(sender_t *sender, double now)
{
    if (sender->trace < 0 || now - sender->traced < sender->config->every)
        return;
    sender->traced = now;
    if (dprintf(sender->trace, "%.6f %" PRIu64 "\n", now, sender->bytes) < 0)
        err(1, "trace");
}

/* Bytes that went out; 0: none for now. */
static size_t send_some(sender_t *sender, size_t at)
{
    ssize_t n = send(sender->fd, sender->message + at, sender->config->size - at,
                     MSG_NOSIGNAL | (sender->config->polls ? MSG_DONTWAIT : 0));

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        err(1, "send");
    return n > 0 ? (size_t)n : 0;
}

static void send_all(sender_t *sender)
{
    double begin = bench_now(), now = begin;
    size_t at = 0;

    while (!ended && now - begin < sender->config->seconds) {
        size_t n = send_some(sender, at);

        sender->bytes += n;
        at = (at + n) % sender->config->size;
        now = bench_now();
        trace(sender, now);
    }
}

static void transmit(const config_t *config)
{
    sender_t sender = {.config = config, .trace = -1};
    bench_usage_t usage;

    sender.message = calloc(1, config->size);
    if (!sender.message)
        err(1, "a message");
    if (config->trace) {
        sender.trace =
            open(config->trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (sender.trace < 0)
            err(1, "%s", config->trace);
    }
    sender.fd = reach(config);
    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    send_all(&sender);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");
    printf("{\"program\":\"netbench\",\"size\":%zu,\"polls\":%s,", config->size,
           config->polls ? "true" : "false");
    bench_usage_print(&usage);
    printf(",\"bytes\":%" PRIu64 "}\n", sender.bytes);
    close(sender.fd);
    if (sender.trace >= 0)
        close(sender.trace);
    free(sender.message);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    config_t config = parse(argc, argv);

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (config.listens)
        receive(&config);
    else
        transmit(&config);
    return 0;
}
