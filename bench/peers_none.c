/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include "bench/peers.h"

void bench_peers_begin(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
}

bool bench_peers_exist(void)
{
    return false;
}

bool bench_peers_meet(bool ends)
{
    return ends;
}

void bench_peers_end(void)
{
}
