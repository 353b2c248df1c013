/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/replay_page.h"

extern char **environ;

/* Return the path of the program; HPCB_SIM_PAGE overrides it for a build that is not
 * installed. */
static const char *program(void)
{
    const char *set = secure_getenv("HPCB_SIM_PAGE");

    return set ? set : HPCB_SIM_PAGE_PROGRAM;
}

static pid_t start(const char *path, int from)
{
    char *arguments[] = {(char *)program(), (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int rc;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    rc = posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        errno = rc;
        return -1;
    }
    return pid;
}

static int feed(int to, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(to, text, left);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            text += n;
            left -= (size_t)n;
        }
    }
    return 0;
}

int hpcb_sim_page(const char *path, const char *json)
{
    int ends[2], status = -1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0 || (pid = start(path, ends[0])) < 0) {
        fprintf(stderr, "hpcb-sim: --html: %s: %s\n", program(), strerror(errno));
        return -1;
    }
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    /* If it cannot be fed, it says why itself. */
    (void)feed(ends[1], json);
    close(ends[1]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
