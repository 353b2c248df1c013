/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Data between the two, through a stream socket:
 *
 *   call    the length of the text (uint32_t), the text
 *   result  error (uint32_t: 0, EPERM or EAGAIN), the length, the text or why
 *
 * If the child ends, all calls end with EAGAIN: the senders of their texts send them
 * again later.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/child.h"
#include "hpcbd/records/sealer.h"

#define MS_NS UINT64_C(1000000)

typedef struct {
    uint32_t error, length;
} result_t;

struct hpcbd_call {
    hpcbd_sealer_t *sealer;
    hpcbd_call_t *next;
    hpcbd_origin_t origin;
    uint64_t turn;
    const char *text;
    hpcbd_sealer_done_fn done; /* NULL: cancelled while the child had it */
    void *arg;
    bool given; /* the child has it, or gets it */
};

struct hpcbd_sealer {
    hpcb_loop_t *loop;
    const char *name;
    hpcbd_sealer_work_fn work;
    hpcbd_sealer_batch_fn batch; /* instead of work */
    hpcbd_child_t *child;
    hpcb_source_t *source, *limit;
    unsigned limit_ms;             /* 0: none */
    int fd;                        /* of the child's socket; -1: no child */
    hpcbd_call_t *waiting;         /* by turn */
    hpcbd_call_t *given, **behind; /* the child has them, in its order */
    size_t n_calls, n_given, depth;
    uint64_t turn; /* of the last one that the child was given */
    char *out;     /* to the child */
    size_t out_used, out_sent;
    result_t result;
    size_t result_used; /* bytes of result, then of in */
    char *in;
};

/* In the child. */

