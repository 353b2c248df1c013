/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Samples the sensors of every job on this node once a quantum (sensor/sensor.h), makes
 * rates of them (policy/rate.h), and keeps StateDir/jobs/<id>.measured, from which the
 * epilog makes the job's record.  A part of the daemon (hpcbd/hpcbd.h).
 */
#ifndef HPCB_HPCBD_NODE_SENSE_H
#define HPCB_HPCBD_NODE_SENSE_H

#include <stdbool.h>
#include <stdint.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_sense;

/* The job is new, or has new tasks. */
void hpcbd_sense_job(uint32_t job_id);

/* What the job has moved, since any moment: counts that only grow. */
typedef struct {
    uint64_t mem, net; /* bytes; 0 where it is not known */
    bool mem_known, net_known;
} hpcbd_moved_t;

/* Up to now.  Return false if no sensor measures the job (yet). */
bool hpcbd_sense_read(uint32_t job_id, hpcbd_moved_t *moved);

/* The job, of which this run began at begin_us, takes no turns any more, for which it
 * was elected so long: its record keeps that. */
void hpcbd_sense_elected(uint32_t job_id, uint64_t begin_us, uint64_t elected_us);

/* Its last step has ended: write what it has moved up to now. */
void hpcbd_sense_measure(uint32_t job_id);

/* It is over. */
void hpcbd_sense_job_end(uint32_t job_id);

#endif
