/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Number of CPUs of this node that are allocated to a job: StateDir/jobs/<id>.cpus,
 * written by the prolog from the credential, removed with the job's record
 * (common/state.h). */
#ifndef HPCB_HPCBCTL_JOB_CPUS_H
#define HPCB_HPCBCTL_JOB_CPUS_H

#include <stdint.h>
#include "common/error.h"

/* Write the file.  Return 0, or -1 with err. */
int hpcb_cpus_save(const char *state_dir, uint32_t job_id, unsigned cpus,
                   hpcb_error_t *err);

/* Return the number, 0 if there is no such file, or if anybody except root could have
 * written it. */
unsigned hpcb_cpus_load(const char *state_dir, uint32_t job_id);

#endif
