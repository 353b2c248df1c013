/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/tell.h"

int hpcb_tell_path(const char *state_dir, char *path, size_t size)
{
    size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
    int n = snprintf(path, size, "%s/hpcbd.sock", state_dir);

    if (n > 0 && (size_t)n < size && (size_t)n < limit)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

int hpcb_tell_connect(const char *state_dir, hpcb_error_t *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (hpcb_tell_path(state_dir, address.sun_path, sizeof(address.sun_path)))
        return hpcb_error(err, "hpcbd: %.200s is too long for a socket", state_dir);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    hpcb_cleanup_close(&fd);
    return hpcb_error(err, "hpcbd (%.100s): %s", address.sun_path, strerror(errno));
}

int hpcb_tell(const char *state_dir, const char *verb, uint32_t job_id,
              hpcb_error_t *err)
{
    hpcb_autoclose int fd = hpcb_tell_connect(state_dir, err);
    char text[128];
    int n = snprintf(text, sizeof(text), "{\"verb\":\"%s\",\"job\":%" PRIu32 "}", verb,
                     job_id);

    if (fd < 0)
        return -1;
    if (send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n)
        return 0;
    return hpcb_error(err, "hpcbd: %s", strerror(errno));
}
