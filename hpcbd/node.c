/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/tell.h"
#include "hpcbd/balance.h"
#include "hpcbd/node.h"
#include "hpcbd/peers.h"
#include "hpcbd/status.h"
#include "hpcbd/window.h"

#define CLIENTS_MAX  64
#define BACKLOG      256
#define TICK_NS      UINT64_C(100000000)
#define TICKS_IDLE   20 /* then a client that says nothing is cut off */
#define PER_TICK_MAX 40 /* connections and messages that are dealt with in a tick */
#define STATUS_PRICE 8  /* in messages */
#define STATUS_PAGE  32 /* jobs in one answer: about half a millisecond */
#define DEPTH_MAX    8

typedef struct {
    int fd; /* -1: free */
    uid_t uid;
    unsigned quiet; /* ticks since its last message */
    hpcb_source_t *source;
} client_t;

static struct {
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    hpcb_loop_t *loop;
    hpcb_source_t *source, *tick;
    client_t clients[CLIENTS_MAX];
    unsigned n_clients;
    unsigned spent; /* of this tick */
    bool ticking;
    bool paused; /* nobody is listened to until the next tick */
    uint64_t refused;
} node;

static void pause_all(bool pause)
{
    uint32_t events = pause ? 0 : EPOLLIN;

    if (node.paused == pause)
        return;
    node.paused = pause;
    hpcb_source_events(node.source, events);
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (node.clients[i].fd >= 0)
            hpcb_source_events(node.clients[i].source, events);
}

/* The daemon runs ahead of everybody: what users can make it do is rationed. */
static void spend(unsigned price)
{
    if (!node.ticking)
        hpcb_timer_in(node.tick, TICK_NS, TICK_NS);
    node.ticking = true;
    node.spent += price;
    if (node.spent >= PER_TICK_MAX)
        pause_all(true);
}

static void drop(client_t *client)
{
    hpcb_source_remove(client->source);
    close(client->fd);
    client->fd = -1;
    node.n_clients--;
}

static void on_tick(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    node.spent = 0;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (node.clients[i].fd >= 0 && ++node.clients[i].quiet > TICKS_IDLE)
            drop(&node.clients[i]);
    if (node.n_clients == 0 && !node.paused) {
        hpcb_timer_in(node.tick, 0, 0);
        node.ticking = false;
    }
    pause_all(false);
}

static int answer(const client_t *client, const char *text, int length)
{
    return length > 0 && send(client->fd, text, (size_t)length,
                              MSG_DONTWAIT | MSG_NOSIGNAL) == length
               ? 0
               : -1;
}

static int refuse(const client_t *client, const char *why)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "{\"end\":true,\"error\":\"%s\"}", why);

    node.refused++;
    return answer(client, text, n);
}

static size_t number_of(json_object *message, const char *key)
{
    json_object *value;
    int64_t number;

    if (!json_object_object_get_ex(message, key, &value) ||
        !json_object_is_type(value, json_type_int))
        return 0;
    number = json_object_get_int64(value);
    return number > 0 && number < UINT32_MAX ? (size_t)number : 0;
}

static int say_status(const client_t *client, json_object *message)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();
    size_t i = number_of(message, "from");
    char text[HPCB_TELL_MAX];

    spend(STATUS_PRICE);
    for (unsigned said = 0; i < registry->count && said < STATUS_PAGE; i++) {
        const hpcbd_job_t *job = registry->jobs[i];

        if (client->uid != 0 && client->uid != job->state.uid)
            continue;
        if (answer(client, text, hpcbd_status_job(job, text, sizeof(text))) < 0)
            return -1;
        said++;
    }
    return answer(client, text, hpcbd_status_node(i, text, sizeof(text)));
}

static int64_t signed_of(json_object *message, const char *key)
{
    json_object *value;

    return json_object_object_get_ex(message, key, &value)
               ? json_object_get_int64(value)
               : 0;
}

static int obey(const client_t *client, const char *verb, json_object *message)
{
    uint32_t job_id;

    if (strcmp(verb, "status") == 0)
        return say_status(client, message);
    if (strcmp(verb, "job") != 0 && strcmp(verb, "end") != 0 &&
        strcmp(verb, "clock") != 0)
        return refuse(client, "no such verb");
    if (client->uid != 0)
        return refuse(client, "only root may say that");
    if (strcmp(verb, "clock") == 0) {
        hpcbd_peers_answer(number_of(message, "peer"), signed_of(message, "offset_ns"),
                           signed_of(message, "round_trip_ns"));
        return answer(client, "{\"end\":true}", strlen("{\"end\":true}"));
    }
    job_id = (uint32_t)number_of(message, "job");
    if (job_id == 0)
        return refuse(client, "no job");
    if (strcmp(verb, "job") == 0) {
        hpcbd_window_job(job_id);
        hpcbd_balance_job(job_id);
    } else {
        hpcbd_window_job_end(job_id);
        hpcbd_balance_job_end(job_id);
    }
    return answer(client, "{\"end\":true}", strlen("{\"end\":true}"));
}

