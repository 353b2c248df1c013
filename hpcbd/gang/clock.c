/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "common/log.h"
#include "hpcbd/gang/clock.h"
#include "hpcbd/windows/peers.h"

#define MS INT64_C(1000000)

/* Of a quantum: what its end may be late or early. */
#define PART 10

/* False also where the kernel does not say. */
static bool is_left_alone(void)
{
    struct timex state = {.modes = 0};

    return adjtimex(&state) >= 0 && (state.status & STA_UNSYNC);
}

static void judge(char *wrong, size_t size, int64_t quantum_ns)
{
    int64_t offset_ns, limit_ns = quantum_ns / PART;

    wrong[0] = '\0';
    if (quantum_ns == 0)
        return;
    if (hpcbd_peers_offset(&offset_ns)) {
        if (offset_ns > limit_ns || offset_ns < -limit_ns)
            snprintf(wrong, size,
                     "it is %s those of most peers by more than %" PRId64 " ms",
                     offset_ns > 0 ? "behind" : "ahead of", limit_ns / MS);
    } else if (is_left_alone()) {
        snprintf(wrong, size,
                 "the kernel reports that it is not synchronized (adjtimex)");
    }
}

void hpcbd_clock_look(hpcbd_clock_t *clock, int64_t quantum_ns)
{
    char wrong[sizeof(clock->wrong)];

    judge(wrong, sizeof(wrong), quantum_ns);
    if (strcmp(wrong, clock->wrong) == 0)
        return;
    if (*wrong)
        hpcb_log(HPCB_LOG_ERROR,
                 "this node's clock: %s: jobs of several nodes lose turns", wrong);
    else
        hpcb_log(HPCB_LOG_INFO, "this node's clock: nothing is known against it");
    memcpy(clock->wrong, wrong, sizeof(wrong));
}
