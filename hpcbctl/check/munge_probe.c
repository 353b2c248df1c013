/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <munge.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hpcbctl/check/munge_probe.h"

static const char PAYLOAD[] = "hpcbctl";

/* NULL when all is well, else MUNGE's own words. */
static const char *round_trip(const char *socket)
{
    munge_ctx_t ctx = munge_ctx_create();
    char *credential = NULL;
    void *payload = NULL;
    int length = 0;
    uid_t uid = (uid_t)-1;
    gid_t gid;
    munge_err_t status;

    if (!ctx)
        return "out of memory";
    if (*socket && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS)
        return munge_ctx_strerror(ctx);
    status = munge_encode(&credential, ctx, PAYLOAD, sizeof(PAYLOAD));
    if (status == EMUNGE_SUCCESS)
        status = munge_decode(credential, ctx, &payload, &length, &uid, &gid);
    if (status != EMUNGE_SUCCESS)
        return munge_ctx_strerror(ctx) ? munge_ctx_strerror(ctx)
                                       : munge_strerror(status);
    if (length != sizeof(PAYLOAD) || memcmp(payload, PAYLOAD, sizeof(PAYLOAD)) != 0 ||
        uid != geteuid())
        return "a credential came back changed";
    return NULL;
}

static void answer(int fd, const char *socket)
{
    const char *why = round_trip(socket);
    ssize_t n = why ? write(fd, why, strlen(why)) : write(fd, "", 1);

    _exit(n > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Read the child's output within its time. */
static int listen_to(int fd, unsigned timeout_ms, hpcb_error_t *err)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    char said[256] = "";
    ssize_t n;

    if (poll(&poller, 1, (int)timeout_ms) <= 0)
        return hpcb_error(err, "munged does not answer within %u s", timeout_ms / 1000);
    n = read(fd, said, sizeof(said) - 1);
    if (n == 1 && said[0] == '\0')
        return 0;
    return hpcb_error(err, "%s", n > 0 ? said : "the MUNGE library ended the program");
}

int hpcb_munge_probe(const char *socket, unsigned timeout_ms, hpcb_error_t *err)
{
    hpcb_autoclose int in = -1;
    int ends[2], status;
    pid_t child;

    if (pipe2(ends, 0))
        return hpcb_error(err, "pipe: %s", strerror(errno));
    in = ends[0];
    child = fork();
    if (child == 0)
        answer(ends[1], socket);
    close(ends[1]);
    if (child < 0)
        return hpcb_error(err, "fork: %s", strerror(errno));
    status = listen_to(in, timeout_ms, err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return status;
}
