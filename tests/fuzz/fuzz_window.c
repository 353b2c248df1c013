/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* PERIOD:DUTY as users write it, and the phases of what was read at any time. */
#include "config.h"

#include "common/window.h"
#include "policy/window.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "AAAAAAAA1s:90%",
    "AAAAAAAA500ms:450ms",
    "AAAAAAAA1.5s:0.9",
    "AAAAAAAA1ms:1us",
    "AAAAAAAA3600s:99%",
    "AAAAAAAA1000us:0.25ms",
    NULL,
};

static void check_phase(const hpcb_window_spec_t *spec, int64_t now)
{
    const hpcb_window_t window = {(int64_t)spec->period_us * 1000,
                                  (int64_t)spec->favoured_us * 1000, now / 3};
    hpcb_window_phase_t phase;

    FUZZ_ASSERT(hpcb_window_good(&window));
    phase = hpcb_window_phase(&window, now);
    FUZZ_ASSERT(phase.edge_ns > now || now == INT64_MAX);
    FUZZ_ASSERT(phase.edge_ns == INT64_MAX ||
                (uint64_t)phase.edge_ns - (uint64_t)now <= (uint64_t)window.period_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpcb_window_spec_t spec = {7, 7}, again;
    char *text, printed[48];
    int64_t now;

    if (size < sizeof(now))
        return 0;
    memcpy(&now, data, sizeof(now));
    text = fuzz_text(data + sizeof(now), size - sizeof(now));
    if (hpcb_window_parse(text, &spec)) {
        FUZZ_ASSERT(spec.period_us == 7 && spec.favoured_us == 7);
    } else {
        FUZZ_ASSERT(
            hpcb_window_parse(hpcb_window_print(&spec, printed, sizeof(printed)),
                              &again) == 0);
        FUZZ_ASSERT(again.period_us == spec.period_us &&
                    again.favoured_us == spec.favoured_us);
        check_phase(&spec, now);
    }
    free(text);
    return 0;
}
