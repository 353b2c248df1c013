/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/tell.h"

static int path_of(const char *state_dir, const char *name, char *path, size_t size)
{
    size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
    int n = snprintf(path, size, "%s/%s", state_dir, name);

    if (n > 0 && (size_t)n < size && (size_t)n < limit)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

int hpcb_tell_path(const char *state_dir, char *path, size_t size)
{
    return path_of(state_dir, "hpcbd.sock", path, size);
}

int hpcb_tell_root_path(const char *state_dir, char *path, size_t size)
{
    return path_of(state_dir, "hpcbd.root.sock", path, size);
}

static int connect_to(const struct sockaddr_un *address, hpcb_error_t *err)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return fd;
    hpcb_error(err, "hpcbd (%.100s): %s", address->sun_path, strerror(errno));
    hpcb_cleanup_close(&fd);
    return -1;
}

int hpcb_tell_connect(const char *state_dir, hpcb_error_t *err)
{
    struct sockaddr_un all = {.sun_family = AF_UNIX}, root = all;

    if (hpcb_tell_path(state_dir, all.sun_path, sizeof(all.sun_path)) ||
        hpcb_tell_root_path(state_dir, root.sun_path, sizeof(root.sun_path)))
        return hpcb_error(err, "hpcbd: %.200s is too long for a socket", state_dir);
    /* One of an earlier release has no socket for root. */
    if (geteuid() != 0 || access(root.sun_path, F_OK) < 0)
        return connect_to(&all, err);
    return connect_to(&root, err);
}

static int say(int fd, const char *verb, uint32_t job_id, hpcb_error_t *err)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "{\"verb\":\"%s\",\"job\":%" PRIu32 "}", verb,
                     job_id);

    if (send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n)
        return 0;
    return hpcb_error(err, "hpcbd: %s", strerror(errno));
}

int hpcb_tell(const char *state_dir, const char *verb, uint32_t job_id,
              hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_tell_connect(state_dir, err);

    return fd < 0 ? -1 : say(fd, verb, job_id, err);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True if there is an answer in time, whatever signals come. */
static bool answers(int fd, int timeout_ms)
{
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    int64_t end_ms = now_ms() + timeout_ms, left = timeout_ms;
    int rc;

    do {
        rc = poll(&answer, 1, (int)left);
        left = end_ms - now_ms();
    } while (rc < 0 && errno == EINTR && left > 0);
    return rc == 1;
}

int hpcb_tell_wait(const char *state_dir, const char *verb, uint32_t job_id,
                   int timeout_ms, hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_tell_connect(state_dir, err);

    if (fd < 0 || say(fd, verb, job_id, err) < 0)
        return -1;
    if (answers(fd, timeout_ms))
        return 0;
    errno = ETIMEDOUT;
    return hpcb_error(err, "hpcbd: no answer within %d ms", timeout_ms);
}