static int transfer(void *data, size_t length, bool out)
{
    char *rest = data;

    while (length > 0) {
        ssize_t n = out ? send(HPCBD_CHILD_SOCKET, rest, length, MSG_NOSIGNAL)
                        : recv(HPCBD_CHILD_SOCKET, rest, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        rest += n;
        length -= (size_t)n;
    }
    return 0;
}

/* The text of a call, which the caller frees; NULL: there is no more. */
static char *receive_call(void)
{
    uint32_t length;
    char *text;

    if (transfer(&length, sizeof(length), false) || length > HPCBD_SEALER_MAX)
        return NULL;
    text = malloc((size_t)length + 1);
    if (!text || transfer(text, length, false)) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

static bool is_waiting(void)
{
    struct pollfd one = {.fd = HPCBD_CHILD_SOCKET, .events = POLLIN};

    return poll(&one, 1, 0) > 0 && one.revents & POLLIN;
}

static void work_one(hpcbd_sealer_work_fn work, hpcbd_sealer_item_t *item)
{
    item->made = work(item->text, &item->why);
    if (!item->made)
        item->error = errno == EPERM ? EPERM : EAGAIN;
}

static int send_result(hpcbd_sealer_item_t *item)
{
    result_t result = {.error = (uint32_t)item->error};
    const char *text = item->made ? item->made : item->why.text;

    if (item->made && strlen(item->made) > HPCBD_SEALER_MAX) {
        item->made[0] = '\0';
        result.error = EPERM;
    }
    result.length = (uint32_t)strlen(text);
    return transfer(&result, sizeof(result), true) ||
           transfer((char *)text, result.length, true);
}

static int serve_some(const hpcbd_sealer_t *sealer, hpcbd_sealer_item_t *items)
{
    size_t count = 0;
    int status = 0;

    do {
        items[count] = (hpcbd_sealer_item_t){.text = receive_call()};
        if (!items[count].text)
            return -1;
    } while (++count < sealer->depth && is_waiting());
    if (sealer->batch)
        sealer->batch(items, count);
    else
        work_one(sealer->work, &items[0]);
    for (size_t i = 0; i < count; i++) {
        status = status || send_result(&items[i]) ? -1 : 0;
        free(items[i].made);
        free((char *)items[i].text);
    }
    return status;
}

static int serve(void *arg)
{
    static hpcbd_sealer_item_t items[HPCBD_SEALER_BATCH];

    while (serve_some(arg, items) == 0)
        ;
    return EXIT_FAILURE;
}

/* In the daemon. */

static void forget_out(hpcbd_sealer_t *sealer)
{
    free(sealer->out);
    sealer->out = NULL;
    sealer->out_used = sealer->out_sent = 0;
}

static void set_limit(hpcbd_sealer_t *sealer)
{
    hpcb_timer_in(sealer->limit, sealer->given ? sealer->limit_ms * MS_NS : 0, 0);
}

/* The first of list ends. */
static hpcbd_call_t *take_first(hpcbd_sealer_t *sealer, hpcbd_call_t **list)
{
    hpcbd_call_t *call = *list;

    *list = call->next;
    sealer->n_given -= call->given;
    sealer->n_calls--;
    if (!sealer->given)
        sealer->behind = &sealer->given;
    return call;
}

static void end_call(hpcbd_call_t *call, const char *text, int error, const char *why)
{
    if (call->done)
        call->done(call->arg, text, error, why);
    free(call);
}

static void forget_messages(hpcbd_sealer_t *sealer)
{
    hpcb_timer_in(sealer->limit, 0, 0);
    forget_out(sealer);
    free(sealer->in);
    sealer->in = NULL;
    sealer->result_used = 0;
}

static void fail_all(hpcbd_sealer_t *sealer, const char *why)
{
    forget_messages(sealer);
    while (sealer->given)
        end_call(take_first(sealer, &sealer->given), NULL, EAGAIN, why);
    while (sealer->waiting)
        end_call(take_first(sealer, &sealer->waiting), NULL, EAGAIN, why);
}

/* The child's work must not go on with what is half a message. */
static void give_up(hpcbd_sealer_t *sealer)
{
    hpcb_source_events(sealer->source, 0);
    hpcbd_child_kill(sealer->child);
}

static void next_call(hpcbd_sealer_t *sealer);

static void send_some(hpcbd_sealer_t *sealer)
{
    ssize_t n = send(sealer->fd, sealer->out + sealer->out_sent,
                     sealer->out_used - sealer->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n > 0)
        sealer->out_sent += (size_t)n;
    if (sealer->out_sent < sealer->out_used)
        return;
    forget_out(sealer);
    if (hpcb_source_events(sealer->source, EPOLLIN))
        give_up(sealer);
    else
        next_call(sealer);
}

static void give(hpcbd_sealer_t *sealer, hpcbd_call_t *call)
{
    sealer->waiting = call->next;
    call->next = NULL;
    call->given = true;
    *sealer->behind = call;
    sealer->behind = &call->next;
    sealer->turn = call->turn;
    if (sealer->n_given++ == 0)
        set_limit(sealer);
}

/* Give the child the next call, if it takes one. */
static void next_call(hpcbd_sealer_t *sealer)
{
    hpcbd_call_t *call = sealer->waiting;
    uint32_t length;

    if (sealer->out || sealer->n_given == sealer->depth || !call || sealer->fd < 0)
        return;
    length = (uint32_t)strlen(call->text);
    sealer->out = malloc(sizeof(length) + length);
    give(sealer, call);
    if (!sealer->out || hpcb_source_events(sealer->source, EPOLLIN | EPOLLOUT)) {
        give_up(sealer);
        return;
    }
    memcpy(sealer->out, &length, sizeof(length));
    memcpy(sealer->out + sizeof(length), call->text, length);
    sealer->out_used = sizeof(length) + length;
}

static void conclude(hpcbd_sealer_t *sealer)
{
    hpcbd_call_t *call = take_first(sealer, &sealer->given);
    hpcb_autofree char *text = sealer->in;
    uint32_t error = sealer->result.error;

    text[sealer->result.length] = '\0';
    sealer->in = NULL;
    sealer->result_used = 0;
    set_limit(sealer);
    end_call(call, error ? NULL : text, (int)error, text);
    next_call(sealer);
}

/* 0, or -1: what came is no result, or there is no memory for it. */
static int receive_some(hpcbd_sealer_t *sealer)
{
    const size_t head = sizeof(sealer->result);
    bool is_head = sealer->result_used < head;
    char *to = is_head ? (char *)&sealer->result + sealer->result_used
                       : sealer->in + (sealer->result_used - head);
    size_t end = is_head ? head : head + sealer->result.length;
    ssize_t n = recv(sealer->fd, to, end - sealer->result_used, MSG_DONTWAIT);

    if (n > 0)
        sealer->result_used += (size_t)n;
    if (sealer->result_used < head)
        return 0;
    if (!sealer->in && (!sealer->given || sealer->result.length > HPCBD_SEALER_MAX ||
                        !(sealer->in = malloc((size_t)sealer->result.length + 1))))
        return -1;
    if (sealer->given && sealer->result_used == head + sealer->result.length)
        conclude(sealer);
    return 0;
}

static void on_socket(void *arg, uint64_t events)
{
    hpcbd_sealer_t *sealer = arg;

    if (events & EPOLLOUT && sealer->out_sent < sealer->out_used)
        send_some(sealer);
    if (events & EPOLLIN && receive_some(sealer))
        give_up(sealer);
}

static void on_limit(void *arg, uint64_t count)
{
    hpcbd_sealer_t *sealer = arg;

    (void)count;
    hpcb_log(HPCB_LOG_ERROR, "munged does not answer within %u ms", sealer->limit_ms);
    give_up(sealer);
}

static void hang_up(hpcbd_sealer_t *sealer)
{
    hpcb_source_remove(sealer->source);
    sealer->source = NULL;
    if (sealer->fd >= 0)
        close(sealer->fd);
    sealer->fd = -1;
}

/* The child's own source watches its socket for its end: this one is of a copy. */
static void on_change(void *arg)
{
    hpcbd_sealer_t *sealer = arg;
    int theirs = hpcbd_child_socket(sealer->child);

    hang_up(sealer);
    fail_all(sealer, sealer->batch ? "no process takes it" : "munged does not answer");
    if (theirs < 0)
        return;
    sealer->fd = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
    if (sealer->fd >= 0)
        sealer->source =
            hpcb_loop_fd(sealer->loop, sealer->fd, EPOLLIN, on_socket, sealer, NULL);
    if (sealer->source)
        return;
    hang_up(sealer);
    hpcbd_child_kill(sealer->child);
}

static hpcbd_sealer_t *start(hpcb_loop_t *loop, const hpcbd_sealer_t *wanted,
                             hpcb_error_t *err)
{
    hpcbd_sealer_t *sealer = malloc(sizeof(*sealer));

    if (!sealer) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    *sealer = *wanted;
    sealer->loop = loop;
    sealer->fd = -1;
    sealer->behind = &sealer->given;
    sealer->limit = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_limit, sealer, err);
    if (sealer->limit)
        sealer->child = hpcbd_child_start(loop, sealer->name, serve, sealer, err);
    if (sealer->child) {
        hpcbd_child_watch(sealer->child, on_change, sealer);
        on_change(sealer);
        return sealer;
    }
    hpcb_source_remove(sealer->limit);
    free(sealer);
    return NULL;
}

hpcbd_sealer_t *hpcbd_sealer_start(hpcb_loop_t *loop, const char *name,
                                   hpcbd_sealer_work_fn work, unsigned limit_ms,
                                   hpcb_error_t *err)
{
    hpcbd_sealer_t wanted = {
        .name = name, .work = work, .limit_ms = limit_ms, .depth = 1};

    return start(loop, &wanted, err);
}

hpcbd_sealer_t *hpcbd_sealer_start_batch(hpcb_loop_t *loop, const char *name,
                                         hpcbd_sealer_batch_fn batch, hpcb_error_t *err)
{
    hpcbd_sealer_t wanted = {.name = name, .batch = batch, .depth = HPCBD_SEALER_BATCH};

    return start(loop, &wanted, err);
}

void hpcbd_sealer_stop(hpcbd_sealer_t *sealer)
{
    if (!sealer)
        return;
    hpcbd_child_stop(sealer->child);
    hang_up(sealer);
    forget_messages(sealer);
    hpcb_source_remove(sealer->limit);
    while (sealer->given)
        free(take_first(sealer, &sealer->given));
    while (sealer->waiting)
        free(take_first(sealer, &sealer->waiting));
    free(sealer);
}

size_t hpcbd_sealer_calls(const hpcbd_sealer_t *sealer)
{
    return sealer->n_calls;
}

static bool is_of(const hpcbd_call_t *call, const hpcbd_origin_t *origin)
{
    return memcmp(&call->origin, origin, sizeof(*origin)) == 0;
}

size_t hpcbd_sealer_waiting(const hpcbd_sealer_t *sealer, const hpcbd_origin_t *origin)
{
    size_t count = 0;

    for (const hpcbd_call_t *call = sealer->waiting; call; call = call->next)
        count += is_of(call, origin);
    return count;
}

/* One turn later for each call of the same origin that waits or is being made: so that
 * each turn has one call of each origin. */
static void insert(hpcbd_sealer_t *sealer, hpcbd_call_t *call)
{
    hpcbd_call_t **link = &sealer->waiting;

    call->turn = sealer->turn + hpcbd_sealer_waiting(sealer, &call->origin);
    for (const hpcbd_call_t *given = sealer->given; given; given = given->next)
        call->turn += is_of(given, &call->origin);
    while (*link && (*link)->turn <= call->turn)
        link = &(*link)->next;
    call->next = *link;
    *link = call;
}

hpcbd_call_t *hpcbd_sealer_call(hpcbd_sealer_t *sealer, const hpcbd_origin_t *origin,
                                const char *text, hpcbd_sealer_done_fn done, void *arg)
{
    hpcbd_call_t *call = NULL;

    if (sealer->fd >= 0 && strlen(text) <= HPCBD_SEALER_MAX)
        call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    *call = (hpcbd_call_t){
        .sealer = sealer, .origin = *origin, .text = text, .done = done, .arg = arg};
    insert(sealer, call);
    sealer->n_calls++;
    next_call(sealer);
    return call;
}

void hpcbd_call_cancel(hpcbd_call_t *call)
{
    hpcbd_call_t **link;

    if (!call)
        return;
    call->done = NULL;
    if (call->given)
        return;
    link = &call->sealer->waiting;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    call->sealer->n_calls--;
    free(call);
}
