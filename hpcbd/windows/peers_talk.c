/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Every sender of a datagram is hostile: an invalid credential, or one of the wrong
 * writer, too old or replayed, is dropped, and the number of credentials per second is
 * limited, because munged decodes them.  An origin that sends invalid ones is ignored
 * for the rest of the second.  The answer for which we wait is decoded in any case: it
 * comes from the origin of the echo, which only the host that could decode the request
 * sends.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/tell.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/collector/limit.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/windows/peers_talk.h"

#define ROUND_MS          10000 /* in which each peer is asked once */
#define OPENS_A_SECOND    50
#define DATAGRAM_MAX      2048
#define ROUND_TRIP_MAX_NS INT64_C(50000000)
#define NONCE_TEXT        33 /* 128 bits in hexadecimal */

typedef struct {
    struct sockaddr_storage address;
    socklen_t size;
} place_t;

/* The one question that is open. */
typedef struct {
    unsigned peer;
    char nonce[NONCE_TEXT];
    int64_t sent_ns;     /* 0: none */
    int64_t echoed_ns;   /* 0: not yet */
    hpcbd_origin_t echo; /* of whom */
    bool expected;       /* the answer may still come out of turn */
} question_t;

typedef struct {
    const hpcbd_peers_talk_t *talk;
    int fd;
    unsigned turn;
    question_t open;
    uint64_t second; /* of opens */
    unsigned opens;
    hpcbd_limit_t limit;
} talker_t;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int find_place(const char *name, uint16_t port, place_t *place)
{
    const struct addrinfo hints = {.ai_family = AF_INET6,
                                   .ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_V4MAPPED | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];

    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(name, service, &hints, &found) != 0)
        return -1;
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int send_to(const talker_t *talker, const place_t *place, const char *text)
{
    size_t length = strlen(text);

    return sendto(talker->fd, text, length, MSG_DONTWAIT,
                  (const struct sockaddr *)&place->address,
                  place->size) == (ssize_t)length
               ? 0
               : -1;
}

static int send_sealed(const talker_t *talker, const place_t *place, const char *text,
                       int64_t *sent_ns)
{
    static bool complained;
    hpcb_error_t err;
    hpcb_autofree char *credential = hpcbd_seal(text, strlen(text), &err);

    if (!credential) {
        hpcb_log_once(&complained, HPCB_LOG_ERROR, "clocks are not compared: %s",
                      err.text);
        return -1;
    }
    if (sent_ns)
        *sent_ns = now_ns();
    return send_to(talker, place, credential);
}

static void ask_next(talker_t *talker)
{
    unsigned char bits[(NONCE_TEXT - 1) / 2];
    question_t *open = &talker->open;
    char text[64];
    place_t place;

    *open = (question_t){.peer = talker->turn++ % talker->talk->count};
    if (getrandom(bits, sizeof(bits), 0) != sizeof(bits) ||
        find_place(talker->talk->names[open->peer], talker->talk->port, &place))
        return;
    for (size_t i = 0; i < sizeof(bits); i++)
        snprintf(open->nonce + 2 * i, 3, "%02x", bits[i]);
    snprintf(text, sizeof(text), "{\"ask\":\"%s\"}", open->nonce);
    if (send_sealed(talker, &place, text, &open->sent_ns))
        open->sent_ns = 0;
}

static bool is_nonce(const char *text)
{
    return strlen(text) == NONCE_TEXT - 1 &&
           text[strspn(text, "0123456789abcdef")] == '\0';
}

