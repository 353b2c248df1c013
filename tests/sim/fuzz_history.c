/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Histories, as sites export them: both formats. */
#include "config.h"

#include "sim/history.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "; MaxProcs: 64\n"
    "1 0 10 3600 32 1800.5 1024 32 7200 4096 1 5 1 1 1 1 -1 -1\n"
    "2 5 -1 1 1 -1 -1 -1 -1 -1 0 5 1 1 1 1 -1 -1\n",
    "JobIDRaw|Submit|ElapsedRaw|AllocCPUS|State|TotalCPU|TimelimitRaw|ReqMem|NNodes|"
    "MaxRSS|NTasks\n"
    "7|2026-11-23T10:00:00|3600|4|COMPLETED|1-02:00:00|120|4Gn|1||\n"
    "7.batch|2026-11-23T10:00:00|3600|4|COMPLETED|02:00:00|||1|102400K|2\n"
    "8|1795428000|60|1|CANCELLED by 7|00:30.500|1|1Gc|1||\n",
    "JobID|Submit|Start|Elapsed|NCPUS|Timelimit|ReqMem\n"
    "7|2026-11-23T10:00|2026-11-24|00:59:30|4|01:00:00|4Gn\n"
    "8|2026-11-23|Unknown|1-00:00:00|1|UNLIMITED|1G\n",
    NULL,
};

static const hpcb_sim_shape_t shape = {.nodes = 1, .cpus = 64, .memory = 64000};

static void check(const hpcb_sim_history_t *history)
{
    for (size_t i = 0; i < history->n; i++) {
        const hpcb_sim_past_t *job = &history->job[i];

        FUZZ_ASSERT(job->submit >= 0 && job->submit <= HPCB_SIM_TIME_MAX);
        FUZZ_ASSERT(job->run >= 1 && job->run <= HPCB_SIM_RUN_MAX);
        FUZZ_ASSERT(job->limit >= job->run && job->limit <= HPCB_SIM_RUN_MAX);
        FUZZ_ASSERT(job->cpus >= 1 && job->cpus <= 64);
        FUZZ_ASSERT(job->load >= 0 && job->load <= 1);
        FUZZ_ASSERT(job->memory_asked >= 0);
        FUZZ_ASSERT(job->memory_asked / job->cpus <= shape.memory);
        FUZZ_ASSERT(job->memory_used >= 0);
        FUZZ_ASSERT(!job->limited || (job->limit_known && job->limit == job->run));
        FUZZ_ASSERT(i == 0 || history->job[i - 1].submit <= job->submit);
    }
}

static void read_as(int (*reader)(FILE *, hpcb_sim_history_t *, hpcb_error_t *),
                    const uint8_t *data, size_t size)
{
    /* fmemopen takes no empty buffer. */
    FILE *stream =
        fmemopen(size > 0 ? (void *)data : (void *)"\n", size > 0 ? size : 1, "r");
    hpcb_sim_history_t history = {0};
    hpcb_error_t err = {""};

    FUZZ_ASSERT(stream);
    if (reader(stream, &history, &err) == 0) {
        FUZZ_ASSERT(hpcb_sim_history_sort(&history, &err) == 0);
        /* Also at the edge of a moment that a seed has. */
        hpcb_sim_history_clip(&history, size % 2 ? 0 : 1795428000, HPCB_SIM_TIME_MAX);
        hpcb_sim_history_assume(&history, 1, &shape);
        check(&history);
    } else {
        fuzz_check_error(&err);
    }
    hpcb_sim_history_free(&history);
    fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(hpcb_sim_read_swf, data, size);
    read_as(hpcb_sim_read_sacct, data, size);
    return 0;
}
