/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/records/wire.h"

#define BACKLOG 512

/* A frame that announces much gets memory as its bytes come. */
#define STEP_BYTES 65536

#define IPV6_NETWORK_BYTES 8

struct hpcbd_conn {
    hpcbd_conns_t *conns;
    hpcbd_conn_t *prev, *next; /* the one that has been silent for longest is first */
    int fd;
    hpcb_source_t *source;
    hpcbd_origin_t origin;
    uint64_t heard_ms;
    bool waiting; /* for an answer */
    unsigned char header[HPCBD_FRAME_HEADER];
    size_t header_used;
    char *in, *out;
    size_t length, in_used, in_room, out_used, out_sent;
    void *data;
    void (*release)(void *data);
};

struct hpcbd_conns {
    hpcb_loop_t *loop;
    int fd;
    hpcb_source_t *source;
    hpcbd_conn_t *first, *last;
    size_t count, bytes;
    hpcbd_take_fn take;
    void *arg;
    hpcbd_conn_stats_t stats;
    bool paused;
};

uint64_t hpcbd_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void unlink_conn(hpcbd_conn_t *conn)
{
    *(conn->prev ? &conn->prev->next : &conn->conns->first) = conn->next;
    *(conn->next ? &conn->next->prev : &conn->conns->last) = conn->prev;
}

static void link_last(hpcbd_conn_t *conn)
{
    hpcbd_conns_t *conns = conn->conns;

    conn->prev = conns->last;
    conn->next = NULL;
    *(conns->last ? &conns->last->next : &conns->first) = conn;
    conns->last = conn;
}

static void heard(hpcbd_conn_t *conn)
{
    conn->heard_ms = hpcbd_now_ms();
    unlink_conn(conn);
    link_last(conn);
}

static void release_data(hpcbd_conn_t *conn)
{
    if (conn->release)
        conn->release(conn->data);
    conn->data = NULL;
    conn->release = NULL;
}

void hpcbd_conn_forget(hpcbd_conn_t *conn)
{
    conn->conns->bytes -= conn->in_room;
    free(conn->in);
    conn->in = NULL;
    conn->length = conn->in_used = conn->in_room = conn->header_used = 0;
}

void hpcbd_conn_close(hpcbd_conn_t *conn)
{
    release_data(conn);
    hpcbd_conn_forget(conn);
    free(conn->out);
    unlink_conn(conn);
    conn->conns->count--;
    hpcb_source_remove(conn->source);
    close(conn->fd);
    free(conn);
}

/* The one that has been silent for longest, but keep. */
static hpcbd_conn_t *most_silent(hpcbd_conns_t *conns, const hpcbd_conn_t *keep)
{
    hpcbd_conn_t *conn = conns->first;

    while (conn && (conn == keep || conn->waiting))
        conn = conn->next;
    return conn;
}

static bool drop_one(hpcbd_conns_t *conns, const hpcbd_conn_t *keep)
{
    hpcbd_conn_t *victim = most_silent(conns, keep);

    if (!victim)
        return false;
    conns->stats.dropped++;
    hpcbd_conn_close(victim);
    return true;
}

/* Enlarge the buffer for more of the frame. */
static int make_room(hpcbd_conn_t *conn)
{
    size_t room = conn->in_used + STEP_BYTES;
    char *larger;

    if (conn->in_used < conn->in_room)
        return 0;
    if (room > conn->length)
        room = conn->length;
    while (conn->conns->bytes + room - conn->in_room > HPCBD_CONN_BYTES)
        if (!drop_one(conn->conns, conn))
            return -1;
    larger = realloc(conn->in, room + 1);
    if (!larger)
        return -1;
    conn->conns->bytes += room - conn->in_room;
    conn->in = larger;
    conn->in_room = room;
    return 0;
}

