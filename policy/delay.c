/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/delay.h"

uint64_t hpcb_delay_sum(uint64_t mean_us, uint64_t cpu_us, uint64_t passed_us,
                        unsigned cpus)
{
    double busy = cpus;

    if (cpus <= 1)
        return mean_us;
    if (mean_us < passed_us) {
        double found = (double)cpu_us / (double)(passed_us - mean_us);

        busy = found < busy ? found : busy;
    }
    return busy > 1 ? (uint64_t)((double)mean_us * busy + 0.5) : mean_us;
}
