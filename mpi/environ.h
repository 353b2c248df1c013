/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the process was told through its environment. */
#ifndef HPCB_MPI_ENVIRON_H
#define HPCB_MPI_ENVIRON_H

#include <stdbool.h>
#include "policy/nap.h"

/*
 * HPCB_YIELD_SPIN and HPCB_YIELD_NAP_MAX, both in microseconds, decimal digits only;
 * unset, malformed or out of the range that hpc-balance.conf has: the built-in default.
 */
hpcb_nap_conf_t hpcb_environ_naps(void);

/* Whether waits are to become sleeps: unless HPCB_YIELD is "off". */
bool hpcb_environ_naps_wanted(void);

/* Whether to say on stderr what is done about waits: if HPCB_DEBUG is set and not empty
 * or "0". */
bool hpcb_environ_debug(void);

/*
 * Take this library, and nothing else, out of LD_PRELOAD, and the mark that it was put
 * there for a job, so that programs that this one starts (ssh, python) run without it.
 * Where memory is short nothing changes.
 */
void hpcb_environ_leave(void);

#endif
