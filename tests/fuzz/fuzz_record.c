/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/record.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "{\"version\":1,\"job_id\":77,\"node\":\"node-1\",\"cluster\":\"tiny\","
    "\"class\":\"guest\",\"policy\":\"auto\",\"user_id\":1000,\"partition\":\"guest\","
    "\"begin\":1700000000.123456,\"end\":1700000010.123456,\"wall_seconds\":10.000000,"
    "\"cpus\":2,\"cpu_seconds\":15.000000,\"run_delay_seconds\":0.020000,"
    "\"memory_peak_bytes\":4096,\"efficiency\":0.75,\"stolen_fraction\":0.002}\n",
    "{\"version\":1,\"job_id\":0,\"node\":\"n\",\"cluster\":\"\",\"class\":\"unknown\","
    "\"policy\":\"none\",\"user_id\":4294967295,\"partition\":\"\\u0041\\\\\\\"\","
    "\"begin\":0,\"end\":1e9,\"cpus\":0,\"cpu_seconds\":0.5,"
    "\"run_delay_seconds\":2.5e-1,"
    "\"memory_peak_bytes\":18446744073709551615,\"efficiency\":null}",
    NULL,
};

/* What was parsed is rendered, and parsed again is the same. */
static void check_round_trip(const hpcb_record_t *record)
{
    hpcb_record_t back;
    char *text, *again;

    text = hpcb_record_render(record, NULL);
    FUZZ_ASSERT(text);
    FUZZ_ASSERT(strchr(text, '\n') == text + strlen(text) - 1);
    FUZZ_ASSERT(hpcb_record_parse(text, &back, NULL) == 0);
    again = hpcb_record_render(&back, NULL);
    FUZZ_ASSERT(again && strcmp(text, again) == 0);
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hpcb_record_t record, before;
    hpcb_error_t err = {""};

    memset(&record, 0x5a, sizeof(record));
    before = record;
    if (hpcb_record_parse(text, &record, &err)) {
        fuzz_check_error(&err);
        FUZZ_ASSERT(memcmp(&record, &before, sizeof(record)) == 0);
    } else {
        check_round_trip(&record);
    }
    free(text);
    return 0;
}
