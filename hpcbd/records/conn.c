/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hpcbd/records/conn.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/records/wire.h"

/* A connected socket with time limits, or -1. */
static int connect_to(const char *host, uint32_t port, unsigned seconds,
                      hpcb_error_t *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct timeval limit = {.tv_sec = seconds};
    struct addrinfo *list = NULL;
    char service[16];
    int fd = -1, rc;

    snprintf(service, sizeof(service), "%u", (unsigned)port);
    rc = getaddrinfo(host, service, &hints, &list);
    if (rc)
        return hpcb_error(err, "%.100s: %s", host, gai_strerror(rc));
    for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next) {
        fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
        if (fd < 0)
            continue;
        (void)hpcbd_bind_reserved(fd, ai->ai_family);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
            hpcb_error(err, "%.100s: %s", host, strerror(errno));
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

int hpcbd_ship_connect(const hpcb_conf_t *conf, unsigned seconds, hpcb_error_t *err)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *host;
    int fd = -1;

    memcpy(list, conf->collector_hosts, sizeof(list));
    while (fd < 0 && (host = strsep(&rest, ",")))
        fd = connect_to(host, conf->collector_port, seconds, err);
    return fd;
}

static int send_all(int fd, const void *data, size_t length)
{
    const char *rest = data;

    while (length > 0) {
        ssize_t n = send(fd, rest, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        rest += n;
        length -= (size_t)n;
    }
    return 0;
}

int hpcbd_ship_frame(int fd, const char *credential, hpcb_error_t *err)
{
    unsigned char header[HPCBD_FRAME_HEADER];
    size_t length = strlen(credential);

    hpcbd_frame_header(header, length);
    if (length <= HPCBD_FRAME_MAX && send_all(fd, header, sizeof(header)) == 0 &&
        send_all(fd, credential, length) == 0)
        return 0;
    return hpcb_error(err, "the collector does not take it: %s", strerror(errno));
}

static int receive_all(int fd, void *data, size_t length)
{
    char *rest = data;

    while (length > 0) {
        ssize_t n = recv(fd, rest, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        rest += n;
        length -= (size_t)n;
    }
    return 0;
}

/* The text that was in the answer; the caller frees it. */
static char *receive_frame(int fd, hpcb_error_t *err)
{
    unsigned char header[HPCBD_FRAME_HEADER];
    hpcb_autofree char *credential = NULL;
    size_t length;

    errno = 0;
    if (receive_all(fd, header, sizeof(header)) ||
        hpcbd_frame_length(header, &length) || !(credential = malloc(length + 1)) ||
        receive_all(fd, credential, length)) {
        hpcb_error(err, "the collector does not answer%s%s", errno ? ": " : "",
                   errno ? strerror(errno) : "");
        return NULL;
    }
    credential[length] = '\0';
    return hpcbd_unseal(credential, err);
}

char *hpcbd_ship_exchange(const hpcb_conf_t *conf, const char *text, unsigned seconds,
                          hpcb_error_t *err)
{
    hpcb_autofree char *credential = hpcbd_seal(text, strlen(text), err);
    hpcb_autoclose int fd = credential ? hpcbd_ship_connect(conf, seconds, err) : -1;

    if (fd < 0 || hpcbd_ship_frame(fd, credential, err))
        return NULL;
    return receive_frame(fd, err);
}
