/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What this node can transfer, measured once a boot by the node itself.  The file
 * StateDir/capacity (root's, gone after a reboot) says which machine was measured, and
 * the two bandwidths; reports of live state carry them to the controller.
 */
#ifndef HPCB_HPCBD_NODE_CAPACITY_H
#define HPCB_HPCBD_NODE_CAPACITY_H

#include <stdint.h>
#include "common/error.h"
#include "hpcbd/hpcbd.h"

typedef struct {
    uint64_t mem, net; /* bytes/s, 0: not known */
} hpcbd_capacity_t;

/* What the file says; nothing is known if it is missing, damaged or of other hardware.
 */
void hpcbd_capacity_load(const char *state_dir, hpcbd_capacity_t *capacity);

/* 0, or -1 with err. */
int hpcbd_capacity_save(const char *state_dir, const hpcbd_capacity_t *capacity,
                        hpcb_error_t *err);

/* Read what `hpcbctl calibrate --json` has printed.  0; or -1 with err: it is none, or
 * others were at work on the node meanwhile. */
int hpcbd_capacity_parse(const char *text, hpcbd_capacity_t *capacity,
                         hpcb_error_t *err);

/* hpcbd/node/calibrate.c: measures the node while no job is there. */
extern const hpcbd_part_t hpcbd_calibrate;

#endif
