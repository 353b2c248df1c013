/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/tell.h"
#include "hpcbd/balance/balance.h"
#include "hpcbd/gang/control.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/node/sense.h"
#include "hpcbd/node/socket.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/node/job_status.h"
#include "hpcbd/windows/windows.h"

#define CLIENTS_MAX  64
#define OF_USER_MAX  16 /* of these at the users' door */
#define BACKLOG      256
#define TICK_NS      UINT64_C(100000000)
#define TICKS_IDLE   20 /* then a client that says nothing is cut off */
#define PER_TICK_MAX 40 /* connections and messages that are dealt with in a tick */
#define STATUS_PRICE 8  /* in messages */
#define STATUS_PAGE  32 /* jobs in one answer: about half a millisecond */
#define DEPTH_MAX    8
#define CLOSE_US     1000
#define CLOSE_PRICE  (PER_TICK_MAX / 2) /* of a close that takes longer */

typedef struct door door_t;

typedef struct {
    int fd; /* -1: free */
    uid_t uid;
    unsigned quiet; /* ticks since its last message */
    door_t *door;
    hpcb_source_t *source;
} client_t;

/* A socket with places and a ration of its own. */
struct door {
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    hpcb_source_t *source;
    client_t clients[CLIENTS_MAX];
    unsigned n_clients;
    unsigned spent; /* of this tick */
    bool paused;    /* nothing is read until the next tick */
};

static struct {
    hpcb_loop_t *loop;
    hpcb_source_t *tick;
    door_t users, root;
    bool ticking;
    uint64_t refused;
} node;

static void pause_door(door_t *door, bool pause)
{
    uint32_t events = pause ? 0 : EPOLLIN;

    if (door->paused == pause)
        return;
    door->paused = pause;
    hpcb_source_events(door->source, events);
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (door->clients[i].fd >= 0)
            hpcb_source_events(door->clients[i].source, events);
}

/* The daemon runs ahead of everybody: what it can be made to do is rationed, and what
 * users spend is not root's. */
static void spend(door_t *door, unsigned price)
{
    if (!node.ticking)
        hpcb_timer_in(node.tick, TICK_NS, TICK_NS);
    node.ticking = true;
    door->spent += price;
    if (door->spent >= PER_TICK_MAX)
        pause_door(door, true);
}

static volatile sig_atomic_t woken;

static void wake(int signo)
{
    (void)signo;
    woken = 1;
}

/*
 * A message may carry descriptors.  The kernel closes them in the thread that takes the
 * message or closes its socket.  That blocks as long as their sender wants (SO_LINGER),
 * unless there is a signal.  Return whether it took one.
 */
static bool close_soon(int fd)
{
    const struct itimerval limit = {.it_interval = {.tv_usec = CLOSE_US},
                                    .it_value = {.tv_usec = CLOSE_US}};
    const struct itimerval none = {.it_value = {.tv_sec = 0}};

    woken = 0;
    setitimer(ITIMER_REAL, &limit, NULL);
    close(fd);
    setitimer(ITIMER_REAL, &none, NULL);
    return woken;
}

/* Return 0 if the next message carries no descriptors; else -1 with errno.  A peek
 * takes references of its own, so it closes nothing.  After an error (ECONNRESET) the
 * next message is unknown. */
static int check_next(int fd)
{
    struct msghdr message = {.msg_name = NULL};

    if (recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) < 0)
        return -1;
    errno = EPERM;
    return message.msg_flags & MSG_CTRUNC ? -1 : 0;
}

static void drop(client_t *client)
{
    int fd = client->fd;

    hpcb_source_remove(client->source);
    client->fd = -1;
    client->door->n_clients--;
    if (close_soon(fd))
        spend(client->door, CLOSE_PRICE);
}

/* True if the door needs the next tick. */
static bool tick_door(door_t *door)
{
    bool paused = door->paused;

    door->spent = 0;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (door->clients[i].fd >= 0 && ++door->clients[i].quiet > TICKS_IDLE)
            drop(&door->clients[i]);
    pause_door(door, false);
    return paused || door->n_clients;
}

