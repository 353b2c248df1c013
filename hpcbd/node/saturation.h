/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether this node's memory is saturated (policy/saturation.h), by hpcbd's probe: the
 * last verdict in StateDir/saturation, and what the idle node gave in
 * StateDir/saturation.idle, which a later daemon of the same boot goes on with.  Both
 * are root's and go with a reboot.
 */
#ifndef HPCB_HPCBD_NODE_SATURATION_H
#define HPCB_HPCBD_NODE_SATURATION_H

#include "common/error.h"
#include "hpcbd/hpcbd.h"
#include "policy/saturation.h"

/* NUMA nodes with a block of their own. */
#define HPCBD_SATURATION_DOMAINS_MAX 8

/* A verdict that is older than this says nothing. */
#define HPCBD_SATURATION_STALE_SECONDS 90

typedef struct {
    int64_t time; /* CLOCK_REALTIME, seconds */
    hpcb_saturation_t verdict;
    char why[160]; /* why the level is unknown, else "" */
} hpcbd_saturation_t;

/* The last verdict as of now (CLOCK_REALTIME, seconds); one that is missing, damaged or
 * stale is unknown, with a reason. */
void hpcbd_saturation_load(const char *state_dir, int64_t now,
                           hpcbd_saturation_t *saturation);
int hpcbd_saturation_save(const char *state_dir, const hpcbd_saturation_t *saturation,
                          hpcb_error_t *err);

/* The idle rates of n NUMA nodes; all 0 if the file is missing, damaged or of other
 * hardware. */
void hpcbd_saturation_idle_load(const char *state_dir, hpcb_saturation_idle_t *idle,
                                size_t n);
int hpcbd_saturation_idle_save(const char *state_dir,
                               const hpcb_saturation_idle_t *idle, size_t n,
                               hpcb_error_t *err);

/* hpcbd/node/probe.c: bursts of reads on idle CPUs. */
extern const hpcbd_part_t hpcbd_probe;

#endif
