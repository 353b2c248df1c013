/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/state.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "\nstep cpu_us=1234 run_delay_us=567 memory_peak=89 end\n",
    "\njob cpu_us=18446744073709551615 run_delay_us=0 memory_peak=1 end\n"
    "\nstep cpu_us=1 run_delay_us=2 memory_peak=3 end\n",
    "\nstep cpu_us=12\nstep cpu_us=1 run_delay_us=2 memory_peak=3 end\n",
    NULL,
};

/* As hpcb_state_add_usage appends it. */
static const char next_step[] = "\nstep cpu_us=3 run_delay_us=2 memory_peak=1 end\n";

static hpcb_usage_t usage_of(const char *text, size_t size)
{
    hpcb_usage_t usage;
    FILE *stream = fmemopen((void *)(uintptr_t)text, size, "r");

    FUZZ_ASSERT(stream);
    FUZZ_ASSERT(hpcb_usage_read(stream, &usage) == 0);
    fclose(stream);
    return usage;
}

/* a + b, up to the largest figure */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Whatever a crash or a full disk left in the file, the next step counts in full. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t longer_size = size + sizeof(next_step) - 1;
    char *text = fuzz_text(data, size), *longer = malloc(longer_size);
    hpcb_usage_t before = {0}, after;

    FUZZ_ASSERT(longer);
    memcpy(longer, text, size);
    memcpy(longer + size, next_step, sizeof(next_step) - 1);
    if (size > 0)
        before = usage_of(text, size);
    after = usage_of(longer, longer_size);
    FUZZ_ASSERT(after.cpu_us == add(before.cpu_us, 3));
    FUZZ_ASSERT(after.run_delay_us == add(before.run_delay_us, 2));
    FUZZ_ASSERT(after.memory_peak == (before.memory_peak ? before.memory_peak : 1));
    free(longer);
    free(text);
    return 0;
}
