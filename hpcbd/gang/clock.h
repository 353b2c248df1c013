/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether this node's clock can be right.  Nodes whose clocks differ stop and start the
 * ranks of a job at different moments, of which nobody would hear otherwise.
 */
#ifndef HPCB_HPCBD_GANG_CLOCK_H
#define HPCB_HPCBD_GANG_CLOCK_H

#include <stdint.h>

/* All zero: nothing is known against it. */
typedef struct {
    char wrong[160];
} hpcbd_clock_t;

/*
 * Compare it with the peers' (WindowPeers), or ask the kernel if it is kept right where
 * none has answered.  The log hears of what is new.  A tenth of a quantum counts;
 * quantum_ns 0: no job of several nodes is here, then nothing does.
 */
void hpcbd_clock_look(hpcbd_clock_t *clock, int64_t quantum_ns);

#endif
