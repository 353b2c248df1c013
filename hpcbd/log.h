/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The daemon's log: stderr, with the level of each line for the journal (sd-daemon(3)),
 * otherwise with the time.
 */
#ifndef HPCB_HPCBD_LOG_H
#define HPCB_HPCBD_LOG_H

#include <stdbool.h>

/* Call once, before the first line. */
void hpcbd_log_open(bool debug);

#endif
