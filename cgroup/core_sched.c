/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include "cgroup/core_sched.h"

/* Since Linux 5.14; older headers do not know it. */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

#define STACK_BYTES (256 * 1024)
#define INIT_PID    1

static int kernel_call(int command, pid_t pid, int scope, uint64_t *id)
{
    return prctl(PR_SCHED_CORE, command, pid, scope, (unsigned long)id);
}

static hpcb_core_call_t call = kernel_call;

void hpcb_core_set_call(hpcb_core_call_t other)
{
    call = other ? other : kernel_call;
}

int hpcb_core_probe(hpcb_error_t *err)
{
    uint64_t id;

    if (call(HPCB_CORE_GET, 0, HPCB_CORE_THREAD, &id) == 0)
        return 0;
    if (errno == ENODEV)
        return hpcb_error(err, "the kernel sees no SMT");
    if (errno == EINVAL)
        return hpcb_error(err, "this kernel has no core scheduling "
                               "(CONFIG_SCHED_CORE, Linux 5.14)");
    return hpcb_error(err, "core scheduling: %s", strerror(errno));
}

int hpcb_core_cookie(pid_t tid, uint64_t *id, hpcb_error_t *err)
{
    uint64_t found = 0;

    if (call(HPCB_CORE_GET, tid, HPCB_CORE_THREAD, &found) < 0)
        return hpcb_error(err, "task %d: core-scheduling cookie: %s", (int)tid,
                          strerror(errno));
    *id = found;
    return 0;
}

int hpcb_core_create(pid_t pid, hpcb_error_t *err)
{
    if (call(HPCB_CORE_CREATE, pid, HPCB_CORE_PROCESS, NULL) == 0)
        return 0;
    return hpcb_error(err, "task %d: new core-scheduling cookie: %s", (int)pid,
                      strerror(errno));
}

typedef struct {
    pid_t from;
    uint64_t id;
    pid_t to;
    int error; /* errno, 0 when done */
} errand_t;

/* Take on the cookie id: 0 is what a thread usually starts with (from its parent). */
static int take_cookie(const errand_t *errand)
{
    uint64_t mine;

    if (call(HPCB_CORE_GET, 0, HPCB_CORE_THREAD, &mine) < 0)
        return errno;
    if (mine == errand->id && (errand->id == 0 || errand->from == 0))
        return 0;
    if (call(HPCB_CORE_SHARE_FROM, errand->from ? errand->from : INIT_PID,
             HPCB_CORE_THREAD, NULL) < 0 ||
        call(HPCB_CORE_GET, 0, HPCB_CORE_THREAD, &mine) < 0)
        return errno;
    return mine == errand->id ? 0 : ESTALE;
}

static void *run_errand(void *arg)
{
    errand_t *errand = arg;

    errand->error = take_cookie(errand);
    if (errand->error == 0 &&
        call(HPCB_CORE_SHARE_TO, errand->to, HPCB_CORE_PROCESS, NULL) < 0)
        errand->error = errno;
    return NULL;
}

/* The process's signals are for its own threads. */
static int run_in_thread(errand_t *errand)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    int rc;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attributes, run_errand, errand);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (rc)
        return rc;
    pthread_join(thread, NULL);
    return errand->error;
}

int hpcb_core_share(pid_t from, uint64_t id, pid_t pid, hpcb_error_t *err)
{
    errand_t errand = {.from = from, .id = id, .to = pid};
    int rc = run_in_thread(&errand);

    if (rc == 0)
        return 0;
    errno = rc;
    return hpcb_error(err, "task %d: core-scheduling cookie of task %d: %s", (int)pid,
                      (int)from, strerror(rc));
}
