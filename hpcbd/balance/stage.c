/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/log.h"
#include "hpcbd/balance/lever.h"
#include "hpcbd/balance/stage.h"

unsigned hpcbd_stage_slice(const hpcbd_unit_t *unit)
{
    unsigned end = unit->at + HPCBD_STAGE_RANKS;

    return end < unit->n ? end : unit->n;
}

void hpcbd_stage_enter(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage)
{
    unit->stage = stage;
    unit->at = 0;
}

bool hpcbd_stage_go_on(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage)
{
    if (unit->at < unit->n)
        return false;
    hpcbd_stage_enter(unit, stage);
    return true;
}

static void log_what_is_done(const hpcbd_unit_t *unit)
{
    hpcb_log(HPCB_LOG_INFO, "job %u step %s: %u ranks on %u CPUs, %.64s%s%s%s%s",
             unit->job_id, unit->step, unit->n, unit->n_cpus,
             unit->acting ? unit->policy : "not balanced", unit->acting ? " by " : "",
             unit->acting ? hpcbd_lever_name(unit) : "", unit->why.text[0] ? ": " : "",
             unit->why.text);
}

bool hpcbd_stage_refuse(hpcbd_unit_t *unit)
{
    log_what_is_done(unit);
    hpcbd_stage_enter(unit, HPCBD_UNIT_ENDS);
    return true;
}

void hpcbd_stage_begun(hpcbd_unit_t *unit)
{
    unit->acting = true;
    hpcbd_lever_find(unit);
    log_what_is_done(unit);
    hpcbd_stage_enter(unit, HPCBD_UNIT_APPLIES);
}

hpcb_rank_spec_t hpcbd_stage_spec(const hpcbd_unit_t *unit, unsigned rank)
{
    return (hpcb_rank_spec_t){.node = unit->env->node,
                              .job_id = unit->job_id,
                              .step = unit->step,
                              .task = rank,
                              .pid = unit->rank[rank].pid,
                              .cgroup = unit->env->conf->balance_cgroup,
                              .undo = unit->undo};
}

int hpcbd_stage_pin(hpcbd_unit_t *unit, unsigned rank, hpcb_error_t *err)
{
    unsigned place = unit->balance.rank[rank].place;

    return hpcb_rank_pin(unit->rank[rank].hands, unit->places.place[place].cpu, err);
}
