/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/record.h"
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
    hpcb_class_t klass = hpcb_record_tag_class(text);

    FUZZ_ASSERT(klass <= HPCB_CLASS_GUEST);
    /* A class is never made up. */
    FUZZ_ASSERT(klass == HPCB_CLASS_UNKNOWN ||
                text[strspn(text, " \t\r\n\v\f")] == '{');
    free(text);
    return 0;
}
