/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Loader of the module that communicates with Slurm's daemons
 * (hpcbd/collector/writer_slurm.h). */
#ifndef HPCB_HPCBD_SLURM_MODULE_H
#define HPCB_HPCBD_SLURM_MODULE_H

#include "common/error.h"
#include "hpcbd/collector/writer_slurm.h"

/* Load it, in a process that may exit or block.  The module stays loaded.  Return NULL
 * with err on failure. */
const hpcbd_slurm_t *hpcbd_slurm_load(hpcb_error_t *err);

#endif
