/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The page of --html, of replay and run: hpcb-report's style and drawing, by a program
 * of its kind (sim/hpcb-sim-page), as what is drawn with is Python. */
#ifndef HPCB_SIM_REPLAY_PAGE_H
#define HPCB_SIM_REPLAY_PAGE_H

/* Write the page of what --json says to path.  0, or -1 after one line on stderr. */
int hpcb_sim_page(const char *path, const char *json);

#endif
