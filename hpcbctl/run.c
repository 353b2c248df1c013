/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "hpcbctl/run.h"

#define USUAL_DIRS   "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/sbin:/usr/local/sbin"
#define STDERR_BYTES 400
#define CANNOT_EXEC  127

/* One end of the child's output: what has come so far. */
typedef struct {
    int fd;
    char *text;
    size_t used, max;
    bool cut; /* drop what is over max instead of failing */
} stream_t;

typedef struct {
    pid_t pid;
    stream_t out, err;
} child_t;

static int search(const char *dirs, const char *name, char *path, size_t size)
{
    while (*dirs) {
        size_t length = strcspn(dirs, ":");

        if (dirs[0] == '/' &&
            snprintf(path, size, "%.*s/%s", (int)length, dirs, name) < (int)size &&
            access(path, X_OK) == 0)
            return 0;
        dirs += length + (dirs[length] == ':');
    }
    return -1;
}

int hpcb_run_find(const char *name, char *path, size_t size, hpcb_error_t *err)
{
    const char *dirs = secure_getenv("PATH");

    if (dirs && search(dirs, name, path, size) == 0)
        return 0;
    if (search(USUAL_DIRS, name, path, size) == 0)
        return 0;
    errno = ENOENT;
    return hpcb_error(err, "%s is in no directory of PATH", name);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child.  Only calls that are safe after fork. */
static void become(char *const argv[], int out, int err)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setpgid(0, 0);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        _exit(CANNOT_EXEC);
    execv(argv[0], argv);
    _exit(CANNOT_EXEC);
}

static int start(child_t *child, char *const argv[])
{
    int out[2], err[2];

    if (pipe2(out, O_CLOEXEC))
        return -1;
    if (pipe2(err, O_CLOEXEC)) {
        close(out[0]);
        close(out[1]);
        return -1;
    }
    child->pid = fork();
    if (child->pid == 0)
        become(argv, out[1], err[1]);
    if (child->pid > 0)
        setpgid(child->pid, child->pid);
    close(out[1]);
    close(err[1]);
    child->out.fd = out[0];
    child->err.fd = err[0];
    return child->pid < 0 ? -1 : 0;
}

/* Take what is there.  0, or -1 with errno; at the end of the stream fd becomes -1. */
static int drain(stream_t *stream)
{
    char spare[4096];
    bool full = stream->used == stream->max;
    ssize_t n = full ? read(stream->fd, spare, sizeof(spare))
                     : read(stream->fd, stream->text + stream->used,
                            stream->max - stream->used);

    if (n < 0)
        return errno == EINTR ? 0 : -1;
    if (n == 0) {
        close(stream->fd);
        stream->fd = -1;
    } else if (!full) {
        stream->used += (size_t)n;
    } else if (!stream->cut) {
        errno = EFBIG;
        return -1;
    }
    return 0;
}

/* Until both streams have ended. */
static int collect(child_t *child, int64_t deadline)
{
    while (child->out.fd >= 0 || child->err.fd >= 0) {
        struct pollfd fds[2] = {{.fd = child->out.fd, .events = POLLIN},
                                {.fd = child->err.fd, .events = POLLIN}};
        int64_t left = deadline - now_ms();
        int ready = left > 0 ? poll(fds, 2, (int)left) : 0;

        if (ready == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (ready < 0 && errno != EINTR)
            return -1;
        if (ready < 0)
            continue;
        if ((fds[0].revents && drain(&child->out)) ||
            (fds[1].revents && drain(&child->err)))
            return -1;
    }
    return 0;
}

/* A child may close its output and stay. */
static int reap(const child_t *child, int64_t deadline, int *status)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    pid_t ended;

    while ((ended = waitpid(child->pid, status, WNOHANG)) == 0) {
        if (now_ms() >= deadline) {
            errno = ETIMEDOUT;
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return ended < 0 ? -1 : 0;
}

static void stop(child_t *child)
{
    int saved = errno;

    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    errno = saved;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int conclude(const child_t *child, int status, const char *name,
                    hpcb_error_t *err)
{
    const char *said = child->err.text;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status)) {
        errno = EINTR;
        return hpcb_error(err, "%s was killed by signal %d", name, WTERMSIG(status));
    }
    hpcb_error(err, "%s: %.*s", name, (int)strcspn(said, "\n"),
               *said ? said : "failed without a word");
    return WEXITSTATUS(status);
}

static int explain(const char *name, unsigned timeout_ms, hpcb_error_t *err)
{
    if (errno == ETIMEDOUT)
        return hpcb_error(err, "%s: no answer within %u s", name, timeout_ms / 1000);
    if (errno == EFBIG)
        return hpcb_error(err, "%s: its output does not end", name);
    return hpcb_error(err, "%s: %s", name, strerror(errno));
}

int hpcb_run(char *const argv[], unsigned timeout_ms, size_t max, char **output,
             hpcb_error_t *err)
{
    char said[STDERR_BYTES + 1] = "";
    hpcb_autofree char *text = malloc(max + 1);
    child_t child = {
        .out = {.fd = -1, .text = text, .max = max},
        .err = {.fd = -1, .text = said, .max = STDERR_BYTES, .cut = true},
    };
    int64_t deadline = now_ms() + timeout_ms;
    const char *name = base_name(argv[0]);
    int status = 0, failed;

    failed = !text || start(&child, argv) || collect(&child, deadline) ||
             reap(&child, deadline, &status);
    if (failed)
        stop(&child);
    hpcb_cleanup_close(&child.out.fd);
    hpcb_cleanup_close(&child.err.fd);
    if (failed)
        return explain(name, timeout_ms, err);
    text[child.out.used] = '\0';
    status = conclude(&child, status, name, err);
    if (status < 0)
        return -1;
    *output = text;
    text = NULL;
    return status;
}
