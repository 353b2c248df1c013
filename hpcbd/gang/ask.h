/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The child process that sends StateDir/gang to the collector after each change, and
 * writes the answer to StateDir/deal (hpcbd/gang/deal.h).
 */
#ifndef HPCB_HPCBD_GANG_ASK_H
#define HPCB_HPCBD_GANG_ASK_H

#include "hpcbd/hpcbd.h"

/* A part of the daemon; active if jobs take turns and there is a collector. */
extern const hpcbd_part_t hpcbd_gang_ask;

#endif