static const char *text_of(json_object *object, const char *key)
{
    json_object *value;

    return json_object_object_get_ex(object, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

static int64_t number_of(json_object *object, const char *key)
{
    json_object *value;

    return json_object_object_get_ex(object, key, &value) ? json_object_get_int64(value)
                                                          : 0;
}

static void answer(const talker_t *talker, const place_t *place, const char *nonce,
                   int64_t received_ns)
{
    char text[160];
    int64_t sent_ns = now_ns();

    if (send_to(talker, place, nonce))
        return;
    snprintf(text, sizeof(text),
             "{\"tell\":\"%s\",\"received\":%" PRId64 ",\"sent\":%" PRId64 "}", nonce,
             received_ns, sent_ns);
    send_sealed(talker, place, text, NULL);
}

static void tell_daemon(const talker_t *talker, unsigned peer, int64_t offset_ns,
                        int64_t round_trip_ns)
{
    hpcb_autoclose int fd = hpcb_tell_connect(talker->talk->state_dir, NULL);
    char text[160];
    int n =
        snprintf(text, sizeof(text),
                 "{\"verb\":\"clock\",\"list\":%u,\"peer\":%u,\"offset_ns\":%" PRId64
                 ",\"round_trip_ns\":%" PRId64 "}",
                 talker->talk->list, peer, offset_ns, round_trip_ns);

    if (fd >= 0 && send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        hpcb_log(HPCB_LOG_DEBUG, "a clock's answer is lost");
}

static void conclude(talker_t *talker, json_object *message)
{
    question_t *open = &talker->open;
    int64_t received = number_of(message, "received"),
            sent = number_of(message, "sent");
    int64_t offset = ((received - open->sent_ns) + (sent - open->echoed_ns)) / 2;
    int64_t round_trip = (open->echoed_ns - open->sent_ns) - (sent - received);

    open->sent_ns = 0;
    if (round_trip >= 0 && round_trip <= ROUND_TRIP_MAX_NS)
        tell_daemon(talker, open->peer, offset, round_trip);
}

static void obey(talker_t *talker, const place_t *place, json_object *message,
                 int64_t received_ns)
{
    const char *ask = text_of(message, "ask"), *tell = text_of(message, "tell");

    if (ask && is_nonce(ask))
        answer(talker, place, ask, received_ns);
    else if (tell && talker->open.sent_ns && talker->open.echoed_ns &&
             strcmp(tell, talker->open.nonce) == 0)
        conclude(talker, message);
}

/* Once a question. */
static bool is_expected(talker_t *talker, const hpcbd_origin_t *origin)
{
    question_t *open = &talker->open;
    bool expected = open->expected && memcmp(&open->echo, origin, sizeof(*origin)) == 0;

    open->expected &= !expected;
    return expected;
}

static bool may_open(talker_t *talker, const hpcbd_origin_t *origin, uint64_t now_ms)
{
    if (now_ms / 1000 != talker->second)
        talker->opens = 0;
    talker->second = now_ms / 1000;
    return !hpcbd_limit_reached(&talker->limit, origin, now_ms) &&
           talker->opens++ < OPENS_A_SECOND;
}

static void note_echo(question_t *open, const hpcbd_origin_t *origin, const char *nonce,
                      int64_t received_ns)
{
    if (!open->sent_ns || open->echoed_ns || strcmp(nonce, open->nonce) != 0)
        return;
    open->echoed_ns = received_ns;
    open->echo = *origin;
    open->expected = true;
}

static void handle_datagram(talker_t *talker, const place_t *place, const char *text,
                            int64_t received_ns)
{
    hpcbd_origin_t origin =
        hpcbd_origin_of((const struct sockaddr_in6 *)&place->address);
    uint64_t now_ms = hpcbd_now_ms();
    hpcb_autofree char *opened = NULL;
    json_object *message;

    if (is_nonce(text)) {
        note_echo(&talker->open, &origin, text, received_ns);
        return;
    }
    if (strncmp(text, "MUNGE:", 6) != 0 ||
        !(is_expected(talker, &origin) || may_open(talker, &origin, now_ms)))
        return;
    opened = hpcbd_unseal(text, NULL);
    if (!opened)
        hpcbd_limit_note(&talker->limit, &origin, now_ms);
    message = opened ? json_tokener_parse(opened) : NULL;
    if (message && json_object_is_type(message, json_type_object))
        obey(talker, place, message, received_ns);
    json_object_put(message);
}

/* Return the time at which the kernel received it. */
static int64_t arrival(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        struct timespec when;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&when, CMSG_DATA(c), sizeof(when));
        return (int64_t)when.tv_sec * 1000000000 + when.tv_nsec;
    }
    return now_ns();
}

static void receive(talker_t *talker)
{
    char text[DATAGRAM_MAX + 1], control[128];
    place_t place = {.size = 0};
    struct iovec part = {text, DATAGRAM_MAX};
    struct msghdr message = {
        .msg_name = &place.address,
        .msg_namelen = sizeof(place.address),
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    ssize_t length = recvmsg(talker->fd, &message, MSG_DONTWAIT);

    if (length <= 0 || message.msg_flags & MSG_TRUNC)
        return;
    text[length] = '\0';
    place.size = message.msg_namelen;
    handle_datagram(talker, &place, text, arrival(&message));
}

static int open_socket(uint16_t port, hpcb_error_t *err)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons(port),
                                   .sin6_addr = IN6ADDR_ANY_INIT};
    int on = 1, off = 0;
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0 &&
        bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    hpcb_error(err, "UDP port %u: %s", port, strerror(errno));
    hpcb_cleanup_close(&fd);
    return -1;
}

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int hpcbd_peers_talk(void *arg)
{
    const hpcbd_peers_talk_t *talk = arg;
    static talker_t talker;
    int64_t next_ms = monotonic_ms();
    hpcb_error_t err;

    talker = (talker_t){.talk = talk};
    talker.fd = open_socket(talk->port, &err);
    if (talker.fd < 0) {
        hpcb_log(HPCB_LOG_ERROR, "clocks are not compared: %s", err.text);
        return EXIT_FAILURE;
    }
    for (;;) {
        struct pollfd wait = {.fd = talker.fd, .events = POLLIN};
        int64_t left = next_ms - monotonic_ms();

        if (left <= 0) {
            ask_next(&talker);
            next_ms = monotonic_ms() + ROUND_MS / talk->count;
        } else if (poll(&wait, 1, (int)left) == 1) {
            receive(&talker);
        }
    }
}
