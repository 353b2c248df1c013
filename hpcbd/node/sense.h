/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Samples of the sensors of every job on this node once a quantum (sensor/sensor.h),
 * rates computed from them (policy/rate.h), and StateDir/jobs/<id>.measured, from which
 * the epilog makes the job's record.  A part of the daemon (hpcbd/hpcbd.h).
 */
#ifndef HPCB_HPCBD_NODE_SENSE_H
#define HPCB_HPCBD_NODE_SENSE_H

#include <stdbool.h>
#include <stdint.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_sense;

/* Note that the job is new or has new tasks. */
void hpcbd_sense_job(uint32_t job_id);

/* Counters of the job's traffic since any moment. */
typedef struct {
    uint64_t mem, net; /* bytes; 0 if it is not known */
    bool mem_known, net_known;
} hpcbd_moved_t;

/* Read them.  Return false if no sensor measures the job (yet). */
bool hpcbd_sense_read(uint32_t job_id, hpcbd_moved_t *moved);

/* Store for the record for how long the job was elected, because it takes no turns any
 * more.  begin_us identifies its run. */
void hpcbd_sense_elected(uint32_t job_id, uint64_t begin_us, uint64_t elected_us);

/* Write the traffic so far, because its last step has ended. */
void hpcbd_sense_measure(uint32_t job_id);

/* Drop the job, because it has ended. */
void hpcbd_sense_job_end(uint32_t job_id);

#endif
