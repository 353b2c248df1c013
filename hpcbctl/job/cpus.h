/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* How many CPUs of this node a job holds: StateDir/jobs/<id>.cpus, which the prolog
 * writes from the credential, and which goes with the job's record (common/state.h). */
#ifndef HPCB_HPCBCTL_JOB_CPUS_H
#define HPCB_HPCBCTL_JOB_CPUS_H

#include <stdint.h>
#include "common/error.h"

/* 0, or -1 with err. */
int hpcb_cpus_save(const char *state_dir, uint32_t job_id, unsigned cpus,
                   hpcb_error_t *err);

/* 0 if there is no such file, or only others than root could have written it. */
unsigned hpcb_cpus_load(const char *state_dir, uint32_t job_id);

#endif
