/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Check of this node's clock.  Nodes with different clocks stop and start the ranks of
 * a job at different times, which nothing else would report.
 */
#ifndef HPCB_HPCBD_GANG_CLOCK_H
#define HPCB_HPCBD_GANG_CLOCK_H

#include <stdint.h>

/* All zero: no error is known. */
typedef struct {
    char wrong[160];
} hpcbd_clock_t;

/*
 * Compare the clock with those of the peers (WindowPeers), or ask the kernel whether it
 * is synchronized if none has answered.  Changes are logged.  The limit is a tenth of a
 * quantum; quantum_ns 0: there is no job of several nodes, and no limit.
 */
void hpcbd_clock_look(hpcbd_clock_t *clock, int64_t quantum_ns);

#endif
