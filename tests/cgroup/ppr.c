/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The hardware-thread priority of the machine that this is built for: on POWER it is
 * set and read back, elsewhere it is refused.  Without Check, so that a cross compiler
 * needs nothing but libc.
 *
 * Nothing is printed between set and get: on Linux a system call ends a priority.  Only
 * what qemu-user models is asserted as set; of VERY_LOW, which it does not take, only
 * that set and get agree.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/mechanism_ppr.h"
#include "cgroup/rows.h"

static int number, failed;

static void ok(bool good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
    failed += !good;
}

static bool refuses(int priority, int error)
{
    int before = hpcb_ppr_get();

    errno = 0;
    return hpcb_ppr_set(priority) == -1 && errno == error && hpcb_ppr_get() == before;
}

static bool sets(int priority)
{
    return hpcb_ppr_set(priority) == 0 && hpcb_ppr_get() == priority;
}

static bool set_and_get_agree(int priority)
{
    int before = hpcb_ppr_get(), rc = hpcb_ppr_set(priority), after = hpcb_ppr_get();

    return rc == 0 ? after == priority : errno == EPERM && after == before;
}

static bool undoes(const hpcb_target_t *target)
{
    hpcb_error_t err;

    return hpcb_ppr_undo(NULL, target, &err) == 0 &&
           hpcb_ppr_get() == HPCB_PPR_MEDIUM_LOW &&
           hpcb_ppr_verify(target, &err) == -1 && strstr(err.text, "priority");
}

static void on_power(void)
{
    hpcb_target_t target = {.pid = getpid()};
    hpcb_error_t err;
    int rc, seen;

    ok(sets(HPCB_PPR_LOW), "low");
    ok(sets(HPCB_PPR_MEDIUM_LOW), "medium-low");
    ok(sets(HPCB_PPR_MEDIUM), "medium");
    ok(set_and_get_agree(HPCB_PPR_VERY_LOW), "very low, or refused and left alone");
    ok(refuses(0, EINVAL) && refuses(5, EINVAL) && refuses(-1, EINVAL) &&
           refuses(7, EINVAL),
       "levels of the kernel's are refused");
    hpcb_ppr_set(HPCB_PPR_MEDIUM);
    rc = hpcb_ppr_apply(&target, &err);
    seen = hpcb_ppr_get();
    ok(rc == 0 && (seen == HPCB_PPR_LOW || seen == HPCB_PPR_VERY_LOW),
       "the row lowers its caller");
    rc = hpcb_ppr_apply(&target, &err);
    ok(rc == 0 && hpcb_ppr_verify(&target, &err) == 0, "the row verifies");
    ok(undoes(&target), "the row goes back to medium-low");
    target.pid = getppid();
    ok(hpcb_ppr_apply(&target, &err) == -1 && errno == EINVAL,
       "the row refuses another task");
    ok(hpcb_ppr_undo(NULL, &target, &err) == 0, "and has nothing to undo there");
}

static void elsewhere(void)
{
    hpcb_target_t target = {.pid = getpid()};
    hpcb_error_t err;

    ok(hpcb_ppr_probe(NULL, &err) == -1 && strstr(err.text, "POWER"),
       "the probe says why");
    ok(hpcb_ppr_get() == -1 && errno == ENOTSUP, "get");
    ok(refuses(HPCB_PPR_LOW, ENOTSUP), "set");
    ok(hpcb_ppr_apply(&target, &err) == -1 && errno == ENOTSUP, "apply");
    ok(hpcb_ppr_verify(&target, &err) == -1 && errno == ENOTSUP, "verify");
    ok(hpcb_ppr_undo(NULL, &target, &err) == 0, "undo has nothing to do");
}

int main(void)
{
    if (hpcb_ppr_probe(NULL, NULL) == 0)
        on_power();
    else
        elsewhere();
    printf("1..%d\n", number);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
