/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "common/tag.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"policy\":\"auto\","
    "\"bw\":{\"mem\":12884901888,\"net\":1073741824,\"cpu\":0.600000,"
    "\"source\":\"learned\"},\"program\":\"CG/cg.B.4\"}}",
    "{\"site\":{\"project\":[1,2,{\"x\":null}]},\"hpcb\":{\"class\":\"primary\"}}",
    "a note of the operator",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    bool object = text[strspn(text, " \t\r\n\v\f")] == '{';
    hpcb_tag_demand_t demand;

    hpcb_tag_read(text, &demand);
    /* A figure is never made up. */
    FUZZ_ASSERT(object || (!demand.mem && !demand.net && !*demand.program));
    FUZZ_ASSERT(demand.mem <= INT64_MAX && demand.net <= INT64_MAX);
    free(text);
    return 0;
}
