/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The daemon's log: stderr, for the journal with the level of each line in front
 * (sd-daemon(3)), for anybody else with the time.
 */
#ifndef HPCB_HPCBD_LOG_H
#define HPCB_HPCBD_LOG_H

#include <stdbool.h>

/* Once, before the first line. */
void hpcbd_log_open(bool debug);

#endif
