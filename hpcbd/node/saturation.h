/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Saturation of this node's memory (policy/saturation.h) by hpcbd's probe: the last
 * verdict in StateDir/saturation, and the idle node's rates in
 * StateDir/saturation.idle, which a later daemon of the same boot reuses.  Both belong
 * to root and are lost at a reboot.
 */
#ifndef HPCB_HPCBD_NODE_SATURATION_H
#define HPCB_HPCBD_NODE_SATURATION_H

#include "common/error.h"
#include "hpcbd/hpcbd.h"
#include "policy/saturation.h"

/* Maximum number of NUMA nodes with a block of their own. */
#define HPCBD_SATURATION_DOMAINS_MAX 8

/* Maximum age of a verdict. */
#define HPCBD_SATURATION_STALE_SECONDS 90

typedef struct {
    int64_t time; /* CLOCK_REALTIME, seconds */
    hpcb_saturation_t verdict;
    char why[160]; /* why the level is unknown; "" otherwise */
} hpcbd_saturation_t;

/* Load the last verdict at now (CLOCK_REALTIME, seconds); a missing, damaged or old one
 * is unknown, with a reason. */
void hpcbd_saturation_load(const char *state_dir, int64_t now,
                           hpcbd_saturation_t *saturation);
int hpcbd_saturation_save(const char *state_dir, const hpcbd_saturation_t *saturation,
                          hpcb_error_t *err);

/* Load the idle rates of n NUMA nodes; all 0 if the file is missing, damaged or of
 * other hardware. */
void hpcbd_saturation_idle_load(const char *state_dir, hpcb_saturation_idle_t *idle,
                                size_t n);
int hpcbd_saturation_idle_save(const char *state_dir,
                               const hpcb_saturation_idle_t *idle, size_t n,
                               hpcb_error_t *err);

/* hpcbd/node/probe.c: bursts of reads on idle CPUs. */
extern const hpcbd_part_t hpcbd_probe;

#endif
