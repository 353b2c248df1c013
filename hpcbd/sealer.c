/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Between the two goes, through a stream socket:
 *
 *   call    the length of the text (uint32_t), the text
 *   result  error (uint32_t: 0, EPERM or EAGAIN), the length, the text or why
 *
 * If the child ends, all calls end with EAGAIN: whoever sent what they were about sends
 * it again later.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/child.h"
#include "hpcbd/sealer.h"

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
};

struct hpcbd_sealer {
    hpcb_loop_t *loop;
    hpcbd_sealer_work_fn work;
    hpcbd_child_t *child;
    hpcb_source_t *source, *limit;
    unsigned limit_ms;
    int fd;                /* of the child's socket; -1: no child */
    hpcbd_call_t *waiting; /* by turn */
    hpcbd_call_t *current; /* the child has it */
    uint64_t turn;         /* of the last one that the child was given */
    char *out;             /* to the child */
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

static int serve_one(hpcbd_sealer_work_fn work)
{
    hpcb_autofree char *text = NULL, *made = NULL;
    hpcb_error_t err = {""};
    result_t result = {.error = 0};
    uint32_t length;

    if (transfer(&length, sizeof(length), false) || length > HPCBD_SEALER_MAX)
        return -1;
    text = malloc((size_t)length + 1);
    if (!text || transfer(text, length, false))
        return -1;
    text[length] = '\0';
    made = work(text, &err);
    if (!made)
        result.error = errno == EPERM ? EPERM : EAGAIN;
    if (made && strlen(made) > HPCBD_SEALER_MAX) {
        made[0] = '\0';
        result.error = EPERM;
    }
    result.length = (uint32_t)strlen(made ? made : err.text);
    return transfer(&result, sizeof(result), true) ||
                   transfer(made ? made : err.text, result.length, true)
               ? -1
               : 0;
}

static int serve(void *arg)
{
    const hpcbd_sealer_t *sealer = arg;

    while (serve_one(sealer->work) == 0)
        ;
    return EXIT_FAILURE;
}

/* In the daemon. */

static void forget_current(hpcbd_sealer_t *sealer)
{
    hpcb_timer_in(sealer->limit, 0, 0);
    free(sealer->out);
    free(sealer->in);
    sealer->out = sealer->in = NULL;
    sealer->out_used = sealer->out_sent = sealer->result_used = 0;
    free(sealer->current);
    sealer->current = NULL;
}

static void end_call(hpcbd_call_t *call, const char *text, int error, const char *why)
{
    if (call->done)
        call->done(call->arg, text, error, why);
}

static void fail_all(hpcbd_sealer_t *sealer, const char *why)
{
    hpcbd_call_t *call;

    if (sealer->current)
        end_call(sealer->current, NULL, EAGAIN, why);
    forget_current(sealer);
    while ((call = sealer->waiting)) {
        sealer->waiting = call->next;
        end_call(call, NULL, EAGAIN, why);
        free(call);
    }
}

/* The child's work must not go on with what is half a message. */
static void give_up(hpcbd_sealer_t *sealer)
{
    hpcb_source_events(sealer->source, 0);
    hpcbd_child_kill(sealer->child);
}

static void send_some(hpcbd_sealer_t *sealer)
{
    ssize_t n = send(sealer->fd, sealer->out + sealer->out_sent,
                     sealer->out_used - sealer->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n > 0)
        sealer->out_sent += (size_t)n;
    if (sealer->out_sent == sealer->out_used &&
        hpcb_source_events(sealer->source, EPOLLIN))
        give_up(sealer);
}

/* Give the child the next call; one for whose copy there is no memory ends. */
static void next_call(hpcbd_sealer_t *sealer)
{
    hpcbd_call_t *call = sealer->waiting;
    uint32_t length;

    if (sealer->current || !call || sealer->fd < 0)
        return;
    length = (uint32_t)strlen(call->text);
    sealer->out = malloc(sizeof(length) + length);
    sealer->waiting = call->next;
    sealer->current = call;
    sealer->turn = call->turn;
    if (!sealer->out || hpcb_source_events(sealer->source, EPOLLIN | EPOLLOUT)) {
        give_up(sealer);
        return;
    }
    memcpy(sealer->out, &length, sizeof(length));
    memcpy(sealer->out + sizeof(length), call->text, length);
    sealer->out_used = sizeof(length) + length;
    hpcb_timer_in(sealer->limit, sealer->limit_ms * MS_NS, 0);
}

static void conclude(hpcbd_sealer_t *sealer)
{
    hpcbd_call_t *call = sealer->current;
    hpcb_autofree char *text = sealer->in;
    uint32_t error = sealer->result.error;

    text[sealer->result.length] = '\0';
    sealer->in = NULL;
    sealer->current = NULL;
    forget_current(sealer);
    end_call(call, error ? NULL : text, (int)error, text);
    free(call);
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
    if (!sealer->in && (!sealer->current || sealer->result.length > HPCBD_SEALER_MAX ||
                        !(sealer->in = malloc((size_t)sealer->result.length + 1))))
        return -1;
    if (sealer->result_used == head + sealer->result.length)
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
    fail_all(sealer, "munged does not answer");
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

hpcbd_sealer_t *hpcbd_sealer_start(hpcb_loop_t *loop, const char *name,
                                   hpcbd_sealer_work_fn work, unsigned limit_ms,
                                   hpcb_error_t *err)
{
    hpcbd_sealer_t *sealer = calloc(1, sizeof(*sealer));

    if (!sealer) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    *sealer =
        (hpcbd_sealer_t){.loop = loop, .work = work, .limit_ms = limit_ms, .fd = -1};
    sealer->limit = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_limit, sealer, err);
    if (sealer->limit)
        sealer->child = hpcbd_child_start(loop, name, serve, sealer, err);
    if (sealer->child) {
        hpcbd_child_watch(sealer->child, on_change, sealer);
        on_change(sealer);
        return sealer;
    }
    hpcb_source_remove(sealer->limit);
    free(sealer);
    return NULL;
}

void hpcbd_sealer_stop(hpcbd_sealer_t *sealer)
{
    hpcbd_call_t *call;

    if (!sealer)
        return;
    hpcbd_child_stop(sealer->child);
    hang_up(sealer);
    forget_current(sealer);
    hpcb_source_remove(sealer->limit);
    while ((call = sealer->waiting)) {
        sealer->waiting = call->next;
        free(call);
    }
    free(sealer);
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
    if (sealer->current && is_of(sealer->current, &call->origin))
        call->turn++;
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
    next_call(sealer);
    return call;
}

void hpcbd_call_cancel(hpcbd_call_t *call)
{
    hpcbd_call_t **link;

    if (!call)
        return;
    call->done = NULL;
    if (call == call->sealer->current)
        return;
    link = &call->sealer->waiting;
    while (*link && *link != call)
        link = &(*link)->next;
    if (*link)
        *link = call->next;
    free(call);
}
