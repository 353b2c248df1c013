/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the hooks that act on a node need to know first. */
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
    hpcb_conf_t conf; /* defaults where the file cannot be read */
    bool recorded;    /* job is what root recorded of it */
    hpcb_job_state_t job;
    hpcb_class_t klass; /* the record's, else the kernel's mark, else the hints' */
    hpcb_node_t *node;  /* NULL where the system could not be looked at */
    hpcb_error_t node_error;
} hpcb_step_t;

/* Read hpc-balance.conf into conf.  Where that fails, conf holds the defaults and the
 * log says so once.  Returns whether the file was read. */
bool hpcb_spank_conf(const hpcb_spank_args_t *args, hpcb_conf_t *conf);

/*
 * Fill the process's step.  As root in slurmstepd's init_post_opt: before any task is
 * forked, so that each task inherits the class and need not ask anybody.  Afterwards
 * hpcb_spank_step returns it.  Nothing waits.
 */
void hpcb_spank_step_open(spank_t sp, const hpcb_spank_args_t *args);

/* NULL before hpcb_spank_step_open and where Slurm did not say which job this is. */
const hpcb_step_t *hpcb_spank_step(void);

void hpcb_spank_step_close(void);

#endif
