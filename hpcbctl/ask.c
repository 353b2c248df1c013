/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/tell.h"
#include "hpcbctl/ask.h"
#include "hpcbctl/output.h"

#define WAIT_MS   1000
#define PAGES_MAX 128

static int say(int fd, const char *text, hpcb_error_t *err)
{
    size_t length = strlen(text);

    if (send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length)
        return 0;
    return hpcb_error(err, "hpcbd: %s", strerror(errno));
}

/* One packet as an object, or NULL. */
static json_object *receive(int fd, hpcb_error_t *err)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char text[HPCB_TELL_MAX + 1];
    json_object *object = NULL;
    ssize_t length = -1;

    if (poll(&wait, 1, WAIT_MS) == 1)
        length = recv(fd, text, HPCB_TELL_MAX, MSG_DONTWAIT);
    if (length > 0) {
        text[length] = '\0';
        object = json_tokener_parse(text);
    }
    if (!object)
        hpcb_error(err, "hpcbd does not answer");
    return object;
}

json_object *hpcb_ask(const char *state_dir, const char *text, hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_tell_connect(state_dir, err);

    return fd >= 0 && say(fd, text, err) == 0 ? receive(fd, err) : NULL;
}

/* The last object of a page; what comes before it goes to items. */
static json_object *read_page(int fd, json_object *items, hpcb_error_t *err)
{
    json_object *object;

    while ((object = receive(fd, err))) {
        if (json_object_object_get_ex(object, "end", NULL))
            return object;
        if (hpcb_json_append(items, object) < 0)
            break;
    }
    return NULL;
}

json_object *hpcb_ask_pages(const char *state_dir, const char *verb, json_object *items,
                            hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_tell_connect(state_dir, err);
    json_object *last = NULL;
    uint64_t from = 0;
    char text[96];

    for (int page = 0; fd >= 0 && page < PAGES_MAX; page++) {
        json_object_put(last);
        snprintf(text, sizeof(text), "{\"verb\":\"%s\",\"from\":%" PRIu64 "}", verb,
                 from);
        last = say(fd, text, err) == 0 ? read_page(fd, items, err) : NULL;
        if (!last || !json_object_object_get_ex(last, "next", NULL))
            break;
        from = hpcb_json_get_u64(last, "next");
    }
    return last;
}
