/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Loads the module that speaks with Slurm's daemons (hpcbd/collector/writer_slurm.h).
 */
#ifndef HPCB_HPCBD_SLURM_MODULE_H
#define HPCB_HPCBD_SLURM_MODULE_H

#include "common/error.h"
#include "hpcbd/collector/writer_slurm.h"

/* For a process that may end or wait.  The module stays loaded.  NULL with err. */
const hpcbd_slurm_t *hpcbd_slurm_load(hpcb_error_t *err);

#endif
