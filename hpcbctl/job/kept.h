/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The record that an epilog writes.  The disk of SpoolDir may be slow, and slurmd's
 * epilog is killed after some seconds, so the record is kept in StateDir/records first,
 * which is in memory.  It is moved to the spool when the epilog has nothing left to do
 * that the node depends on.  hpcbd sends records from both directories.
 */
#ifndef HPCB_HPCBCTL_JOB_KEPT_H
#define HPCB_HPCBCTL_JOB_KEPT_H

#include "common/conf.h"
#include "common/record.h"

/* Whether this run of the job has a record of the same user: in StateDir, in the spool,
 * or among those that were sent. */
bool hpcb_kept_is_written(const hpcb_conf_t *conf, const hpcb_record_t *record);

/* Write the record to StateDir/records, or to the spool if that fails.  Logs a line if
 * neither takes it. */
void hpcb_kept_add(const hpcb_conf_t *conf, const hpcb_record_t *record);

/* Move all records of StateDir to the spool, also those of jobs whose epilog was killed
 * before it came to that.  Logs a line if the spool takes no more; the rest stays in
 * StateDir. */
void hpcb_kept_spool(const hpcb_conf_t *conf);

#endif
