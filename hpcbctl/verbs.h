/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The verbs of hpcbctl: each one returns the exit code. */
#ifndef HPCB_HPCBCTL_VERBS_H
#define HPCB_HPCBCTL_VERBS_H

#include <stdbool.h>

typedef struct {
    const char *conf_path; /* --config, or NULL */
    bool json;
    const char *output;                /* snapshot, metrics: --output, or NULL */
    bool keep_names;                   /* snapshot */
    const char *cpus, *seconds, *net;  /* calibrate: as given, or NULL */
    bool force;                        /* calibrate */
    const char *nodes, *remote, *wait; /* guests, check: as given, or NULL */
    const char *state_dir;             /* release: --state-dir, or NULL */
    const char *sub;                   /* second word of the verb, or NULL */
    const char *user; /* profile: --user, --name, --executable, or NULL; --all */
    const char *name;
    const char *executable;
    bool all;
    char *const *operands; /* what follows the verb, n_operands of them */
    int n_operands;
} hpcb_ctl_t;

/* 0 when every promise holds here, 1 when one is broken or cannot be tested. */
int hpcb_check(const hpcb_ctl_t *ctl);

/* The same on this host and ctl->nodes: becomes hpcb-guests, as hpcb_guests. */
int hpcb_check_nodes(const hpcb_ctl_t *ctl);

/* 0; 1 where this node cannot be looked at. */
int hpcb_status(const hpcb_ctl_t *ctl);

/* 0 when everything was undone; 1 with a line for what was not, or if it may have been
 * looked for in the wrong place. */
int hpcb_release(const hpcb_ctl_t *ctl);

/* The same for what hpcbd has done to favoured jobs, and nothing else. */
int hpcb_release_windows(const hpcb_ctl_t *ctl);

/* Becomes hpcb-guests, which does it; 1 with a line if that is not installed. */
int hpcb_guests(const hpcb_ctl_t *ctl);

/* 0; 1 with a line for what went wrong. */
int hpcb_top(const hpcb_ctl_t *ctl);

/* 0; 1 with a line for what went wrong; 2 with one for what is wrong with the command
 * line. */
int hpcb_gang_list(const hpcb_ctl_t *ctl);
int hpcb_gang_pause(const hpcb_ctl_t *ctl);
int hpcb_gang_resume(const hpcb_ctl_t *ctl);
int hpcb_gang_join(const hpcb_ctl_t *ctl);
int hpcb_gang_leave(const hpcb_ctl_t *ctl);
int hpcb_gang_set(const hpcb_ctl_t *ctl);

/* 0; 1 with a line for what went wrong. */
int hpcb_company(const hpcb_ctl_t *ctl);

/* 0 when the snapshot is written; 1 with a line for what went wrong. */
int hpcb_snapshot(const hpcb_ctl_t *ctl);

/* 0 when the figures are printed or written; 1 with a line for what went wrong. */
int hpcb_metrics(const hpcb_ctl_t *ctl);

/* 0 when the node was measured; 1 with a line for why it was not. */
int hpcb_calibrate(const hpcb_ctl_t *ctl);

/* 0; 1 with a line for what went wrong; 2 with one for what is wrong with the command
 * line. */
int hpcb_profile_show(const hpcb_ctl_t *ctl);
int hpcb_profile_set(const hpcb_ctl_t *ctl);
int hpcb_profile_forget(const hpcb_ctl_t *ctl);
int hpcb_profile_learn(const hpcb_ctl_t *ctl);

/* 0; 1 with a line for what went wrong; 2 with one for what is wrong with the command
 * line. */
int hpcb_records_verify(const hpcb_ctl_t *ctl);
int hpcb_records_vacuum(const hpcb_ctl_t *ctl);
int hpcb_records_import(const hpcb_ctl_t *ctl);

/* Called by the prolog and the epilog.  Always 0 towards slurmd, which drains the node
 * otherwise; what went wrong is one line on stderr. */
int hpcb_job_begin(const hpcb_ctl_t *ctl);
int hpcb_job_end(const hpcb_ctl_t *ctl);

#endif
