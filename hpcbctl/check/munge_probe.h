/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Test of MUNGE on this host: encodes a credential and decodes it. */
#ifndef HPCB_HPCBCTL_CHECK_MUNGE_PROBE_H
#define HPCB_HPCBCTL_CHECK_MUNGE_PROBE_H

#include "common/error.h"

/*
 * Use the munged at socket ("" for the default one), for at most timeout_ms, in a child
 * that can be killed, because a stopped munged blocks its clients forever.  Return 0,
 * or -1 with err.
 */
int hpcb_munge_probe(const char *socket, unsigned timeout_ms, hpcb_error_t *err);

#endif
