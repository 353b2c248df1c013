/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The users' options.
 *
 * hpcb_option_scan knows the syntax of everything, the table `engines` knows what this
 * release can do; hpcb_option_parse asks both.  A scanner gets a private copy of the
 * value (NULL: none was given), which it may cut up, and returns -1 for what is not
 * allowed.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/capacity.h"
#include "common/options.h"
#include "common/text.h"

/* Maximum length of a value. */
#define VALUE_BYTES 1024
#define VALUE_SHOWN 64

#define MILLION 1000000u

static const struct engine {
    const char *name;
    hpcb_policy_t policy;
    bool built;      /* this release has it */
    bool balances;   /* in hpcbd */
    bool parameters; /* may stand behind a colon */
    bool needed;     /* and must */
} engines[] = {
    {"none", HPCB_POLICY_NONE, true, false, false, false},
    {"wait", HPCB_POLICY_WAIT, true, false, false, false},
    {"auto", HPCB_POLICY_AUTO, true, true, true, false},
    {"static", HPCB_POLICY_STATIC, true, true, true, true},
    {"uniform", HPCB_POLICY_UNIFORM, true, true, true, false},
    {"adaptive", HPCB_POLICY_ADAPTIVE, true, true, true, false},
    {"dlrb", HPCB_POLICY_DLRB, true, true, true, false},
    {"deadline", HPCB_POLICY_DEADLINE, false, false, false, false},
};

#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

static const struct engine *find_engine(hpcb_policy_t policy)
{
    for (size_t i = 0; i < N_ENGINES; i++)
        if (engines[i].policy == policy)
            return &engines[i];
    return NULL;
}

const char *hpcb_policy_name(hpcb_policy_t policy)
{
    const struct engine *engine = find_engine(policy);

    return engine ? engine->name : "none";
}

bool hpcb_policy_balances(hpcb_policy_t policy)
{
    const struct engine *engine = find_engine(policy);

    return engine && engine->balances;
}

int hpcb_policy_from_name(const char *name, hpcb_policy_t *policy)
{
    for (size_t i = 0; i < N_ENGINES; i++) {
        if (strcmp(engines[i].name, name) == 0) {
            *policy = engines[i].policy;
            return 0;
        }
    }
    return -1;
}

static int scan_guest(char *value, hpcb_options_t *options)
{
    options->guest = true;
    return value ? -1 : 0;
}

/* Numbers, or NAME=NUMBER, separated by commas. */
static bool is_list(const char *text)
{
    return *text &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789=,")] == '\0';
}

static int scan_policy(char *value, hpcb_options_t *options)
{
    char whole[HPCB_BALANCE_TEXT_MAX] = "auto";
    hpcb_policy_t policy = HPCB_POLICY_AUTO;
    const struct engine *engine;
    char *list = value ? strchr(value, ':') : NULL;

    if (value && hpcb_text_copy(whole, sizeof(whole), value))
        return -1;
    if (list)
        *list++ = '\0';
    if (value && hpcb_policy_from_name(value, &policy))
        return -1;
    engine = find_engine(policy);
    if (list ? !engine->parameters || !is_list(list) : engine->needed)
        return -1;
    options->policy = policy;
    strcpy(options->balance, whole);
    return 0;
}

/* "90%" or "0.9" as millionths of 1; at most 1. */
static int scan_share(const char *text, uint64_t *millionths)
{
    hpcb_decimal_t decimal;
    const char *rest = hpcb_text_decimal(text, &decimal);

    if (rest && strcmp(rest, "%") == 0)
        return hpcb_decimal_scale(&decimal, MILLION / 100, MILLION, millionths);
    if (rest && *rest == '\0')
        return hpcb_decimal_scale(&decimal, MILLION, MILLION, millionths);
    return -1;
}

static int scan_window(char *value, hpcb_options_t *options)
{
    return value ? hpcb_window_parse(value, &options->window) : -1;
}

static int scan_cpu(const char *text, double *share)
{
    uint64_t millionths;

    if (!strchr(text, '%') || scan_share(text, &millionths) || millionths == 0)
        return -1;
    *share = (double)millionths / MILLION;
    return 0;
}

static int scan_bandwidth(char *item, hpcb_options_t *options)
{
    char *value = strchr(item, '=');

    if (!value)
        return -1;
    *value++ = '\0';
    if (strcmp(item, "mem") == 0 && options->bw_mem == 0)
        return hpcb_text_size(value, HPCB_BANDWIDTH_MAX, &options->bw_mem);
    if (strcmp(item, "net") == 0 && options->bw_net == 0)
        return hpcb_text_size(value, HPCB_BANDWIDTH_MAX, &options->bw_net);
    if (strcmp(item, "cpu") == 0 && options->bw_cpu == 0)
        return scan_cpu(value, &options->bw_cpu);
    return -1;
}

static int scan_profile(char *value, hpcb_options_t *options)
{
    char *item;

    options->bw_mem = options->bw_net = 0;
    options->bw_cpu = 0;
    if (!value)
        return -1;
    while ((item = strsep(&value, ",")))
        if (scan_bandwidth(item, options))
            return -1;
    return 0;
}

