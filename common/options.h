/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The users' options --guest, --hpc-balance, --hpc-window, --bw-profile and
 * --bw-spread: parsed and checked in one place for sbatch/srun/salloc (spank/) and
 * slurmctld (jobsubmit/).  Pure.
 */
#ifndef HPCB_COMMON_OPTIONS_H
#define HPCB_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"
#include "common/window.h"

typedef enum {
    HPCB_POLICY_NONE,
    HPCB_POLICY_WAIT, /* MPI waits become sleeps, as with all that follow */
    HPCB_POLICY_AUTO,
    HPCB_POLICY_STATIC,
    HPCB_POLICY_UNIFORM,
    HPCB_POLICY_ADAPTIVE,
    HPCB_POLICY_DLRB,
    HPCB_POLICY_DEADLINE
} hpcb_policy_t;

/* Maximum length of a policy with its parameters: static: with 256 priorities takes 518
 * bytes. */
#define HPCB_BALANCE_TEXT_MAX 640

typedef struct {
    bool guest;
    hpcb_policy_t policy; /* NONE without --hpc-balance */
    /* The same as given by the user, "dlrb:threshold=10"; policy/balance.h checks the
     * part after the colon.  "" without --hpc-balance. */
    char balance[HPCB_BALANCE_TEXT_MAX];
    hpcb_window_spec_t window; /* all zero without --hpc-window */
    uint64_t bw_mem;           /* bytes/s per node, 0 = not given */
    uint64_t bw_net;
    double bw_cpu; /* 0..1, 0 = not given */
    bool spread;   /* --bw-spread */
} hpcb_options_t;

/* One row per option, in the order of --help. */
typedef struct {
    const char *name;    /* "guest" */
    const char *arginfo; /* NULL: takes no argument */
    bool arg_optional;
    const char *usage; /* one line for --help */
} hpcb_option_spec_t;

const hpcb_option_spec_t *hpcb_option_specs(size_t *count);

/*
 * Parse one option into options (value NULL if none was given; Slurm's "(null)" counts
 * as none).  Return 0, or -1 with one line that names the option, the value and what is
 * allowed if the value is malformed or this release does not support it; options is
 * unchanged then.
 */
int hpcb_option_parse(const char *name, const char *value, hpcb_options_t *options,
                      hpcb_error_t *err);

/* Like hpcb_option_parse, but check only the syntax, not whether this release supports
 * the value. */
int hpcb_option_scan(const char *name, const char *value, hpcb_options_t *options,
                     hpcb_error_t *err);

/* Reject options that exclude each other (--guest with --hpc-balance ...). */
int hpcb_options_check(const hpcb_options_t *options, hpcb_error_t *err);

/* Return "auto", "static", ...; "none" for NONE. */
const char *hpcb_policy_name(hpcb_policy_t policy);

/* Return whether hpcbd acts on the policy. */
bool hpcb_policy_balances(hpcb_policy_t policy);

/* Parse a name, "none" included.  Return 0, or -1 with policy unchanged. */
int hpcb_policy_from_name(const char *name, hpcb_policy_t *policy);

#endif
