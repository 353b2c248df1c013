/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"
#include "cgroup/task.h"
#include "common/cleanup.h"

void hpcb_row_begin(const hpcb_target_t *target, const char *row)
{
    if (target->undo)
        hpcb_undo_scope(target->undo, row, target->pid);
}

int hpcb_row_write(const hpcb_target_t *target, const char *dir, const char *name,
                   const char *text, hpcb_error_t *err)
{
    char old[HPCB_TASK_TEXT_MAX], path[PATH_MAX];

    if (hpcb_knob_read(dir, name, old, sizeof(old), err) < 0 ||
        hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    if (strcmp(old, text) == 0)
        return 0;
    if (target->undo && hpcb_undo_note_file(target->undo, path, old, err) < 0)
        return -1;
    return hpcb_knob_write(dir, name, text, err);
}

int hpcb_row_set(const hpcb_target_t *target, pid_t tid, const char *attribute,
                 const char *text, hpcb_error_t *err)
{
    char old[HPCB_TASK_TEXT_MAX];

    if (hpcb_task_get(tid, attribute, old, sizeof(old), err) < 0)
        return -1;
    if (strcmp(old, text) == 0)
        return 0;
    if (target->undo && hpcb_undo_note_task(target->undo, tid, attribute, old, err) < 0)
        return -1;
    return hpcb_task_set(tid, attribute, text, err);
}

int hpcb_row_each_thread(const hpcb_target_t *target,
                         int (*visit)(const hpcb_target_t *target, pid_t tid,
                                      const void *arg, hpcb_error_t *err),
                         const void *arg, hpcb_error_t *err)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;

    if (hpcb_task_threads(target->pid, &tids, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (visit(target, tids[i], arg, err) < 0 &&
            (errno != ESRCH || tids[i] == target->pid))
            return -1;
    }
    return 0;
}

typedef struct {
    const char *attribute;
    const char *text;
} setting_t;

static int set_thread(const hpcb_target_t *target, pid_t tid, const void *arg,
                      hpcb_error_t *err)
{
    const setting_t *setting = arg;

    return hpcb_row_set(target, tid, setting->attribute, setting->text, err);
}

static int check_thread(const hpcb_target_t *target, pid_t tid, const void *arg,
                        hpcb_error_t *err)
{
    const setting_t *setting = arg;
    char now[HPCB_TASK_TEXT_MAX];

    (void)target;
    if (hpcb_task_get(tid, setting->attribute, now, sizeof(now), err) < 0)
        return -1;
    if (strcmp(now, setting->text) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s of task %d is %s, not %s", setting->attribute, (int)tid,
                      now, setting->text);
}

int hpcb_row_set_threads(const hpcb_target_t *target, const char *attribute,
                         const char *text, hpcb_error_t *err)
{
    const setting_t setting = {attribute, text};

    return hpcb_row_each_thread(target, set_thread, &setting, err);
}

int hpcb_row_check_threads(const hpcb_target_t *target, const char *attribute,
                           const char *text, hpcb_error_t *err)
{
    const setting_t setting = {attribute, text};

    return hpcb_row_each_thread(target, check_thread, &setting, err);
}

int hpcb_row_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                  hpcb_error_t *err)
{
    if (!target->undo)
        return 0;
    return hpcb_undo_revert(target->undo, row->name, target->pid, err);
}
