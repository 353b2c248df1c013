/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include "common/log.h"
#include "policy/balance.h"
#include "spank/useropts.h"

static hpcb_options_t given;
static bool wrong;
static hpcb_error_t complaint;

/* Slurm carries "no argument" as NULL, "(null)" or an empty string, depending on the
 * way (22.05: launch message, spank_job_env, environment).  On a user's own command
 * line an empty value is an error, hence only where the value has travelled. */
static const char *travelled(const char *value)
{
    return value && *value ? value : NULL;
}

/* A policy's parameters, which common/options.h leaves to the policy. */
static int check_balance(const hpcb_options_t *options, hpcb_error_t *err)
{
    hpcb_balance_conf_t conf;
    const char *bad;

    if (!hpcb_policy_balances(options->policy) ||
        hpcb_balance_conf_parse(options->balance, &conf, &bad) == 0)
        return 0;
    return hpcb_error(err,
                      "--hpc-balance=%.64s: wrong from \"%.32s\" on (allowed: see "
                      "hpc_balance(7))",
                      options->balance, bad);
}

/* The first complaint counts; hpcb_spank_options_enforce says it. */
static void accept_local(const hpcb_option_spec_t *spec, const char *value)
{
    hpcb_error_t err;

    if ((hpcb_option_parse(spec->name, value, &given, &err) == 0 &&
         check_balance(&given, &err) == 0) ||
        wrong)
        return;
    wrong = true;
    complaint = err;
}

/* A guest that adds --hpc-balance stays a guest, whatever the order: no check here. */
static void accept_remote(const hpcb_option_spec_t *spec, const char *value)
{
    hpcb_error_t err;

    if (hpcb_option_parse(spec->name, travelled(value), &given, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* spank_opt_cb_f; val is the option's row. */
static int option_callback(int val, const char *value, int remote)
{
    size_t count;
    const hpcb_option_spec_t *specs = hpcb_option_specs(&count);

    if (val < 0 || (size_t)val >= count)
        return 0;
    if (remote)
        accept_remote(&specs[val], value);
    else
        accept_local(&specs[val], value);
    return 0;
}

/* spank.h wants writable strings and copies them (22.05 … 26.05). */
static struct spank_option to_spank(const hpcb_option_spec_t *spec, int row)
{
    struct spank_option option = {
        .name = (char *)spec->name,
        .arginfo = (char *)spec->arginfo,
        .usage = (char *)spec->usage,
        .has_arg = !spec->arginfo       ? 0
                   : spec->arg_optional ? 2
                                        : 1,
        .val = row,
        .cb = option_callback,
    };

    return option;
}

int hpcb_spank_options_register(spank_t sp)
{
    size_t count;
    const hpcb_option_spec_t *specs = hpcb_option_specs(&count);
    int result = 0;

    for (size_t i = 0; i < count; i++) {
        struct spank_option option = to_spank(&specs[i], (int)i);

        if (spank_option_register(sp, &option) != ESPANK_SUCCESS) {
            hpcb_log(HPCB_LOG_ERROR, "Slurm refused the option --%s", specs[i].name);
            result = -1;
        }
    }
    return result;
}

/* An srun inside a guest's job inherits --guest through this variable of Slurm: with
 * --hpc-balance of its own it is still a step of that guest, and is notified there. */
static bool inherits_guest(void)
{
    return spank_context() == S_CTX_LOCAL &&
           getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpc_balance_guest");
}

void hpcb_spank_options_enforce(void)
{
    if (!wrong && (inherits_guest() || hpcb_options_check(&given, &complaint) == 0))
        return;
    hpcb_log(HPCB_LOG_ERROR, "%s", complaint.text);
    exit(EXIT_FAILURE);
}

const hpcb_options_t *hpcb_spank_options(void)
{
    return &given;
}

void hpcb_spank_options_of_job(spank_t sp, hpcb_options_t *options)
{
    size_t count;
    const hpcb_option_spec_t *specs = hpcb_option_specs(&count);
    hpcb_error_t err;

    *options = (hpcb_options_t){0};
    for (size_t i = 0; i < count; i++) {
        struct spank_option option = to_spank(&specs[i], (int)i);
        char *value = NULL;

        if (spank_option_getopt(sp, &option, &value) != ESPANK_SUCCESS)
            continue;
        if (hpcb_option_parse(specs[i].name, travelled(value), options, &err) < 0)
            hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    }
}
