/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_SPANK_LOG_H
#define HPCB_SPANK_LOG_H

/* Send hpcb_log to Slurm's log, each line with our prefix.  Call it first in every
 * hook, because Slurm may load and unload plugins at any time. */
void hpcb_spank_log_on(void);

/* Drop lines until hpcb_spank_log_on. */
void hpcb_spank_log_off(void);

#endif