static int scan_spread(char *value, hpcb_options_t *options)
{
    options->spread = true;
    return value ? -1 : 0;
}

static const hpcb_option_spec_t specs[] = {
    {"guest", NULL, false, "run in the CPU cycles that primary jobs leave"},
    {"hpc-balance", "POLICY", true,
     "balance this job's ranks; POLICY is auto (the default), dlrb, adaptive, uniform, "
     "static:P0,P1,..., or wait: long MPI waits sleep, as with all of them"},
    {"hpc-window", "PERIOD:DUTY", false,
     "run ahead of everything for DUTY of each PERIOD, on all nodes at once, e.g. "
     "1s:90%"},
    {"bw-profile", "mem=SIZE,net=SIZE[,cpu=N%]", false,
     "bandwidth that the job needs, bytes/s per node, e.g. mem=12G,net=1G"},
    {"bw-spread", NULL, false,
     "place fewer tasks per node, on more nodes, if the job would saturate the memory "
     "bandwidth of its nodes"},
};

/* Row by row the scanner of specs[], and what is said to a value that it refuses. */
static const struct scanner {
    int (*scan)(char *value, hpcb_options_t *options);
    const char *rule; /* NULL: the policies that are built */
} scanners[] = {
    {scan_guest, "takes no value"},
    {scan_policy, NULL},
    {scan_window, hpcb_window_rule},
    {scan_profile, "allowed: mem=SIZE,net=SIZE,cpu=PERCENT%, each at most once; SIZE "
                   "in bytes/s per node, with K, M, G or T (powers of 1024), up to "
                   "2^60; e.g. mem=12G,net=1G"},
    {scan_spread, "takes no value"},
};

#define N_OPTIONS (sizeof(specs) / sizeof(specs[0]))

static_assert(N_OPTIONS == sizeof(scanners) / sizeof(scanners[0]),
              "a scanner for each option");

const hpcb_option_spec_t *hpcb_option_specs(size_t *count)
{
    *count = N_OPTIONS;
    return specs;
}

static int refuse(hpcb_error_t *err, const char *name, const char *value,
                  const char *why)
{
    const char *dots = value && strlen(value) > VALUE_SHOWN ? "..." : "";

    errno = EINVAL;
    return hpcb_error(err, "--%s%s%.*s%s: %s", name, value ? "=" : "", VALUE_SHOWN,
                      value ? value : "", dots, why);
}

static int refuse_policy(hpcb_error_t *err, const char *value, const char *why)
{
    char line[256];
    const char *separator = "";
    size_t used = (size_t)snprintf(line, sizeof(line), "%sallowed: ", why);

    for (size_t i = 0; i < N_ENGINES; i++) {
        if (!engines[i].built)
            continue;
        used +=
            (size_t)snprintf(line + used, sizeof(line) - used, "%s%s%s", separator,
                             engines[i].name, engines[i].needed ? ":P0,P1,..." : "");
        separator = ", ";
    }
    return refuse(err, "hpc-balance", value, line);
}

static const char *given(const char *value)
{
    return value && strcmp(value, "(null)") != 0 ? value : NULL;
}

int hpcb_option_scan(const char *name, const char *value, hpcb_options_t *options,
                     hpcb_error_t *err)
{
    char copy[VALUE_BYTES] = "";
    hpcb_options_t read = *options;
    size_t i = 0;

    value = given(value);
    while (i < N_OPTIONS && strcmp(specs[i].name, name) != 0)
        i++;
    if (i == N_OPTIONS)
        return hpcb_error(err, "--%.*s: no such option", VALUE_SHOWN, name);
    if ((value && hpcb_text_copy(copy, sizeof(copy), value)) ||
        scanners[i].scan(value ? copy : NULL, &read))
        return scanners[i].rule ? refuse(err, name, value, scanners[i].rule)
                                : refuse_policy(err, value, "");
    *options = read;
    return 0;
}

/* Refuse what no engine of this release stands behind; name was scanned. */
static int check_built(const char *name, const char *value,
                       const hpcb_options_t *options, hpcb_error_t *err)
{
    if (strcmp(name, "hpc-balance") == 0 && !find_engine(options->policy)->built)
        return refuse_policy(err, value, "not built in this release; ");
    return 0;
}

int hpcb_option_parse(const char *name, const char *value, hpcb_options_t *options,
                      hpcb_error_t *err)
{
    hpcb_options_t read = *options;

    if (hpcb_option_scan(name, value, &read, err) ||
        check_built(name, given(value), &read, err))
        return -1;
    *options = read;
    return 0;
}

int hpcb_options_check(const hpcb_options_t *options, hpcb_error_t *err)
{
    const char *other = NULL;

    if (options->guest && options->policy != HPCB_POLICY_NONE)
        other = "hpc-balance";
    else if (options->guest && options->window.period_us != 0)
        other = "hpc-window";
    else if (options->guest && options->spread)
        other = "bw-spread";
    if (!other)
        return 0;
    errno = EINVAL;
    return hpcb_error(err,
                      "--guest and --%s exclude each other: a guest takes what "
                      "primaries leave; drop one of the two",
                      other);
}
