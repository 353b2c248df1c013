/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/state.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "JobId=7\nUid=1000\nClass=guest\nPolicy=none\nYieldWaits=no\nPartition=guest\n"
    "Begin=1700000000123456\n",
    "Begin=18446744073709551615\nFuture=x=y\nJobId=4294967295\nUid=4294967295\n"
    "Class=primary\nPolicy=static\nYieldWaits=yes\nPartition=\n",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpcb_job_state_t state, before;
    hpcb_error_t err = {""};

    memset(&state, 0x5a, sizeof(state));
    before = state;
    if (hpcb_state_parse((const char *)data, size, &state, &err)) {
        fuzz_check_error(&err);
        FUZZ_ASSERT(memcmp(&state, &before, sizeof(state)) == 0);
        return 0;
    }
    FUZZ_ASSERT(state.job_id != 0);
    FUZZ_ASSERT(state.klass == HPCB_CLASS_PRIMARY || state.klass == HPCB_CLASS_GUEST);
    FUZZ_ASSERT(state.policy <= HPCB_POLICY_DEADLINE);
    FUZZ_ASSERT(strnlen(state.partition, HPCB_NAME_MAX) < HPCB_NAME_MAX);
    FUZZ_ASSERT(!strpbrk(state.partition, " \n\t"));
    return 0;
}
