/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/ranks.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "Policy=dlrb:threshold=10\nCpus=2\nPage=/dev/shm/hpc-balance/n1.5.0\n12 3456\n13 "
    "3457\n",
    "Policy=auto\nCpus=4294967295\nPage=\n2147483647 18446744073709551615\n",
    "Policy=\nCpus=0\nPage=\n",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hpcb_ranks_t ranks;

    if (hpcb_ranks_parse((const char *)data, size, &ranks))
        return 0;
    FUZZ_ASSERT(ranks.n <= HPCB_RANKS_MAX);
    FUZZ_ASSERT(strnlen(ranks.policy, sizeof(ranks.policy)) < sizeof(ranks.policy));
    FUZZ_ASSERT(!*ranks.page || *ranks.page == '/');
    FUZZ_ASSERT(strnlen(ranks.page, sizeof(ranks.page)) < sizeof(ranks.page));
    for (unsigned i = 0; i < ranks.n; i++)
        FUZZ_ASSERT(ranks.task[i].pid > 0);
    return 0;
}
