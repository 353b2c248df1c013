/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bandwidths of this node, measured once per boot by the node itself.  The file
 * StateDir/capacity (root's, lost at a reboot) identifies the measured machine and has
 * the two bandwidths; reports of live state send them to the controller.
 */
#ifndef HPCB_HPCBD_NODE_CAPACITY_H
#define HPCB_HPCBD_NODE_CAPACITY_H

#include <stdint.h>
#include "common/error.h"
#include "hpcbd/hpcbd.h"

typedef struct {
    uint64_t mem, net; /* bytes/s, 0: not known */
} hpcbd_capacity_t;

/* Load the file; nothing is known if it is missing, damaged or of other hardware. */
void hpcbd_capacity_load(const char *state_dir, hpcbd_capacity_t *capacity);

/* Write the file.  Return 0, or -1 with err. */
int hpcbd_capacity_save(const char *state_dir, const hpcbd_capacity_t *capacity,
                        hpcb_error_t *err);

/* Parse the output of `hpcbctl calibrate --json`.  Return 0, or -1 with err if it is
 * invalid, or the node was in use during the measurement. */
int hpcbd_capacity_parse(const char *text, hpcbd_capacity_t *capacity,
                         hpcb_error_t *err);

/* hpcbd/node/calibrate.c: measures the node while it has no job. */
extern const hpcbd_part_t hpcbd_calibrate;

#endif
