/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Verbs about many nodes: `hpcbctl guests stop|drain|resume` and `hpcbctl check
 * --nodes`. The work is Slurm's commands and a remote shell, which
 * report/hpcb_report/switch.py and checks.py call; this passes on the command line.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbctl/verbs.h"

#define PROGRAM HPCB_REPORTDIR "/hpcb-guests"

/* --config, --json, three options, the verb and what goes before it. */
#define ARGS_MAX 16

typedef struct {
    const char *args[ARGS_MAX];
    int count;
} command_t;

static void give(command_t *command, const char *option, const char *value)
{
    if (!value)
        return;
    command->args[command->count++] = option;
    command->args[command->count++] = value;
}

/* Become hpcb-guests.  Return 1 with a line if that cannot be. */
static int become(const hpcb_ctl_t *ctl, const char *what, const char *name)
{
    command_t command = {.args = {PROGRAM, what}, .count = 2};

    give(&command, "--config", ctl->conf_path);
    give(&command, "--nodes", ctl->nodes);
    give(&command, "--remote", ctl->remote);
    give(&command, "--wait", ctl->wait);
    if (ctl->json)
        command.args[command.count++] = "--json";
    command.args[command.count++] = ctl->sub; /* NULL: it ends here */
    command.args[command.count] = NULL;
    execv(PROGRAM, (char *const *)command.args);
    hpcb_log(HPCB_LOG_ERROR, "%s: %s: %s (package slurm-hpc-balance-report)", name,
             PROGRAM, strerror(errno));
    return 1;
}

int hpcb_guests(const hpcb_ctl_t *ctl)
{
    return become(ctl, "--switch", "guests");
}

int hpcb_check_nodes(const hpcb_ctl_t *ctl)
{
    return become(ctl, "--check", "check");
}
