/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Settings of the process from its environment. */
#ifndef HPCB_MPI_ENVIRON_H
#define HPCB_MPI_ENVIRON_H

#include <stdbool.h>
#include "policy/nap.h"

/*
 * Get HPCB_YIELD_SPIN and HPCB_YIELD_NAP_MAX, both in microseconds, decimal digits
 * only.  Values that are unset, malformed or out of hpc-balance.conf's range have the
 * built-in default.
 */
hpcb_nap_conf_t hpcb_environ_naps(void);

/* Return whether waits become sleeps: unless HPCB_YIELD is "off". */
bool hpcb_environ_naps_wanted(void);

/* Return whether to report on stderr what is done about waits: if HPCB_DEBUG is set and
 * neither empty nor "0". */
bool hpcb_environ_debug(void);

/*
 * Remove this library, and nothing else, from LD_PRELOAD, and the mark that it was
 * added for a job, so that programs that this one starts (ssh, python) run without it.
 * No effect if memory is short.
 */
void hpcb_environ_leave(void);

#endif
