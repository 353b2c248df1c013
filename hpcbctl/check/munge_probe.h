/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Whether MUNGE works on this host: a credential is made and read back. */
#ifndef HPCB_HPCBCTL_CHECK_MUNGE_PROBE_H
#define HPCB_HPCBCTL_CHECK_MUNGE_PROBE_H

#include "common/error.h"

/*
 * Through the munged at socket ("" for the default one), for at most timeout_ms: a
 * stopped munged holds its clients for ever, so this is tried in a child that can be
 * killed.  0, or -1 with err.
 */
int hpcb_munge_probe(const char *socket, unsigned timeout_ms, hpcb_error_t *err);

#endif
