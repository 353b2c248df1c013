/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Parameters of a policy, as a user gives them. */
#include "config.h"

#include "policy/balance.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "auto",
    "static:4,6,1",
    "uniform:high=85,low=65",
    "adaptive:global=10,min=3,max=6",
    "dlrb:busy=95,threshold=20,move=10",
    NULL,
};

static void check(const hpcb_balance_conf_t *conf)
{
    FUZZ_ASSERT(conf->kind <= HPCB_BALANCE_AUTO);
    FUZZ_ASSERT(conf->low_util <= conf->high_util && conf->high_util <= 100);
    FUZZ_ASSERT(conf->global <= 100 && conf->busy < 100 && conf->threshold <= 100);
    FUZZ_ASSERT(conf->priority_min >= 1 && conf->priority_max <= 6);
    FUZZ_ASSERT(conf->priority_min <= conf->priority_max);
    FUZZ_ASSERT(conf->n_fixed <= HPCB_BALANCE_RANKS);
    FUZZ_ASSERT((conf->n_fixed > 0) == (conf->kind == HPCB_BALANCE_STATIC));
    for (unsigned i = 0; i < conf->n_fixed; i++)
        FUZZ_ASSERT(conf->fixed[i] >= 1 && conf->fixed[i] <= 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hpcb_balance_conf_t conf, untouched;
    const char *bad = NULL;

    memset(&conf, 0xa5, sizeof(conf));
    untouched = conf;
    if (hpcb_balance_conf_parse(text, &conf, &bad) == 0) {
        check(&conf);
    } else {
        FUZZ_ASSERT(bad >= text && bad <= text + strlen(text));
        FUZZ_ASSERT(memcmp(&conf, &untouched, sizeof(conf)) == 0);
    }
    free(text);
    return 0;
}
