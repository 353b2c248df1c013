/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The verbs of hpcbctl: each returns the exit code. */
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
    char *const *operands; /* operands of the verb, n_operands of them */
    int n_operands;
} hpcb_ctl_t;

/* Return 0 if every rule is kept on this host, 1 if one is broken or cannot be
 * tested. */
int hpcb_check(const hpcb_ctl_t *ctl);

/* Do the same on this host and ctl->nodes: executes hpcb-guests, like hpcb_guests. */
int hpcb_check_nodes(const hpcb_ctl_t *ctl);

/* Return 0; 1 if this node cannot be read. */
int hpcb_status(const hpcb_ctl_t *ctl);

/* Return 0 if everything was undone; 1 with a line for each failure, or if StateDir may
 * be another one. */
int hpcb_release(const hpcb_ctl_t *ctl);

/* Undo only hpcbd's changes to boosted jobs. */
int hpcb_release_windows(const hpcb_ctl_t *ctl);

/* Execute hpcb-guests; return 1 with a line if that is not installed. */
int hpcb_guests(const hpcb_ctl_t *ctl);

/* Return 0; 1 with a line about the failure. */
int hpcb_top(const hpcb_ctl_t *ctl);

/* Return 0; 1 with a line about the failure; 2 with a line about an invalid command
 * line. */
int hpcb_gang_list(const hpcb_ctl_t *ctl);
int hpcb_gang_pause(const hpcb_ctl_t *ctl);
int hpcb_gang_resume(const hpcb_ctl_t *ctl);
int hpcb_gang_join(const hpcb_ctl_t *ctl);
int hpcb_gang_leave(const hpcb_ctl_t *ctl);
int hpcb_gang_set(const hpcb_ctl_t *ctl);

/* Return 0; 1 with a line about the failure. */
int hpcb_company(const hpcb_ctl_t *ctl);

/* Return 0 if the snapshot is written; 1 with a line about the failure. */
int hpcb_snapshot(const hpcb_ctl_t *ctl);

/* Return 0 if the figures are printed or written; 1 with a line about the failure. */
int hpcb_metrics(const hpcb_ctl_t *ctl);

/* Return 0 if the node was measured; 1 with a line about the reason otherwise. */
int hpcb_calibrate(const hpcb_ctl_t *ctl);

/* Return 0; 1 with a line about the failure; 2 with a line about an invalid command
 * line. */
int hpcb_profile_show(const hpcb_ctl_t *ctl);
int hpcb_profile_set(const hpcb_ctl_t *ctl);
int hpcb_profile_forget(const hpcb_ctl_t *ctl);
int hpcb_profile_learn(const hpcb_ctl_t *ctl);

/* Return 0; 1 with a line about the failure; 2 with a line about an invalid command
 * line. */
int hpcb_records_verify(const hpcb_ctl_t *ctl);
int hpcb_records_vacuum(const hpcb_ctl_t *ctl);
int hpcb_records_import(const hpcb_ctl_t *ctl);

/* Called by prolog and epilog.  Always return 0, because slurmd would drain the node; a
 * failure is one line on stderr. */
int hpcb_job_begin(const hpcb_ctl_t *ctl);
int hpcb_job_end(const hpcb_ctl_t *ctl);

#endif
