/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Detours as bench/detour/run --runs writes them. */
#include "config.h"

#include "sim/recording.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "{\"bench\": \"detour\", \"cpus\": 2}\n"
    "{\"regime\": \"guest\", \"elapsed_ns\": 1000, \"at_ns\": [10, 30, 990], "
    "\"length_ns\": [20, 5, 40]}\n"
    "{\"regime\": \"alone\", \"elapsed_ns\": 70, \"at_ns\": [1], \"length_ns\": [1]}\n"
    "{\"regime\": \"guest\", \"elapsed_ns\": 500, \"at_ns\": [], \"length_ns\": []}\n",
    "{\"regime\": \"guest\", \"elapsed_ns\": 9223372036854775807, \"at_ns\": [0],"
    "\"length_ns\": [1]}",
    NULL,
};

static void check(const hpcb_sim_recording_t *recording)
{
    int64_t free_from = 0;

    FUZZ_ASSERT(recording->tape_ns > 0 && recording->busy_ns < recording->tape_ns);
    for (size_t i = 0; i < recording->n; i++) {
        const hpcb_sim_recorded_t *detour = &recording->detour[i];

        FUZZ_ASSERT(detour->at_ns >= free_from && detour->length_ns > 0);
        FUZZ_ASSERT(hpcb_sim_recording_find(recording, detour->at_ns) == i);
        free_from = detour->at_ns + detour->length_ns;
    }
    FUZZ_ASSERT(free_from <= recording->tape_ns);
    FUZZ_ASSERT(hpcb_sim_recording_find(recording, free_from) == recording->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* fmemopen takes no empty buffer. */
    FILE *stream =
        fmemopen(size > 0 ? (void *)data : (void *)"\n", size > 0 ? size : 1, "r");
    hpcb_sim_recording_t recording = {0};
    hpcb_error_t err = {""};

    FUZZ_ASSERT(stream);
    if (hpcb_sim_recording_read(stream, "file", "guest", &recording, &err) == 0)
        check(&recording);
    else
        fuzz_check_error(&err);
    hpcb_sim_recording_free(&recording);
    fclose(stream);
    return 0;
}
