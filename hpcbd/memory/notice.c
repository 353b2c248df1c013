/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hpcbd/child.h"
#include "hpcbd/memory/notice.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/requeue.h"

#define NOBODY 65534 /* no group is needed to write */

int hpcbd_notice_become(uid_t uid)
{
    close(HPCBD_CHILD_SOCKET);
    if (uid == HPCBD_NO_USER) /* for which setresuid(2) means "unchanged" */
        return -1;
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                   setresuid((uid_t)-1, uid, (uid_t)-1) == 0
               ? 0
               : -1;
}

int hpcbd_notice_write(int fd, uint32_t job_id, uint64_t used)
{
    char text[256];
    int n =
        snprintf(text, sizeof(text),
                 "slurm-hpc-balance: " HPCBD_MEMORY_TEXT " (job %" PRIu32
                 " held %" PRIu64 " MiB on this node); it is requeued if it may be\n",
                 job_id, used >> 20);

    return write(fd, text, (size_t)n) == n ? 0 : -1;
}

/* The file may have been replaced since the guest wrote to it. */
static int append(const char *path, uint32_t job_id, uint64_t used)
{
    int fd = open(path,
                  O_WRONLY | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
               ? hpcbd_notice_write(fd, job_id, used)
               : -1;
}

void hpcbd_notice_append(uid_t uid, const char *path, uint32_t job_id, uint64_t used)
{
    if (fork() != 0)
        return;
    signal(SIGALRM, SIG_DFL);
    alarm(HPCBD_NOTICE_SECONDS);
    _exit(hpcbd_notice_become(uid) == 0 && append(path, job_id, used) == 0
              ? EXIT_SUCCESS
              : EXIT_FAILURE);
}
