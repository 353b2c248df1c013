/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/options.h"
#include "tests/fuzz/fuzz.h"

/* The first byte chooses the option, the rest is its value. */
const char *const fuzz_seeds[] = {
    "0",
    "1auto",
    "1static:1,2,3,4,5,6",
    "1dlrb:threshold=10,min=3",
    "1deadline",
    "21s:90%",
    "22.5ms:0.125",
    "2100000us:99.5%",
    "3mem=12G,net=1.5M,cpu=60%",
    "3net=1152921504606846976",
    NULL,
};

static void check_values(const hpcb_options_t *options)
{
    const uint64_t limit = UINT64_C(1) << 60;

    FUZZ_ASSERT(options->policy <= HPCB_POLICY_DEADLINE);
    FUZZ_ASSERT(strnlen(options->balance, HPCB_BALANCE_TEXT_MAX) <
                HPCB_BALANCE_TEXT_MAX);
    for (const char *c = options->balance; *c; c++)
        FUZZ_ASSERT(*c > ' ' && *c < 0x7f);
    if (options->window.period_us) {
        FUZZ_ASSERT(options->window.period_us >= HPCB_WINDOW_PERIOD_MIN_US);
        FUZZ_ASSERT(options->window.period_us <= HPCB_WINDOW_PERIOD_MAX_US);
        FUZZ_ASSERT(options->window.favoured_us > 0);
        FUZZ_ASSERT(options->window.favoured_us < options->window.period_us);
    }
    FUZZ_ASSERT(options->bw_mem <= limit && options->bw_net <= limit);
    FUZZ_ASSERT(options->bw_cpu >= 0 && options->bw_cpu <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count;
    const hpcb_option_spec_t *specs = hpcb_option_specs(&count);
    const char *name = specs[size ? data[0] % count : 0].name;
    char *value = size > 1 ? fuzz_text(data + 1, size - 1) : NULL;
    hpcb_options_t scanned = {0}, parsed = {0}, before = {0};
    hpcb_error_t err = {""};
    int scan = hpcb_option_scan(name, value, &scanned, &err);

    if (scan) {
        fuzz_check_error(&err);
        FUZZ_ASSERT(memcmp(&scanned, &before, sizeof(before)) == 0);
    }
    check_values(&scanned);
    err.text[0] = '\0';
    if (hpcb_option_parse(name, value, &parsed, &err)) {
        fuzz_check_error(&err);
        FUZZ_ASSERT(memcmp(&parsed, &before, sizeof(before)) == 0);
    } else {
        FUZZ_ASSERT(scan == 0 && memcmp(&parsed, &scanned, sizeof(parsed)) == 0);
    }
    parsed.guest = true;
    if (hpcb_options_check(&parsed, &err))
        fuzz_check_error(&err);
    free(value);
    return 0;
}
