/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Sleeping for a short while, ended early by what comes in on a network connection. */
#ifndef HPCB_MPI_SLEEP_H
#define HPCB_MPI_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sleep for ns nanoseconds, or until data come in on any TCP connection of the process,
 * or a signal is handled.  now_ns (CLOCK_MONOTONIC) says when it is time to look for
 * new connections.  True: slept to the end.  Any thread; no cancellation point.
 */
bool hpcb_sleep(uint64_t ns, uint64_t now_ns);

#endif