/* Bytes that were read; 0: none now; -1: the end, or an error. */
static ssize_t receive(int fd, void *data, size_t length)
{
    ssize_t n = recv(fd, data, length, MSG_DONTWAIT);

    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static int read_header(hpcbd_conn_t *conn)
{
    ssize_t n = receive(conn->fd, conn->header + conn->header_used,
                        sizeof(conn->header) - conn->header_used);

    if (n <= 0)
        return (int)n;
    conn->header_used += (size_t)n;
    if (conn->header_used < sizeof(conn->header) ||
        hpcbd_frame_length(conn->header, &conn->length) == 0)
        return 0;
    conn->conns->stats.malformed++;
    return -1;
}

static int read_body(hpcbd_conn_t *conn)
{
    ssize_t n;

    if (make_room(conn))
        return -1;
    n = receive(conn->fd, conn->in + conn->in_used, conn->in_room - conn->in_used);
    if (n > 0)
        conn->in_used += (size_t)n;
    return n < 0 ? -1 : 0;
}

static int take_frame(hpcbd_conn_t *conn)
{
    conn->conns->stats.frames++;
    conn->in[conn->in_used] = '\0';
    conn->waiting = true;
    hpcb_source_events(conn->source, 0);
    return conn->conns->take(conn->conns->arg, conn, conn->in);
}

static int read_some(hpcbd_conn_t *conn)
{
    if (conn->length == 0)
        return read_header(conn);
    if (read_body(conn))
        return -1;
    return conn->in_used == conn->length ? take_frame(conn) : 0;
}

static int listen_again(hpcbd_conn_t *conn)
{
    return hpcb_source_events(conn->source, conn->conns->paused ? 0 : EPOLLIN);
}

static int write_some(hpcbd_conn_t *conn)
{
    ssize_t n = send(conn->fd, conn->out + conn->out_sent,
                     conn->out_used - conn->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    conn->out_sent += (size_t)n;
    if (conn->out_sent < conn->out_used)
        return 0;
    free(conn->out);
    conn->out = NULL;
    return listen_again(conn);
}

static void on_event(void *arg, uint64_t events)
{
    hpcbd_conn_t *conn = arg;
    int status = 0;

    heard(conn);
    if (events & EPOLLOUT)
        status = conn->out ? write_some(conn) : 0;
    else if (events & EPOLLIN)
        status = read_some(conn);
    else
        status = -1;
    if (status)
        hpcbd_conn_close(conn);
}

/* IPv4 as the mapped address of IPv6. */
hpcbd_origin_t hpcbd_origin_of(const struct sockaddr_in6 *peer)
{
    const struct sockaddr_in *peer4 = (const struct sockaddr_in *)peer;
    hpcbd_origin_t origin = {.reserved_port = ntohs(peer->sin6_port) < IPPORT_RESERVED};

    if (peer->sin6_family == AF_INET)
        memcpy(origin.address + 12, &peer4->sin_addr, 4);
    else if (IN6_IS_ADDR_V4MAPPED(&peer->sin6_addr))
        memcpy(origin.address + 12, &peer->sin6_addr.s6_addr[12], 4);
    else
        memcpy(origin.address, &peer->sin6_addr, IPV6_NETWORK_BYTES);
    return origin;
}

static void on_accept(void *arg, uint64_t events)
{
    hpcbd_conns_t *conns = arg;
    struct sockaddr_in6 peer = {.sin6_family = AF_UNSPEC};
    socklen_t length = sizeof(peer);
    int fd = accept4(conns->fd, (struct sockaddr *)&peer, &length,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    hpcbd_conn_t *conn;

    (void)events;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            drop_one(conns, NULL);
        return;
    }
    conn = conns->count < HPCBD_CONNS_MAX || drop_one(conns, NULL)
               ? calloc(1, sizeof(*conn))
               : NULL;
    if (!conn) {
        close(fd);
        return;
    }
    *conn = (hpcbd_conn_t){.conns = conns,
                           .fd = fd,
                           .origin = hpcbd_origin_of(&peer),
                           .heard_ms = hpcbd_now_ms()};
    conn->source = hpcb_loop_fd(conns->loop, fd, conns->paused ? 0 : EPOLLIN, on_event,
                                conn, NULL);
    link_last(conn);
    conns->count++;
    conns->stats.connections++;
    if (!conn->source)
        hpcbd_conn_close(conn);
}

/* IPv6 takes IPv4 as well, where the kernel has it. */
static int listen_on(int family, uint16_t port)
{
    struct sockaddr_in6 any6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    const struct sockaddr *address = family == AF_INET6
                                         ? (const struct sockaddr *)&any6
                                         : (const struct sockaddr *)&any4;
    socklen_t length = family == AF_INET6 ? sizeof(any6) : sizeof(any4);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1, no = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, address, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    hpcb_cleanup_close(&fd);
    return -1;
}

static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= HPCBD_CONNS_MAX + 64)
        return;
    limit.rlim_cur = HPCBD_CONNS_MAX + 64;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

hpcbd_conns_t *hpcbd_conns_open(hpcb_loop_t *loop, uint16_t port, hpcbd_take_fn take_fn,
                                void *arg, hpcb_error_t *err)
{
    hpcbd_conns_t *conns = calloc(1, sizeof(*conns));

    if (!conns) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    allow_descriptors();
    conns->loop = loop;
    conns->take = take_fn;
    conns->arg = arg;
    conns->fd = listen_on(AF_INET6, port);
    if (conns->fd < 0)
        conns->fd = listen_on(AF_INET, port);
    if (conns->fd < 0)
        hpcb_error(err, "cannot listen on port %u: %s", port, strerror(errno));
    else
        conns->source = hpcb_loop_fd(loop, conns->fd, EPOLLIN, on_accept, conns, err);
    if (conns->source)
        return conns;
    hpcb_cleanup_close(&conns->fd);
    free(conns);
    return NULL;
}

void hpcbd_conns_close(hpcbd_conns_t *conns)
{
    if (!conns)
        return;
    while (conns->first)
        hpcbd_conn_close(conns->first);
    hpcb_source_remove(conns->source);
    close(conns->fd);
    free(conns);
}

uint16_t hpcbd_conns_port(const hpcbd_conns_t *conns)
{
    struct sockaddr_in6 address = {.sin6_port = 0};
    socklen_t length = sizeof(address);

    /* The port is at the same place for both families. */
    return getsockname(conns->fd, (struct sockaddr *)&address, &length)
               ? 0
               : ntohs(address.sin6_port);
}

void hpcbd_conn_set(hpcbd_conn_t *conn, void *data, void (*release)(void *data))
{
    release_data(conn);
    conn->data = data;
    conn->release = release;
}

void *hpcbd_conn_get(const hpcbd_conn_t *conn)
{
    return conn->data;
}

const hpcbd_origin_t *hpcbd_conn_origin(const hpcbd_conn_t *conn)
{
    return &conn->origin;
}

void hpcbd_conns_waiting(hpcbd_conns_t *conns,
                         void (*visit)(hpcbd_conn_t *conn, void *arg), void *arg)
{
    hpcbd_conn_t *next;

    for (hpcbd_conn_t *conn = conns->first; conn; conn = next) {
        next = conn->next;
        if (conn->waiting)
            visit(conn, arg);
    }
}

void hpcbd_conn_answer(hpcbd_conn_t *conn, const char *text)
{
    size_t length = strlen(text);

    conn->waiting = false;
    free(conn->out);
    conn->out = malloc(HPCBD_FRAME_HEADER + length);
    if (!conn->out) {
        hpcbd_conn_close(conn);
        return;
    }
    hpcbd_frame_header((unsigned char *)conn->out, length);
    memcpy(conn->out + HPCBD_FRAME_HEADER, text, length);
    conn->out_used = HPCBD_FRAME_HEADER + length;
    conn->out_sent = 0;
    /* text may have been part of these. */
    release_data(conn);
    hpcbd_conn_forget(conn);
    if (hpcb_source_events(conn->source, EPOLLOUT))
        hpcbd_conn_close(conn);
}

void hpcbd_conns_pause(hpcbd_conns_t *conns, bool pause)
{
    if (conns->paused == pause)
        return;
    conns->paused = pause;
    for (hpcbd_conn_t *conn = conns->first; conn; conn = conn->next) {
        conn->heard_ms = hpcbd_now_ms();
        if (!conn->waiting && !conn->out)
            (void)listen_again(conn);
    }
}

void hpcbd_conns_sweep(hpcbd_conns_t *conns)
{
    uint64_t now = hpcbd_now_ms();
    hpcbd_conn_t *next;

    for (hpcbd_conn_t *conn = conns->first; conn; conn = next) {
        next = conn->next;
        if (conn->waiting || conns->paused || now - conn->heard_ms < HPCBD_CONN_IDLE_MS)
            continue;
        conns->stats.dropped++;
        hpcbd_conn_close(conn);
    }
}

const hpcbd_conn_stats_t *hpcbd_conns_stats(const hpcbd_conns_t *conns)
{
    return &conns->stats;
}