/* 0, or -1 where the client is to be cut off. */
static int handle(const client_t *client, const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_object *message = NULL, *verb;
    int rc;

    if (tokener)
        message = json_tokener_parse_ex(tokener, text, (int)length);
    if (message && json_tokener_get_parse_end(tokener) == length &&
        json_object_is_type(message, json_type_object) &&
        json_object_object_get_ex(message, "verb", &verb) &&
        json_object_is_type(verb, json_type_string))
        rc = obey(client, json_object_get_string(verb), message);
    else
        rc = refuse(client, "not a message");
    json_object_put(message);
    if (tokener)
        json_tokener_free(tokener);
    return rc;
}

static void on_message(void *arg, uint64_t what)
{
    client_t *client = arg;
    char text[HPCB_TELL_MAX];
    ssize_t length = recv(client->fd, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);

    (void)what;
    spend(1);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->quiet = 0;
    if (length <= 0 || (size_t)length > sizeof(text) ||
        handle(client, text, (size_t)length) < 0)
        drop(client);
}

/* When all places are taken, root gets the one of whoever has been quiet for longest.
 */
static client_t *place_for(uid_t uid)
{
    client_t *oldest = NULL;

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        client_t *client = &node.clients[i];

        if (client->fd < 0)
            return client;
        if (client->uid != 0 && (!oldest || client->quiet > oldest->quiet))
            oldest = client;
    }
    if (uid != 0 || !oldest)
        return NULL;
    drop(oldest);
    return oldest;
}

static void on_connect(void *arg, uint64_t what)
{
    int fd = accept4(node.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    client_t *client;

    (void)arg;
    (void)what;
    spend(1);
    if (fd < 0)
        return;
    client = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
                 ? place_for(peer.uid)
                 : NULL;
    if (client)
        client->source = hpcb_loop_fd(node.loop, fd, node.paused ? 0 : EPOLLIN,
                                      on_message, client, NULL);
    if (!client || !client->source) {
        node.refused++;
        close(fd);
        return;
    }
    client->fd = fd;
    client->uid = peer.uid;
    client->quiet = 0;
    node.n_clients++;
}

/* Users ask too: the socket is open to all, who asks is what counts. */
static int listen_on(const char *state_dir, hpcb_error_t *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (hpcb_tell_path(state_dir, node.path, sizeof(node.path)))
        return hpcb_error(err, "StateDir=%.200s is too long for a socket in it",
                          state_dir);
    memcpy(address.sun_path, node.path, sizeof(node.path));
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unlink(node.path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        chmod(node.path, 0666) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    hpcb_error(err, "%.100s: %s", node.path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* sd_notify(3) in one datagram; nothing where systemd has not started us. */
static void notify_ready(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = offsetof(struct sockaddr_un, sun_path);
    size_t length = name ? strlen(name) : 0;
    int fd;

    if (length < 2 || length >= sizeof(address.sun_path) ||
        (*name != '/' && *name != '@'))
        return;
    memcpy(address.sun_path, name, length);
    if (*name == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (sendto(fd, "READY=1", strlen("READY=1"), MSG_NOSIGNAL,
               (struct sockaddr *)&address, size + (socklen_t)length) < 0)
        hpcb_log(HPCB_LOG_INFO, "systemd is not told: %s", strerror(errno));
    close(fd);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    node.loop = daemon->loop;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        node.clients[i].fd = -1;
    node.fd = listen_on(daemon->conf.state_dir, err);
    if (node.fd < 0)
        return -1;
    node.tick = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    node.source = hpcb_loop_fd(daemon->loop, node.fd, EPOLLIN, on_connect, NULL, err);
    if (!node.tick || !node.source)
        return -1;
    notify_ready();
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (node.clients[i].fd >= 0)
            drop(&node.clients[i]);
    hpcb_source_remove(node.source);
    close(node.fd);
    unlink(node.path);
}

const hpcbd_part_t hpcbd_node = {.name = "node", .start = start, .stop = stop};
