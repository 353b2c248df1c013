/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Defaults and limits of YieldSpin= and YieldNapMax= in microseconds, for
 * hpc-balance.conf and for programs that run without the plugin.  bench/waits chose the
 * defaults.
 */
#ifndef HPCB_COMMON_YIELD_H
#define HPCB_COMMON_YIELD_H

#define HPCB_YIELD_SPIN_DEFAULT_US    10
#define HPCB_YIELD_SPIN_LIMIT_US      10000
#define HPCB_YIELD_NAP_MAX_DEFAULT_US 1000
#define HPCB_YIELD_NAP_MAX_LIMIT_US   100000

#endif
