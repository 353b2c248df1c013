/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include "cgroup/rows.h"
#include "common/log.h"

#define ROW(function)                                                                  \
    hpcb_##function##_probe, hpcb_##function##_apply, hpcb_##function##_verify

static const hpcb_mechanism_t table[] = {
    {"idle-group", "cpu.idle=1 on the group of guests", true, true, false,
     ROW(idle_group), hpcb_guest_group_undo},
    {"weight", "lowest cpu weight for the group of guests", true, true, false,
     ROW(weight), hpcb_guest_group_undo},
    {"sched-idle", "SCHED_IDLE for every thread", true, true, false, ROW(sched_idle),
     hpcb_row_undo},
    {"nice", "nice 19 for every thread", true, true, false, ROW(nice), hpcb_row_undo},
    {"ionice", "idle I/O class", false, true, false, ROW(ionice), hpcb_row_undo},
    {"io-weight", "lowest io.weight for the guest's job", false, true, false,
     ROW(io_weight), hpcb_row_undo},
    {"oom-score", "first victim when memory runs out", false, true, false,
     ROW(oom_score), hpcb_row_undo},
    {"memory-high", "reclaim from the guest before its memory limit", false, true,
     false, ROW(memory_high), hpcb_row_undo},
    {"realtime-limit", "no real-time policy, and no way to one", false, true, true,
     ROW(realtime_limit), hpcb_row_undo},
    {"long-slice", "slices of 100 ms, so that primaries' may be as long", false, true,
     false, ROW(long_slice), hpcb_row_undo},
    {"freeze", "stop a guest's tasks", false, false, false, ROW(freeze),
     hpcb_freeze_undo},
    {"cpu-affinity", "keep a guest off chosen CPUs", false, false, false,
     ROW(cpu_affinity), hpcb_row_undo},
    {"ppr", "lowest hardware-thread priority, until the task's next system call", false,
     false, false, ROW(ppr), hpcb_ppr_undo},
    {"core-cookie", "never at the same time as a primary on one core (core scheduling)",
     false, false, false, ROW(core_cookie), hpcb_row_undo},
    {"sibling-avoid", "keep a guest off the siblings of primaries' threads", false,
     false, false, ROW(sibling_avoid), hpcb_row_undo},
    {"sibling-throttle", "a small quota for a guest on siblings of primaries", false,
     false, false, ROW(sibling_throttle), hpcb_row_undo},
    {"primary-weight", "a primary weighs as much on each of its CPUs as on one", false,
     false, false, ROW(primary_weight), hpcb_row_undo},
    /* End of table */
};

#define ROWS (sizeof(table) / sizeof(table[0]))

const hpcb_mechanism_t *hpcb_mechanisms(size_t *count)
{
    *count = ROWS;
    return table;
}

const hpcb_mechanism_t *hpcb_mechanism_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}

/* Maximum length of each reason, so that the last one still fits. */
#define REASON_SHOWN 110

/* "idle-group: why; weight: why". */
static void add_reason(char *reasons, size_t size, const hpcb_mechanism_t *row,
                       const hpcb_error_t *why)
{
    size_t used = strlen(reasons);

    snprintf(reasons + used, size - used, "%s%s: %.*s", used ? "; " : "", row->name,
             REASON_SHOWN, why->text);
}

/* Apply one row so that it either is in force or has left nothing behind. */
static int try_row(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                   hpcb_error_t *err)
{
    hpcb_error_t why;

    if (row->probe(target->node, err) < 0)
        return -1;
    if (row->apply(target, err) == 0 && row->verify(target, err) == 0)
        return 0;
    if (row->undo(row, target, &why) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s of task %d failed and could not be undone: %s",
                 row->name, (int)target->pid, why.text);
    return -1;
}

static const hpcb_mechanism_t *try_isolating(const hpcb_target_t *target,
                                             hpcb_error_t *err)
{
    char reasons[HPCB_ERROR_MAX] = "";
    hpcb_error_t why;

    for (size_t i = 0; i < ROWS && table[i].isolates; i++) {
        if (try_row(&table[i], target, &why) == 0)
            return &table[i];
        add_reason(reasons, sizeof(reasons), &table[i], &why);
    }
    hpcb_error(err, "%s", reasons);
    return NULL;
}

static void try_others(const hpcb_target_t *target)
{
    hpcb_error_t why;

    for (size_t i = 0; i < ROWS; i++) {
        if (!table[i].isolates && table[i].every_guest &&
            try_row(&table[i], target, &why) < 0)
            hpcb_log(HPCB_LOG_DEBUG, "task %d: no %s: %s", (int)target->pid,
                     table[i].name, why.text);
    }
}

static const hpcb_mechanism_t *isolate(const hpcb_target_t *target, hpcb_error_t *err)
{
    const hpcb_mechanism_t *row = try_isolating(target, err);

    if (row)
        try_others(target);
    return row;
}

/* With notes in memory, so that what does not verify can be undone. */
static const hpcb_mechanism_t *isolate_unlogged(hpcb_target_t target, hpcb_error_t *err)
{
    const hpcb_mechanism_t *row;

    if (hpcb_undo_open(NULL, target.job_id, &target.undo, err) < 0)
        return NULL;
    row = isolate(&target, err);
    hpcb_undo_close(target.undo);
    return row;
}

const hpcb_mechanism_t *hpcb_isolate(const hpcb_target_t *target, hpcb_error_t *err)
{
    const hpcb_mechanism_t *row;

    if (!target->undo)
        return isolate_unlogged(*target, err);
    row = isolate(target, err);
    if (row || !hpcb_undo_broken(target->undo))
        return row;
    hpcb_log(HPCB_LOG_ERROR,
             "job %u: the undo log cannot be written, its tasks are "
             "isolated without it",
             (unsigned)target->job_id);
    return isolate_unlogged(*target, err);
}

static const hpcb_mechanism_t *isolating(const hpcb_target_t *target, hpcb_error_t *err)
{
    char reasons[HPCB_ERROR_MAX] = "";
    hpcb_error_t why;

    for (size_t i = 0; i < ROWS && table[i].isolates; i++) {
        if (table[i].verify(target, &why) == 0)
            return &table[i];
        add_reason(reasons, sizeof(reasons), &table[i], &why);
    }
    hpcb_error(err, "%s", reasons);
    return NULL;
}

const hpcb_mechanism_t *hpcb_isolated(const hpcb_target_t *target, hpcb_error_t *err)
{
    const hpcb_mechanism_t *row = isolating(target, err);
    hpcb_error_t why;

    for (size_t i = 0; i < ROWS && row; i++) {
        if (!table[i].required || table[i].verify(target, &why) == 0)
            continue;
        hpcb_error(err, "%s: %s", table[i].name, why.text);
        return NULL;
    }
    return row;
}
