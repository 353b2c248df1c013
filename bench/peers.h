/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The other ranks of bench/nas: peers_mpi.c has them, peers_none.c is for a program
 * that is alone.
 */
#ifndef HPCB_BENCH_PEERS_H
#define HPCB_BENCH_PEERS_H

#include <stdbool.h>

/* Take the launcher's arguments out of the program's. */
void bench_peers_begin(int *argc, char ***argv);

bool bench_peers_exist(void);

/* Exchange what lies at the borders with two neighbours, wait for all, and return
 * whether one of them ends. */
bool bench_peers_meet(bool ends);

void bench_peers_end(void);

#endif
