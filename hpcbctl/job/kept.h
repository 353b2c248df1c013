/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The record that an epilog writes.  The disk of SpoolDir may be slow, and slurmd's
 * epilog is killed after some seconds, so the record is first written to
 * StateDir/records, in memory, and moved to the spool after everything that the node
 * depends on.  hpcbd sends records from both directories.
 */
#ifndef HPCB_HPCBCTL_JOB_KEPT_H
#define HPCB_HPCBCTL_JOB_KEPT_H

#include "common/conf.h"
#include "common/record.h"

/* Return whether there is a record of this run of the job and the same user: in
 * StateDir, in the spool, or among those sent. */
bool hpcb_kept_is_written(const hpcb_conf_t *conf, const hpcb_record_t *record);

/* Write the record to StateDir/records, or to the spool if that fails.  Logs one line
 * if both fail. */
void hpcb_kept_add(const hpcb_conf_t *conf, const hpcb_record_t *record);

/* Move all records of StateDir to the spool, including those of jobs whose epilog was
 * killed before.  Logs one line if the spool is full; the rest stays in StateDir. */
void hpcb_kept_spool(const hpcb_conf_t *conf);

#endif
