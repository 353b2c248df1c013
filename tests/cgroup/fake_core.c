/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "cgroup/core_sched.h"
#include "tests/cgroup/fake_core.h"

#define TASKS_MAX 32

static struct {
    pid_t pid[TASKS_MAX];
    uint64_t cookie[TASKS_MAX];
    unsigned count;
    uint64_t last;
    uint64_t main_thread;
    int error;
    pthread_t thread;
} fake;

static __thread uint64_t mine;

static uint64_t *own(void)
{
    return pthread_equal(pthread_self(), fake.thread) ? &fake.main_thread : &mine;
}

static uint64_t *slot(pid_t pid)
{
    unsigned i = 0;

    if (pid == 0)
        return own();
    while (i < fake.count && fake.pid[i] != pid)
        i++;
    if (i == TASKS_MAX)
        abort();
    if (i == fake.count) {
        fake.pid[i] = pid;
        fake.cookie[i] = 0;
        fake.count++;
    }
    return &fake.cookie[i];
}

static int answer(int command, pid_t pid, int scope, uint64_t *id)
{
    errno = fake.error;
    if (fake.error)
        return -1;
    errno = EINVAL;
    if (scope != (command == HPCB_CORE_CREATE || command == HPCB_CORE_SHARE_TO
                      ? HPCB_CORE_PROCESS
                      : HPCB_CORE_THREAD))
        return -1;
    if (command == HPCB_CORE_GET)
        *id = *slot(pid);
    else if (command == HPCB_CORE_CREATE)
        *slot(pid) = ++fake.last;
    else if (command == HPCB_CORE_SHARE_TO)
        *slot(pid) = *own();
    else
        *own() = *slot(pid);
    return 0;
}

void fake_core_start(void)
{
    fake.count = 0;
    fake.last = 1000;
    fake.main_thread = 0;
    fake.error = 0;
    fake.thread = pthread_self();
    hpcb_core_set_call(answer);
}

void fake_core_stop(void)
{
    hpcb_core_set_call(NULL);
}

void fake_core_fail(int error)
{
    fake.error = error;
}

uint64_t fake_core_cookie(pid_t pid)
{
    return *slot(pid);
}

void fake_core_set(pid_t pid, uint64_t cookie)
{
    *slot(pid) = cookie;
}