static void on_tick(void *arg, uint64_t what)
{
    bool users = tick_door(&node.users), root = tick_door(&node.root);

    (void)arg;
    (void)what;
    node.ticking = users || root;
    if (!node.ticking)
        hpcb_timer_in(node.tick, 0, 0);
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

    spend(client->door, STATUS_PRICE);
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

static int say_gang(const client_t *client, json_object *message)
{
    size_t i = number_of(message, "from");
    char text[HPCB_TELL_MAX];

    spend(client->door, STATUS_PRICE);
    for (unsigned said = 0; i < hpcbd_gang_items() && said < STATUS_PAGE;) {
        int length = hpcbd_gang_item(&i, client->uid, text, sizeof(text));

        if (length == 0)
            continue;
        if (answer(client, text, length) < 0)
            return -1;
        said++;
    }
    return answer(client, text, hpcbd_gang_end(i, text, sizeof(text)));
}

static int say_done(const client_t *client, const char *why_not)
{
    return why_not ? refuse(client, why_not)
                   : answer(client, "{\"end\":true}", strlen("{\"end\":true}"));
}

/* Return false if key is there, but is not a valid number.  0: it is not there, which
 * differs from 0 and from an invalid number. */
static bool may_give(json_object *message, const char *key, uint64_t *number)
{
    json_object *value;

    *number = number_of(message, key);
    return *number || !json_object_object_get_ex(message, key, &value);
}

static int pause_gang(const client_t *client, json_object *message, bool pause)
{
    uint64_t job_id;

    if (!may_give(message, "job", &job_id))
        return refuse(client, "job: not the number of a job");
    return say_done(client, hpcbd_gang_ask_pause((uint32_t)job_id, client->uid, pause));
}

/* Return false if there is something else than a partition's name; NULL: nothing. */
static bool may_name_partition(json_object *message, const char **partition)
{
    json_object *value;

    *partition = NULL;
    if (!json_object_object_get_ex(message, "partition", &value))
        return true;
    if (!json_object_is_type(value, json_type_string))
        return false;
    *partition = json_object_get_string(value);
    return **partition && strlen(*partition) < HPCB_NAME_MAX;
}

static int set_gang(const client_t *client, json_object *message)
{
    uint64_t quantum_us, window;
    const char *partition;

    if (!may_give(message, "quantum_us", &quantum_us))
        return refuse(client, "quantum_us: not a number of microseconds");
    if (!may_give(message, "window", &window))
        return refuse(client, "window: not a number of quanta");
    if (!may_name_partition(message, &partition))
        return refuse(client, "partition: not the name of a partition");
    return say_done(client,
                    hpcbd_gang_ask_set(partition, quantum_us, window, client->uid));
}

static int change_gang(const client_t *client, json_object *message, bool join)
{
    uint64_t job_id;

    if (!may_give(message, "job", &job_id) || job_id == 0)
        return refuse(client, "job: not the number of a job");
    return say_done(client, join ? hpcbd_gang_ask_join((uint32_t)job_id, client->uid)
                                 : hpcbd_gang_ask_leave((uint32_t)job_id, client->uid));
}

static int obey_gang(const client_t *client, const char *verb, json_object *message)
{
    if (strcmp(verb, "gang") == 0)
        return say_gang(client, message);
    if (strcmp(verb, "gang-pause") == 0)
        return pause_gang(client, message, true);
    if (strcmp(verb, "gang-resume") == 0)
        return pause_gang(client, message, false);
    if (strcmp(verb, "gang-join") == 0)
        return change_gang(client, message, true);
    if (strcmp(verb, "gang-leave") == 0)
        return change_gang(client, message, false);
    if (strcmp(verb, "gang-set") == 0)
        return set_gang(client, message);
    return refuse(client, "no such verb");
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
    if (strncmp(verb, "gang", 4) == 0)
        return obey_gang(client, verb, message);
    if (strcmp(verb, "job") != 0 && strcmp(verb, "end") != 0 &&
        strcmp(verb, "measure") != 0 && strcmp(verb, "clock") != 0)
        return refuse(client, "no such verb");
    if (client->uid != 0)
        return refuse(client, "only root may say that");
    if (strcmp(verb, "clock") == 0) {
        hpcbd_peers_answer(number_of(message, "list"), number_of(message, "peer"),
                           signed_of(message, "offset_ns"),
                           signed_of(message, "round_trip_ns"));
        return say_done(client, NULL);
    }
    job_id = (uint32_t)number_of(message, "job");
    if (job_id == 0)
        return refuse(client, "no job");
    if (strcmp(verb, "job") == 0) {
        hpcbd_window_job(job_id);
        hpcbd_balance_job(job_id);
        hpcbd_sense_job(job_id);
        hpcbd_gang_job(job_id);
    } else if (strcmp(verb, "measure") == 0) {
        hpcbd_sense_measure(job_id);
    } else {
        hpcbd_window_job_end(job_id);
        hpcbd_balance_job_end(job_id);
        hpcbd_sense_job_end(job_id);
    }
    return say_done(client, NULL);
}

/* 0, or -1 where the client is to be cut off. */
static int handle_message(const client_t *client, const char *text, size_t length)
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
    ssize_t length = -1;

    (void)what;
    spend(client->door, 1);
    if (check_next(client->fd) == 0)
        length = recv(client->fd, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->quiet = 0;
    if (length <= 0 || (size_t)length > sizeof(text) ||
        handle_message(client, text, (size_t)length) < 0)
        drop(client);
}

/* One user does not have all places of the users' door. */
static client_t *free_place(door_t *door, uid_t uid)
{
    client_t *free_one = NULL;
    unsigned same = 0;

    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (door->clients[i].fd < 0)
            free_one = &door->clients[i];
        else
            same += door->clients[i].uid == uid;
    return door == &node.root || same < OF_USER_MAX ? free_one : NULL;
}

static void on_connect(void *arg, uint64_t what)
{
    door_t *door = arg;
    int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    client_t *client;

    (void)what;
    spend(door, 1);
    if (fd < 0)
        return;
    client = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
                 ? free_place(door, peer.uid)
                 : NULL;
    if (client)
        client->source = hpcb_loop_fd(node.loop, fd, door->paused ? 0 : EPOLLIN,
                                      on_message, client, NULL);
    if (!client || !client->source) {
        node.refused++;
        if (close_soon(fd))
            spend(door, CLOSE_PRICE);
        return;
    }
    client->fd = fd;
    client->uid = peer.uid;
    client->quiet = 0;
    door->n_clients++;
}

static int listen_at(const char *path, mode_t mode, hpcb_error_t *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask = umask(0777);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool bound;

    memcpy(address.sun_path, path, sizeof(address.sun_path));
    unlink(path);
    bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    umask(mask);
    if (bound && chmod(path, mode) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    hpcb_error(err, "%.100s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_door(door_t *door, mode_t mode, hpcb_error_t *err)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        door->clients[i] = (client_t){.fd = -1, .door = door};
    door->fd = listen_at(door->path, mode, err);
    if (door->fd < 0)
        return -1;
    door->source = hpcb_loop_fd(node.loop, door->fd, EPOLLIN, on_connect, door, err);
    return door->source ? 0 : -1;
}

static void close_door(door_t *door)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (door->clients[i].fd >= 0)
            drop(&door->clients[i]);
    hpcb_source_remove(door->source);
    close_soon(door->fd);
    unlink(door->path);
}

/* sd_notify(3) in one datagram; no effect if systemd has not started us. */
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
        hpcb_log(HPCB_LOG_INFO, "cannot notify systemd: %s", strerror(errno));
    close(fd);
}

/* Users ask too: their socket is open to all, who asks is what counts. */
static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    const char *state_dir = daemon->conf.state_dir;
    const struct sigaction interrupt = {.sa_handler = wake};

    node.loop = daemon->loop;
    sigaction(SIGALRM, &interrupt, NULL);
    if (hpcb_tell_path(state_dir, node.users.path, sizeof(node.users.path)) ||
        hpcb_tell_root_path(state_dir, node.root.path, sizeof(node.root.path)))
        return hpcb_error(err, "StateDir=%.200s is too long for a socket in it",
                          state_dir);
    node.tick = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    if (!node.tick || open_door(&node.root, 0600, err) < 0 ||
        open_door(&node.users, 0666, err) < 0)
        return -1;
    notify_ready();
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    close_door(&node.users);
    close_door(&node.root);
}

const hpcbd_part_t hpcbd_node = {.name = "node", .start = start, .stop = stop};
