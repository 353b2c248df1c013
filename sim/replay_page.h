/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The page of --html, of replay and run, in the style of hpcb-report, written by a
 * separate program (sim/hpcb-sim-page) because the plotting library is Python. */
#ifndef HPCB_SIM_REPLAY_PAGE_H
#define HPCB_SIM_REPLAY_PAGE_H

/* Write the page for json, the output of --json, to path.  Return 0, or -1 after one
 * line on stderr. */
int hpcb_sim_page(const char *path, const char *json);

#endif
