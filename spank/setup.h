/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Common input of the hooks that act on a node. */
#ifndef HPCB_SPANK_SETUP_H
#define HPCB_SPANK_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/compat.h"
#include "common/conf.h"
#include "common/state.h"
#include "spank/args.h"

typedef struct {
    uint32_t job_id;
    uid_t uid;
    char name[16];    /* "0", "batch", "extern", "interactive" */
    bool tasks;       /* false: the extern step, which has only a placeholder */
    hpcb_conf_t conf; /* defaults if the file is invalid */
    bool recorded;    /* job is root's record of it */
    hpcb_job_state_t job;
    hpcb_class_t klass; /* from the record, else the kernel's mark, else the hints */
    hpcb_node_t *node;  /* NULL if the system could not be read */
    hpcb_error_t node_error;
} hpcb_step_t;

/* Read hpc-balance.conf into conf.  On failure conf has the defaults, and the log says
 * so once.  Return whether the file was read. */
bool hpcb_spank_conf(const hpcb_spank_args_t *args, hpcb_conf_t *conf);

/*
 * Fill in the process's step.  As root in slurmstepd's init_post_opt: before any task
 * is forked, so that each task inherits the class.  hpcb_spank_step returns it
 * afterwards.  Never blocks.
 */
void hpcb_spank_step_open(spank_t sp, const hpcb_spank_args_t *args);

/* Return the step; NULL before hpcb_spank_step_open, or if Slurm did not provide the
 * job. */
const hpcb_step_t *hpcb_spank_step(void);

void hpcb_spank_step_close(void);

#endif
