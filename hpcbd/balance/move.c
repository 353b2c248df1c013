/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hpcbd/balance/move.h"
#include "hpcbd/balance/stage.h"

static void move_all(const hpcbd_unit_t *unit, void (*move)(const hpcb_rank_spec_t *))
{
    for (unsigned i = 0; i < unit->n; i++) {
        hpcb_rank_spec_t spec = hpcbd_stage_spec(unit, i);

        move(&spec);
    }
}

static void __attribute__((noreturn))
be_mover(const hpcbd_unit_t *unit, void (*move)(const hpcb_rank_spec_t *), pid_t daemon)
{
    prctl(PR_SET_NAME, "hpcbd-mover");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* It may have ended before. */
    if (getppid() == daemon)
        move_all(unit, move);
    _exit(EXIT_SUCCESS);
}

void hpcbd_move_start(hpcbd_unit_t *unit, void (*move)(const hpcb_rank_spec_t *spec))
{
    pid_t daemon = getpid();

    unit->mover = fork();
    if (unit->mover == 0)
        be_mover(unit, move, daemon);
    if (unit->mover < 0)
        move_all(unit, move);
}

bool hpcbd_move_ended(hpcbd_unit_t *unit, bool wait)
{
    pid_t pid;

    if (unit->mover <= 0)
        return true;
    do
        pid = waitpid(unit->mover, NULL, wait ? 0 : WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    unit->mover = 0;
    return true;
}
